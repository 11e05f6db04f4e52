#include "feasibility_cache.h"

#include <stdlib.h>
#include <string.h>

#include "adapt.h"
#include "gen_fold.h"
#include "key_hash.h"

/* The memory of variants and their changes, unless feasibility_cache_bound sets another; partial
 * results take 0.4 MB besides. Some 150 sizes of any alignment fill it for sgemm's portfolio. */
static const size_t MOST_NBYTES = 368 << 10, LEAST_NBYTES = 64 << 10;

enum { REQUIREMENTS_MOST = 512, VARIANT_SLOTS = 1024 };

/* Twice as many uses keep a variant for this many problems longer. Of 25 to 400, 128 missed the
 * fewest variants at half the memory that all took. */
enum { USES_WORTH = 128, USES_MOST = 1 << 10 };

/* A condition on the problem under which a variant is valid. A guard, whose requirement is the one
 * after the last, must have a value, or the generator refuses the variant. */
typedef struct condition {
  uint16_t requirement;
  gen_partial partial;
} condition;

typedef struct repairs { /* of one requirement that failed */
  struct repairs *next;
  uint16_t requirement, n;
  gen_partial repaired[]; /* by value of each parameter that it reads; NONE: not folded yet */
} repairs;

/* A variant that a configuration is adapted to; requirements that always hold are left out. A key
 * of 64 bits distinguishes thousands. */
typedef struct variant {
  struct variant *next; /* of its slot */
  repairs *repairs;
  gen_folded_work *work; /* NULL: not asked for yet */
  uint64_t key;          /* of the configuration */
  uint32_t last;         /* number of the problem that it was last used for */
  uint16_t n_uses, n;
  condition all[]; /* in the order of the requirements; guards follow */
} variant;

struct feasibility_cache {
  gen_template *t;
  gen_fold *fold;
  gen_config *configs;
  variant **first; /* of each configuration, unchanged; NULL: not made yet */
  size_t n;
  uint64_t *reads;                  /* of each requirement: bits of parameters */
  variant *variants[VARIANT_SLOTS]; /* by configuration */
  uint32_t now,
      least;   /* number of the problem; variants of less worth than `least` are forgotten */
  bool broken; /* out of memory: something may be missing */
  size_t nbytes, most_nbytes;
  gen_number *limits;
  size_t n_limits;
};

/* As the allocator of the GNU C library rounds it. */
static size_t allocated(size_t nbytes) {
  const size_t n = (nbytes + 8 + 15) & ~(size_t)15;
  return n < 32 ? 32 : n;
}

static void *allocate(feasibility_cache *fc, size_t nbytes) {
  void *p = calloc(1, nbytes);
  fc->broken = fc->broken || !p;
  fc->nbytes += p ? allocated(nbytes) : 0;
  return p;
}

static void release(feasibility_cache *fc, void *p, size_t nbytes) {
  fc->nbytes -= p ? allocated(nbytes) : 0;
  free(p);
}

/* ---- variants ------------------------------------------------------------------------------- */

typedef struct conditions {
  condition list[REQUIREMENTS_MOST + GEN_MAX_DERIVED];
  uint16_t n;
} conditions;

static void add_condition(conditions *q, condition x) {
  if (x.partial != GEN_PARTIAL_TRUE) {
    q->list[q->n++] = x;
  }
}

static uint64_t key_of(const feasibility_cache *fc, const gen_config *c) {
  return key_hash(c->index, fc->t->n_params * sizeof *c->index);
}

/* Problems that look at a variant keep it. */
static variant *variant_find(feasibility_cache *fc, uint64_t key) {
  variant *f = fc->variants[key % VARIANT_SLOTS];
  while (f && f->key != key) {
    f = f->next;
  }
  if (f) {
    f->last = fc->now;
  }
  return f;
}

static size_t variant_nbytes(size_t n) {
  return sizeof(variant) + n * sizeof(condition);
}

static variant *variant_keep(feasibility_cache *fc, uint64_t key, const conditions *q) {
  variant *f = allocate(fc, variant_nbytes(q->n));
  if (f) {
    f->key = key;
    f->n = q->n;
    f->last = fc->now;
    memcpy(f->all, q->list, q->n * sizeof *q->list);
    f->next = fc->variants[key % VARIANT_SLOTS];
    fc->variants[key % VARIANT_SLOTS] = f;
  }
  return f;
}

