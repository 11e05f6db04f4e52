/* bench_portfolio.c -- what a portfolio loses at sizes it has never seen, and how it compares with
 * the vendor's library.
 *
 *   bench_portfolio FAMILY GRID N SEED OUT [--device 0] [--vs cublas] [--sec 90] [--part 1/2]
 *                   [--jobs 16] [--tune SECONDS --tuned-db FILE [--of 20]]
 *
 * N sizes are drawn log-uniformly from GRID ("m=16..8192 ..."). Each has an interleaved race of the
 * kernel that libtuned serves from the database ($TUNED_DB), every configuration of the portfolio
 * as it fits the size, the configuration of the nearest tuned problem, and the vendor's kernel: a
 * short race of all, then a long one of those near the best. OUT gets a line of JSON for each size
 * at once; sizes that it has already are skipped, so the same command continues where it was cut
 * off, after --sec seconds at the latest. Two devices share the work as parts 1/2 and 2/2 with the
 * same OUT; --sec 0 then sums up.
 *
 * --tune first tunes the OF first sizes for so many seconds each, into FILE, where the same command
 * finds them again; the result joins the race. This is the loss to be told: members of a portfolio are
 * not the best for a size.
 *
 * Prints the geometric mean and the worst of: served over the best of the portfolio, served over what
 * tuning found, nearest over the best of the portfolio, the vendor over served; the number of sizes that lose more than 10, 20, 30 %, and of
 * those at which the vendor is no faster; and where the seconds went. Exit status 2 when sizes are
 * left. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "bench_tune.h"
#include "sizes.h"
#include "file.h"
#include "image_prefetch.h"
#include "open_device.h"
#include "peer.h"
#include "adapt.h"
#include "serve_choose.h"

/* Sources are generated, and their images requested, this many sizes ahead of the race. */
enum { ENTRANTS = PORTFOLIO_CONFIGS + 5, AHEAD = 24 };

/* The first race selects those for the second. Seconds for one contender of a race; a batch takes
 * at least 200 us. */
enum { FIRST_ROUNDS = 2, ROUNDS = 9, ROUNDS_LEAST = 5 };
static const double NEAR_BEST = 1.15, LONG_SEC = 0.002, FIRST_SEC = 0.0008, LANE_SEC = 0.005;

typedef enum phase { PLANNING, COMPILING, LOADING, FILLING, CHECKING, RACING, PHASES } phase;

typedef struct entrant {
  gen_config config;
  char key[HASH_TEXT]; /* of its image */
  const void *stored;  /* the image, when the database has it */
  size_t n_stored;
  rt_loaded *loaded;
} entrant;

typedef struct size_run { /* one size */
  arena memory;
  gen_problem *p;
  gen_instance *g;
  str problem;
  rt_harness *buffers;
  entrant e[ENTRANTS];
  size_t n;
  size_t served, nearest, tuned;    /* which of them; tuned SIZE_MAX: it was not */
  size_t member[PORTFOLIO_CONFIGS]; /* per configuration of the portfolio; SIZE_MAX: does not fit */
  const char *origin;
  bool done, planned;
  err failed; /* when it was planned */
  double sec[ENTRANTS];
} size_run;

typedef struct bench {
  const char *family, *grid, *out, *device_name, *vs;
  size_t n, part, parts;
  uint64_t seed;
  const peer_kind *peer_kind;
  peer peer;
  double sec, started, phase_started, spent[PHASES];
  arena memory;
  gen_template *t;
  rt_checker *checker;
  image_prefetch *images;
  rt_device *device;
  rt_compiler *compiler;
  str device_key;
  serve_sources from;
  serve_known known;
  sizes sizes;
  size_run *runs; /* [sizes.n] */
  str done;       /* what OUT holds */
  bench_tuning tuning;
  size_t of;
} bench;

/* Adds the time since the last call to this phase. */
static void lap(bench *b, phase p) {
  const double now = now_sec();
  b->spent[p] += now - b->phase_started;
  b->phase_started = now;
}

