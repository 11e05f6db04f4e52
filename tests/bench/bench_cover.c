/* bench_cover.c -- what a portfolio loses at sizes it has never seen, and how it stands beside the
 * vendor's library.
 *
 *   bench_cover FAMILY GRID N SEED OUT [--device 0] [--vs cublas] [--sec 90]
 *
 * N sizes are drawn log-uniformly from GRID ("m=16..8192 ..."). At each, one interleaved race: the
 * kernel that libtuned would serve from the database ($TUNED_DB), every configuration of the
 * portfolio as it fits that size, the configuration of the nearest tuned problem, and the vendor's.
 * A line of JSON a size is appended to OUT at once; sizes that are there already are not run again,
 * so the same command goes on where it was cut off, after so many seconds at the latest.
 *
 * Prints the geometric mean and the worst of: served over the best of the portfolio, nearest over
 * the same, the vendor over served. Exit status 2 when sizes are left. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "draw.h"
#include "file.h"
#include "peer.h"
#include "serve_adapt.h"
#include "serve_choose.h"

enum { ENTRANTS = SERVE_COVER_CONFIGS + 4, ROUNDS = 9 };

typedef struct built { /* here, since the database does not hold it */
  char key[HASH_TEXT];
  str bytes;
} built;

typedef struct bench {
  const char *family, *grid, *out, *device_name, *vs;
  size_t n;
  uint64_t seed;
  const peer_kind *peer;
  double sec, started;
  arena memory;
  gen_template *t;
  rt_tools *tools;
  serve here;
  serve_known known;
  sizes sizes;
  str done; /* what OUT holds */
  built *built;
  size_t n_built;
} bench;

typedef struct entrant {
  gen_config config;
  rt_loaded *loaded;
} entrant;

typedef struct size_run { /* one size */
  arena memory;
  gen_instance *g;
  str problem;
  rt_bench *buffers;
  entrant e[ENTRANTS];
  size_t n;
  size_t served, nearest; /* which of them */
  size_t first, last;     /* the portfolio's */
  const char *origin;
  peer peer;
} size_run;

static int give_up(const char *what, const err *e) {
  fprintf(stderr, "bench_cover: %s: %s\n", what, e->message);
  exit(1);
}

/* ---- contenders ----------------------------------------------------------------------------- */

static size_t add_config(const bench *b, size_run *r, const gen_config *c) {
  for (size_t i = 0; i < r->n; i++) {
    if (!memcmp(r->e[i].config.index, c->index, b->t->n_params * sizeof *c->index)) {
      return i;
    }
  }
  r->e[r->n].config = *c;
  return r->n++;
}

static int pick(bench *b, size_run *r, const gen_problem *p, bool cover, serve_pick *out, err *e) {
  serve_choose choose = {.s = &b->here,
                         .t = b->t,
                         .p = p,
                         .g = r->g,
                         .problem = str_text(&r->problem),
                         .known = &b->known,
                         .memory = &r->memory};
  const size_t n_nodes = b->known.cover.n_nodes;
  b->known.cover.n_nodes = cover ? n_nodes : 0;
  const int rc = serve_choose_next(&choose, out, e);
  b->known.cover.n_nodes = n_nodes;
  return rc;
}

static int add_all(bench *b, size_run *r, const gen_problem *p, err *e) {
  serve_pick x;
  TRY(serve_known_read(&b->here, b->t, &b->known, e));
  r->first = r->n;
  for (size_t i = 0; i < b->known.cover.n_configs; i++) {
    gen_config c = b->known.cover.configs[i];
    int changed;
    if (serve_adapt(b->t, r->g, &c, &changed)) {
      add_config(b, r, &c);
    }
  }
  r->last = r->n;
  TRY(pick(b, r, p, true, &x, e));
  r->served = add_config(b, r, &x.config);
  r->origin = tuned_origin_name(x.origin);
  TRY(pick(b, r, p, false, &x, e));
  r->nearest = add_config(b, r, &x.config);
  return 0;
}

static bool stored_image(bench *b, size_run *r, const char *key, const void **bytes, size_t *n) {
  db_image row;
  if (db_image_get(b->here.db, key, &r->memory, &row, NULL)) {
    return false;
  }
  const bool ptx = b->here.device->info.format == RT_PTX;
  *bytes = ptx ? row.ptx : row.cubin;
  *n = ptx ? row.n_ptx : row.n_cubin;
  return *n > 0;
}

/* Sizes share most of their variants: what one has compiled is there for all. */
static int build(bench *b, size_run *r, const rt_source *s, const char *key, const str **bytes,
                 err *e) {
  for (size_t i = 0; i < b->n_built; i++) {
    if (!strcmp(b->built[i].key, key)) {
      *bytes = &b->built[i].bytes;
      return 0;
    }
  }
  built *more = realloc(b->built, (b->n_built + 1) * sizeof *more);
  if (!more) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  b->built = more;
  rt_image image;
  rt_image_init(&image);
  const int rc = rt_compile(b->here.compiler, s, &r->memory, &image, e);
  if (!rc) {
    str *from = b->here.device->info.format == RT_PTX ? &image.ptx : &image.cubin;
    built *now = &b->built[b->n_built++];
    snprintf(now->key, sizeof now->key, "%s", key);
    now->bytes = *from;
    *from = (str){0};
  }
  rt_image_clear(&image);
  *bytes = rc ? NULL : &b->built[b->n_built - 1].bytes;
  return rc;
}

