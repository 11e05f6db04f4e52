/* cmd_bench.c -- autotune bench: the tuned kernel, the default and the vendor's library in one run.
 *
 * All contenders get the same buffers and are timed interleaved, so that clocks, temperature and
 * cache are the same for all; ratios are of medians.
 */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "peer.h"
#include "run.h"
#include "verbs.h"

enum { TUNED, DEFAULT, GIVEN, PEER, N_CONTENDERS };
static const char *const labels[] = {"tuned", "default", "given", "peer"};

typedef struct entrant {
  bool in;
  gen_config config;
  rt_loaded *loaded;
  rt_contender contender;
  rt_times times;
  double error; /* of its results, in units of the tolerance */
} entrant;

typedef struct bench_run {
  const cli *c;
  gen_template *t;
  db *db; /* NULL: nothing tuned */
  rt_compiler *compiler;
  rt_device *device;
  rt_tools *tools;
  int64_t rounds;
  rt_replay replay;
  double sum_vs_peer, sum_vs_default; /* of logarithms */
  size_t n_vs_peer, n_vs_default;
} bench_run;

typedef struct bench_case { /* one problem */
  arena memory;
  gen_instance *g;
  rt_bench *buffers;
  str problem;
  entrant e[N_CONTENDERS];
  peer peer;
  double flops, bytes;
} bench_case;

static int tuned_config(bench_run *r, bench_case *x, err *e) {
  db_result best;
  str key = {0};
  err miss = {0};
  if (!r->db) {
    return 0;
  }
  rt_device_key(&r->device->info, &key);
  int rc =
      db_best(r->db, r->t->hash, str_text(&key), str_text(&x->problem), &x->memory, &best, &miss);
  str_clear(&key);
  if (rc == ERR_NOTFOUND) {
    return 0;
  }
  if (rc) {
    return err_set(e, rc, "%s", miss.message);
  }
  x->e[TUNED].in = true;
  return gen_config_parse(r->t, best.t.config, &x->e[TUNED].config, e);
}

static int load(bench_run *r, bench_case *x, entrant *n, err *e) {
  str source = {0};
  size_t body;
  rt_image image;
  const gen_plan *plan;
  rt_image_init(&image);
  int rc = gen_source_make(x->g, &n->config, &source, &body, e);
  rt_source s = {.text = str_text(&source), .body = body, .arch = r->device->info.arch};
  rc = rc ? rc : rt_compile(r->compiler, &s, &x->memory, &image, e);
  rc = rc ? rc : gen_plan_make(x->g, &n->config, &x->memory, &plan, e);
  const str *bytes = r->device->info.format == RT_PTX ? &image.ptx : &image.cubin;
  rc = rc ? rc : rt_loaded_new(r->device, str_text(bytes), bytes->n, r->t, plan, &n->loaded, e);
  if (!rc) {
    n->contender = rt_loaded_contender(n->loaded);
    x->flops = plan->flops;
    x->bytes = plan->bytes;
  }
  rt_image_clear(&image);
  str_clear(&source);
  return rc;
}

static int open_case(bench_run *r, bench_case *x, const gen_problem *p, err *e) {
  gen_number numbers[RT_NUMBERS];
  gen_problem_text(r->t, p, &x->problem);
  rt_numbers(&r->device->info, numbers);
  TRY(gen_instance_new(r->t, p, numbers, RT_NUMBERS, &x->g, e));
  TRY(rt_bench_new(r->device, r->compiler, r->tools, r->t, x->g, &x->buffers, e));
  x->e[DEFAULT].in = true;
  gen_config_default(r->t, &x->e[DEFAULT].config);
  TRY(tuned_config(r, x, e));
  if (r->c->config) {
    x->e[GIVEN].in = true;
    TRY(gen_config_parse(r->t, r->c->config, &x->e[GIVEN].config, e));
    TRY(gen_config_check(x->g, &x->e[GIVEN].config, e));
  }
  for (int i = TUNED; i <= GIVEN; i++) {
    if (x->e[i].in) {
      TRY(load(r, x, &x->e[i], e));
    }
  }
  if (r->c->vs) {
    TRY(peer_open(r->c->vs, r->t, p, r->device, &x->peer, e));
    x->e[PEER].in = true;
    x->e[PEER].contender = x->peer.contender;
  }
  return 0;
}