/* ---- planning: contenders and their sources -------------------------------------------------- */

static size_t add_config(const bench *b, size_run *r, const gen_config *c) {
  for (size_t i = 0; i < r->n; i++) {
    if (!memcmp(r->e[i].config.index, c->index, b->t->n_params * sizeof *c->index)) {
      return i;
    }
  }
  r->e[r->n].config = *c;
  return r->n++;
}

static int pick(bench *b, size_run *r, bool portfolio_serves, serve_pick *out, err *e) {
  serve_choose choose = {.from = &b->from,
                         .t = b->t,
                         .p = r->p,
                         .g = r->g,
                         .problem = str_text(&r->problem),
                         .known = &b->known,
                         .memory = &r->memory};
  const size_t n_nodes = b->known.portfolio.n_nodes;
  b->known.portfolio.n_nodes = portfolio_serves ? n_nodes : 0;
  const int rc = serve_choose_next(&choose, out, e);
  b->known.portfolio.n_nodes = n_nodes;
  return rc;
}

static void add_tuned(const bench *b, size_run *r) {
  gen_config config;
  const bool wanted = b->tuning.sec > 0 && (size_t)(r - b->runs) < b->of;
  const bool found =
      wanted && !bench_tuned_config(&b->tuning, b->t, str_text(&r->problem), &config, NULL);
  r->tuned = found ? add_config(b, r, &config) : SIZE_MAX;
}

static int add_all(bench *b, size_run *r, err *e) {
  serve_pick x;
  TRY(serve_known_read(&b->from, b->t, &b->known, e));
  for (size_t i = 0; i < b->known.portfolio.n_configs; i++) {
    gen_config c = b->known.portfolio.configs[i];
    int changed;
    r->member[i] = adapt_config(b->t, r->g, &c, &changed) ? add_config(b, r, &c) : SIZE_MAX;
  }
  TRY(pick(b, r, true, &x, e));
  r->served = add_config(b, r, &x.config);
  r->origin = tuned_origin_name(x.origin);
  TRY(pick(b, r, false, &x, e));
  r->nearest = add_config(b, r, &x.config);
  add_tuned(b, r);
  return 0;
}

static bool is_stored(bench *b, size_run *r, entrant *n) {
  db_image row;
  if (db_image_get(b->from.db, n->key, &r->memory, &row, NULL)) {
    return false;
  }
  const bool ptx = b->device->info.format == RT_PTX;
  n->stored = ptx ? row.ptx : row.cubin;
  n->n_stored = ptx ? row.n_ptx : row.n_cubin;
  return n->n_stored > 0;
}

static int want(bench *b, size_run *r, entrant *n, err *e) {
  str text = {0};
  rt_source s = {.arch = b->device->info.arch, .lineinfo = b->device->info.format == RT_PTX};
  int rc = gen_source_make(r->g, &n->config, &text, &s.body, e);
  s.text = str_text(&text);
  if (!rc) {
    rt_image_key(b->compiler, &s, n->key);
    rc = is_stored(b, r, n) ? 0 : image_prefetch_request(b->images, &s, n->key, e);
  }
  str_clear(&text);
  return rc;
}

static int plan_size(bench *b, size_run *r, err *e) {
  gen_number numbers[RT_NUMBERS];
  rt_numbers(&b->device->info, numbers);
  TRY(gen_instance_new(b->t, r->p, numbers, RT_NUMBERS, &r->g, e));
  TRY(add_all(b, r, e));
  for (size_t i = 0; i < r->n; i++) {
    TRY(want(b, r, &r->e[i], e));
  }
  return 0;
}

/* Plans this size and some of those that follow. */
static void plan_ahead(bench *b, size_t i) {
  for (size_t ahead = 0; i < b->sizes.n && ahead < AHEAD; i++) {
    size_run *r = &b->runs[i];
    if (!r->done && !r->planned) {
      r->planned = true;
      plan_size(b, r, &r->failed);
    }
    ahead += !r->done;
  }
}

