#include "bench_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cached_compiler.h"
#include "emu.h"
#include "emulated.h"
#include "open_device.h"

int bench_place_open(bench_place *place, const char *device, err *e) {
  TRY(cached_compiler_open(&place->compiler, e));
  TRY(rt_device_open(device, &place->device, e));
  return rt_checker_new(place->device, place->compiler, &place->checker, e);
}

void bench_place_close(bench_place *place) {
  rt_checker_free(place->checker);
  if (place->device) {
    place->device->ops->close(place->device);
  }
  rt_compiler_close(place->compiler);
  gen_close(place->t);
}

int bench_case_open(bench_case *x, const bench_place *place, const gen_problem *p, err *e) {
  return bench_case_open_on(x, place, p, NULL, e);
}

int bench_case_open_on(bench_case *x, const bench_place *place, const gen_problem *p,
                       const struct rt_captured *data, err *e) {
  gen_config def;
  const gen_plan *plan;
  *x = (bench_case){.place = place, .problem = *p};
  TRY(rt_instance_new(place->t, p, &place->device->info, &x->g, e));
  gen_config_default(place->t, &def);
  TRY(gen_plan_make(x->g, &def, &x->memory, &plan, e));
  if (!plan->n) {
    return err_set(e, ERR_USAGE, "the problem launches nothing: there is nothing to time");
  }
  x->flops = plan->flops;
  x->bytes = plan->bytes;
  return rt_harness_new_on(place->device, place->compiler, place->checker, place->t, x->g, data,
                           &x->buffers, e);
}

void bench_case_close(bench_case *x) {
  for (size_t i = 0; i < x->n; i++) {
    rt_candidate_clear(&x->e[i].candidate);
    peer_close(&x->e[i].peer);
  }
  rt_harness_free(x->buffers);
  gen_instance_free(x->g);
  arena_clear(&x->memory);
}

static int load(bench_case *x, const gen_config *config, rt_candidate *out, err *e) {
  const bench_place *at = x->place;
  auto_str source = {0};
  size_t body;
  auto_image image = {0};
  const gen_plan *plan;
  TRY(gen_source_make(x->g, config, &source, &body, e));
  rt_source s = {.text = str_text(&source),
                 .body = body,
                 .arch = at->device->info.arch,
                 .registers = at->device->info.format == RT_PTX};
  TRY(rt_compile(at->compiler, &s, &x->memory, &image, e));
  TRY(gen_plan_make(x->g, config, &x->memory, &plan, e));
  const str *bytes = at->device->info.format == RT_PTX ? &image.ptx : &image.cubin;
  return rt_candidate_load(out, at->device, bytes, at->t, x->g, config, plan, e);
}

int bench_case_add(bench_case *x, const gen_config *config, const char *name, err *e) {
  if (x->n == BENCH_ENTRANTS) {
    return err_set(e, ERR_LIMIT, "more than %d contenders", BENCH_ENTRANTS);
  }
  bench_entrant *n = &x->e[x->n];
  TRY(load(x, config, &n->candidate, e));
  n->config = *config;
  n->name = name;
  n->contender = rt_candidate_contender(&n->candidate);
  x->n++;
  return 0;
}

int bench_case_add_launch(bench_case *x, rt_contender contender, const char *name, err *e) {
  if (x->n == BENCH_ENTRANTS) {
    return err_set(e, ERR_LIMIT, "more than %d contenders", BENCH_ENTRANTS);
  }
  x->e[x->n++] = (bench_entrant){.name = name, .contender = contender};
  return 0;
}

/* err  why the last of them is not valid */
static int first_valid(bench_case *x, const peer_kind *k, gen_config *c, err *e) {
  int rc = 0;
  for (size_t i = 0; k->config(x->place->t, i, c); i++) {
    err_clear(e);
    rc = gen_config_check(x->g, c, e);
    if (!rc) {
      return 0;
    }
  }
  return rc;
}

static int open_peer(bench_case *x, const peer_kind *k, bench_entrant *n, err *e) {
  auto_str words = {0};
  if (!k->config) {
    return peer_open(k, x->place->t, &x->problem, x->place->device, &n->peer, e);
  }
  TRY(first_valid(x, k, &n->config, e));
  TRY(gen_config_words(x->g, &n->config, &words, e));
  TRY(load(x, &n->config, &n->candidate, e));
  n->peer = (peer){.contender = rt_candidate_contender(&n->candidate), .loosest = 1};
  snprintf(n->peer.version, sizeof n->peer.version, "%s", str_text(&words));
  return 0;
}

int bench_case_add_peer(bench_case *x, const peer_kind *k, err *e) {
  bench_entrant *n = &x->e[x->n];
  if (x->n == BENCH_ENTRANTS) {
    return err_set(e, ERR_LIMIT, "more than %d contenders", BENCH_ENTRANTS);
  }
  int rc = open_peer(x, k, n, e);
  if (rc) {
    peer_close(&n->peer);
    return rc;
  }
  n->is_peer = true;
  n->name = k->name;
  n->contender = n->peer.contender;
  x->n++;
  return 0;
}

/* ---- right? ---------------------------------------------------------------------------------- */

/* A peer may round as it likes; a stray write or a changed input is not tolerated. A peer need not
 * support every case of the template: one that it refuses after the first, which is timed, does not
 * count against it. */
static bool is_tolerable(const bench_entrant *n, int rc, const rt_check *check) {
  const bool rounded = rc == ERR_WRONG && check->n_wrong && isfinite(check->error);
  return n->is_peer && (rounded || (rc == ERR_USAGE && check->n_cases > 0));
}

int bench_case_check_one(bench_case *x, bench_entrant *n, err *e) {
  rt_check check = {0};
  err wrong = {0};
  int rc = rt_harness_check_contender(x->buffers, n->contender, &check, &wrong);
  n->error = check.error;
  if (rc == ERR_WRONG && is_tolerable(n, rc, &check)) {
    n->differs = check.error > n->peer.loosest ? arena_text(&x->memory, wrong.message) : NULL;
    return 0;
  }
  if (!rc || is_tolerable(n, rc, &check)) {
    return 0;
  }
  return rc == ERR_WRONG && n->is_peer
             ? err_set(e, rc, "%s computes a different result: %s", n->name, wrong.message)
             : err_set(e, rc, "%s: %s", n->name, wrong.message);
}

int bench_case_check(bench_case *x, err *e) {
  const bool skip = emulated_too_large(x->place->device, x->flops);
  for (size_t i = 0; i < x->n; i++) {
    x->e[i].error = NAN;
    TRY(skip ? 0 : bench_case_check_one(x, &x->e[i], e));
  }
  return 0;
}

/* ---- fast? ----------------------------------------------------------------------------------- */

int bench_case_race(bench_case *x, int64_t rounds, const rt_timing *how, err *e) {
  rt_contender contenders[BENCH_ENTRANTS];
  rt_times times[BENCH_ENTRANTS];
  rt_device *d = x->place->device;
  for (size_t i = 0; i < x->n; i++) {
    contenders[i] = x->e[i].contender;
  }
  if (rt_emu_is(d)) { /* a model gives the same time in every round */
    rounds = 1;
  }
  emulated_model_begin(d, x->flops);
  rt_timing with_uses = *how;
  with_uses.uses = gen_uses(x->place->t, &x->problem);
  int rc = rt_harness_race(x->buffers, contenders, x->n, (size_t)rounds, &with_uses, times, e);
  emulated_model_end(d);
  for (size_t i = 0; !rc && i < x->n; i++) {
    x->e[i].times = times[i];
  }
  return rc;
}