static void close_case(bench_case *x) {
  for (int i = 0; i < N_CONTENDERS; i++) {
    rt_loaded_free(x->e[i].loaded);
  }
  peer_close(&x->peer);
  rt_bench_free(x->buffers);
  gen_instance_free(x->g);
  str_clear(&x->problem);
  arena_clear(&x->memory);
}

/* A fast kernel with wrong results wins nothing. The peer's error is shown, not judged. */
static int check_all(bench_case *x, err *e) {
  for (int i = 0; i < N_CONTENDERS; i++) {
    rt_check check = {0};
    err wrong = {0};
    if (!x->e[i].in) {
      continue;
    }
    int rc = rt_bench_check_contender(x->buffers, x->e[i].contender, &check, &wrong);
    if (rc && !(i == PEER && rc == ERR_WRONG)) {
      return err_set(e, rc, "the %s kernel of %s: %s", labels[i], str_text(&x->problem),
                     wrong.message);
    }
    x->e[i].error = check.error;
  }
  return 0;
}

static int race(bench_run *r, bench_case *x, err *e) {
  rt_contender contenders[N_CONTENDERS];
  rt_times times[N_CONTENDERS];
  int who[N_CONTENDERS];
  size_t n = 0;
  rt_timing how = {.hot = r->c->hot != NULL, .replay = r->replay};
  for (int i = 0; i < N_CONTENDERS; i++) {
    if (x->e[i].in) {
      who[n] = i;
      contenders[n++] = x->e[i].contender;
    }
  }
  TRY(rt_bench_race(x->buffers, contenders, n, (size_t)r->rounds, &how, times, e));
  for (size_t i = 0; i < n; i++) {
    x->e[who[i]].times = times[i];
  }
  return 0;
}

/* ---- printing
 * ---------------------------------------------------------------------------------------- */

static void add_entrant(str *s, bench_run *r, bench_case *x, int i) {
  const entrant *n = &x->e[i];
  str time = {0}, config = {0};
  format_sec(&time, n->times.median);
  str_addf(s, "  %-8s %9s +-%4.1f %%  ", labels[i], str_text(&time),
           100 * rt_times_spread(&n->times));
  str_reset(&time);
  format_rate(&time, &r->device->info, x->flops, x->bytes, n->times.median);
  if (i == PEER) {
    str_add(&config, x->peer.version);
  } else {
    gen_config_text(r->t, &n->config, &config);
  }
  str_addf(s, "%-28s  error %.2g  %s\n", str_text(&time), n->error, str_text(&config));
  str_clear(&time);
  str_clear(&config);
}

static void add_ratio(str *s, const entrant *from, const entrant *to, const char *text, double *sum,
                      size_t *n) {
  if (from->in && to->in && from->times.median > 0) {
    double ratio = to->times.median / from->times.median;
    str_addf(s, text, ratio);
    *sum += log(ratio);
    ++*n;
  }
}

static void add_text(str *s, bench_run *r, bench_case *x) {
  str_addf(s, "%s on %s, %s L2%s\n", str_text(&x->problem), r->device->info.name,
           r->c->hot ? "hot" : "cold", r->replay == RT_GRAPH ? ", in CUDA graphs" : "");
  for (int i = 0; i < N_CONTENDERS; i++) {
    if (x->e[i].in) {
      add_entrant(s, r, x, i);
    }
  }
  if (!x->e[TUNED].in) {
    str_addf(s, "  not tuned yet: autotune %s\n", str_text(&x->problem));
  }
  const entrant *ours = x->e[TUNED].in ? &x->e[TUNED] : &x->e[DEFAULT];
  double unused = 0;
  size_t none = 0;
  add_ratio(s, ours, &x->e[GIVEN], "  %.2f x the given one\n", &unused, &none);
  add_ratio(s, ours, &x->e[PEER], "  %.2f x the peer\n", &r->sum_vs_peer, &r->n_vs_peer);
  if (ours == &x->e[TUNED]) {
    add_ratio(s, ours, &x->e[DEFAULT], "  %.2f x the default\n", &r->sum_vs_default,
              &r->n_vs_default);
  }
}