/* Requirements that do not read the parameters in which the configuration differs from `near` are as
 * in that variant. near NULL: all are folded. */
static variant *variant_of(feasibility_cache *fc, const gen_config *c, const variant *near,
                           uint64_t differs) {
  const uint64_t key = key_of(fc, c);
  const size_t n = fc->t->n_requirements;
  variant *f = variant_find(fc, key);
  conditions q = {.n = 0};
  if (f) {
    return f;
  }
  gen_fold_config(fc->fold, c);
  for (size_t i = 0, at = 0; i < n; i++) {
    while (near && at < near->n && near->all[at].requirement < i) {
      at++;
    }
    if (!near || fc->reads[i] & differs) {
      add_condition(&q, (condition){(uint16_t)i, gen_fold_requirement(fc->fold, i)});
    } else if (at < near->n && near->all[at].requirement == i) {
      add_condition(&q, near->all[at]);
    }
  }
  for (size_t i = 0; i < fc->t->n_derived; i++) {
    add_condition(&q, (condition){(uint16_t)n, gen_fold_derived(fc->fold, i)});
  }
  return variant_keep(fc, key, &q);
}

static void variant_free(feasibility_cache *fc, variant *f) {
  for (repairs *m = f->repairs, *next; m; m = next) {
    next = m->next;
    release(fc, m, sizeof *m + m->n * sizeof *m->repaired);
  }
  release(fc, f->work, f->work ? gen_folded_work_nbytes(f->work) : 0);
  release(fc, f, variant_nbytes(f->n));
}

static bool is_guard(const feasibility_cache *fc, const condition *q) {
  return q->requirement == fc->t->n_requirements;
}

/* Have all guards of the variant a value? */
static bool is_guarded(feasibility_cache *fc, const variant *f) {
  for (const condition *q = f->all + f->n; q > f->all && is_guard(fc, q - 1); q--) {
    if (!gen_partial_has_value(fc->fold, q[-1].partial)) {
      return false;
    }
  }
  return true;
}

typedef struct failures { /* requirements of a variant that fail for this problem */
  uint16_t list[REQUIREMENTS_MOST], unknown[REQUIREMENTS_MOST];
  size_t n, n_unknown; /* after a failure, where the generator does not evaluate */
} failures;

/* False: only the generator can tell. */
static bool find_failures(feasibility_cache *fc, const variant *f, failures *out) {
  out->n = out->n_unknown = 0;
  for (const condition *q = f->all; q < f->all + f->n && !is_guard(fc, q); q++) {
    bool yes = false;
    const bool known = gen_partial_condition(fc->fold, q->partial, &yes);
    if (!known && !out->n) {
      return false;
    }
    if (!known) {
      out->unknown[out->n_unknown++] = q->requirement;
    } else if (!yes) {
      out->list[out->n++] = q->requirement;
    }
  }
  return out->n || is_guarded(fc, f);
}

/* ---- changes --------------------------------------------------------------------------------- */

typedef struct search { /* for the best change */
  feasibility_cache *fc;
  variant *f;
  gen_config config; /* of the variant */
  failures now;
  repairs *repairs;             /* of the first failure */
  size_t slots[GEN_MAX_PARAMS]; /* first of each parameter that it reads */
  size_t most[GEN_MAX_PARAMS];  /* how far down the requirements a change of each may get */
  adapt_change best;
} search;

/* The first failure that a change of this parameter can't repair. */
static size_t unmoved(const search *s, size_t param) {
  for (size_t i = 1; i < s->now.n; i++) {
    if (!(s->fc->reads[s->now.list[i]] >> param & 1)) {
      return s->now.list[i];
    }
  }
  return s->fc->t->n_requirements;
}

/* Returns the number of changes that could repair the first failure. */
static size_t measure_params(search *s) {
  size_t n = 0;
  for (uint64_t left = s->fc->reads[s->now.list[0]]; left; left &= left - 1) {
    const size_t param = (size_t)__builtin_ctzll(left);
    s->most[param] = unmoved(s, param);
    s->slots[param] = n;
    n += s->fc->t->params[param].n;
  }
  return n;
}

