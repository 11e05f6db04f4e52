/* bench_exported.c -- an exported portfolio of sgemm compared with libtuned, which serves from the
 * same portfolio.
 *
 *   bench_exported [N [SEED [GRID]]] [--sec 70] [--jobs 16] [--json]
 *
 * tests/bench/bench_exported.sh writes the portfolio as C, builds this program with it and runs it.
 * N sizes are drawn as by bench_portfolio. What libtuned serves at them is compiled beforehand by
 * --jobs processes and put into the database ($TUNED_DB), in which nothing is tuned, so that the
 * shipped portfolio serves. At each size the typed call and the exported call alternate in nine
 * batches each, with a warm L2; a batch has at least three launches and takes about 400 us. The
 * results must agree. Sizes that are not reached within --sec seconds, half of which compiling may
 * take, are left out.
 *
 * --json: a line for each size. The last line: the geometric mean and the worst ratio of exported
 * to served time; the number of sizes at which both run the same configuration, and the mean over
 * these and over the others; of the former, the mean over those whose kernel has warps that only
 * load (0: none) and over those under 10 us; medians of the host's time for a new choice, a
 * repeated choice, and the two calls. */
#define _GNU_SOURCE
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "sizes.h"
#include "file.h"
#include "image_prefetch.h"
#include "open_device.h"
#include "run.h"
#include "serve_choose.h"
#include "serve_presets.h"
#include "sgemm_portfolio.h"

enum { ROUNDS = 9, LEAST = 3, MOST = 400, CALLS = 20, COMPARED = 1 << 18 };
static const double BATCH_US = 400, SHORT_US = 10;

typedef struct measured { /* one size; microseconds */
  bool ready;             /* the database has what libtuned serves for it */
  bool done, same, loaders;
  double served, exported, ratio, choice, again, served_call, exported_call;
} measured;

typedef struct bench {
  gen_template *t;
  arena memory;
  sizes sizes;
  measured *all; /* [sizes.n] */
  tuned_context *ctx;
  CUevent from, to;
  CUdeviceptr a, b, c, workspace;
  size_t workspace_nbytes;
  float *left, *right; /* COMPARED elements of both results */
  sgemm_portfolio kernels;
  sgemm_problem p; /* the one being timed */
  bool json;
} bench;

static void must(CUresult rc, const char *what) {
  if (rc != CUDA_SUCCESS) {
    fprintf(stderr, "bench_exported: %s failed with CUDA error %d\n", what, (int)rc);
    exit(1);
  }
}

/* ---- the two calls -------------------------------------------------------------------------- */

static sgemm_problem exported_problem(const gen_problem *p) {
  return (sgemm_problem){.m = p->values[0].i,
                         .n = p->values[1].i,
                         .k = p->values[2].i,
                         .ta = SGEMM_TEXT_n,
                         .tb = SGEMM_TEXT_n,
                         .align = p->values[5].i,
                         .align_a = p->values[6].i,
                         .align_b = p->values[7].i,
                         .scale = SGEMM_TEXT_none,
                         .bias = SGEMM_TEXT_none,
                         .act = SGEMM_TEXT_none,
                         .accuracy = SGEMM_TEXT_strict};
}

static void call_served(bench *b) {
  const sgemm_problem *p = &b->p;
  tuned_error e;
  if (tuned_sgemm(b->ctx, NULL, 'N', 'N', p->m, p->n, p->k, 1, (float *)b->a, p->m, (float *)b->b,
                  p->k, 0, (float *)b->c, p->m, &e)) {
    bench_give_up("tuned_sgemm", e.message);
  }
}

static void call_exported(bench *b) {
  const sgemm_problem *p = &b->p;
  must(
      sgemm_run(&b->kernels, NULL, p, b->workspace, 1, b->a, p->m, b->b, p->k, 0, b->c, p->m, 0, 0),
      "sgemm_run");
}

typedef void call(bench *b);

/* ---- timing --------------------------------------------------------------------------------- */

