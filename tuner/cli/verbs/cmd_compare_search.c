/* cmd_compare_search.c -- autotune compare --search: every point of a grid of parameters is timed once,
 * for what a search of one axis at a time, or behind a filter, would have missed. Instructions are
 * counted on the emulated device, on a GPU too. */
#define _GNU_SOURCE
#include <string.h>

#include "bench_case.h"
#include "cached_compiler.h"
#include "data_features.h"
#include "emu.h"
#include "emulated.h"
#include "joint_search.h"
#include "open_device.h"
#include "print.h"
#include "verbs.h"

enum { COUNTED_BLOCKS = 2 };

typedef struct study {
  const cli *c;
  arena memory;
  bench_place place, counting; /* counting: on the emulated device */
  bench_case timed, counted;
  gen_problem problem;
  gen_config base;
  size_t params[JOINT_AXES];
  joint_axis axes[JOINT_AXES];
  joint_point *points;
  joint_space space;
  rt_timing how;
  int64_t rounds;
  err first; /* why the first point failed that did */
} study;

/* ---- the grid -------------------------------------------------------------------------------- */

static int add_axis(study *x, const char *name, err *e) {
  const size_t k = x->space.n_axes;
  if (k == JOINT_AXES) {
    return err_set(e, ERR_USAGE, "--search takes at most %d parameters", JOINT_AXES);
  }
  TRY(cli_param(x->place.t, name, &x->params[k], e));
  for (size_t i = 0; i < k; i++) {
    if (x->params[i] == x->params[k]) {
      return err_set(e, ERR_USAGE, "--search names %s twice", name);
    }
  }
  const gen_param *p = &x->place.t->params[x->params[k]];
  const char **values = ARENA_ARRAY(&x->memory, const char *, p->n + 1);
  if (!values) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < p->n; i++) {
    values[i] = p->values[i].s ? p->values[i].s
                               : arena_format(&x->memory, "%lld", (long long)p->values[i].i);
  }
  x->axes[k] = (joint_axis){p->name, values, p->n};
  x->space.n_axes++;
  return 0;
}

static int read_axes(study *x, err *e) {
  char *names = arena_text(&x->memory, x->c->search), *rest = NULL;
  if (!names) {
    return err_nomem(e);
  }
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    TRY(add_axis(x, name, e));
  }
  return x->space.n_axes > 1
             ? 0
             : err_set(e, ERR_USAGE, "--search takes two parameters or more: --search BLOCK,VEC");
}

static gen_config config_of(const study *x, const joint_point *p) {
  gen_config c = x->base;
  for (size_t k = 0; k < x->space.n_axes; k++) {
    c.index[x->params[k]] = p->index[k];
  }
  return c;
}

/* The next one, counting up; false: p was the last. */
static bool advance(const study *x, joint_point *p) {
  for (size_t k = x->space.n_axes; k-- > 0;) {
    if (++p->index[k] < x->axes[k].n) {
      return true;
    }
    p->index[k] = 0;
  }
  return false;
}

static int list_points(study *x, err *e) {
  joint_point p = {0};
  joint_space *s = &x->space;
  bool more = true;
  s->start = SIZE_MAX;
  for (; more; more = advance(x, &p)) {
    const gen_config c = config_of(x, &p);
    if (gen_config_check(x->timed.g, &c, NULL)) {
      continue;
    }
    if (s->n == JOINT_POINTS) {
      return err_set(e, ERR_USAGE, "there are more than %d points; name fewer parameters",
                     JOINT_POINTS);
    }
    s->start = memcmp(&c, &x->base, sizeof c) ? s->start : s->n;
    x->points[s->n++] = p;
  }
  return s->n ? 0
              : err_set(e, ERR_USAGE, "no point is valid; other parameters are as --config says");
}

/* ---- a point --------------------------------------------------------------------------------- */

static void drop(bench_case *x) {
  for (size_t i = 0; i < x->n; i++) {
    rt_candidate_clear(&x->e[i].candidate);
  }
  x->n = 0;
}

static int measure(study *x, const gen_config *c, double *sec, err *e) {
  bench_case *to = &x->timed;
  rt_device *d = x->place.device;
  rt_times times;
  TRY(bench_case_add(to, c, "a point", e));
  int rc = emulated_too_large(d, to->flops) ? 0 : bench_case_check_one(to, &to->e[0], e);
  emulated_model_begin(d, to->flops);
  rt_timing how = x->how;
  how.uses = gen_uses(to->place->t, &to->problem);
  rc = rc ? rc : rt_harness_time_contender(to->buffers, to->e[0].contender, &how, &times, e);
  emulated_model_end(d);
  *sec = rc ? 0 : times.median;
  return rc;
}

/* One launch of the plan: what all its blocks do, from a few of them. */
static int count_launch(study *x, const gen_plan *plan, size_t i, joint_point *p, err *e) {
  bench_case *in = &x->counted;
  const gen_launch launch = plan->launches[i];
  rt_stage stage;
  rt_times times;
  rt_emu_stats stats;
  const double times_run = launch.loop ? (double)launch.loop->times : 1;
  TRY(rt_stage_open(&stage, &in->e[0].candidate, x->counting.t, plan, i, e));
  const int rc =
      rt_harness_time_contender(in->buffers, rt_stage_contender(&stage), &x->how, &times, e);
  rt_emu_last_stats(x->counting.device, &stats);
  rt_stage_close(&stage);
  if (!rc) {
    const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    const double issued = stats.warp_instructions * times_run;
    p->warps = issued > p->instructions ? stats.blocks_sm * ((threads + 31) / 32) : p->warps;
    p->instructions += issued;
  }
  return rc;
}