static int load(bench *b, size_run *r, entrant *n, err *e) {
  str text = {0};
  const gen_plan *plan;
  const void *bytes = NULL;
  const str *here = NULL;
  size_t nbytes = 0;
  char key[HASH_TEXT];
  rt_source s = {.arch = b->here.device->info.arch,
                 .lineinfo = b->here.device->info.format == RT_PTX};
  int rc = gen_source_make(r->g, &n->config, &text, &s.body, e);
  s.text = str_text(&text);
  if (!rc) {
    rt_image_key(b->here.compiler, &s, key);
  }
  if (!rc && !stored_image(b, r, key, &bytes, &nbytes)) {
    rc = build(b, r, &s, key, &here, e);
    bytes = rc ? NULL : str_text(here);
    nbytes = rc ? 0 : here->n;
  }
  rc = rc ? rc : gen_plan_make(r->g, &n->config, &r->memory, &plan, e);
  rc = rc ? rc : rt_loaded_new(b->here.device, bytes, nbytes, b->t, plan, &n->loaded, e);
  str_clear(&text);
  return rc;
}

/* ---- one size ------------------------------------------------------------------------------- */

static int open_size(bench *b, size_run *r, const gen_problem *p, err *e) {
  gen_number numbers[RT_NUMBERS];
  rt_numbers(&b->here.device->info, numbers);
  TRY(gen_instance_new(b->t, p, numbers, RT_NUMBERS, &r->g, e));
  TRY(add_all(b, r, p, e));
  TRY(rt_bench_new(b->here.device, b->here.compiler, b->tools, b->t, r->g, &r->buffers, e));
  for (size_t i = 0; i < r->n; i++) {
    TRY(load(b, r, &r->e[i], e));
  }
  return b->peer ? peer_open(b->peer, b->t, p, b->here.device, &r->peer, e) : 0;
}

/* What is served must be right at a size that nobody has tried. */
static int race(bench *b, size_run *r, rt_times *times, err *e) {
  rt_contender list[ENTRANTS];
  rt_check check;
  size_t n = 0;
  TRY(rt_bench_check(r->buffers, r->e[r->served].loaded, &check, e));
  for (; n < r->n; n++) {
    list[n] = rt_loaded_contender(r->e[n].loaded);
  }
  if (b->vs) {
    list[n++] = r->peer.contender;
  }
  return rt_bench_race(r->buffers, list, n, ROUNDS, &(rt_timing){0}, times, e);
}

static void add_line(const bench *b, const size_run *r, const rt_times *times, str *s) {
  double best = INFINITY;
  for (size_t i = r->first; i < r->last; i++) {
    best = fmin(best, times[i].median);
  }
  str_addf(s,
           "{\"problem\": \"%s\", \"origin\": \"%s\", \"served_us\": %.4g, \"best_us\": %.4g, "
           "\"nearest_us\": %.4g, \"vendor_us\": %.4g}\n",
           str_text(&r->problem), r->origin, 1e6 * times[r->served].median,
           1e6 * fmin(best, times[r->served].median), 1e6 * times[r->nearest].median,
           b->vs ? 1e6 * times[r->n].median : 0.0);
}

static int append(const bench *b, const str *line, err *e) {
  FILE *f = fopen(b->out, "a");
  const bool ok = f && fputs(str_text(line), f) >= 0;
  return (f && fclose(f)) || !ok ? err_set(e, ERR_IO, "cannot append to %s", b->out) : 0;
}

static int run_size(bench *b, size_run *r, const gen_problem *p, err *e) {
  rt_times times[ENTRANTS] = {{0}};
  TRY(open_size(b, r, p, e));
  TRY(race(b, r, times, e));
  str line = {0};
  add_line(b, r, times, &line);
  const int rc = append(b, &line, e);
  str_add(&b->done, str_text(&line));
  str_clear(&line);
  return rc;
}

static void close_size(size_run *r) {
  for (size_t i = 0; i < r->n; i++) {
    rt_loaded_free(r->e[i].loaded);
  }
  peer_close(&r->peer);
  rt_bench_free(r->buffers);
  gen_instance_free(r->g);
  str_clear(&r->problem);
  arena_clear(&r->memory);
}