static repairs *repairs_of(feasibility_cache *fc, variant *f, size_t requirement, size_t n) {
  repairs *m = f->repairs;
  while (m && m->requirement != requirement) {
    m = m->next;
  }
  if (!m && n <= UINT16_MAX && (m = allocate(fc, sizeof *m + n * sizeof *m->repaired))) {
    m->requirement = (uint16_t)requirement;
    m->n = (uint16_t)n;
    m->next = f->repairs;
    f->repairs = m;
  }
  return m;
}

/* Of equal ones the first, in the order of parameters and values. */
static bool better(const adapt_change *a, const adapt_change *b) {
  if (a->failing != b->failing || a->steps != b->steps) {
    return adapt_change_better(a, b);
  }
  return a->param < b->param || (a->param == b->param && a->value < b->value);
}

static gen_config after(const search *s, const adapt_change *x) {
  gen_config c = s->config;
  c.index[x->param] = (uint16_t)x->value;
  return c;
}

/* The variant that a change leads to. */
static variant *variant_after(search *s, const adapt_change *x) {
  const gen_config c = after(s, x);
  return variant_of(s->fc, &c, s->f, UINT64_C(1) << x->param);
}

/* Do all requirements before x->failing that are not known otherwise read the changed parameter? */
static bool is_known(const search *s, const adapt_change *x) {
  for (size_t i = 0; i < s->now.n_unknown && s->now.unknown[i] < x->failing; i++) {
    if (!(s->fc->reads[s->now.unknown[i]] >> x->param & 1)) {
      return false;
    }
  }
  return true;
}

/* Lower x->failing to the first condition of the variant that fails. */
static bool find_in_variant(feasibility_cache *fc, const variant *f, adapt_change *x) {
  for (const condition *q = f->all; q < f->all + f->n && q->requirement < x->failing; q++) {
    bool yes;
    if (!gen_partial_condition(fc->fold, q->partial, &yes)) {
      return false;
    }
    x->failing = yes ? x->failing : q->requirement;
  }
  return x->failing < fc->t->n_requirements || is_guarded(fc, f);
}

/* Lower x->failing to the first requirement that reads the parameter and fails after the change.
 * False: only the generator can tell. */
static bool find_failing(search *s, adapt_change *x) {
  feasibility_cache *fc = s->fc;
  const gen_config c = after(s, x);
  const variant *f = variant_find(fc, key_of(fc, &c));
  if (f) {
    return find_in_variant(fc, f, x);
  }
  gen_fold_config(fc->fold, &c);
  for (size_t i = 0; i < x->failing; i++) {
    bool yes = true;
    if (fc->reads[i] >> x->param & 1 &&
        !gen_partial_condition(fc->fold, gen_fold_requirement(fc->fold, i), &yes)) {
      return false;
    }
    x->failing = yes ? x->failing : i;
  }
  if (x->failing < fc->t->n_requirements) {
    return is_known(s, x);
  }
  f = is_known(s, x) ? variant_after(s, x) : NULL;
  return f && is_guarded(fc, f);
}

/* Try a change if it could be better than the best so far. False: only the generator can tell. */
static bool try_change(search *s, size_t param, size_t value, size_t steps) {
  gen_fold *fold = s->fc->fold;
  adapt_change x = {.param = param, .value = value, .steps = steps, .failing = s->most[param]};
  gen_partial *repaired = &s->repairs->repaired[s->slots[param] + value];
  bool yes;
  if (*repaired == GEN_PARTIAL_FALSE || !better(&x, &s->best)) {
    return true;
  }
  if (*repaired == GEN_PARTIAL_NONE) {
    const gen_config c = after(s, &x);
    gen_fold_config(fold, &c);
    *repaired = gen_fold_requirement(fold, s->repairs->requirement);
  }
  if (!gen_partial_condition(fold, *repaired, &yes) || (yes && !find_failing(s, &x))) {
    return false;
  }
  if (yes && better(&x, &s->best)) {
    s->best = x;
  }
  return true;
}

/* Try the values `steps` positions either side of these parameters. */
static bool try_steps(search *s, uint64_t params, size_t steps) {
  bool ok = true;
  for (; ok && params; params &= params - 1) {
    const size_t param = (size_t)__builtin_ctzll(params), now = s->config.index[param];
    ok = (now < steps || try_change(s, param, now - steps, steps)) &&
         (now + steps >= s->fc->t->params[param].n || try_change(s, param, now + steps, steps));
  }
  return ok;
}