static double batch_us(bench *b, call *run, int n) {
  float ms;
  run(b);
  must(cuEventRecord(b->from, NULL), "cuEventRecord");
  for (int i = 0; i < n; i++) {
    run(b);
  }
  must(cuEventRecord(b->to, NULL), "cuEventRecord");
  must(cuEventSynchronize(b->to), "a kernel");
  must(cuEventElapsedTime(&ms, b->from, b->to), "cuEventElapsedTime");
  return 1e3 * (double)ms / n;
}

/* Time of the host, while the device has little queued. */
static double call_us(bench *b, call *run) {
  run(b);
  must(cuCtxSynchronize(), "a kernel");
  run(b);
  const double from = now_sec();
  for (int i = 0; i < CALLS; i++) {
    run(b);
  }
  const double sec = now_sec() - from;
  must(cuCtxSynchronize(), "a kernel");
  return 1e6 * sec / CALLS;
}

static void time_both(bench *b, measured *m) {
  double served[ROUNDS], exported[ROUNDS];
  const double n = BATCH_US / batch_us(b, call_exported, LEAST);
  const int count = (int)fmax(LEAST, fmin(MOST, n));
  for (int i = 0; i < ROUNDS; i++) {
    served[i] = batch_us(b, call_served, count);
    exported[i] = batch_us(b, call_exported, count);
  }
  m->served = bench_median(served, ROUNDS);
  m->exported = bench_median(exported, ROUNDS);
  m->ratio = m->exported / m->served;
  m->served_call = call_us(b, call_served);
  m->exported_call = call_us(b, call_exported);
}

/* ---- one size ------------------------------------------------------------------------------- */

/* The results must agree: a wrong kernel may well be fast. */
static void compare_results(bench *b) {
  const int64_t all = b->p.m * b->p.n;
  const size_t n = (size_t)(all < COMPARED ? all : COMPARED);
  const double bound = 1e-6 * ((double)b->p.k + 16);
  must(cuMemsetD8(b->c, 0xff, (size_t)all * sizeof(float)), "cuMemsetD8");
  call_served(b);
  must(cuMemcpyDtoH(b->left, b->c, n * sizeof(float)), "cuMemcpyDtoH");
  must(cuMemsetD8(b->c, 0xff, (size_t)all * sizeof(float)), "cuMemsetD8");
  call_exported(b);
  must(cuMemcpyDtoH(b->right, b->c, n * sizeof(float)), "cuMemcpyDtoH");
  for (size_t i = 0; i < n; i++) {
    if (!(fabs((double)b->left[i] - (double)b->right[i]) <= bound)) {
      bench_give_up("the results differ", sgemm_configs[sgemm_choose(&b->kernels, &b->p)]);
    }
  }
}

static int choose(bench *b, measured *m) {
  const double from = now_sec();
  const int chosen = sgemm_choose(&b->kernels, &b->p);
  const double between = now_sec();
  sgemm_choose(&b->kernels, &b->p);
  m->choice = 1e6 * (between - from);
  m->again = 1e6 * (now_sec() - between);
  return chosen;
}

/* The exported call wants its workspace zeroed for every size. */
static void prepare_workspace(bench *b) {
  const size_t nbytes = sgemm_workspace_nbytes(&b->kernels, &b->p);
  if (nbytes > b->workspace_nbytes) {
    must(b->workspace ? cuMemFree(b->workspace) : CUDA_SUCCESS, "cuMemFree");
    must(cuMemAlloc(&b->workspace, nbytes), "cuMemAlloc");
    b->workspace_nbytes = nbytes;
  }
  must(nbytes ? cuMemsetD8(b->workspace, 0, nbytes) : CUDA_SUCCESS, "cuMemsetD8");
}

static const char *served_config(bench *b, const char *problem) {
  tuned_kernel *kernel;
  tuned_kernel_info info;
  tuned_error e;
  if (tuned_find(b->ctx, problem, &kernel, &e) || tuned_info(kernel, &info, &e)) {
    bench_give_up(problem, e.message);
  }
  return info.config;
}

