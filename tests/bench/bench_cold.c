/* bench_cold.c -- what a program waits for on a machine where nothing is tuned and nothing compiled.
 *
 *   bench_cold [--device 0|emu] [--sizes 200] [--most 8192] [--threads 16] [--sec 60] [--seed 1]
 *              [--processes 10] [--shared 20] [--launch 0|1]
 *
 * The sizes are of sgemm: m, n and k log-uniform in 16 to MOST, a quarter of each operand
 * transposed, three tenths with padded leading dimensions. The program makes folders of its own for
 * the database and the cache of images, both empty, and runs three phases, each in new processes,
 * with a line of JSON each:
 *
 *   first process   first calls of all sizes; then how long until all best kernels are in place, of
 *                   THREADS compiling in the background, SEC at most
 *   next process    the same sizes, with the cache that the first left
 *   together        an empty cache again: PROCESSES begin at the same moment with the first calls of
 *                   SHARED sizes, and end when their best kernels are in place
 *
 * call_ms is the time of the typed call until it returns: mostly for choosing the configuration,
 * making its source, finding an image of it and loading that, whose medians follow. extra_ms is the
 * time until the result is there, less that of the same call made again. Opening the driver is not
 * part of either. Some
 * elements of every result are compared with sums in double precision, of the first kernel and of
 * the last. With --launch 0 the call is tuned_find, and nothing is launched: so an emulated device
 * takes large sizes, too. "compiled" counts what NVRTC made, "distinct" the different images among these.
 *
 * On a GPU the exit status is 1 when the results miss the aims: in the first process a median of
 * 2 ms, a worst call of 20 ms, and all best kernels in place after SEC; in the next a median of
 * 0.5 ms; together no image compiled twice, and no call of 50 ms. It is 1 on any device when a result
 * is wrong or an image was compiled twice. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base_set.h"
#include "bench_tools.h"
#include "compile.h"
#include "file.h"
#include "random.h"
#include "ready_images.h"
#include "run.h"
#include "serve_choose.h"
#include "serve_context.h"
#include "serve_kernel.h"

enum { SIZES_MOST = 400, IMAGES_MOST = 1500, PROCESSES_MOST = 32, PAD_MOST = 32, SAMPLES = 4 };

typedef struct size {
  int64_t m, n, k, lda, ldb, ldc;
  char ta, tb;
} size;

typedef struct bench {
  const char *device;
  size_t n_sizes, n_shared, n_processes;
  int64_t most;
  int threads;
  double limit_sec;
  bool launches; /* the typed call is timed, else tuned_find */
  uint64_t seed;
  size sizes[SIZES_MOST];
  float *a, *b; /* on the host */
  size_t nbytes;
  char folder[64];
} bench;

enum { CHOOSE, SOURCE, FIND, LOAD, PARTS };

/* What a process tells its parent. */
typedef struct report {
  double driver_ms, open_ms, close_ms;
  double call_ms[SIZES_MOST], extra_ms[SIZES_MOST], part_ms[PARTS][SIZES_MOST];
  double
      best_sec; /* from the first call until all best kernels were in place, or the time was up */
  int64_t pending, wrong;
  char wrong_at[100], base_set[200];
  size_t n_compiled;
  char keys[IMAGES_MOST][HASH_TEXT];
} report;

static tuned_error failure;

#define must(rc, what) bench_must(rc, what, failure.message)

/* ---- what is compiled ----------------------------------------------------------------------- */

static report *compiling; /* of this process */
static pthread_mutex_t compiled_lock = PTHREAD_MUTEX_INITIALIZER;