/* The smallest changes first: the first that gets to this requirement is the best. */
static bool try_level(search *s, size_t level) {
  uint64_t params = 0;
  size_t most = 0;
  bool ok = true;
  for (uint64_t left = s->fc->reads[s->now.list[0]]; left; left &= left - 1) {
    const size_t param = (size_t)__builtin_ctzll(left), n = s->fc->t->params[param].n;
    if (s->most[param] == level) {
      params |= left & -left;
      most = n > most ? n : most;
    }
  }
  adapt_change least = {.failing = level, .steps = 1};
  for (; ok && least.steps < most && better(&least, &s->best); least.steps++) {
    ok = try_steps(s, params, least.steps);
  }
  return ok;
}

/* The one change that gets farthest down the list of requirements, as in adapt_config: first those
 * that may get to the end are tried, then those that may get to the last failure, and so on. *to is
 * NULL where no change repairs. False: only the generator can tell. */
static bool change_one(search *s, variant **to) {
  s->best = (adapt_change){.failing = s->now.list[0]};
  s->repairs = repairs_of(s->fc, s->f, s->now.list[0], measure_params(s));
  bool ok = s->repairs && try_level(s, s->fc->t->n_requirements);
  for (size_t i = s->now.n; ok && i-- > 1 && s->now.list[i] >= s->best.failing;) {
    ok = try_level(s, s->now.list[i]);
  }
  const bool found = ok && s->best.steps > 0;
  *to = found ? variant_after(s, &s->best) : NULL;
  return ok && (!found || *to);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool work_of(feasibility_cache *fc, variant *f, const gen_config *c, model_work *out) {
  gen_work w;
  if (!f->work) {
    gen_fold_config(fc->fold, c);
    f->work = gen_fold_work(fc->fold);
    fc->nbytes += f->work ? allocated(gen_folded_work_nbytes(f->work)) : 0;
  }
  if (!f->work || !gen_partial_work(fc->fold, f->work, &w)) {
    return false;
  }
  *out = (model_work){.amount = {.launches = (double)w.launches,
                                 .blocks = w.blocks,
                                 .threads = w.threads,
                                 .smem = w.smem,
                                 .flops = w.flops,
                                 .bytes = w.bytes},
                      .config = *c};
  memcpy(out->amount.each, w.work, sizeof out->amount.each);
  return true;
}

static variant *first_variant(feasibility_cache *fc, size_t i) {
  if (!fc->first[i]) {
    fc->first[i] = variant_of(fc, &fc->configs[i], NULL, 0);
  }
  return fc->first[i];
}

static void use(feasibility_cache *fc, variant *f) {
  f->last = fc->now;
  f->n_uses += f->n_uses < USES_MOST;
}

/* The configuration as it is. False: only the generator can tell. */
static bool begin(search *s, feasibility_cache *fc, size_t i, feasibility *out) {
  *out = (feasibility){.changed = 0};
  s->fc = fc;
  s->config = fc->configs[i];
  s->f = fc->fold && !fc->broken ? first_variant(fc, i) : NULL;
  if (!s->f || !find_failures(fc, s->f, &s->now)) {
    return false;
  }
  use(fc, s->f);
  return true;
}

static bool end(search *s, feasibility *out) {
  feasibility_cache *fc = s->fc;
  out->fits = !s->now.n;
  out->config = s->config;
  return !fc->broken && (!out->fits || work_of(fc, s->f, &s->config, &out->work));
}

bool feasibility_cache_get(feasibility_cache *fc, size_t i, feasibility *out) {
  search s;
  if (!begin(&s, fc, i, out)) {
    return false;
  }
  for (variant *next = s.f; s.now.n && next && out->changed < ADAPT_CHANGES_MOST;) {
    if (!change_one(&s, &next) || (next && !find_failures(fc, next, &s.now))) {
      return false;
    }
    if (next) {
      use(fc, next);
      s.f = next;
      s.config = after(&s, &s.best);
      out->changed++;
    }
  }
  return end(&s, out);
}

bool feasibility_cache_get_unchanged(feasibility_cache *fc, size_t i, feasibility *out) {
  search s;
  return begin(&s, fc, i, out) && end(&s, out);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static uint32_t worth_of(const variant *f) {
  uint32_t octaves = 0;
  for (uint16_t n = f->n_uses; n > 1; n /= 2) {
    octaves++;
  }
  return f->last + octaves * USES_WORTH;
}

static void forget_below(feasibility_cache *fc, uint64_t worth) {
  for (size_t i = 0; i < VARIANT_SLOTS; i++) {
    for (variant **link = &fc->variants[i], *f; (f = *link);) {
      if (worth_of(f) < worth) {
        *link = f->next;
        variant_free(fc, f);
      } else {
        link = &f->next;
      }
    }
  }
  memset(fc->first, 0, fc->n * sizeof *fc->first);
}

/* Forget the variants of least worth until the memory is at seven eighths. */
static void forget_some(feasibility_cache *fc) {
  while (fc->nbytes > fc->most_nbytes / 8 * 7) {
    fc->least += USES_WORTH / 8;
    forget_below(fc, fc->least);
  }
}

static void start_again(feasibility_cache *fc) {
  forget_below(fc, UINT64_MAX);
  gen_fold_free(fc->fold);
  fc->fold = NULL;
  fc->now = fc->least = 0;
  fc->broken = gen_fold_new(fc->t, fc->limits, fc->n_limits, &fc->fold, NULL);
}

void feasibility_cache_problem(feasibility_cache *fc, const gen_problem *p) {
  if (!fc->fold || fc->broken || gen_fold_is_full(fc->fold) || fc->now == UINT32_MAX / 2) {
    start_again(fc);
  }
  fc->now++;
  if (fc->nbytes > fc->most_nbytes) {
    forget_some(fc);
  }
  if (fc->fold) {
    gen_fold_problem(fc->fold, p);
  }
}

/* ---- making one ------------------------------------------------------------------------------ */

static int set_up(feasibility_cache *fc, const gen_config *configs, const gen_number *limits,
                  size_t n_limits, err *e) {
  const gen_template *t = fc->t;
  if (t->n_requirements > REQUIREMENTS_MOST) {
    return err_set(e, ERR_LIMIT, "%s has more requirements than can be folded", t->name);
  }
  fc->configs = calloc(fc->n + 1, sizeof *fc->configs);
  fc->first = calloc(fc->n + 1, sizeof *fc->first);
  fc->reads = calloc(t->n_requirements + 1, sizeof *fc->reads);
  fc->limits = calloc(n_limits, sizeof *limits);
  fc->n_limits = n_limits;
  if (!fc->configs || !fc->first || !fc->reads || !fc->limits) {
    return err_nomem(e);
  }
  memcpy(fc->configs, configs, fc->n * sizeof *configs);
  memcpy(fc->limits, limits, n_limits * sizeof *limits);
  for (size_t i = 0; i < t->n_requirements; i++) {
    fc->reads[i] = gen_requirement_reads(t, i);
  }
  return gen_fold_new(fc->t, limits, n_limits, &fc->fold, e);
}

int feasibility_cache_new(gen_template *t, const gen_config *configs, size_t n,
                          const gen_number *limits, size_t n_limits, feasibility_cache **out,
                          err *e) {
  feasibility_cache *fc = calloc(1, sizeof *fc);
  if (!fc) {
    return err_nomem(e);
  }
  fc->t = t;
  fc->n = n;
  fc->most_nbytes = MOST_NBYTES;
  const int rc = set_up(fc, configs, limits, n_limits, e);
  if (rc) {
    feasibility_cache_free(fc);
    return rc;
  }
  *out = fc;
  return 0;
}

void feasibility_cache_free(feasibility_cache *fc) {
  if (fc) {
    if (fc->first) {
      forget_below(fc, UINT64_MAX);
    }
    gen_fold_free(fc->fold);
    free(fc->limits);
    free(fc->configs);
    free(fc->first);
    free(fc->reads);
    free(fc);
  }
}

void feasibility_cache_bound(feasibility_cache *fc, size_t nbytes) {
  fc->most_nbytes = nbytes < LEAST_NBYTES  ? LEAST_NBYTES
                    : nbytes < MOST_NBYTES ? nbytes
                                           : MOST_NBYTES;
}

bool feasibility_cache_is_of(const feasibility_cache *fc, const gen_config *configs, size_t n) {
  return fc->n == n && !memcmp(fc->configs, configs, n * sizeof *configs);
}

size_t feasibility_cache_nbytes(const feasibility_cache *fc) {
  return sizeof *fc + fc->nbytes + (fc->fold ? gen_fold_nbytes(fc->fold) : 0);
}
