/* bench_unseen.c -- what the library serves for calls that nobody tuned, beside the vendor's library.
 *
 *   bench_unseen FAMILY... [--device 0|emu] [--n 200] [--seeds 3] [--commit HASH] [--threads 16]
 *                [--vs PEER|none] [--save ROWS.tsv] [--sec SECONDS] [--ready 120]
 *                [--tune SECONDS [--of 20] [--tuned-db FILE]] [--most NUMBER] [--draw "m=1..9 ..."]
 *
 * Draws N calls of each family for each seed, over all that its typed call may be given
 * (tuner/peers/call_draw.h, calls.txt): sizes, types, operators, leading dimensions, increments,
 * factors, addresses, kinds of data. The seeds are the number that the commit's hash begins with
 * (--commit, $COMMIT, or git) and the next ones, so nobody chooses them. --draw replaces the
 * family's lines.
 *
 * Database and cache of images begin empty, as on a machine where the library was just installed.
 * Every problem is first called once (`first`: milliseconds of tuned_find, tuned_launch and the wait
 * for the result; the peer's first call likewise), and its result compared with the template's
 * reference. When the best kernels are compiled (READY seconds at most), both are timed on the same
 * warm buffers, interleaved, on one stream, through tuned_launch: medians.
 *
 * --tune tunes the first problems (OF of all seeds together) for so many seconds each and times the
 * result beside the served kernel: what the choice loses.
 *
 * Prints, for each seed and for all: the geometric mean, the median, the 10th and 5th percentiles and
 * the worst of peer's time / ours, the share at least as fast, wrong results, and calls that failed;
 * how many times the floor, the larger of bytes / bandwidth and operations / peak rate, ours take;
 * then the calls that are slower, with their times and floors. --save appends a line a call with all there is to know; calls that
 * the file has are not run again, so the same command continues after --sec. Exit status 1 when a
 * result is wrong, 2 when calls are left.
 *
 * Without a GPU (--device emu) there is no peer: ranges end at 128, times are modelled, and results
 * are checked. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_case.h"
#include "bench_tools.h"
#include "bench_tune.h"
#include "bench_unseen.h"
#include "cached_compiler.h"
#include "call_draw.h"
#include "file.h"
#include "open_device.h"
#include "serve_handle.h"
#include "serve_context.h"

enum { CHUNK = 64, EMU_MOST = 128, ROUNDS = 21 };
static const double RACE_SEC = 0.03;

static tuned_error failure;

#define must(rc, what) bench_must(rc, what, failure.message)

static void must_inside(int rc, const char *what, const err *e) {
  bench_must(rc, what, e->message);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static void draw_seed(bench *b, size_t s, size_t first) {
  call_drawer *d;
  err e = {0};
  const int64_t most = b->emulated ? EMU_MOST : 0;
  const char *given = bench_option(b->argc, b->argv, "--most", NULL);
  must_inside(call_drawer_open(b->place.t, bench_option(b->argc, b->argv, "--draw", NULL),
                               given ? atoll(given) : most, b->seeds[s], &d, &e),
              b->family, &e);
  for (size_t i = 0; i < b->n; i++) {
    auto_str problem = {0};
    row *r = &b->rows[first + i];
    drawn_call *c = &b->calls[first + i];
    must_inside(call_draw(d, c, &e), b->family, &e);
    gen_problem_text(b->place.t, &c->p, &problem);
    *r = (row){.seed = b->seeds[s],
               .i = i,
               .problem = arena_text(&b->memory, str_text(&problem)),
               .call = arena_text(&b->memory, str_text(&c->text)),
               .note = ""};
  }
  call_drawer_close(d);
}

static void draw_all(bench *b) {
  b->n_rows = b->n * b->n_seeds;
  b->rows = calloc(b->n_rows + 1, sizeof *b->rows);
  b->calls = calloc(b->n_rows + 1, sizeof *b->calls);
  for (size_t s = 0; s < b->n_seeds; s++) {
    draw_seed(b, s, s * b->n);
  }
}

/* ---- tuning of the very problem -------------------------------------------------------------- */

