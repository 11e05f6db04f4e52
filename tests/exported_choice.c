/* exported_choice.c -- is an exported portfolio of sgemm the same as the template? Includes the
 * exported source, so that its static functions can be asked: over random problems every
 * requirement, workspace and choice written out in C must agree with what the generator's Lua says.
 * Run by test_export.sh. */
#include "sgemm_portfolio.c"

#include <stdio.h>

#include "draw.h"
#include "run.h"

enum { PROBLEMS = 400 };

typedef struct lua { /* the generator's view of a problem */
  gen_template *t;
  gen_instance *g;
  arena memory;
} lua;

static sgemm_problem exported(const gen_problem *p) {
  static const int64_t texts[] = {SGEMM_TEXT_n, SGEMM_TEXT_t};
  return (sgemm_problem){p->values[0].i,        p->values[1].i,        p->values[2].i,
                         texts[p->values[3].i], texts[p->values[4].i], p->values[5].i,
                         p->values[6].i,        p->values[7].i,        SGEMM_TEXT_none,
                         SGEMM_TEXT_none,       SGEMM_TEXT_none,       SGEMM_TEXT_strict};
}

static int fail(const char *what, const lua *l, const gen_problem *p, int i) {
  str text = {0};
  gen_problem_text(l->t, p, &text);
  printf("%s: %s with %s\n", what, str_text(&text), i < 0 ? "none" : sgemm_configs[i]);
  str_clear(&text);
  return 1;
}

static uint64_t workspace(lua *l, const gen_config *c) {
  const gen_plan *plan;
  uint64_t sum = 0;
  if (gen_plan_make(l->g, c, &l->memory, &plan, NULL)) {
    return UINT64_MAX;
  }
  for (size_t i = 0; i < plan->n_workspaces; i++) {
    sum += (plan->workspaces[i] + 255) / 256 * 256;
  }
  return sum;
}

/* One variant: does it fit, by C and by Lua? */
static int compare(lua *l, const sgemm_portfolio *k, const gen_problem *p, int i, int *n_fit) {
  const sgemm_problem x = exported(p);
  gen_config c;
  uint64_t at[8];
  gen_config_parse(l->t, sgemm_configs[i], &c, NULL);
  const int same = configs[i].for_ta == x.ta && configs[i].for_tb == x.tb;
  const int by_lua = same && !gen_config_check(l->g, &c, NULL), by_c = fits(k, &x, &configs[i]);
  if (by_lua != by_c) {
    return fail(by_c ? "C says it fits" : "Lua says it fits", l, p, i);
  }
  *n_fit += by_c;
  place_workspaces(k, &x, &configs[i], at);
  return by_c && at[2] != workspace(l, &c) /* sgemm has two */
             ? fail("the workspaces differ", l, p, i)
             : 0;
}

static int compare_all(lua *l, const sgemm_portfolio *k, const gen_problem *p, int *n_fit,
                       int *n_default) {
  const sgemm_problem x = exported(p);
  const int chosen = sgemm_choose(k, &x);
  int bad = 0;
  for (int i = 0; i < SGEMM_CONFIGS; i++) {
    bad += compare(l, k, p, i, n_fit);
  }
  if (chosen < 0 || !fits(k, &x, &configs[chosen])) {
    return bad + fail("a choice that does not fit", l, p, chosen);
  }
  *n_default += chosen >= first[sizeof first / sizeof *first - 2];
  return bad;
}

int main(void) {
  static sgemm_portfolio k;
  lua l = {0};
  sizes drawn;
  rt_device *d;
  gen_number limits[RT_NUMBERS];
  err e = {0};
  int bad = 0, n_fit = 0, n_default = 0;
  if (cuInit(0) || read_limits(&k, 0) || rt_emu_open(NULL, &d, &e) ||
      gen_open(NULL, "sgemm", &l.t, &e) ||
      draw_sizes(l.t, "m=1..3000 n=1..3000 k=1..3000 align=1,2,4", PROBLEMS, 11, true, &l.memory,
                 &drawn, &e)) {
    printf("setting up: %s\n", e.message);
    return 1;
  }
  rt_numbers(&d->info, limits);
  for (size_t i = 0; i < drawn.n && bad < 10; i++) {
    if (gen_instance_new(l.t, &drawn.p[i], limits, RT_NUMBERS, &l.g, &e)) {
      return 1;
    }
    bad += compare_all(&l, &k, &drawn.p[i], &n_fit, &n_default);
    gen_instance_free(l.g);
  }
  printf("%zu problems, %d variants fit, %d problems got the default, %d differences\n", drawn.n,
         n_fit, n_default, bad);
  gen_close(l.t);
  arena_clear(&l.memory);
  d->ops->close(d);
  return bad || n_fit < 100;
}