static void run_size(bench *b, const gen_problem *p, measured *m) {
  str problem = {0};
  gen_problem_text(b->t, p, &problem);
  b->p = exported_problem(p);
  const int chosen = choose(b, m);
  if (chosen < 0) {
    bench_give_up(str_text(&problem), "the exported portfolio takes no such problem");
  }
  const char *config = sgemm_configs[chosen];
  prepare_workspace(b);
  compare_results(b);
  m->same = !strcmp(config, served_config(b, str_text(&problem)));
  m->loaders = strstr(config, "LOADER=warps") != NULL;
  time_both(b, m);
  m->done = true;
  if (b->json) {
    printf("{\"problem\": \"%s\", \"served_us\": %.4g, \"exported_us\": %.4g, \"ratio\": %.4f, "
           "\"same\": %s, \"choice_us\": %.3g, \"served_call_us\": %.3g, \"exported_call_us\": "
           "%.3g, \"served\": \"%s\", \"exported\": \"%s\"}\n",
           str_text(&problem), m->served, m->exported, m->ratio, m->same ? "true" : "false",
           m->choice, m->served_call, m->exported_call, served_config(b, str_text(&problem)),
           config);
    fflush(stdout);
  }
  str_clear(&problem);
}

/* ---- what libtuned serves ------------------------------------------------------------------- */

typedef struct wanted { /* a size's image */
  char key[HASH_TEXT];
  str source;
  bool stored;
} wanted;

typedef struct ahead { /* compiling for libtuned, before it is opened */
  bench *b;
  rt_device *device;
  rt_compiler *compiler;
  str device_key;
  serve_sources from;
  serve_known known;
  image_prefetch *images;
  db *db;
  wanted *list; /* [sizes.n] */
} ahead;

static int write_source(ahead *x, size_t i, rt_source *s, err *e) {
  const gen_problem *p = &x->b->sizes.p[i];
  gen_number numbers[RT_NUMBERS];
  arena memory = {0};
  str problem = {0};
  serve_pick pick;
  serve_choose choose = {
      .from = &x->from, .t = x->b->t, .p = p, .known = &x->known, .memory = &memory};
  gen_problem_text(x->b->t, p, &problem);
  choose.problem = str_text(&problem);
  rt_numbers(&x->device->info, numbers);
  int rc = gen_instance_new(x->b->t, p, numbers, RT_NUMBERS, &choose.g, e);
  rc = rc ? rc : serve_choose_next(&choose, &pick, e);
  rc = rc ? rc : gen_source_make(choose.g, &pick.config, &x->list[i].source, &s->body, e);
  gen_instance_free(choose.g);
  str_clear(&problem);
  arena_clear(&memory);
  return rc;
}

static int want(ahead *x, size_t i, err *e) {
  const rt_info *info = &x->device->info;
  wanted *w = &x->list[i];
  arena memory = {0};
  db_image row;
  rt_source s = {.arch = info->arch, .lineinfo = info->format == RT_PTX};
  TRY(write_source(x, i, &s, e));
  s.text = str_text(&w->source);
  rt_image_key(x->compiler, &s, w->key);
  w->stored = !db_image_get(x->db, w->key, &memory, &row, NULL);
  arena_clear(&memory);
  return w->stored ? 0 : image_prefetch_request(x->images, &s, w->key, e);
}

static int store(ahead *x, size_t i, err *e) {
  const rt_info *info = &x->device->info;
  const bool cubin = info->format == RT_CUBIN;
  wanted *w = &x->list[i];
  const str *bytes;
  if (w->stored) {
    return 0;
  }
  TRY(image_prefetch_wait(x->images, w->key, &bytes, e));
  w->stored = true;
  return db_image_put(x->db,
                      &(db_image){.key = w->key,
                                  .arch = info->arch,
                                  .source = str_text(&w->source),
                                  .log = "",
                                  .nvrtc = rt_compiler_version(x->compiler),
                                  .cubin = cubin ? bytes->p : NULL,
                                  .n_cubin = cubin ? bytes->n : 0,
                                  .ptx = cubin ? NULL : bytes->p,
                                  .n_ptx = cubin ? 0 : bytes->n},
                      e);
}