/* The linker puts this in the place of rt_compile (--wrap). */
int __real_rt_compile(rt_compiler *c, const rt_source *s, arena *a, rt_image *image, err *e);
int __wrap_rt_compile(rt_compiler *c, const rt_source *s, arena *a, rt_image *image, err *e);
int __wrap_rt_compile(rt_compiler *c, const rt_source *s, arena *a, rt_image *image, err *e) {
  const int rc = __real_rt_compile(c, s, a, image, e);
  pthread_mutex_lock(&compiled_lock);
  if (!rc && image->sec > 0 && compiling && compiling->n_compiled < IMAGES_MOST) {
    memcpy(compiling->keys[compiling->n_compiled++], image->key, HASH_TEXT);
  }
  pthread_mutex_unlock(&compiled_lock);
  return rc;
}

static int by_key(const void *a, const void *b) {
  return memcmp(a, b, HASH_TEXT);
}

static size_t count_distinct(char (*keys)[HASH_TEXT], size_t n) {
  size_t distinct = 0;
  qsort(keys, n, HASH_TEXT, by_key);
  for (size_t i = 0; i < n; i++) {
    distinct += !i || memcmp(keys[i], keys[i - 1], HASH_TEXT);
  }
  return distinct;
}

/* ---- where the time of a call goes ---------------------------------------------------------- */

static _Thread_local double part_sec[PARTS];

/* The same for functions whose time is counted, in each thread by itself. */
#define TIMED(type, name, part, params, args)                                                      \
  type __real_##name params;                                                                       \
  type __wrap_##name params;                                                                       \
  type __wrap_##name params {                                                                      \
    const double from = now_sec();                                                                 \
    const type result = __real_##name args;                                                        \
    part_sec[part] += now_sec() - from;                                                            \
    return result;                                                                                 \
  }

TIMED(int, serve_choose_next, CHOOSE, (serve_choose * c, serve_pick *pick, err *e), (c, pick, e))
TIMED(int, gen_source_make, SOURCE,
      (gen_instance * g, const gen_config *c, str *out, size_t *body, err *e), (g, c, out, body, e))
TIMED(bool, ready_images_find, FIND,
      (ready_images * r, const rt_source *source, const char *hash, const rt_info *device, arena *a,
       ready_image *out),
      (r, source, hash, device, a, out))
TIMED(int, rt_loaded_new, LOAD,
      (rt_device * d, const void *image, size_t nbytes, const gen_template *t, const gen_plan *plan,
       rt_loaded **out, err *e),
      (d, image, nbytes, t, plan, out, e))

/* ---- sizes ---------------------------------------------------------------------------------- */

static int64_t draw_side(bench *b) {
  return (int64_t)floor(16 * exp2(random_unit(&b->seed) * log2((double)b->most / 16)));
}

static void draw_size(bench *b, size *s) {
  *s = (size){.m = draw_side(b), .n = draw_side(b), .k = draw_side(b)};
  s->ta = random_below(&b->seed, 4) ? 'n' : 't';
  s->tb = random_below(&b->seed, 4) ? 'n' : 't';
  const bool padded = random_below(&b->seed, 10) < 3;
  const int64_t pad = padded ? 1 + (int64_t)random_below(&b->seed, PAD_MOST) : 0;
  s->lda = (s->ta == 'n' ? s->m : s->k) + pad;
  s->ldb = (s->tb == 'n' ? s->k : s->n) + pad;
  s->ldc = s->m + pad;
}

static void size_text(const size *s, char *out, size_t n) {
  snprintf(out, n, "m=%lld n=%lld k=%lld ta=%c tb=%c lda=%lld", (long long)s->m, (long long)s->n,
           (long long)s->k, s->ta, s->tb, (long long)s->lda);
}

static void fill(bench *b) {
  const size_t n = b->nbytes / sizeof *b->a;
  for (size_t i = 0; i < n; i++) {
    b->a[i] = (float)(2 * random_unit(&b->seed) - 1);
    b->b[i] = (float)(2 * random_unit(&b->seed) - 1);
  }
}

/* ---- one process ---------------------------------------------------------------------------- */