static bool is_done(const bench *b, const char *problem) {
  char quoted[400];
  snprintf(quoted, sizeof quoted, "\"problem\": \"%s\"", problem);
  return strstr(str_text(&b->done), quoted);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Sizes are begun while there is time. */
static size_t run_sizes(bench *b) {
  size_t left = 0;
  for (size_t i = 0; i < b->sizes.n; i++) {
    size_run r = {0};
    err e = {0};
    gen_problem_text(b->t, &b->sizes.p[i], &r.problem);
    if (is_done(b, str_text(&r.problem))) {
      continue;
    }
    if (now_sec() - b->started > b->sec) {
      left++;
    } else if (run_size(b, &r, &b->sizes.p[i], &e)) {
      fprintf(stderr, "bench_cover: %s: %s\n", str_text(&r.problem), e.message);
      left++;
    }
    close_size(&r);
  }
  return left;
}

typedef struct mean {
  double sum, worst;
  size_t n;
} mean;

static void add(mean *m, double over, double under, bool worst_is_most) {
  if (over > 0 && under > 0) {
    const double x = log(over / under);
    m->worst = !m->n ? x : worst_is_most ? fmax(m->worst, x) : fmin(m->worst, x);
    m->sum += x;
    m->n++;
  }
}

static double after(const char *line, const char *key) {
  const char *at = strstr(line, key);
  return at ? strtod(at + strlen(key), NULL) : 0;
}

static void summarise(const bench *b, size_t left) {
  mean served = {0}, nearest = {0}, vendor = {0};
  size_t portfolio = 0, n = 0;
  for (const char *line = str_text(&b->done); *line; line = strchr(line, '\n') + 1, n++) {
    const double s = after(line, "\"served_us\": "), best = after(line, "\"best_us\": ");
    const char *origin = strstr(line, "\"origin\": \"portfolio\"");
    add(&served, s, best, true);
    add(&nearest, after(line, "\"nearest_us\": "), best, true);
    add(&vendor, after(line, "\"vendor_us\": "), s, false);
    portfolio += origin && origin < strchr(line, '\n');
  }
  const double k = n ? (double)n : 1;
  printf("{\"bench\": \"cover\", \"device\": \"%s\", \"sizes\": %zu, \"left\": %zu, "
         "\"from_portfolio\": %zu, \"configs\": %zu, \"served_loss\": %.4f, \"worst_loss\": %.4f, "
         "\"nearest_loss\": %.4f, \"nearest_worst\": %.4f, \"times_vendor\": %.4f, "
         "\"times_vendor_least\": %.4f}\n",
         b->here.device->info.name, n, left, portfolio, b->known.cover.n_configs,
         expm1(served.sum / k), expm1(served.worst), expm1(nearest.sum / k), expm1(nearest.worst),
         exp(vendor.sum / (vendor.n ? (double)vendor.n : 1)), exp(vendor.worst));
}

static int set_up(bench *b, err *e) {
  static const gen_file none[] = {{NULL, NULL, 0}};
  const char *path;
  b->here.presets = none;
  TRY(gen_open(NULL, b->family, &b->t, e));
  if (b->vs) {
    TRY(peer_find(b->vs, b->t, &b->peer, e));
  }
  TRY(draw_sizes(b->t, b->grid, b->n, b->seed, false, &b->memory, &b->sizes, e));
  TRY(db_default_path(&b->memory, &path, e));
  TRY(db_open(path, DB_READ, &b->here.db, e));
  TRY(rt_compiler_open(&b->here.compiler, e));
  TRY(rt_device_open(b->device_name, &b->here.device, e));
  rt_device_key(&b->here.device->info, &b->here.device_key);
  TRY(rt_tools_new(b->here.device, b->here.compiler, &b->tools, e));
  const int rc = file_read(b->out, 64 << 20, &b->done, NULL);
  return rc && rc != ERR_NOTFOUND ? err_set(e, rc, "cannot read %s", b->out) : 0;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
  for (int i = 6; i + 1 < argc; i++) {
    if (!strcmp(argv[i], name)) {
      return argv[i + 1];
    }
  }
  return otherwise;
}

int main(int argc, char **argv) {
  static bench b;
  err e = {0};
  if (argc < 6) {
    fprintf(stderr,
            "usage: bench_cover FAMILY GRID N SEED OUT [--device D] [--vs PEER] [--sec S]\n");
    return 1;
  }
  b = (bench){.family = argv[1],
              .grid = argv[2],
              .n = (size_t)atol(argv[3]),
              .seed = (uint64_t)atol(argv[4]),
              .out = argv[5],
              .device_name = option(argc, argv, "--device", "0"),
              .vs = option(argc, argv, "--vs", NULL),
              .sec = atof(option(argc, argv, "--sec", "1e9")),
              .started = now_sec()};
  if (set_up(&b, &e)) {
    give_up("setting up", &e);
  }
  const size_t left = run_sizes(&b);
  summarise(&b, left);
  serve_known_clear(&b.known);
  rt_tools_free(b.tools);
  b.here.device->ops->close(b.here.device);
  rt_compiler_close(b.here.compiler);
  db_close(b.here.db);
  gen_close(b.t);
  for (size_t i = 0; i < b.n_built; i++) {
    str_clear(&b.built[i].bytes);
  }
  free(b.built);
  str_clear(&b.done);
  str_clear(&b.here.device_key);
  arena_clear(&b.memory);
  return left ? 2 : 0;
}