static int count(study *x, const gen_config *c, joint_point *p, err *e) {
  bench_case *in = &x->counted;
  const gen_plan *plan;
  TRY(bench_case_add(in, c, "a point", e));
  TRY(gen_plan_make(in->g, c, &in->memory, &plan, e));
  for (size_t i = 0; i < plan->n; i++) {
    TRY(plan->launches[i].kernel ? count_launch(x, plan, i, p, e) : 0);
  }
  return 0;
}

/* A point that fails is a result; an interruption ends the study. */
static int take_point(study *x, joint_point *p, err *e) {
  const gen_config c = config_of(x, p);
  err why = {0};
  int rc = measure(x, &c, &p->sec, &why);
  rc = rc ? rc : count(x, &c, p, &why);
  drop(&x->timed);
  drop(&x->counted);
  p->sec = rc ? 0 : p->sec;
  if (rc == ERR_INTERRUPTED || x->place.device->dead) {
    return err_copy(e, rc, &why);
  }
  if (rc && !x->first.code) {
    x->first = why;
  }
  return 0;
}

static int take_points(study *x, err *e) {
  for (size_t i = 0; i < x->space.n; i++) {
    if (!x->c->quiet && !x->c->json) {
      fprintf(stderr, "\rpoint %zu of %zu", i + 1, x->space.n);
    }
    TRY(take_point(x, &x->points[i], e));
  }
  if (!x->c->quiet && !x->c->json) {
    fprintf(stderr, "\n");
  }
  return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_places(study *x, err *e) {
  TRY(bench_place_open(&x->place, cli_device(x->c), e));
  TRY(rt_features_find(x->place.device, x->place.compiler, x->place.t, &x->problem, e));
  TRY(bench_case_open(&x->timed, &x->place, &x->problem, e));
  TRY(bench_place_open(&x->counting, x->place.device->info.modelled ? cli_device(x->c) : "emu", e));
  x->counting.t = x->place.t;
  TRY(bench_case_open(&x->counted, &x->counting, &x->problem, e));
  rt_emu_set_checks(x->counting.device, false);
  rt_emu_set_sample(x->counting.device, COUNTED_BLOCKS);
  return 0;
}

/* The fastest of many looks faster than it is: time the three again, interleaved. */
static int race(study *x, const joint_summary *of, err *e) {
  const size_t points[] = {of->best, of->by_axes, of->best_left};
  size_t at[3], n = 0;
  for (size_t i = 0; i < 3; i++) {
    const bool again = (i && points[i] == points[0]) || (i == 2 && points[i] == points[1]);
    if (!again && points[i] < x->space.n && x->points[points[i]].sec > 0) {
      const gen_config c = config_of(x, &x->points[points[i]]);
      TRY(bench_case_add(&x->timed, &c, "a point", e));
      at[n++] = points[i];
    }
  }
  TRY(n ? bench_case_race(&x->timed, x->rounds, &x->how, e) : 0);
  for (size_t i = 0; i < n; i++) {
    x->points[at[i]].sec = x->timed.e[i].times.median;
  }
  return 0;
}

static void print(study *x, const joint_summary *of) {
  auto_str problem = {0};
  str s = {0};
  gen_problem_text(x->place.t, &x->problem, &problem);
  x->space.problem = str_text(&problem);
  x->space.device = x->place.device->info.name;
  (x->c->json ? joint_json : joint_text)(&x->space, of, &s);
  if (of->failed && !x->c->json) {
    str_addf(&s, "  the first that failed: %s\n", x->first.message);
  }
  print_str(&s);
}

static int report(study *x, err *e) {
  joint_summary of;
  joint_summarise(&x->space, &of);
  TRY(x->space.modelled ? 0 : race(x, &of, e));
  print(x, &of);
  return 0;
}

static int run(study *x, err *e) {
  if (x->c->by || x->c->vs || x->c->sizes || x->c->plot || x->c->budget) {
    return err_set(e, ERR_USAGE,
                   "--search times one problem's points: leave out --by, --vs, "
                   "--sizes, --plot and --budget");
  }
  TRY(cli_race(x->c, 25, &x->rounds, &x->how, e));
  TRY(cli_open_template(x->c, &x->memory, &x->place.t, e));
  TRY(read_axes(x, e));
  TRY(cli_problem(x->c, x->place.t, &x->problem, e));
  gen_config_default(x->place.t, &x->base);
  TRY(x->c->config ? gen_config_parse(x->place.t, x->c->config, &x->base, e) : 0);
  TRY(open_places(x, e));
  x->points = ARENA_ARRAY(&x->memory, joint_point, JOINT_POINTS);
  TRY(x->points ? 0 : err_nomem(e));
  TRY(list_points(x, e));
  x->space.axes = x->axes;
  x->space.points = x->points;
  TRY(take_points(x, e));
  x->space.modelled = x->place.device->info.modelled;
  return report(x, e);
}

int cmd_compare_search(const cli *c, err *e) {
  study x = {.c = c};
  const int rc = run(&x, e);
  bench_case_close(&x.counted);
  bench_case_close(&x.timed);
  x.counting.t = NULL; /* the other place's */
  bench_place_close(&x.counting);
  bench_place_close(&x.place);
  arena_clear(&x.memory);
  return rc;
}