/* ---- one size ------------------------------------------------------------------------------- */

static int fetch(bench *b, size_run *r, err *e) {
  for (size_t i = 0; i < r->n; i++) {
    entrant *n = &r->e[i];
    const str *bytes;
    if (!n->stored) {
      TRY(image_prefetch_wait(b->images, n->key, &bytes, e));
      n->stored = str_text(bytes);
      n->n_stored = bytes->n;
    }
  }
  return 0;
}

static int load(bench *b, size_run *r, entrant *n, err *e) {
  const gen_plan *plan;
  TRY(gen_plan_make(r->g, &n->config, &r->memory, &plan, e));
  return rt_loaded_new(b->device, n->stored, n->n_stored, b->t, plan, &n->loaded, e);
}

static int open_size(bench *b, size_run *r, err *e) {
  if (r->failed.code) {
    return err_at(e, r->failed.code, r->failed.place, "%s", r->failed.message);
  }
  TRY(fetch(b, r, e));
  lap(b, COMPILING);
  for (size_t i = 0; i < r->n; i++) {
    TRY(load(b, r, &r->e[i], e));
  }
  if (b->peer_kind) {
    TRY(peer_turn(b->peer_kind, b->t, r->p, b->device, &b->peer, e));
  }
  lap(b, LOADING);
  TRY(rt_harness_new(b->device, b->compiler, b->checker, b->t, r->g, &r->buffers, e));
  lap(b, FILLING);
  return 0;
}

/* The vendor is the last contender. */
static rt_contender contender(const bench *b, const size_run *r, size_t i) {
  return i < r->n ? rt_loaded_contender(r->e[i].loaded) : b->peer.contender;
}

static int race(bench *b, size_run *r, const size_t *who, size_t n, size_t rounds, double sec,
                err *e) {
  rt_contender list[ENTRANTS] = {{0}};
  rt_times times[ENTRANTS];
  for (size_t i = 0; i < n; i++) {
    list[i] = contender(b, r, who[i]);
  }
  TRY(rt_harness_race(r->buffers, list, n, rounds, &(rt_timing){.target_sec = sec}, times, e));
  for (size_t i = 0; i < n; i++) {
    r->sec[who[i]] = times[i].median;
  }
  return 0;
}

static int race_twice(bench *b, size_run *r, err *e) {
  size_t who[ENTRANTS], n = r->n + (b->peer_kind ? 1 : 0), near = 0;
  double best = INFINITY;
  for (size_t i = 0; i < n; i++) {
    who[i] = i;
  }
  TRY(race(b, r, who, n, FIRST_ROUNDS, FIRST_SEC, e));
  for (size_t i = 0; i < r->n; i++) {
    best = fmin(best, r->sec[i]);
  }
  for (size_t i = 0; i < n; i++) {
    if (r->sec[i] < NEAR_BEST * best || i == r->served || i == r->nearest || i == r->tuned ||
        i == r->n) {
      who[near++] = i;
    }
  }
  return race(b, r, who, near, best > LONG_SEC ? ROUNDS_LEAST : ROUNDS, LANE_SEC, e);
}

static double member_sec(const size_run *r, size_t i) {
  return r->member[i] == SIZE_MAX ? 0 : r->sec[r->member[i]];
}

static void add_line(const bench *b, const size_run *r, str *s) {
  double best = r->sec[r->served];
  for (size_t i = 0; i < b->known.portfolio.n_configs; i++) {
    best = member_sec(r, i) > 0 ? fmin(best, member_sec(r, i)) : best;
  }
  str_addf(s,
           "{\"problem\": \"%s\", \"origin\": \"%s\", \"served_us\": %.4g, \"best_us\": %.4g, "
           "\"nearest_us\": %.4g, \"tuned_us\": %.4g, \"vendor_us\": %.4g, \"members_us\": [",
           str_text(&r->problem), r->origin, 1e6 * r->sec[r->served], 1e6 * best,
           1e6 * r->sec[r->nearest], r->tuned == SIZE_MAX ? 0.0 : 1e6 * r->sec[r->tuned],
           b->peer_kind ? 1e6 * r->sec[r->n] : 0.0);
  for (size_t i = 0; i < b->known.portfolio.n_configs; i++) {
    str_addf(s, "%s%.4g", i ? ", " : "", 1e6 * member_sec(r, i));
  }
  str_add(s, "]}\n");
}