static void tune_all(const bench *b) {
  for (size_t i = 0; i < b->n_rows && now_sec() < b->until; i++) {
    if (is_tuned(b, &b->rows[i]) && !b->rows[i].done) {
      bench_tune(&b->tuning, b->rows[i].problem);
    }
  }
}

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct served { /* the library, as an entrant of a case */
  const bench *b;
  row *r;
  tuned_kernel *k; /* NULL: not called yet */
} served;

static int launch_served(void *self, rt_stream s, const void *const *args, err *e) {
  served *x = self;
  tuned_error why = {0};
  const double from = now_sec();
  const bool first = !x->k;
  int rc = x->k ? 0 : tuned_find(x->b->ctx, x->r->problem, &x->k, &why);
  rc = rc ? rc : tuned_launch(x->k, s, args, &why);
  if (!rc && first && !x->r->first_ms) {
    rc = tuned_sync(x->b->ctx, s, &why);
    x->r->first_ms = 1e3 * (now_sec() - from);
  }
  return rc ? err_set(e, rc, "%s", why.message) : 0;
}

typedef struct first_launch { /* of a peer */
  const bench *b;
  row *r;
  rt_contender inner;
} first_launch;

static int launch_first(void *self, rt_stream s, const void *const *args, err *e) {
  first_launch *x = self;
  const double from = now_sec();
  TRY(x->inner.launch(x->inner.self, s, args, e));
  if (!x->r->peer_first_ms) {
    tuned_sync(x->b->ctx, s, NULL);
    x->r->peer_first_ms = 1e3 * (now_sec() - from);
  }
  return 0;
}

static void note(bench *b, row *r, const char *what, const err *e) {
  r->note = arena_format(&b->memory, "%s%s%s: %s", r->note, *r->note ? "; " : "", what, e->message);
  for (char *p = r->note; (p = strpbrk(p, "\t\n"));) {
    *p = ' ';
  }
}

/* A peer that does not support the call, or computes something else, is left out. */
static void add_peer(bench *b, row *r, bench_case *x) {
  err e = {0};
  if (!b->peer) {
    return;
  }
  if (bench_case_add_peer(x, b->peer, &e)) {
    note(b, r, "no peer", &e);
    return;
  }
  bench_entrant *n = &x->e[x->n - 1];
  first_launch first = {b, r, n->contender};
  n->contender = (rt_contender){launch_first, &first};
  const int rc = bench_case_check_one(x, n, &e);
  n->contender = first.inner;
  r->peer_error = n->error;
  snprintf(b->version, sizeof b->version, "%s", n->peer.version);
  if (n->differs) {
    note(b, r, "less exact peer", &(err){.message = ""});
  }
  if (rc) {
    note(b, r, "peer left out", &e);
    peer_close(&n->peer);
    x->n--;
  }
}

static int open_call(bench *b, size_t i, served *s, rt_captured *data, gen_instance **g,
                     bench_case *x, err *e) {
  const drawn_call *c = &b->calls[i];
  TRY(rt_instance_new(b->place.t, &c->p, &b->place.device->info, g, e));
  TRY(drawn_call_data(c, *g, b->place.t, data, e));
  TRY(bench_case_open_on(x, &b->place, &c->p, data, e));
  TRY(bench_case_add_launch(x, (rt_contender){launch_served, s}, "ours", e));
  const int rc = bench_case_check_one(x, &x->e[0], e);
  b->rows[i].error = x->e[0].error;
  b->rows[i].wrong |= rc == ERR_WRONG;
  return rc;
}

static void fill_info(bench *b, row *r, tuned_kernel *k) {
  tuned_kernel_info info;
  must(tuned_info(k, &info, &failure), "tuned_info");
  r->origin = arena_text(&b->memory, tuned_origin_name(info.origin));
  r->tuned_for = info.tuned_problem ? arena_text(&b->memory, info.tuned_problem) : NULL;
  r->config = arena_text(&b->memory, info.config);
  r->expected_loss = info.expected_loss;
}

