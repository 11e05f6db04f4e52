/* cmd_claims.c -- autotune claims: test on this device the orderings that textbooks claim.
 *
 * Two configurations that differ only in what is claimed are timed interleaved on the same buffers.
 * autotune compare answers the other question: how fast each is with its own best tuning. */
#include <string.h>

#include "bench_case.h"
#include "claims.h"
#include "data_features.h"
#include "emu.h"
#include "placement_claims.h"
#include "print.h"
#include "verbs.h"

enum { MEMORY_NBYTES = 128 << 20, MEMORY_ROUNDS = 7 };

typedef struct claims_run {
  const cli *c;
  arena memory;
  bench_place place;
  claim *claims;
  size_t n, n_tried, n_of[CLAIM_VERDICTS], n_failed;
  int64_t rounds;
  rt_timing how;
  const volatile sig_atomic_t *stop;
} claims_run;

/* ---- one claim ------------------------------------------------------------------------------- */

static int add_side(bench_case *x, const char *config, err *e) {
  gen_config c;
  TRY(gen_config_parse(x->place->t, config, &c, e));
  TRY(gen_config_check(x->g, &c, e));
  return bench_case_add(x, &c, config, e);
}

static int time_both(claims_run *r, bench_case *x, const claim *c, claim_times *out, err *e) {
  gen_problem p;
  TRY(gen_problem_parse(r->place.t, c->problem, &p, e));
  TRY(rt_features_find(r->place.device, r->place.compiler, r->place.t, &p, e));
  TRY(bench_case_open(x, &r->place, &p, e));
  TRY(add_side(x, c->one, e));
  TRY(add_side(x, c->other, e));
  TRY(bench_case_check(x, e));
  TRY(bench_case_race(x, r->rounds, &r->how, e));
  *out = (claim_times){x->e[0].times.median, x->e[1].times.median, rt_emu_is(r->place.device)};
  return 0;
}

static void print(claims_run *r, const claim *c, const claim_times *t) {
  str s = {0};
  r->n_of[claim_verdict_of(c, t)]++;
  if (r->c->json) {
    claim_json(c, t, r->place.device->info.name, &s);
  } else {
    claim_line(c, t, &s);
  }
  print_str(&s);
  fflush(stdout);
}

/* A claim that cannot be run (invalid configuration, too little memory) is reported; the others
 * continue. */
static int try_claim(claims_run *r, const claim *c, err *e) {
  bench_case x = {0};
  claim_times t;
  err why = {0};
  const int rc = time_both(r, &x, c, &t, &why);
  bench_case_close(&x);
  r->n_tried++;
  if (rc == ERR_INTERRUPTED || (rc && r->place.device->dead)) {
    return err_copy(e, rc, &why);
  }
  if (rc) {
    r->n_failed++;
    fprintf(stderr, "autotune: %s %s, line %d of the claims: %s%s%s\n", c->family, c->problem,
            c->line, why.place, why.place[0] ? ": " : "", why.message);
  } else {
    print(r, c, &t);
  }
  return 0;
}

/* ---- which ----------------------------------------------------------------------------------- */

static bool is_wanted(const cli *c, const char *family) {
  bool wanted = !c->n_words;
  for (size_t i = 0; i < c->n_words; i++) {
    wanted = wanted || !strcmp(c->words[i], family);
  }
  return wanted;
}

static int check_words(const claims_run *r, err *e) {
  for (size_t i = 0; i < r->c->n_words; i++) {
    bool known = !strcmp(r->c->words[i], PLACEMENT_FAMILY);
    for (size_t k = 0; k < r->n; k++) {
      known = known || !strcmp(r->claims[k].family, r->c->words[i]);
    }
    if (!known) {
      return err_set(e, ERR_USAGE, "no claims about '%s'", r->c->words[i]);
    }
  }
  return 0;
}

/* The claims of a family are consecutive, so its template is opened once. */
static int open_family(claims_run *r, const char *family, err *e) {
  gen_options o;
  if (r->place.t && !strcmp(r->place.t->name, family)) {
    return 0;
  }
  gen_close(r->place.t);
  r->place.t = NULL;
  TRY(cli_template_options(r->c, &r->memory, &o, e));
  o.names_only = true;
  return gen_open(&o, family, &r->place.t, e);
}

/* ---- where memory lies ------------------------------------------------------------------------ */

static int tell_placed(void *self, const placement_try *t, err *e) {
  claims_run *r = self;
  r->n_tried++;
  if (t->rc) {
    r->n_failed++;
    fprintf(stderr, "autotune: memory, %s and %s: %s\n", t->claim.one, t->claim.other,
            t->why.message);
  } else {
    print(r, &t->claim, &t->times);
  }
  return *r->stop ? err_set(e, ERR_INTERRUPTED, "interrupted") : 0;
}

/* By name, or with all others of the built-in list, if this is a GPU. */
static bool wants_memory(const claims_run *r) {
  return r->c->n_words ? is_wanted(r->c, PLACEMENT_FAMILY)
                       : !r->c->claims && !rt_emu_is(r->place.device);
}

static int try_memory(claims_run *r, err *e) {
  const placement_run how = {.device = r->place.device,
                             .compiler = r->place.compiler,
                             .nbytes = MEMORY_NBYTES,
                             .rounds = r->rounds < MEMORY_ROUNDS ? r->rounds : MEMORY_ROUNDS,
                             .tell = tell_placed,
                             .self = r};
  return placement_claims(&how, e);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int try_all(claims_run *r, err *e) {
  for (size_t i = 0; i < r->n; i++) {
    if (!is_wanted(r->c, r->claims[i].family)) {
      continue;
    }
    TRY(*r->stop ? err_set(e, ERR_INTERRUPTED, "interrupted") : 0);
    TRY(open_family(r, r->claims[i].family, e));
    TRY(try_claim(r, &r->claims[i], e));
  }
  TRY(wants_memory(r) ? try_memory(r, e) : 0);
  if (!r->c->json) {
    printf("%zu of %zu hold on %s%s, %zu make no difference, %zu do not hold\n",
           r->n_of[CLAIM_HOLDS], r->n_tried - r->n_failed, r->place.device->info.name,
           rt_emu_is(r->place.device) ? " (emulated: times are modelled)" : "", r->n_of[CLAIM_EVEN],
           r->n_of[CLAIM_FAILS]);
  }
  return r->n_failed
             ? err_set(e, ERR_LIMIT, "%zu of %zu claims could not be run", r->n_failed, r->n_tried)
             : 0;
}

static int run(claims_run *r, err *e) {
  TRY(cli_race(r->c, 15, &r->rounds, &r->how, e));
  TRY(claims_open(r->c->claims, &r->memory, &r->claims, &r->n, e));
  TRY(check_words(r, e));
  TRY(bench_place_open(&r->place, cli_device(r->c), e));
  r->stop = cli_catch_signals();
  if (rt_emu_is(r->place.device)) {
    rt_emu_set_stop(r->place.device, r->stop);
  }
  return try_all(r, e);
}

int cmd_claims(const cli *c, err *e) {
  claims_run r = {.c = c};
  const int rc = run(&r, e);
  bench_place_close(&r.place);
  arena_clear(&r.memory);
  return rc;
}