static int append(const bench *b, const str *line, err *e) {
  FILE *f = fopen(b->out, "a");
  const bool ok = f && fputs(str_text(line), f) >= 0;
  return (f && fclose(f)) || !ok ? err_set(e, ERR_IO, "cannot append to %s", b->out) : 0;
}

/* The served kernel must be right at a new size. */
static int run_size(bench *b, size_run *r, err *e) {
  rt_check check;
  TRY(open_size(b, r, e));
  TRY(rt_harness_check(r->buffers, r->e[r->served].loaded, &check, e));
  lap(b, CHECKING);
  TRY(race_twice(b, r, e));
  lap(b, RACING);
  str line = {0};
  add_line(b, r, &line);
  const int rc = append(b, &line, e);
  str_add(&b->done, str_text(&line));
  str_clear(&line);
  return rc;
}

static void close_size(size_run *r) {
  for (size_t i = 0; i < r->n; i++) {
    rt_loaded_free(r->e[i].loaded);
  }
  rt_harness_free(r->buffers);
  gen_instance_free(r->g);
  str_clear(&r->problem);
  arena_clear(&r->memory);
  r->n = 0;
  r->buffers = NULL;
  r->g = NULL;
  r->done = true;
}

static bool is_done(const bench *b, const char *problem) {
  char quoted[400];
  snprintf(quoted, sizeof quoted, "\"problem\": \"%s\"", problem);
  return strstr(str_text(&b->done), quoted);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Marks what OUT has and what belongs to another part as done. */
static size_t look_up_sizes(bench *b, err *e) {
  size_t left = 0;
  b->runs = calloc(b->sizes.n + 1, sizeof *b->runs);
  if (!b->runs) {
    err_set(e, ERR_NOMEM, "out of memory");
    return 0;
  }
  for (size_t i = 0; i < b->sizes.n; i++) {
    size_run *r = &b->runs[i];
    r->p = &b->sizes.p[i];
    gen_problem_text(b->t, r->p, &r->problem);
    r->done = i % b->parts != b->part - 1 || is_done(b, str_text(&r->problem));
    left += !r->done;
  }
  return left;
}

/* Runs sizes while there is time; returns the number left. */
static size_t run_sizes(bench *b, size_t left) {
  for (size_t i = 0; i < b->sizes.n; i++) {
    size_run *r = &b->runs[i];
    err e = {0};
    if (!r->done && now_sec() - b->started < b->sec) {
      b->phase_started = now_sec();
      plan_ahead(b, i);
      lap(b, PLANNING);
      if (run_size(b, r, &e)) {
        fprintf(stderr, "bench_portfolio: %s: %s\n", str_text(&r->problem), e.message);
      } else {
        left--;
      }
    }
    close_size(r);
  }
  return left;
}

typedef struct mean {
  double sum, worst;
  size_t n, more[3], at_least; /* over by 10, 20, 30 %; not under */
} mean;

static void add(mean *m, double over, double under, bool worst_is_most) {
  if (over > 0 && under > 0) {
    const double x = log(over / under);
    m->worst = !m->n ? x : worst_is_most ? fmax(m->worst, x) : fmin(m->worst, x);
    m->sum += x;
    m->n++;
    m->at_least += over >= under;
    for (int i = 0; i < 3; i++) {
      m->more[i] += over > (1.1 + 0.1 * i) * under;
    }
  }
}

static double after(const char *line, const char *key) {
  const char *at = strstr(line, key);
  return at ? strtod(at + strlen(key), NULL) : 0;
}

/* Lines of before lack what they do not tell. */
static double after_in_line(const char *line, const char *key) {
  const char *at = strstr(line, key);
  return at && at < strchr(line, '\n') ? after(line, key) : 0;
}

static void summarise(const bench *b, size_t left) {
  mean served = {0}, nearest = {0}, vendor = {0}, tuned = {0};
  size_t n_portfolio = 0, n = 0;
  for (const char *line = str_text(&b->done); *line; line = strchr(line, '\n') + 1, n++) {
    const double s = after(line, "\"served_us\": "), best = after(line, "\"best_us\": ");
    const char *origin = strstr(line, "\"origin\": \"portfolio\"");
    add(&served, s, best, true);
    add(&nearest, after(line, "\"nearest_us\": "), best, true);
    add(&tuned, s, after_in_line(line, "\"tuned_us\": "), true);
    add(&vendor, after(line, "\"vendor_us\": "), s, false);
    n_portfolio += origin && origin < strchr(line, '\n');
  }
  const double k = n ? (double)n : 1;
  printf(
      "{\"bench\": \"portfolio\", \"device\": \"%s\", \"sizes\": %zu, \"left\": %zu, "
      "\"from_portfolio\": %zu, \"configs\": %zu, \"served_loss\": %.4f, \"worst_loss\": %.4f, "
      "\"lose_10_20_30_percent\": [%zu, %zu, %zu], \"nearest_loss\": %.4f, "
      "\"nearest_worst\": %.4f, \"tuned\": %zu, \"loss_to_tuned\": %.4f, \"worst_to_tuned\": %.4f, \"times_vendor\": %.4f, \"times_vendor_least\": %.4f, "
      "\"vendor_no_faster\": %zu}\n",
      b->device->info.name, n, left, n_portfolio, b->known.portfolio.n_configs,
      expm1(served.sum / k), expm1(served.worst), served.more[0], served.more[1], served.more[2],
      expm1(nearest.sum / k), expm1(nearest.worst), tuned.n,
      expm1(tuned.sum / (tuned.n ? (double)tuned.n : 1)), expm1(tuned.worst),
      exp(vendor.sum / (vendor.n ? (double)vendor.n : 1)), exp(vendor.worst), vendor.at_least);
}

static void tell_where_time_went(const bench *b) {
  static const char *const names[PHASES] = {"planning", "compiling", "loading",
                                            "filling",  "checking",  "racing"};
  fprintf(stderr, "bench_portfolio: %.1f s", now_sec() - b->started);
  for (int i = 0; i < PHASES; i++) {
    fprintf(stderr, ", %s %.1f", names[i], b->spent[i]);
  }
  fprintf(stderr, "\n");
}

static bool read_part(bench *b, const char *text) {
  int n;
  return sscanf(text, "%zu/%zu%n", &b->part, &b->parts, &n) == 2 && !text[n] && b->part >= 1 &&
         b->part <= b->parts;
}

/* A portfolio of a former text of the template does not count. */
static int check_portfolio(const bench *b, const char *path, err *e) {
  return b->known.portfolio.n_configs
             ? 0
             : err_set(
                   e, ERR_NOTFOUND,
                   "%s has no portfolio of %s as its template is now; make one: autotune portfolio "
                   "%s --grid \"%s\" --db %s",
                   path, b->family, b->family, b->grid, path);
}

/* Before this process opens the device. */
static void tune_sizes(const bench *b) {
  for (size_t i = 0; b->tuning.sec > 0 && i < b->sizes.n && i < b->of; i++) {
    auto_str problem = {0};
    gen_problem_text(b->t, &b->sizes.p[i], &problem);
    if (i % b->parts == b->part - 1 && now_sec() - b->started < b->sec) {
      bench_tune(&b->tuning, str_text(&problem));
    }
  }
}

static int set_up(bench *b, int jobs, err *e) {
  const char *path;
  TRY(gen_open(NULL, b->family, &b->t, e));
  if (b->vs) {
    TRY(peer_find(b->vs, b->t, &b->peer_kind, e));
  }
  TRY(sample_sizes(b->t, b->grid, b->n, b->seed, false, &b->memory, &b->sizes, e));
  tune_sizes(b);
  TRY(db_default_path(&b->memory, &path, e));
  TRY(db_open(path, DB_READ, &b->from.db, e));
  TRY(rt_compiler_open(&b->compiler, e));
  TRY(rt_device_open(b->device_name, &b->device, e));
  rt_device_key(&b->device->info, &b->device_key);
  b->from.device = &b->device->info;
  b->from.device_key = str_text(&b->device_key);
  TRY(image_prefetch_open(b->compiler, b->device->info.arch, jobs, &b->images, e));
  TRY(rt_checker_new(b->device, b->compiler, &b->checker, e));
  TRY(serve_known_read(&b->from, b->t, &b->known, e));
  TRY(check_portfolio(b, path, e));
  const int rc = file_read(b->out, 64 << 20, &b->done, NULL);
  return rc && rc != ERR_NOTFOUND ? err_set(e, rc, "cannot read %s", b->out) : 0;
}

static void tear_down(bench *b) {
  free(b->runs);
  peer_close(&b->peer);
  image_prefetch_close(b->images);
  serve_known_clear(&b->known);
  rt_checker_free(b->checker);
  b->device->ops->close(b->device);
  rt_compiler_close(b->compiler);
  db_close(b->from.db);
  gen_close(b->t);
  str_clear(&b->done);
  str_clear(&b->device_key);
  arena_clear(&b->memory);
}

int main(int argc, char **argv) {
  static bench b;
  err e = {0};
  if (argc < 6) {
    fprintf(stderr,
            "usage: bench_portfolio FAMILY GRID N SEED OUT [--device D] [--vs PEER] [--sec S] "
            "[--part K/N] [--jobs J] [--tune SEC --tuned-db FILE [--of N]]\n");
    return 1;
  }
  b = (bench){.family = argv[1],
              .grid = argv[2],
              .n = (size_t)atol(argv[3]),
              .seed = (uint64_t)atol(argv[4]),
              .out = argv[5],
              .device_name = bench_option(argc - 5, argv + 5, "--device", "0"),
              .vs = bench_option(argc - 5, argv + 5, "--vs", NULL),
              .sec = atof(bench_option(argc - 5, argv + 5, "--sec", "1e9")),
              .of = (size_t)atol(bench_option(argc - 5, argv + 5, "--of", "20")),
              .started = now_sec()};
  b.tuning = (bench_tuning){.device = b.device_name,
                            .db = bench_option(argc - 5, argv + 5, "--tuned-db", NULL),
                            .sec = atof(bench_option(argc - 5, argv + 5, "--tune", "0"))};
  b.tuning.cache = arena_format(&b.memory, "%s.cache", b.tuning.db);
  if (b.tuning.sec > 0 && !b.tuning.db) {
    fprintf(stderr, "bench_portfolio: --tune needs --tuned-db FILE\n");
    return 1;
  }
  if (!read_part(&b, bench_option(argc - 5, argv + 5, "--part", "1/1"))) {
    fprintf(stderr, "bench_portfolio: --part is K/N, such as 1/2\n");
    return 1;
  }
  if (set_up(&b, atoi(bench_option(argc - 5, argv + 5, "--jobs", "0")), &e)) {
    bench_give_up("setting up", e.message);
  }
  size_t left = look_up_sizes(&b, &e);
  if (e.code) {
    bench_give_up("sizes", e.message);
  }
  left = run_sizes(&b, left);
  summarise(&b, left);
  tell_where_time_went(&b);
  tear_down(&b);
  return left ? 2 : 0;
}