static int open_ahead(ahead *x, int jobs, err *e) {
  const char *path, *device = getenv("TUNED_DEVICE");
  x->from.presets = serve_presets;
  x->from.portfolios = serve_portfolios;
  x->list = calloc(x->b->sizes.n + 1, sizeof *x->list);
  if (!x->list) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  TRY(db_default_path(&x->b->memory, &path, e));
  TRY(db_open(path, DB_WRITE, &x->db, e));
  TRY(rt_compiler_open(&x->compiler, e));
  TRY(rt_device_open(device ? device : "0", &x->device, e));
  rt_device_key(&x->device->info, &x->device_key);
  x->from.device = &x->device->info;
  x->from.device_key = str_text(&x->device_key);
  TRY(image_prefetch_open(x->compiler, x->device->info.arch, jobs, &x->images, e));
  return serve_known_read(&x->from, x->b->t, &x->known, e);
}

static int compile_ahead(ahead *x, double until, err *e) {
  const size_t n = x->b->sizes.n;
  size_t done = 0;
  for (size_t i = 0; i < n; i++) {
    TRY(want(x, i, e));
  }
  for (size_t i = 0; i < n && now_sec() < until; i++, done++) {
    TRY(store(x, i, e));
    x->b->all[i].ready = true;
  }
  fprintf(stderr, "bench_exported: what libtuned serves at %zu of %zu sizes is there\n", done, n);
  return 0;
}

static void close_ahead(ahead *x) {
  for (size_t i = 0; i < x->b->sizes.n; i++) {
    str_clear(&x->list[i].source);
  }
  free(x->list);
  image_prefetch_close(x->images);
  serve_known_clear(&x->known);
  x->device->ops->close(x->device);
  rt_compiler_close(x->compiler);
  str_clear(&x->device_key);
  db_close(x->db);
}

static void compile_for_library(bench *b, int jobs, double until) {
  ahead x = {.b = b};
  err e = {0};
  if (open_ahead(&x, jobs, &e) || compile_ahead(&x, until, &e)) {
    bench_give_up("compiling", e.message);
  }
  close_ahead(&x);
}

/* ---- all of them ---------------------------------------------------------------------------- */

typedef struct mean {
  double sum, worst;
  size_t n;
} mean;

static void add(mean *x, double ratio) {
  x->sum += log(ratio);
  x->worst = fmax(x->worst, ratio);
  x->n++;
}

static double of(const mean *x) {
  return x->n ? exp(x->sum / (double)x->n) : 0;
}

static void add_mean(const char *name, const mean *x) {
  printf(", \"%s\": {\"sizes\": %zu, \"mean\": %.4f, \"worst\": %.4f}", name, x->n, of(x),
         x->worst);
}

static double median_of(const bench *b, size_t offset) {
  double *x = calloc(b->sizes.n + 1, sizeof *x);
  size_t n = 0;
  for (size_t i = 0; x && i < b->sizes.n; i++) {
    if (b->all[i].done) {
      memcpy(&x[n++], (const char *)&b->all[i] + offset, sizeof *x);
    }
  }
  const double m = x ? bench_median(x, n) : 0;
  free(x);
  return m;
}

static void summarise(const bench *b) {
  mean all = {0}, same = {0}, other = {0}, loaders = {0}, plain = {0}, brief = {0}, long_ = {0};
  for (size_t i = 0; i < b->sizes.n; i++) {
    const measured *m = &b->all[i];
    if (m->done) {
      add(&all, m->ratio);
      add(m->same ? &same : &other, m->ratio);
      if (m->same) {
        add(m->loaders ? &loaders : &plain, m->ratio);
        add(m->served < SHORT_US ? &brief : &long_, m->ratio);
      }
    }
  }
  printf("{\"bench\": \"exported\", \"variants\": %d, \"sizes\": %zu, \"left\": %zu, "
         "\"ratio\": %.4f, \"worst\": %.4f",
         SGEMM_CONFIGS, all.n, b->sizes.n - all.n, of(&all), all.worst);
  add_mean("same_form", &same);
  add_mean("other_form", &other);
  add_mean("same_with_loading_warps", &loaders);
  add_mean("same_without", &plain);
  add_mean("same_under_10_us", &brief);
  add_mean("same_over_10_us", &long_);
  printf(", \"choice_us\": %.3f, \"choice_again_us\": %.3f, \"served_call_us\": %.3f, "
         "\"exported_call_us\": %.3f}\n",
         median_of(b, offsetof(measured, choice)), median_of(b, offsetof(measured, again)),
         median_of(b, offsetof(measured, served_call)),
         median_of(b, offsetof(measured, exported_call)));
}

