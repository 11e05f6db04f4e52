#include "feasibility_cache.h"

#include <stdlib.h>
#include <string.h>

#include "adapt.h"
#include "gen_fold.h"
#include "key_hash.h"

/* The memory of variants and their changes, unless feasibility_cache_bound sets another; partial
 * results take 0.35 MB besides. Some 150 sizes of any alignment fill it for sgemm's portfolio. */
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

typedef struct recheck { /* the conditions of a change that repairs a requirement */
  struct recheck *next;
  uint16_t slot;   /* the change's place in `repaired` */
  uint16_t n_read; /* how many of the requirements that read the parameter are folded */
  uint16_t n;      /* the conditions of those, then guards */
  uint16_t most : 15, has_guards : 1;
  condition own[];
} recheck;

typedef struct repairs { /* of one requirement that failed */
  struct repairs *next;
  recheck *rechecks;
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

typedef struct indices {
  uint16_t *list;
  size_t n;
} indices;

struct feasibility_cache {
  gen_template *t;
  gen_fold *fold;
  gen_config *configs;
  variant **first; /* of each configuration, unchanged; NULL: not made yet */
  size_t n;
  bool (*reads)[GEN_MAX_PARAMS]; /* of each requirement */
  indices *params;               /* that a requirement reads */
  indices readers[GEN_MAX_PARAMS];
  variant *variants[VARIANT_SLOTS]; /* by configuration */
  uint32_t now,
      least;   /* number of the problem; variants of less worth than `least` are forgotten */
  bool broken; /* out of memory: something may be missing */
  size_t nbytes, most_nbytes;
  arena lists; /* of readers */
  gen_number *limits;
  size_t n_limits;
};

/* As the allocator of the GNU C library rounds it. */
static size_t allocated(size_t nbytes) {
  const size_t n = (nbytes + 8 + 15) & ~(size_t)15;
  return n < 32 ? 32 : n;
}

static void *resize(feasibility_cache *fc, void *old, size_t before, size_t nbytes) {
  void *p = realloc(old, nbytes);
  fc->broken = fc->broken || !p;
  fc->nbytes += p ? allocated(nbytes) - (old ? allocated(before) : 0) : 0;
  return p;
}

static void *allocate(feasibility_cache *fc, size_t nbytes) {
  void *p = resize(fc, NULL, 0, nbytes);
  return p ? memset(p, 0, nbytes) : NULL;
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

/* What requirement i depends on, with the configuration that is folded in. */
static condition fold_condition(feasibility_cache *fc, size_t i) {
  return (condition){.requirement = (uint16_t)i, .partial = gen_fold_requirement(fc->fold, i)};
}

static void add_condition(conditions *q, condition x) {
  if (x.partial != GEN_PARTIAL_TRUE) {
    q->list[q->n++] = x;
  }
}

static condition fold_guard(feasibility_cache *fc, size_t i) {
  return (condition){.requirement = (uint16_t)fc->t->n_requirements,
                     .partial = gen_fold_derived(fc->fold, i)};
}

static bool have_values(feasibility_cache *fc, const condition *guards, size_t n) {
  size_t i = 0;
  while (i < n && gen_partial_has_value(fc->fold, guards[i].partial)) {
    i++;
  }
  return i == n;
}

static uint64_t key_of(const feasibility_cache *fc, const gen_config *c) {
  return key_hash(c->index, fc->t->n_params * sizeof *c->index);
}

static variant *variant_find(feasibility_cache *fc, uint64_t key) {
  variant *f = fc->variants[key % VARIANT_SLOTS];
  while (f && f->key != key) {
    f = f->next;
  }
  return f;
}

static size_t variant_nbytes(size_t n) {
  return sizeof(variant) + n * sizeof(condition);
}

/* For the configuration that is folded in. */
static variant *variant_keep(feasibility_cache *fc, uint64_t key, conditions *q) {
  for (size_t i = 0; i < fc->t->n_derived; i++) {
    add_condition(q, fold_guard(fc, i));
  }
  variant *f = allocate(fc, variant_nbytes(q->n));
  if (f) {
    f->key = key;
    f->n = q->n;
    memcpy(f->all, q->list, q->n * sizeof *q->list);
    f->next = fc->variants[key % VARIANT_SLOTS];
    fc->variants[key % VARIANT_SLOTS] = f;
  }
  return f;
}

static variant *variant_of(feasibility_cache *fc, const gen_config *c) {
  const uint64_t key = key_of(fc, c);
  variant *f = variant_find(fc, key);
  conditions q;
  if (f) {
    return f;
  }
  q.n = 0;
  gen_fold_config(fc->fold, c);
  for (size_t i = 0; i < fc->t->n_requirements; i++) {
    add_condition(&q, fold_condition(fc, i));
  }
  return variant_keep(fc, key, &q);
}

static size_t recheck_nbytes(size_t most) {
  return sizeof(recheck) + most * sizeof(condition);
}

static void variant_free(feasibility_cache *fc, variant *f) {
  for (repairs *m = f->repairs, *next; m; m = next) {
    for (recheck *s = m->rechecks, *after; s; s = after) {
      after = s->next;
      release(fc, s, recheck_nbytes(s->most));
    }
    next = m->next;
    release(fc, m, sizeof *m + m->n * sizeof *m->repaired);
  }
  release(fc, f->work, f->work ? gen_folded_work_nbytes(f->work) : 0);
  release(fc, f, variant_nbytes(f->n));
}

typedef struct failures { /* requirements of a variant that fail for this problem */
  uint16_t list[REQUIREMENTS_MOST], unknown[REQUIREMENTS_MOST];
  size_t n, n_unknown; /* after a failure, where the generator does not evaluate */
} failures;

/* False: only the generator can tell. */
static bool find_failures(feasibility_cache *fc, const variant *f, failures *out) {
  out->n = out->n_unknown = 0;
  size_t i = 0;
  for (; i < f->n && f->all[i].requirement < fc->t->n_requirements; i++) {
    bool yes = false;
    const bool known = gen_partial_condition(fc->fold, f->all[i].partial, &yes);
    if (!known && !out->n) {
      return false;
    }
    if (!known) {
      out->unknown[out->n_unknown++] = f->all[i].requirement;
    } else if (!yes) {
      out->list[out->n++] = f->all[i].requirement;
    }
  }
  return out->n || have_values(fc, f->all + i, f->n - i);
}

/* ---- changes --------------------------------------------------------------------------------- */

static repairs *repairs_of(feasibility_cache *fc, variant *f, size_t requirement) {
  const indices *params = &fc->params[requirement];
  repairs *m = f->repairs;
  size_t n = 0;
  while (m && m->requirement != requirement) {
    m = m->next;
  }
  for (size_t at = 0; !m && at < params->n; at++) {
    n += fc->t->params[params->list[at]].n;
  }
  if (!m && n <= UINT16_MAX && (m = allocate(fc, sizeof *m + n * sizeof *m->repaired))) {
    m->requirement = (uint16_t)requirement;
    m->n = (uint16_t)n;
    m->next = f->repairs;
    f->repairs = m;
  }
  return m;
}

typedef struct change { /* of a variant */
  adapt_change is;
  size_t slot;
} change;

typedef struct search { /* for the best of them */
  feasibility_cache *fc;
  variant *f;
  gen_config config; /* of the variant */
  failures now;
  repairs *repairs;
  const indices *params;
  size_t most[GEN_MAX_PARAMS];  /* how far down the requirements a change of each may get */
  size_t slots[GEN_MAX_PARAMS]; /* first of each parameter */
  change best;
} search;

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

static void fold_in(search *s, const adapt_change *x) {
  const gen_config c = after(s, x);
  gen_fold_config(s->fc->fold, &c);
}

static bool repairs_it(search *s, change *x, bool *yes) {
  gen_partial *repaired = &s->repairs->repaired[x->slot];
  if (*repaired == GEN_PARTIAL_NONE) {
    fold_in(s, &x->is);
    *repaired = gen_fold_requirement(s->fc->fold, s->repairs->requirement);
  }
  return gen_partial_condition(s->fc->fold, *repaired, yes);
}

/* The link to it, since it moves as it grows. NULL: out of memory */
static recheck **recheck_of(search *s, const change *x) {
  recheck **link = &s->repairs->rechecks;
  while (*link && (*link)->slot != x->slot) {
    link = &(*link)->next;
  }
  if (!*link && (*link = allocate(s->fc, recheck_nbytes(0)))) {
    (*link)->slot = (uint16_t)x->slot;
  }
  return *link ? link : NULL;
}

static bool recheck_add(feasibility_cache *fc, recheck **link, condition x) {
  recheck *s = *link;
  if (s->n == s->most) {
    const size_t most = s->most ? 2 * s->most : 2;
    s = resize(fc, s, recheck_nbytes(s->most), recheck_nbytes(most));
    if (!s) {
      return false;
    }
    s->most = most & 0x7fff;
    *link = s;
  }
  s->own[s->n++] = x;
  return true;
}

/* Fold the next requirement that reads the changed parameter. */
static bool fold_next(search *s, change *x, recheck **link) {
  fold_in(s, &x->is);
  const condition q = fold_condition(s->fc, s->fc->readers[x->is.param].list[(*link)->n_read++]);
  return q.partial == GEN_PARTIAL_TRUE || recheck_add(s->fc, link, q);
}

/* The guards are own[at] and those after it, once all requirements are folded. */
static bool is_guarded(search *s, change *x, recheck **link, size_t at) {
  feasibility_cache *fc = s->fc;
  if (!(*link)->has_guards) {
    fold_in(s, &x->is);
    for (size_t i = 0; i < fc->t->n_derived; i++) {
      const condition q = fold_guard(fc, i);
      if (q.partial != GEN_PARTIAL_TRUE && !recheck_add(fc, link, q)) {
        return false;
      }
    }
    (*link)->has_guards = true;
  }
  return have_values(fc, (*link)->own + at, (*link)->n - at);
}

/* No unknown requirement comes before the failure, except those that the change has folded anew. */
static bool is_known(const search *s, const change *x) {
  for (size_t i = 0; i < s->now.n_unknown && s->now.unknown[i] < x->is.failing; i++) {
    if (!s->fc->reads[s->now.unknown[i]][x->is.param]) {
      return false;
    }
  }
  return true;
}

/* Lower x->is.failing to the first requirement that fails after the change. */
static bool find_failing(search *s, change *x) {
  const indices *readers = &s->fc->readers[x->is.param];
  recheck **link = recheck_of(s, x);
  for (size_t i = 0; link; i++) {
    bool yes;
    while (i == (*link)->n && (*link)->n_read < readers->n &&
           readers->list[(*link)->n_read] < x->is.failing) {
      if (!fold_next(s, x, link)) {
        return false;
      }
    }
    const recheck *of = *link;
    if (i == of->n || of->own[i].requirement >= x->is.failing) {
      return is_known(s, x) &&
             (x->is.failing < s->fc->t->n_requirements || is_guarded(s, x, link, i));
    }
    if (!gen_partial_condition(s->fc->fold, of->own[i].partial, &yes)) {
      return false;
    }
    if (!yes) {
      x->is.failing = of->own[i].requirement;
      return is_known(s, x);
    }
  }
  return false;
}

/* Try a change that could be better than the best so far. `at` is the parameter's place in
 * s->params. */
static bool try_change(search *s, size_t at, size_t value, size_t steps) {
  change x = {
      .is = {.param = s->params->list[at], .value = value, .steps = steps, .failing = s->most[at]},
      .slot = s->slots[at] + value};
  bool repaired;
  if (s->repairs->repaired[x.slot] == GEN_PARTIAL_FALSE || !better(&x.is, &s->best.is)) {
    return true;
  }
  if (!repairs_it(s, &x, &repaired) || (repaired && !find_failing(s, &x))) {
    return false;
  }
  if (repaired && better(&x.is, &s->best.is)) {
    s->best = x;
  }
  return true;
}

/* Try the values `steps` positions either side. */
static bool try_steps(search *s, size_t at, size_t steps) {
  const size_t param = s->params->list[at], now = s->config.index[param];
  return (now < steps || try_change(s, at, now - steps, steps)) &&
         (now + steps >= s->fc->t->params[param].n || try_change(s, at, now + steps, steps));
}

/* Try the changes of the parameters that may get as far as this requirement, the smallest first:
 * the first that gets there is the best. */
static bool try_level(search *s, size_t level) {
  uint8_t list[GEN_MAX_PARAMS];
  size_t n = 0, most = 0;
  for (size_t at = 0; at < s->params->n; at++) {
    const size_t n_values = s->fc->t->params[s->params->list[at]].n;
    if (s->most[at] == level) {
      list[n++] = (uint8_t)at;
      most = n_values > most ? n_values : most;
    }
  }
  for (size_t steps = 1; steps < most; steps++) {
    const adapt_change least = {.failing = level, .steps = steps};
    for (size_t i = 0; i < n && better(&least, &s->best.is); i++) {
      if (!try_steps(s, list[i], steps)) {
        return false;
      }
    }
  }
  return true;
}

/* The first failure that a change of this parameter can't repair. */
static size_t unmoved(const search *s, size_t param) {
  for (size_t i = 1; i < s->now.n; i++) {
    if (!s->fc->reads[s->now.list[i]][param]) {
      return s->now.list[i];
    }
  }
  return s->fc->t->n_requirements;
}

/* The variant that the best change leads to. Requirements that do not read its parameter are as
 * before. */
static variant *variant_after(search *s) {
  feasibility_cache *fc = s->fc;
  const size_t param = s->best.is.param;
  const gen_config c = after(s, &s->best.is);
  const uint64_t key = key_of(fc, &c);
  variant *f = variant_find(fc, key);
  conditions q;
  if (f) {
    return f;
  }
  q.n = 0;
  gen_fold_config(fc->fold, &c);
  for (size_t i = 0, before = 0; i < fc->t->n_requirements; i++) {
    before += before < s->f->n && s->f->all[before].requirement < i;
    if (fc->reads[i][param]) {
      add_condition(&q, fold_condition(fc, i));
    } else if (before < s->f->n && s->f->all[before].requirement == i) {
      add_condition(&q, s->f->all[before]);
    }
  }
  return variant_keep(fc, key, &q);
}

static void measure_slots(search *s) {
  size_t n = 0;
  for (size_t at = 0; at < s->params->n; at++) {
    s->most[at] = unmoved(s, s->params->list[at]);
    s->slots[at] = n;
    n += s->fc->t->params[s->params->list[at]].n;
  }
}

/* The one change that gets farthest down the list of requirements, as in adapt_config: first those
 * that may get to the end are tried, then those that may get to the last failure, and so on. *to is
 * NULL where no change repairs. False: only the generator can tell. */
static bool change_one(search *s, variant **to) {
  const size_t first = s->now.list[0];
  s->params = &s->fc->params[first];
  s->repairs = repairs_of(s->fc, s->f, first);
  s->best = (change){.is = {.failing = first}};
  measure_slots(s);
  bool ok = s->repairs && try_level(s, s->fc->t->n_requirements);
  for (size_t i = s->now.n; ok && i-- > 1 && s->now.list[i] >= s->best.is.failing;) {
    ok = try_level(s, s->now.list[i]);
  }
  const bool found = ok && s->best.is.steps > 0;
  *to = found ? variant_after(s) : NULL;
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
  fc->first[i] = fc->first[i] ? fc->first[i] : variant_of(fc, &fc->configs[i]);
  return fc->first[i];
}

static void use(feasibility_cache *fc, variant *f) {
  f->last = fc->now;
  f->n_uses += f->n_uses < USES_MOST;
}

bool feasibility_cache_get(feasibility_cache *fc, size_t i, feasibility *out) {
  search s;
  if (!fc->fold || fc->broken) {
    return false;
  }
  s.fc = fc;
  s.f = first_variant(fc, i);
  s.config = fc->configs[i];
  *out = (feasibility){.changed = 0};
  if (!s.f || !find_failures(fc, s.f, &s.now)) {
    return false;
  }
  use(fc, s.f);
  for (variant *next = s.f; s.now.n && next && out->changed < ADAPT_CHANGES_MOST;) {
    if (!change_one(&s, &next) || (next && !find_failures(fc, next, &s.now))) {
      return false;
    }
    if (next) {
      use(fc, next);
      s.f = next;
      s.config = after(&s, &s.best.is);
      out->changed++;
    }
  }
  out->fits = !s.now.n;
  out->config = s.config;
  return !fc->broken && (!out->fits || work_of(fc, s.f, &s.config, &out->work));
}

bool feasibility_cache_get_unchanged(feasibility_cache *fc, size_t i, feasibility *out) {
  failures now;
  if (!fc->fold || fc->broken) {
    return false;
  }
  variant *f = first_variant(fc, i);
  if (!f || !find_failures(fc, f, &now)) {
    return false;
  }
  use(fc, f);
  *out = (feasibility){.fits = !now.n, .config = fc->configs[i]};
  return !fc->broken && (!out->fits || work_of(fc, f, &out->config, &out->work));
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

static bool list_those(feasibility_cache *fc, const uint16_t *list, size_t n, indices *out) {
  uint16_t *own = ARENA_ARRAY(&fc->lists, uint16_t, n + 1);
  if (own) {
    memcpy(own, list, n * sizeof *own);
  }
  *out = (indices){.list = own, .n = n};
  return own;
}

static bool list_readers(feasibility_cache *fc, size_t param) {
  uint16_t list[REQUIREMENTS_MOST + 1];
  size_t n = 0;
  for (size_t i = 0; i < fc->t->n_requirements; i++) {
    list[n] = (uint16_t)i;
    n += fc->reads[i][param];
  }
  return list_those(fc, list, n, &fc->readers[param]);
}

static bool list_params(feasibility_cache *fc, size_t requirement) {
  uint16_t list[GEN_MAX_PARAMS + 1];
  size_t n = 0;
  for (size_t i = 0; i < fc->t->n_params; i++) {
    list[n] = (uint16_t)i;
    n += fc->reads[requirement][i];
  }
  return list_those(fc, list, n, &fc->params[requirement]);
}

/* Which requirements read which parameters, both ways. */
static int find_readers(feasibility_cache *fc, err *e) {
  const gen_template *t = fc->t;
  bool ok = true;
  for (size_t i = 0; ok && i < t->n_requirements; i++) {
    const uint64_t reads = gen_requirement_reads(t, i);
    for (size_t p = 0; p < t->n_params; p++) {
      fc->reads[i][p] = reads >> p & 1;
    }
    ok = list_params(fc, i);
  }
  for (size_t i = 0; ok && i < t->n_params; i++) {
    ok = list_readers(fc, i);
  }
  return ok ? 0 : err_nomem(e);
}

static int set_up(feasibility_cache *fc, const gen_config *configs, const gen_number *limits,
                  size_t n_limits, err *e) {
  const gen_template *t = fc->t;
  if (t->n_requirements > REQUIREMENTS_MOST) {
    return err_set(e, ERR_LIMIT, "%s has more requirements than can be folded", t->name);
  }
  fc->configs = calloc(fc->n + 1, sizeof *fc->configs);
  fc->first = calloc(fc->n + 1, sizeof *fc->first);
  fc->reads = calloc(t->n_requirements + 1, sizeof *fc->reads);
  fc->params = calloc(t->n_requirements + 1, sizeof *fc->params);
  fc->limits = calloc(n_limits, sizeof *limits);
  fc->n_limits = n_limits;
  if (!fc->configs || !fc->first || !fc->reads || !fc->params || !fc->limits) {
    return err_nomem(e);
  }
  memcpy(fc->configs, configs, fc->n * sizeof *configs);
  memcpy(fc->limits, limits, n_limits * sizeof *limits);
  TRY(find_readers(fc, e));
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
    arena_clear(&fc->lists);
    free(fc->limits);
    free(fc->configs);
    free(fc->first);
    free(fc->reads);
    free(fc->params);
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