static void add_json(str *s, bench_run *r, bench_case *x) {
  str_add(s, "{\"problem\":");
  str_add_json(s, str_text(&x->problem));
  str_add(s, ",\"device\":");
  str_add_json(s, r->device->info.name);
  str_addf(s, ",\"cold\":%s,\"timing\":\"%s\"", r->c->hot ? "false" : "true",
           r->replay == RT_GRAPH ? "graph" : "stream");
  for (int i = 0; i < N_CONTENDERS; i++) {
    if (x->e[i].in) {
      str_addf(s, ",\"%s\":{\"seconds\":%.9g,\"spread\":%.3g,\"error\":%.3g}", labels[i],
               x->e[i].times.median, rt_times_spread(&x->e[i].times), x->e[i].error);
    }
  }
  str_add(s, "}\n");
}

static int bench_one(bench_run *r, const gen_problem *p, err *e) {
  bench_case x = {0};
  str s = {0};
  int rc = open_case(r, &x, p, e);
  rc = rc ? rc : check_all(&x, e);
  rc = rc ? rc : race(r, &x, e);
  if (!rc) {
    (r->c->json ? add_json : add_text)(&s, r, &x);
    cli_print(&s);
    fflush(stdout);
  }
  close_case(&x);
  return rc;
}

static int bench_sizes(bench_run *r, err *e) {
  const volatile sig_atomic_t *stop = cli_catch_signals();
  for (size_t i = 0; i < r->t->n_sizes_bench; i++) {
    gen_problem p;
    if (*stop) {
      return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    TRY(gen_problem_parse(r->t, r->t->sizes_bench[i], &p, e));
    TRY(bench_one(r, &p, e));
  }
  if (!r->c->json && r->n_vs_peer > 1) {
    printf("geometric mean of %zu: %.2f x the peer\n", r->n_vs_peer,
           exp(r->sum_vs_peer / (double)r->n_vs_peer));
  }
  return 0;
}

static int bench(bench_run *r, arena *a, err *e) {
  gen_problem p;
  err miss = {0};
  TRY(cli_timing(r->c, &r->replay, e));
  TRY(cli_number("rounds", r->c->rounds, 1, 10000, 25, &r->rounds, e));
  TRY(cli_open_template(r->c, a, &r->t, e));
  if (r->c->n_words > 1) {
    TRY(cli_problem(r->c, r->t, &p, e));
  }
  int rc = cli_open_db(r->c, DB_READ, &r->db, &miss);
  if (rc && rc != ERR_NOTFOUND) {
    return err_set(e, rc, "%s", miss.message);
  }
  TRY(rt_compiler_open(&r->compiler, e));
  TRY(rt_device_open(cli_device(r->c), &r->device, e));
  if (!strcmp(r->device->info.kind, "emu")) {
    return err_set(e, ERR_USAGE, "bench measures, and %s only models; it needs a GPU: --device 0",
                   r->device->info.name);
  }
  TRY(rt_tools_new(r->device, r->compiler, &r->tools, e));
  return r->c->n_words > 1 ? bench_one(r, &p, e) : bench_sizes(r, e);
}

int cmd_bench(const cli *c, err *e) {
  bench_run r = {.c = c};
  arena a = {0};
  int rc = bench(&r, &a, e);
  rt_tools_free(r.tools);
  if (r.device) {
    r.device->ops->close(r.device);
  }
  rt_compiler_close(r.compiler);
  db_close(r.db);
  gen_close(r.t);
  arena_clear(&a);
  return rc;
}