/* ---- setting up ----------------------------------------------------------------------------- */

static CUdeviceptr matrix(size_t n) {
  enum { PIECE = 1 << 20 };
  static float piece[PIECE];
  CUdeviceptr at;
  must(cuMemAlloc(&at, n * sizeof(float)), "cuMemAlloc");
  for (size_t i = 0; i < n; i += PIECE) {
    for (size_t j = 0; !i && j < PIECE; j++) {
      piece[j] = (float)rand() / (float)RAND_MAX - 0.5f;
    }
    const size_t rest = n - i < PIECE ? n - i : PIECE;
    must(cuMemcpyHtoD(at + i * sizeof(float), piece, rest * sizeof(float)), "cuMemcpyHtoD");
  }
  return at;
}

static void make_matrices(bench *b) {
  int64_t most[3] = {0};
  for (size_t i = 0; i < b->sizes.n; i++) {
    const sgemm_problem p = exported_problem(&b->sizes.p[i]);
    const int64_t n[] = {p.m * p.k, p.k * p.n, p.m * p.n};
    for (int j = 0; j < 3; j++) {
      most[j] = n[j] > most[j] ? n[j] : most[j];
    }
  }
  b->a = matrix((size_t)most[0]);
  b->b = matrix((size_t)most[1]);
  b->c = matrix((size_t)most[2]);
}

static void draw(bench *b, const char *grid, size_t n, uint64_t seed) {
  err e = {0};
  if (gen_open(NULL, "sgemm", &b->t, &e) ||
      sample_sizes(b->t, grid, n, seed, false, &b->memory, &b->sizes, &e)) {
    bench_give_up("sizes", e.message);
  }
  b->all = calloc(b->sizes.n + 1, sizeof *b->all);
  b->left = calloc(2 * COMPARED, sizeof *b->left);
  if (!b->all || !b->left) {
    bench_give_up("setting up", "out of memory");
  }
  b->right = b->left + COMPARED;
}

static void set_up(bench *b) {
  CUdevice device;
  CUcontext context;
  tuned_error failed;
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(cuEventCreate(&b->from, CU_EVENT_DEFAULT), "cuEventCreate");
  must(cuEventCreate(&b->to, CU_EVENT_DEFAULT), "cuEventCreate");
  if (tuned_open(&b->ctx, NULL, &failed)) {
    bench_give_up("tuned_open", failed.message);
  }
  const double from = now_sec();
  must(sgemm_open(&b->kernels, device), "sgemm_open");
  fprintf(stderr, "bench_exported: the portfolio is open after %.2f s\n", now_sec() - from);
  make_matrices(b);
}

static void tear_down(bench *b) {
  sgemm_close(&b->kernels);
  tuned_close(b->ctx);
  gen_close(b->t);
  arena_clear(&b->memory);
  free(b->all);
  free(b->left);
}

/* The i-th word before the options, from 1. */
static const char *word(int argc, char **argv, int i, const char *otherwise) {
  for (int k = 1; k <= i && k < argc; k++) {
    if (!strncmp(argv[k], "--", 2)) {
      return otherwise;
    }
  }
  return i < argc ? argv[i] : otherwise;
}

int main(int argc, char **argv) {
  static bench b;
  const double started = now_sec(), sec = atof(bench_option(argc, argv, "--sec", "1e9"));
  b.json = bench_has(argc, argv, "--json");
  draw(&b, word(argc, argv, 3, "m=16..8192 n=16..8192 k=16..8192"),
       (size_t)atol(word(argc, argv, 1, "200")), (uint64_t)atol(word(argc, argv, 2, "112")));
  compile_for_library(&b, atoi(bench_option(argc, argv, "--jobs", "0")), started + sec / 2);
  set_up(&b);
  for (size_t i = 0; i < b.sizes.n && now_sec() - started < sec; i++) {
    if (b.all[i].ready) {
      run_size(&b, &b.sizes.p[i], &b.all[i]);
    }
  }
  fprintf(stderr, "bench_exported: %.1f s\n", now_sec() - started);
  summarise(&b);
  tear_down(&b);
  return 0;
}