typedef struct process {
  const bench *b;
  report *r;
  tuned_context *ctx;
  float *at[3];
  double first_call; /* when */
} process;

static double since_ms(double from) {
  return 1e3 * (now_sec() - from);
}

static void open_context(process *p) {
  const bench *b = p->b;
  const tuned_options o = {.device = strcmp(b->device, "0") ? b->device : NULL,
                           .threads = b->threads};
  const void *const from[3] = {b->a, b->b, b->a};
  double begin = now_sec();
  bench_open_driver(b->device);
  p->r->driver_ms = since_ms(begin);
  begin = now_sec();
  must(tuned_open(&p->ctx, &o, &failure), "tuned_open");
  p->r->open_ms = since_ms(begin);
  for (int i = 0; b->launches && i < 3; i++) {
    void *at;
    must(tuned_alloc(p->ctx, b->nbytes, &at, &failure), "tuned_alloc");
    must(tuned_copy_to_device(p->ctx, at, from[i], b->nbytes, &failure), "tuned_copy_to_device");
    p->at[i] = at;
  }
}

static int align_of(int64_t ld) {
  return ld % 4 == 0 ? 4 : ld % 2 == 0 ? 2 : 1;
}

/* The problem of the call. */
static void find(process *p, const size *s) {
  char problem[200];
  tuned_kernel *ignored;
  snprintf(problem, sizeof problem,
           "sgemm m=%lld n=%lld k=%lld ta=%c tb=%c align=%d align_a=%d align_b=%d alpha_is=1 "
           "beta_is=0",
           (long long)s->m, (long long)s->n, (long long)s->k, s->ta, s->tb, align_of(s->ldc),
           align_of(s->lda), align_of(s->ldb));
  must(tuned_find(p->ctx, problem, &ignored, &failure), "tuned_find");
}

static void call(process *p, const size *s) {
  if (!p->b->launches) {
    find(p, s);
    return;
  }
  must(tuned_sgemm(p->ctx, NULL, s->ta, s->tb, s->m, s->n, s->k, 1, p->at[0], s->lda, p->at[1],
                   s->ldb, 0, p->at[2], s->ldc, &failure),
       "tuned_sgemm");
}

static void wait_for_result(process *p) {
  must(tuned_sync(p->ctx, NULL, &failure), "waiting");
}

static void clear_result(process *p, const size *s) {
  if (!p->b->launches) {
    return;
  }
  must(tuned_zero(p->ctx, NULL, p->at[2], (size_t)(s->ldc * s->n) * sizeof(float), &failure),
       "tuned_zero");
  wait_for_result(p);
}

static bool is_right(process *p, const size *s, int64_t i, int64_t j) {
  const bench *b = p->b;
  double sum = 0, size_of_sum = 0;
  float c;
  for (int64_t l = 0; l < s->k; l++) {
    const double x = b->a[s->ta == 'n' ? i + l * s->lda : l + i * s->lda];
    const double y = b->b[s->tb == 'n' ? l + j * s->ldb : j + l * s->ldb];
    sum += x * y;
    size_of_sum += fabs(x * y);
  }
  must(tuned_copy_to_host(p->ctx, &c, p->at[2] + i + j * s->ldc, sizeof c, &failure),
       "tuned_copy_to_host");
  return fabs(c - sum) <= (double)(s->k + 8) * 0x1p-24 * size_of_sum;
}

static void check_result(process *p, const size *s, uint64_t seed) {
  bool right = true;
  for (int i = 0; p->b->launches && i < SAMPLES; i++) {
    right &= is_right(p, s, (int64_t)random_below(&seed, (size_t)s->m),
                      (int64_t)random_below(&seed, (size_t)s->n));
  }
  if (!right && !p->r->wrong++) {
    size_text(s, p->r->wrong_at, sizeof p->r->wrong_at);
  }
}