/* Products of 16 bits in tensor cores: 16 times the rate of FP32 FMAs on an A100, H100 and H200. */
static double rate_of(const gen_template *t, const gen_problem *p) {
  for (size_t i = 0; i < t->n_fields && !strcmp(t->name, "gemm"); i++) {
    if (!strcmp(t->fields[i].name, "dtype")) {
      const char *name = t->fields[i].names[p->values[i].i];
      return strcmp(name, "f16") && strcmp(name, "bf16") ? 1 : 16;
    }
  }
  return 1;
}

/* Of f64 the rate is that of f32, as in the tensor cores of compute capability 9.0. */
static void find_floor(bench *b, size_t i, gen_instance *g) {
  const rt_info *d = &b->place.device->info;
  row *r = &b->rows[i];
  const gen_plan *plan;
  gen_config config;
  if (!gen_config_parse(b->place.t, r->config, &config, NULL) &&
      !gen_plan_make(g, &config, &b->memory, &plan, NULL)) {
    const double rate = rt_peak_flops(d) * rate_of(b->place.t, &b->calls[i].p);
    r->floor = fmax(plan->flops / rate, plan->bytes / rt_peak_bandwidth(d));
  }
}

static void add_tuned(bench *b, row *r, bench_case *x) {
  gen_config config;
  err e = {0};
  if (is_tuned(b, r) && (bench_tuned_config(&b->tuning, b->place.t, r->problem, &config, &e) ||
                         bench_case_add(x, &config, "tuned", &e))) {
    note(b, r, "tuned", &e);
  }
}

static int race(bench *b, row *r, bench_case *x, err *e) {
  const rt_timing how = {.target_sec = RACE_SEC, .hot = true};
  add_tuned(b, r, x);
  add_peer(b, r, x);
  TRY(bench_case_race(x, ROUNDS, &how, e));
  for (size_t i = 0; i < x->n; i++) {
    const bench_entrant *n = &x->e[i];
    *(i == 0 ? &r->ours : n->is_peer ? &r->peer : &r->tuned) = n->times.median;
  }
  return 0;
}

/* timed: after its first call */
static void run_call(bench *b, size_t i, bool timed) {
  row *r = &b->rows[i];
  served s = {.b = b, .r = r};
  rt_captured data = {0};
  auto_instance *g = NULL;
  bench_case x = {0};
  err e = {0};
  int rc = open_call(b, i, &s, &data, &g, &x, &e);
  if (!rc && timed) {
    fill_info(b, r, s.k);
    find_floor(b, i, g);
    rc = race(b, r, &x, &e);
  }
  if (rc) {
    note(b, r, r->wrong ? "wrong" : "failed", &e);
    fprintf(stderr, "bench_unseen: %s %s: %s\n", b->family, r->call, e.message);
  }
  bench_case_close(&x);
  rt_captured_close(&data);
  r->failed = rc && !r->wrong;
  r->done = timed || rc;
  if (r->done) {
    save_row(b, r);
  }
  bench_must(b->place.device->dead, b->family, "the device is lost; the same command continues");
}

/* ---- the library ----------------------------------------------------------------------------- */

/* Its own device: its kernels are launched on these buffers. A context keeps the scratch memory of all
 * its kernels, so it serves a chunk of calls only.
 *   in  wait  for the best kernels, which the context before has compiled */
static void open_library(bench *b, bool wait) {
  const tuned_options o = {.device = strcmp(b->device, "0") ? b->device : NULL,
                           .threads = atoi(bench_option(b->argc, b->argv, "--threads", "16")),
                           .wait = wait || b->emulated};
  serve *s;
  err e = {0};
  bench_open_driver(b->device);
  must(tuned_open(&b->ctx, &o, &failure), "tuned_open");
  must_inside(serve_of(b->ctx, &s, &e), "the context", &e);
  b->place.device = s->device;
  snprintf(b->device_name, sizeof b->device_name, "%s", s->device->info.name);
  must_inside(cached_compiler_open(&b->place.compiler, &e), "the compiler", &e);
  must_inside(rt_checker_new(s->device, b->place.compiler, &b->place.checker, &e), "checks", &e);
}

