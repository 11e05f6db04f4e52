/* bench_choice.c -- which origin would serve drawn calls on the device that presets and portfolios were
 * measured on. Needs no such device: nothing is compiled or run.
 *
 *   bench_choice FAMILY... [--n 300] [--seed 1] [--calls] [--draw "m=1..9 ..."]
 *
 * Draws N calls of each family (tuner/peers/calls.txt) and counts the origins of what they would get
 * just after installation; "far" ones come from a problem more than four octaves away, and "default"
 * ones have neither a result nor a suggestion of the template. --calls prints a line a call: origin,
 * octaves, problem, where from, configuration. --draw replaces the families' lines. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "call_draw.h"
#include "emu.h"
#include "run.h"
#include "serve_choose.h"
#include "serve_distance.h"

static const double FAR = 4;

typedef struct choice {
  serve_pick pick;
  double octaves; /* to the problem it comes from; 0: none */
  bool suggested;
} choice;

typedef struct counts {
  size_t same, portfolio, near, far, suggested, plain;
} counts;

static void must(int rc, const char *what, const err *e) {
  bench_must(rc, what, e->message);
}

static double octaves_to(gen_template *t, const gen_problem *p, const char *text) {
  gen_problem q;
  int64_t values[GEN_MAX_FIELDS];
  if (!text || gen_problem_parse(t, text, &q, NULL)) {
    return 0;
  }
  for (size_t i = 0; i < t->n_fields; i++) {
    values[i] = q.values[i].i;
  }
  return serve_problem_distance(t, p, values);
}

static void choose(const serve_sources *from, serve_known *known, gen_template *t,
                   const gen_problem *p, const char *text, arena *a, choice *out) {
  auto_instance *g = NULL;
  gen_config ignored;
  err e = {0};
  must(rt_instance_new(t, p, from->device, &g, &e), text, &e);
  serve_choose c = {
      .from = from, .t = t, .p = p, .g = g, .problem = text, .known = known, .memory = a};
  must(serve_choose_next(&c, &out->pick, &e), text, &e);
  must(gen_config_untuned(g, &ignored, &out->suggested, &e), text, &e);
  out->octaves = octaves_to(t, p, out->pick.problem);
}

static void count(const choice *x, counts *n) {
  const tuned_origin o = x->pick.origin;
  n->portfolio += o == TUNED_PORTFOLIO;
  n->suggested += o == TUNED_DEFAULT && x->suggested;
  n->plain += o == TUNED_DEFAULT && !x->suggested;
  if (o != TUNED_PORTFOLIO && o != TUNED_DEFAULT) {
    n->same += x->octaves <= 0;
    n->near += x->octaves > 0 && x->octaves <= FAR;
    n->far += x->octaves > FAR;
  }
}

static void print_call(gen_template *t, const char *problem, const choice *x) {
  auto_str config = {0};
  gen_config_text(t, &x->pick.config, &config);
  printf("%s\t%.2f\t%s\t%s\t%s\n", tuned_origin_name(x->pick.origin), x->octaves, problem,
         x->pick.problem ? x->pick.problem : "-", str_text(&config));
}

static void run_family(const serve_sources *from, const char *family, const char *draw, size_t n,
                       uint64_t seed, bool calls) {
  auto_template *t = NULL;
  serve_known known = {0};
  call_drawer *drawer;
  counts all = {0};
  err e = {0};
  must(gen_open(NULL, family, &t, &e), family, &e);
  must(call_drawer_open(t, draw, 0, seed, &drawer, &e), family, &e);
  for (size_t i = 0; i < n; i++) {
    drawn_call c = {0};
    auto_arena a = {0};
    auto_str text = {0};
    choice x = {0};
    must(call_draw(drawer, &c, &e), family, &e);
    gen_problem_text(t, &c.p, &text);
    choose(from, &known, t, &c.p, str_text(&text), &a, &x);
    count(&x, &all);
    if (calls) {
      print_call(t, str_text(&text), &x);
    }
    drawn_call_clear(&c);
  }
  call_drawer_close(drawer);
  serve_known_clear(&known);
  printf("%-18s %6zu %9zu %5zu %5zu %5zu %9zu %7zu\n", family, n, all.portfolio, all.same, all.near,
         all.far, all.suggested, all.plain);
}

int main(int argc, char **argv) {
  const size_t n = (size_t)atol(bench_option(argc, argv, "--n", "300"));
  const uint64_t seed = strtoull(bench_option(argc, argv, "--seed", "1"), NULL, 10);
  bool calls = false;
  rt_device *d;
  err e = {0};
  must(rt_emu_open(NULL, &d, &e), "the emulated device", &e);
  const serve_sources from = {.device = &d->info,
                              .device_key = "none",
                              .presets = serve_presets,
                              .portfolios = serve_portfolios};
  for (int i = 1; i < argc; i++) {
    calls = calls || !strcmp(argv[i], "--calls");
  }
  printf("%-18s %6s %9s %5s %5s %5s %9s %7s\n", "family", "calls", "portfolio", "same", "near",
         "far", "suggested", "default");
  for (int i = 1; i < argc && argv[i][0] != '-'; i++) {
    run_family(&from, argv[i], bench_option(argc, argv, "--draw", NULL), n, seed, calls);
  }
  d->ops->close(d);
  return 0;
}