static void time_first_call(process *p, size_t i) {
  const size *s = &p->b->sizes[i];
  clear_result(p, s);
  memset(part_sec, 0, sizeof part_sec);
  double from = now_sec();
  call(p, s);
  p->r->call_ms[i] = since_ms(from);
  for (int part = 0; part < PARTS; part++) {
    p->r->part_ms[part][i] = 1e3 * part_sec[part];
  }
  wait_for_result(p);
  const double with_result = since_ms(from);
  check_result(p, s, i);
  from = now_sec();
  call(p, s);
  wait_for_result(p);
  p->r->extra_ms[i] = with_result - since_ms(from);
}

/* Kernels whose better one is on its way. */
static int64_t count_pending(process *p) {
  serve *s;
  err e = {0};
  int64_t n = 0;
  if (serve_of(p->ctx, &s, &e)) {
    bench_give_up("the context", e.message);
  }
  pthread_mutex_lock(&s->lock);
  tuned_kernel *newest = s->newest; /* kernels stay until the context is closed */
  pthread_mutex_unlock(&s->lock);
  for (tuned_kernel *k = newest; k; k = k->next) {
    tuned_kernel_info info;
    must(tuned_info(k, &info, &failure), "tuned_info");
    n += info.better_pending;
  }
  return n;
}

static void wait_for_best(process *p) {
  enum { POLL_US = 5000 };
  while ((p->r->pending = count_pending(p)) && now_sec() - p->first_call < p->b->limit_sec) {
    usleep(POLL_US);
  }
  p->r->best_sec = now_sec() - p->first_call;
}

static void call_again(process *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    clear_result(p, &p->b->sizes[i]);
    call(p, &p->b->sizes[i]);
    wait_for_result(p);
    check_result(p, &p->b->sizes[i], i);
  }
}

static void find_base_set(report *r) {
  base_set *base = base_set_open(NULL);
  snprintf(r->base_set, sizeof r->base_set, "%s", base ? base_set_path(base) : "");
  base_set_close(base);
}

/* in, out: a byte is sent when the process is ready, and comes when it may begin; -1: at once */
static void run_process(const bench *b, size_t n, int out, int in, report *r) {
  process p = {.b = b, .r = r};
  char byte = 0;
  compiling = r;
  find_base_set(r);
  open_context(&p);
  if (in >= 0 && (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)) {
    bench_give_up("a process", "its parent is gone");
  }
  p.first_call = now_sec();
  for (size_t i = 0; i < n; i++) {
    time_first_call(&p, i);
  }
  wait_for_best(&p);
  call_again(&p, n);
  const double from = now_sec();
  tuned_close(p.ctx);
  r->close_ms = since_ms(from);
}

/* ---- processes ------------------------------------------------------------------------------ */

typedef struct child {
  pid_t pid;
  int from, to; /* pipes */
} child;

/* The parent opens no device, so a child need not be another program. */
static child start(const bench *b, size_t n, bool waits) {
  int up[2], down[2];
  if (pipe(up) || pipe(down)) {
    bench_give_up("pipe", strerror(errno));
  }
  const pid_t pid = fork();
  if (!pid) {
    report *r = calloc(1, sizeof *r);
    close(up[0]);
    close(down[1]);
    run_process(b, n, up[1], waits ? down[0] : -1, r);
    for (size_t at = 0; at < sizeof *r;) {
      const ssize_t sent = write(up[1], (const char *)r + at, sizeof *r - at);
      at += sent > 0 ? (size_t)sent : (_exit(1), 0);
    }
    _exit(0);
  }
  close(up[1]);
  close(down[0]);
  return (child){.pid = pid, .from = up[0], .to = down[1]};
}

static void receive(int fd, void *bytes, size_t n) {
  for (size_t at = 0; at < n;) {
    const ssize_t got = read(fd, (char *)bytes + at, n - at);
    if (got <= 0) {
      bench_give_up("a process", "failed");
    }
    at += (size_t)got;
  }
}