static void close_library(bench *b) {
  rt_checker_free(b->place.checker);
  rt_compiler_close(b->place.compiler);
  tuned_close(b->ctx);
  b->ctx = NULL;
}

/* ---- a family -------------------------------------------------------------------------------- */

static void wait_for_best(bench *b, const size_t *list, size_t n) {
  enum { POLL_US = 20000 };
  const double until = now_sec() + b->ready_sec;
  for (size_t i = 0; i < n;) {
    tuned_kernel *k;
    tuned_kernel_info info = {0};
    const bool failed =
        tuned_find(b->ctx, b->rows[list[i]].problem, &k, NULL) || tuned_info(k, &info, NULL);
    if (failed || !info.better_pending || now_sec() > until) {
      i++;
    } else {
      usleep(POLL_US);
    }
  }
}

static size_t next_chunk(const bench *b, size_t *at, size_t list[CHUNK]) {
  size_t n = 0;
  for (; *at < b->n_rows && n < CHUNK; ++*at) {
    if (!b->rows[*at].done) {
      list[n++] = *at;
    }
  }
  return n;
}

static void run_calls(bench *b) {
  size_t at = 0, list[CHUNK], n;
  while ((n = next_chunk(b, &at, list)) && now_sec() < b->until) {
    open_library(b, false);
    for (size_t i = 0; i < n; i++) {
      run_call(b, list[i], false);
    }
    wait_for_best(b, list, n);
    close_library(b);
    open_library(b, true);
    for (size_t i = 0; i < n && now_sec() < b->until; i++) {
      if (!b->rows[list[i]].done) {
        run_call(b, list[i], true);
      }
    }
    close_library(b);
  }
}

static void find_peer(bench *b) {
  static const char *const names[] = {"cublas", "cub", "driver", "cudnn", "npp", "textbook"};
  err e = {0};
  b->peer = NULL;
  if (b->emulated || (b->vs && !strcmp(b->vs, "none"))) {
    return;
  }
  if (b->vs) {
    must_inside(peer_find(b->vs, b->place.t, &b->peer, &e), b->vs, &e);
  }
  for (size_t i = 0; !b->vs && !b->peer && i < sizeof names / sizeof *names; i++) {
    if (peer_find(names[i], b->place.t, &b->peer, NULL)) {
      b->peer = NULL;
    }
  }
}

static void prepare_peer(bench *b) {
  gen_problem *list = calloc(b->n_rows + 1, sizeof *list);
  err e = {0};
  for (size_t i = 0; i < b->n_rows; i++) {
    list[i] = b->calls[i].p;
  }
  if (b->peer && peer_prepare(b->peer, b->place.t, list, b->n_rows, b->place.device, &e)) {
    fprintf(stderr, "bench_unseen: no peer: %s\n", e.message);
    b->peer = NULL;
  }
  free(list);
}

static void close_family(bench *b) {
  gen_close(b->place.t);
  for (size_t i = 0; i < b->n_rows; i++) {
    drawn_call_clear(&b->calls[i]);
  }
  free(b->rows);
  free(b->calls);
  arena_clear(&b->memory);
  b->place = (bench_place){0};
}