static void collect(const child *c, report *r) {
  int status;
  receive(c->from, r, sizeof *r);
  close(c->from);
  close(c->to);
  waitpid(c->pid, &status, 0);
}

/* ---- phases --------------------------------------------------------------------------------- */

static void use_empty_cache(const bench *b, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", b->folder, name);
  setenv("TUNED_CACHE", path, 1);
  snprintf(path, sizeof path, "%s/none.db", b->folder);
  setenv("TUNED_DB", path, 1);
}

static size_t worst_of(const double *list, size_t n) {
  size_t worst = 0;
  for (size_t i = 1; i < n; i++) {
    worst = list[i] > list[worst] ? i : worst;
  }
  return worst;
}

static double median_of(const double *list, size_t n) {
  double sorted[SIZES_MOST];
  memcpy(sorted, list, n * sizeof *list);
  return bench_median(sorted, n);
}

static void print_call(const bench *b, const report *r) {
  static const char *const names[] = {"choose", "source", "find", "load"};
  char where[100];
  const size_t n = b->n_sizes, worst = worst_of(r->call_ms, n);
  size_text(&b->sizes[worst], where, sizeof where);
  printf("\"call_ms\": %.3f, \"call_worst_ms\": %.2f, \"worst_at\": \"%s\"",
         median_of(r->call_ms, n), r->call_ms[worst], where);
  for (int part = 0; part < PARTS; part++) {
    printf(", \"%s_ms\": %.3f", names[part], median_of(r->part_ms[part], n));
  }
}

static void print_phase(const bench *b, const char *phase, const report *r) {
  const size_t n = b->n_sizes;
  printf("{\"bench\": \"cold\", \"phase\": \"%s\", \"device\": \"%s\", \"base_set\": \"%s\", "
         "\"sizes\": %zu, \"driver_ms\": %.1f, \"open_ms\": %.2f, ",
         phase, b->device, r->base_set, n, r->driver_ms, r->open_ms);
  print_call(b, r);
  printf(", \"extra_ms\": %.3f, \"extra_worst_ms\": %.2f, \"threads\": %d, \"best_sec\": %.2f, "
         "\"pending\": %lld, \"compiled\": %zu, \"close_ms\": %.1f, \"wrong\": %lld, "
         "\"wrong_at\": \"%s\"}\n",
         median_of(r->extra_ms, n), r->extra_ms[worst_of(r->extra_ms, n)], b->threads, r->best_sec,
         (long long)r->pending, r->n_compiled, r->close_ms, (long long)r->wrong, r->wrong_at);
  fflush(stdout);
}

static report *run_alone(const bench *b, const char *phase) {
  report *r = calloc(1, sizeof *r);
  const child c = start(b, b->n_sizes, false);
  collect(&c, r);
  print_phase(b, phase, r);
  return r;
}

typedef struct together {
  double worst_ms, best_sec;
  int64_t pending, wrong;
  size_t n_compiled, n_distinct;
} together;

static together run_together(const bench *b) {
  child children[PROCESSES_MOST];
  report *r = calloc(1, sizeof *r);
  char(*keys)[HASH_TEXT] = calloc(b->n_processes * IMAGES_MOST, HASH_TEXT), byte;
  together all = {0};
  for (size_t i = 0; i < b->n_processes; i++) {
    children[i] = start(b, b->n_shared, true);
  }
  for (size_t i = 0; i < b->n_processes; i++) {
    receive(children[i].from, &byte, 1);
  }
  for (size_t i = 0; i < b->n_processes; i++) {
    (void)!write(children[i].to, &byte, 1);
  }
  for (size_t i = 0; i < b->n_processes; i++) {
    collect(&children[i], r);
    all.worst_ms = fmax(all.worst_ms, r->call_ms[worst_of(r->call_ms, b->n_shared)]);
    all.best_sec = fmax(all.best_sec, r->best_sec);
    all.pending += r->pending;
    all.wrong += r->wrong;
    memcpy(keys[all.n_compiled], r->keys, r->n_compiled * HASH_TEXT);
    all.n_compiled += r->n_compiled;
  }
  all.n_distinct = count_distinct(keys, all.n_compiled);
  free(keys);
  free(r);
  return all;
}

static void print_together(const bench *b, const together *all) {
  printf("{\"bench\": \"cold\", \"phase\": \"together\", \"device\": \"%s\", \"processes\": %zu, "
         "\"sizes\": %zu, \"call_worst_ms\": %.2f, \"threads\": %d, \"best_sec\": %.2f, "
         "\"pending\": %lld, \"compiled\": %zu, \"distinct\": %zu, \"wrong\": %lld}\n",
         b->device, b->n_processes, b->n_shared, all->worst_ms, b->threads, all->best_sec,
         (long long)all->pending, all->n_compiled, all->n_distinct, (long long)all->wrong);
}

/* ---- main ----------------------------------------------------------------------------------- */

static size_t bounded(size_t v, size_t most) {
  return v < most ? v : most;
}

static void read_options(bench *b, int argc, char **argv) {
  b->device = bench_option(argc, argv, "--device", "0");
  const bool emulated = !strncmp(b->device, "emu", 3);
  b->launches = atoi(bench_option(argc, argv, "--launch", "1"));
  const bool small = emulated && b->launches;
  const char *sizes = bench_option(argc, argv, "--sizes", small ? "12" : "200");
  b->n_sizes = bounded((size_t)atoi(sizes), SIZES_MOST);
  b->most = atoi(bench_option(argc, argv, "--most", small ? "48" : "8192"));
  b->threads = atoi(bench_option(argc, argv, "--threads", emulated ? "2" : "16"));
  b->limit_sec = atof(bench_option(argc, argv, "--sec", "60"));
  b->seed = (uint64_t)atoll(bench_option(argc, argv, "--seed", "1"));
  b->n_processes =
      bounded((size_t)atoi(bench_option(argc, argv, "--processes", "10")), PROCESSES_MOST);
  b->n_shared = bounded((size_t)atoi(bench_option(argc, argv, "--shared", emulated ? "4" : "20")),
                        b->n_sizes);
}

static void prepare(bench *b) {
  for (size_t i = 0; i < b->n_sizes; i++) {
    draw_size(b, &b->sizes[i]);
  }
  b->nbytes = b->launches ? (size_t)(b->most * (b->most + PAD_MOST)) * sizeof(float) : 1;
  b->a = malloc(b->nbytes);
  b->b = malloc(b->nbytes);
  snprintf(b->folder, sizeof b->folder, "/tmp/bench_cold.XXXXXX");
  if (!b->a || !b->b || !mkdtemp(b->folder)) {
    bench_give_up("preparing", strerror(errno));
  }
  fill(b);
}

static void remove_folder(const bench *b) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", b->folder);
  (void)!system(command);
}

int main(int argc, char **argv) {
  static bench b;
  read_options(&b, argc, argv);
  prepare(&b);
  use_empty_cache(&b, "first");
  report *first = run_alone(&b, "first process");
  report *next = run_alone(&b, "next process");
  use_empty_cache(&b, "together");
  const together all = run_together(&b);
  print_together(&b, &all);
  remove_folder(&b);
  const bool right =
      !first->wrong && !next->wrong && !all.wrong && all.n_compiled == all.n_distinct;
  const bool in_time = median_of(first->call_ms, b.n_sizes) <= 2 &&
                       first->call_ms[worst_of(first->call_ms, b.n_sizes)] <= 20 &&
                       !first->pending && median_of(next->call_ms, b.n_sizes) <= 0.5 &&
                       all.worst_ms <= 50;
  return right && (in_time || !strncmp(b.device, "emu", 3)) ? 0 : 1;
}