/* Returns the calls that are left; *wrong: results. */
static size_t run_family(bench *b, const char *family, size_t *wrong) {
  char cache[100];
  err e = {0};
  b->family = family;
  b->version[0] = 0;
  snprintf(cache, sizeof cache, "%s/%s", b->folder, family);
  setenv("TUNED_CACHE", cache, 1);
  must_inside(gen_open(NULL, family, &b->place.t, &e), family, &e);
  find_peer(b);
  draw_all(b);
  read_rows(b);
  tune_all(b);
  open_library(b, true);
  prepare_peer(b);
  close_library(b);
  run_calls(b);
  print_family(b);
  const size_t left = b->n_rows - COUNT(b, 0, done);
  *wrong += COUNT(b, 0, wrong);
  close_family(b);
  return left;
}

/* ---- main ------------------------------------------------------------------------------------ */

/* The first 12 hexadecimal digits of the commit. */
static uint64_t first_seed(const bench *b) {
  char hash[80] = "";
  const char *given = bench_option(b->argc, b->argv, "--commit", getenv("COMMIT"));
  FILE *git = given ? NULL : popen("git rev-parse HEAD 2>/dev/null", "r");
  if (git) {
    given = fgets(hash, sizeof hash, git) ? hash : NULL;
    pclose(git);
  }
  if (!given || !strspn(given, "0123456789abcdef")) {
    bench_give_up("seeds", "--commit HASH, since this is not a checkout");
  }
  char digits[13];
  snprintf(digits, sizeof digits, "%.12s", given);
  return strtoull(digits, NULL, 16);
}

static void set_up(bench *b) {
  const char *sec = bench_option(b->argc, b->argv, "--sec", "1e9");
  const char *tuned = bench_option(b->argc, b->argv, "--tuned-db", NULL);
  const uint64_t first = first_seed(b);
  b->device = bench_option(b->argc, b->argv, "--device", "0");
  b->emulated = rt_names_emulator(b->device);
  b->vs = bench_option(b->argc, b->argv, "--vs", NULL);
  b->save = bench_option(b->argc, b->argv, "--save", NULL);
  b->n = (size_t)atol(bench_option(b->argc, b->argv, "--n", b->emulated ? "3" : "200"));
  b->n_seeds = (size_t)atol(bench_option(b->argc, b->argv, "--seeds", "3"));
  b->n_seeds = b->n_seeds < SEEDS_MOST ? b->n_seeds : SEEDS_MOST;
  b->of = (size_t)atol(bench_option(b->argc, b->argv, "--of", "20"));
  b->ready_sec = atof(bench_option(b->argc, b->argv, "--ready", "120"));
  b->until = now_sec() + atof(sec);
  for (size_t i = 0; i < b->n_seeds; i++) {
    b->seeds[i] = first + i;
  }
  snprintf(b->folder, sizeof b->folder, "/tmp/bench-unseen-XXXXXX");
  bench_must(!mkdtemp(b->folder), b->folder, strerror(errno));
  setenv("TUNED_DB", arena_format(&b->names, "%s/none.db", b->folder), 1);
  b->tuning =
      (bench_tuning){.device = b->device,
                     .sec = atof(bench_option(b->argc, b->argv, "--tune", "0")),
                     .db = tuned ? tuned : arena_format(&b->names, "%s/tuned.db", b->folder),
                     .cache = arena_format(&b->names, "%s/tuning", b->folder)};
}

static void tear_down(bench *b) {
  auto_str command = {0};
  str_addf(&command, "rm -rf '%s'", b->folder);
  if (system(str_text(&command))) {
    fprintf(stderr, "bench_unseen: %s is left\n", b->folder);
  }
  arena_clear(&b->names);
}

int main(int argc, char **argv) {
  static bench b;
  size_t left = 0, wrong = 0, n = 0;
  b.argc = argc;
  b.argv = argv;
  if (argc < 2 || argv[1][0] == '-') {
    fprintf(stderr, "usage: bench_unseen FAMILY... [--device D] [--n N] [--save ROWS.tsv] ...\n");
    return 1;
  }
  set_up(&b);
  for (int i = 1; i < argc && argv[i][0] != '-'; i++, n++) {
    left += run_family(&b, argv[i], &wrong);
  }
  tear_down(&b);
  return wrong ? 1 : left ? 2 : 0;
}
