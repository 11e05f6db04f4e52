#include "feasibility_cache.h"

#include <stdlib.h>
#include <string.h>

#include "adapt.h"
#include "gen_fold.h"
#include "key_hash.h"

/* Of forms and changes, unless told otherwise; remainders take 0.35 MB besides. Of sgemm's
 * portfolio some 150 sizes of any alignment fill it. */
static const size_t MOST_NBYTES = 368 << 10, LEAST_NBYTES = 64 << 10;

enum { REQUIREMENTS_MOST = 512, FORM_SLOTS = 1024 };

/* Used twice as often is as good as used so many problems later: so fewest forms were missed, at
 * half the memory that all took, of 25 to 400. */
enum { USES_WORTH = 128, USES_MOST = 1 << 10 };

/* What a form's validity depends on. A guard, whose requirement is the one after the last, must
 * have a value, or the generator would refuse the form. */
typedef struct question {
  uint16_t requirement;
  gen_partial rest;
} question;

typedef struct step { /* what is asked of a change that mends */
  struct step *next;
  uint16_t slot;   /* the change's place in `mended` */
  uint16_t n_read; /* of the requirements that read the parameter: so many have been asked */
  uint16_t n;      /* questions of those, then guards */
  uint16_t most : 15, has_guards : 1;
  question own[];
} step;

typedef struct mends { /* of one requirement that failed */
  struct mends *next;
  step *steps;
  uint16_t requirement, n;
  gen_partial mended[]; /* by value of each parameter that it reads; NONE: nobody asked yet */
} mends;

/* That a configuration takes; what always holds is no question. 64 bits tell thousands apart. */
typedef struct form {
  struct form *next; /* of its slot */
  mends *mends;
  gen_folded_work *work; /* NULL: nobody had to know yet */
  uint64_t key;        /* of the configuration */
  uint32_t last;       /* problem that it was used for */
  uint16_t n_uses, n;
  question all[]; /* in the order of the requirements; guards follow */
} form;

typedef struct indices {
  uint16_t *list;
  size_t n;
} indices;

struct feasibility_cache {
  gen_template *t;
  gen_fold *fold;
  gen_config *configs;
  form **first; /* of each configuration, as it is; NULL: not made yet */
  size_t n;
  bool (*reads)[GEN_MAX_PARAMS]; /* of each requirement */
  indices *params;               /* that a requirement reads */
  indices readers[GEN_MAX_PARAMS];
  form *forms[FORM_SLOTS]; /* by configuration */
  uint32_t now, least;     /* problem; forms of less worth than that are gone */
  bool broken;             /* without memory, so that something may be missing */
  size_t nbytes, most_nbytes;
  arena lists; /* of readers */
  gen_number *limits;
  size_t n_limits;
};

/* As the allocator of the GNU C library rounds it. */
static size_t taken(size_t nbytes) {
  const size_t n = (nbytes + 8 + 15) & ~(size_t)15;
  return n < 32 ? 32 : n;
}

static void *resize(feasibility_cache *j, void *old, size_t before, size_t nbytes) {
  void *p = realloc(old, nbytes);
  j->broken = j->broken || !p;
  j->nbytes += p ? taken(nbytes) - (old ? taken(before) : 0) : 0;
  return p;
}

static void *make(feasibility_cache *j, size_t nbytes) {
  void *p = resize(j, NULL, 0, nbytes);
  return p ? memset(p, 0, nbytes) : NULL;
}

static void give(feasibility_cache *j, void *p, size_t nbytes) {
  j->nbytes -= p ? taken(nbytes) : 0;
  free(p);
}

/* ---- forms ----------------------------------------------------------------------------------- */

typedef struct questions {
  question list[REQUIREMENTS_MOST + GEN_MAX_DERIVED];
  uint16_t n;
} questions;

/* What requirement i leaves, with the configuration that is folded in. */
static question ask(feasibility_cache *j, size_t i) {
  return (question){.requirement = (uint16_t)i, .rest = gen_fold_requirement(j->fold, i)};
}

static void add_question(questions *q, question x) {
  if (x.rest != GEN_PARTIAL_TRUE) {
    q->list[q->n++] = x;
  }
}

static question ask_guard(feasibility_cache *j, size_t i) {
  return (question){.requirement = (uint16_t)j->t->n_requirements,
                    .rest = gen_fold_derived(j->fold, i)};
}

static bool have_values(feasibility_cache *j, const question *guards, size_t n) {
  size_t i = 0;
  while (i < n && gen_partial_has_value(j->fold, guards[i].rest)) {
    i++;
  }
  return i == n;
}

static uint64_t key_of(const feasibility_cache *j, const gen_config *c) {
  return key_hash(c->index, j->t->n_params * sizeof *c->index);
}

static form *form_find(feasibility_cache *j, uint64_t key) {
  form *f = j->forms[key % FORM_SLOTS];
  while (f && f->key != key) {
    f = f->next;
  }
  return f;
}

static size_t form_nbytes(size_t n) {
  return sizeof(form) + n * sizeof(question);
}

/* Of the configuration that is folded in. */
static form *form_keep(feasibility_cache *j, uint64_t key, questions *q) {
  for (size_t i = 0; i < j->t->n_derived; i++) {
    add_question(q, ask_guard(j, i));
  }
  form *f = make(j, form_nbytes(q->n));
  if (f) {
    f->key = key;
    f->n = q->n;
    memcpy(f->all, q->list, q->n * sizeof *q->list);
    f->next = j->forms[key % FORM_SLOTS];
    j->forms[key % FORM_SLOTS] = f;
  }
  return f;
}

static form *form_of(feasibility_cache *j, const gen_config *c) {
  const uint64_t key = key_of(j, c);
  form *f = form_find(j, key);
  questions q;
  if (f) {
    return f;
  }
  q.n = 0;
  gen_fold_config(j->fold, c);
  for (size_t i = 0; i < j->t->n_requirements; i++) {
    add_question(&q, ask(j, i));
  }
  return form_keep(j, key, &q);
}

static size_t step_nbytes(size_t most) {
  return sizeof(step) + most * sizeof(question);
}

static void form_free(feasibility_cache *j, form *f) {
  for (mends *m = f->mends, *next; m; m = next) {
    for (step *s = m->steps, *after; s; s = after) {
      after = s->next;
      give(j, s, step_nbytes(s->most));
    }
    next = m->next;
    give(j, m, sizeof *m + m->n * sizeof *m->mended);
  }
  give(j, f->work, f->work ? gen_folded_work_nbytes(f->work) : 0);
  give(j, f, form_nbytes(f->n));
}

typedef struct failures { /* of a form, for this problem */
  uint16_t list[REQUIREMENTS_MOST], untold[REQUIREMENTS_MOST];
  size_t n, n_untold; /* after a failure, where the generator does not ask */
} failures;

/* False: only the generator can tell. */
static bool find_failures(feasibility_cache *j, const form *f, failures *out) {
  out->n = out->n_untold = 0;
  size_t i = 0;
  for (; i < f->n && f->all[i].requirement < j->t->n_requirements; i++) {
    bool yes = false;
    const bool told = gen_partial_condition(j->fold, f->all[i].rest, &yes);
    if (!told && !out->n) {
      return false;
    }
    if (!told) {
      out->untold[out->n_untold++] = f->all[i].requirement;
    } else if (!yes) {
      out->list[out->n++] = f->all[i].requirement;
    }
  }
  return out->n || have_values(j, f->all + i, f->n - i);
}

/* ---- changes --------------------------------------------------------------------------------- */

static mends *mends_of(feasibility_cache *j, form *f, size_t requirement) {
  const indices *params = &j->params[requirement];
  mends *m = f->mends;
  size_t n = 0;
  while (m && m->requirement != requirement) {
    m = m->next;
  }
  for (size_t at = 0; !m && at < params->n; at++) {
    n += j->t->params[params->list[at]].n;
  }
  if (!m && n <= UINT16_MAX && (m = make(j, sizeof *m + n * sizeof *m->mended))) {
    m->requirement = (uint16_t)requirement;
    m->n = (uint16_t)n;
    m->next = f->mends;
    f->mends = m;
  }
  return m;
}

typedef struct change { /* of a form */
  adapt_change is;
  size_t slot;
} change;

typedef struct search { /* for the best of them */
  feasibility_cache *j;
  form *f;
  gen_config config; /* of the form */
  failures now;
  mends *mends;
  const indices *params;
  size_t most[GEN_MAX_PARAMS];  /* how far down the requirements a change of each may get */
  size_t slots[GEN_MAX_PARAMS]; /* first of each parameter */
  change best;
} search;

/* Of equal ones the first, by parameter and value. */
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
  gen_fold_config(s->j->fold, &c);
}

static bool mends_it(search *s, change *x, bool *yes) {
  gen_partial *mended = &s->mends->mended[x->slot];
  if (*mended == GEN_PARTIAL_NONE) {
    fold_in(s, &x->is);
    *mended = gen_fold_requirement(s->j->fold, s->mends->requirement);
  }
  return gen_partial_condition(s->j->fold, *mended, yes);
}

/* The link to it, since it moves as it grows. NULL: no memory */
static step **step_of(search *s, const change *x) {
  step **link = &s->mends->steps;
  while (*link && (*link)->slot != x->slot) {
    link = &(*link)->next;
  }
  if (!*link && (*link = make(s->j, step_nbytes(0)))) {
    (*link)->slot = (uint16_t)x->slot;
  }
  return *link ? link : NULL;
}

static bool step_add(feasibility_cache *j, step **link, question x) {
  step *s = *link;
  if (s->n == s->most) {
    const size_t most = s->most ? 2 * s->most : 2;
    s = resize(j, s, step_nbytes(s->most), step_nbytes(most));
    if (!s) {
      return false;
    }
    s->most = most & 0x7fff;
    *link = s;
  }
  s->own[s->n++] = x;
  return true;
}

/* The next question that the changed parameter raises, asked at last. */
static bool ask_next(search *s, change *x, step **link) {
  fold_in(s, &x->is);
  const question q = ask(s->j, s->j->readers[x->is.param].list[(*link)->n_read++]);
  return q.rest == GEN_PARTIAL_TRUE || step_add(s->j, link, q);
}

/* The guards are own[at] and what follows, once all requirements have been read. */
static bool is_guarded(search *s, change *x, step **link, size_t at) {
  feasibility_cache *j = s->j;
  if (!(*link)->has_guards) {
    fold_in(s, &x->is);
    for (size_t i = 0; i < j->t->n_derived; i++) {
      const question q = ask_guard(j, i);
      if (q.rest != GEN_PARTIAL_TRUE && !step_add(j, link, q)) {
        return false;
      }
    }
    (*link)->has_guards = true;
  }
  return have_values(j, (*link)->own + at, (*link)->n - at);
}

/* Nothing untold comes before the failure, but what the change has asked anew. */
static bool is_told(const search *s, const change *x) {
  for (size_t i = 0; i < s->now.n_untold && s->now.untold[i] < x->is.failing; i++) {
    if (!s->j->reads[s->now.untold[i]][x->is.param]) {
      return false;
    }
  }
  return true;
}

/* The first requirement that fails after the change, in place of the last that may be. */
static bool find_failing(search *s, change *x) {
  const indices *readers = &s->j->readers[x->is.param];
  step **link = step_of(s, x);
  for (size_t i = 0; link; i++) {
    bool yes;
    while (i == (*link)->n && (*link)->n_read < readers->n &&
           readers->list[(*link)->n_read] < x->is.failing) {
      if (!ask_next(s, x, link)) {
        return false;
      }
    }
    const step *of = *link;
    if (i == of->n || of->own[i].requirement >= x->is.failing) {
      return is_told(s, x) &&
             (x->is.failing < s->j->t->n_requirements || is_guarded(s, x, link, i));
    }
    if (!gen_partial_condition(s->j->fold, of->own[i].rest, &yes)) {
      return false;
    }
    if (!yes) {
      x->is.failing = of->own[i].requirement;
      return is_told(s, x);
    }
  }
  return false;
}

/* Could it be better than the best? Then, is it? `at` is the parameter's place in s->params. */
static bool try_change(search *s, size_t at, size_t value, size_t steps) {
  change x = {
      .is = {.param = s->params->list[at], .value = value, .steps = steps, .failing = s->most[at]},
      .slot = s->slots[at] + value};
  bool mended;
  if (s->mends->mended[x.slot] == GEN_PARTIAL_FALSE || !better(&x.is, &s->best.is)) {
    return true;
  }
  if (!mends_it(s, &x, &mended) || (mended && !find_failing(s, &x))) {
    return false;
  }
  if (mended && better(&x.is, &s->best.is)) {
    s->best = x;
  }
  return true;
}

/* So many steps up and down. */
static bool try_steps(search *s, size_t at, size_t steps) {
  const size_t param = s->params->list[at], now = s->config.index[param];
  return (now < steps || try_change(s, at, now - steps, steps)) &&
         (now + steps >= s->j->t->params[param].n || try_change(s, at, now + steps, steps));
}

/* The changes of those parameters that may get so far, the smallest first: so the first that does
 * get there is the best, and larger ones need not be looked at. */
static bool try_level(search *s, size_t level) {
  uint8_t list[GEN_MAX_PARAMS];
  size_t n = 0, most = 0;
  for (size_t at = 0; at < s->params->n; at++) {
    const size_t n_values = s->j->t->params[s->params->list[at]].n;
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

/* The first failure that a change of this parameter leaves as it is. */
static size_t unmoved(const search *s, size_t param) {
  for (size_t i = 1; i < s->now.n; i++) {
    if (!s->j->reads[s->now.list[i]][param]) {
      return s->now.list[i];
    }
  }
  return s->j->t->n_requirements;
}

/* What the best change leads to. What does not read its parameter is as before. */
static form *form_after(search *s) {
  feasibility_cache *j = s->j;
  const size_t param = s->best.is.param;
  const gen_config c = after(s, &s->best.is);
  const uint64_t key = key_of(j, &c);
  form *f = form_find(j, key);
  questions q;
  if (f) {
    return f;
  }
  q.n = 0;
  gen_fold_config(j->fold, &c);
  for (size_t i = 0, before = 0; i < j->t->n_requirements; i++) {
    before += before < s->f->n && s->f->all[before].requirement < i;
    if (j->reads[i][param]) {
      add_question(&q, ask(j, i));
    } else if (before < s->f->n && s->f->all[before].requirement == i) {
      add_question(&q, s->f->all[before]);
    }
  }
  return form_keep(j, key, &q);
}

static void measure_slots(search *s) {
  size_t n = 0;
  for (size_t at = 0; at < s->params->n; at++) {
    s->most[at] = unmoved(s, s->params->list[at]);
    s->slots[at] = n;
    n += s->j->t->params[s->params->list[at]].n;
  }
}

/* As adapt_config, the one change that gets farthest down the list of requirements: tried are those
 * that may get to the end, then those that may get to the last failure, and so on. *to is NULL
 * where none mends. False: only the generator can tell. */
static bool change_one(search *s, form **to) {
  const size_t first = s->now.list[0];
  s->params = &s->j->params[first];
  s->mends = mends_of(s->j, s->f, first);
  s->best = (change){.is = {.failing = first}};
  measure_slots(s);
  bool ok = s->mends && try_level(s, s->j->t->n_requirements);
  for (size_t i = s->now.n; ok && i-- > 1 && s->now.list[i] >= s->best.is.failing;) {
    ok = try_level(s, s->now.list[i]);
  }
  const bool found = ok && s->best.is.steps > 0;
  *to = found ? form_after(s) : NULL;
  return ok && (!found || *to);
}

/* ---- judging --------------------------------------------------------------------------------- */

static bool judge_work(feasibility_cache *j, form *f, const gen_config *c, model_work *out) {
  gen_work w;
  if (!f->work) {
    gen_fold_config(j->fold, c);
    f->work = gen_fold_work(j->fold);
    j->nbytes += f->work ? taken(gen_folded_work_nbytes(f->work)) : 0;
  }
  if (!f->work || !gen_partial_work(j->fold, f->work, &w)) {
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

static form *first_form(feasibility_cache *j, size_t i) {
  j->first[i] = j->first[i] ? j->first[i] : form_of(j, &j->configs[i]);
  return j->first[i];
}

static void use(feasibility_cache *j, form *f) {
  f->last = j->now;
  f->n_uses += f->n_uses < USES_MOST;
}

bool feasibility_cache_get(feasibility_cache *j, size_t i, feasibility *out) {
  search s;
  if (!j->fold || j->broken) {
    return false;
  }
  s.j = j;
  s.f = first_form(j, i);
  s.config = j->configs[i];
  *out = (feasibility){.changed = 0};
  if (!s.f || !find_failures(j, s.f, &s.now)) {
    return false;
  }
  use(j, s.f);
  for (form *next = s.f; s.now.n && next && out->changed < ADAPT_CHANGES_MOST;) {
    if (!change_one(&s, &next) || (next && !find_failures(j, next, &s.now))) {
      return false;
    }
    if (next) {
      use(j, next);
      s.f = next;
      s.config = after(&s, &s.best.is);
      out->changed++;
    }
  }
  out->fits = !s.now.n;
  out->config = s.config;
  return !j->broken && (!out->fits || judge_work(j, s.f, &s.config, &out->work));
}

bool feasibility_cache_get_unchanged(feasibility_cache *j, size_t i, feasibility *out) {
  failures now;
  if (!j->fold || j->broken) {
    return false;
  }
  form *f = first_form(j, i);
  if (!f || !find_failures(j, f, &now)) {
    return false;
  }
  use(j, f);
  *out = (feasibility){.fits = !now.n, .config = j->configs[i]};
  return !j->broken && (!out->fits || judge_work(j, f, &out->config, &out->work));
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static uint32_t worth_of(const form *f) {
  uint32_t octaves = 0;
  for (uint16_t n = f->n_uses; n > 1; n /= 2) {
    octaves++;
  }
  return f->last + octaves * USES_WORTH;
}

static void forget_below(feasibility_cache *j, uint64_t worth) {
  for (size_t i = 0; i < FORM_SLOTS; i++) {
    for (form **link = &j->forms[i], *f; (f = *link);) {
      if (worth_of(f) < worth) {
        *link = f->next;
        form_free(j, f);
      } else {
        link = &f->next;
      }
    }
  }
  memset(j->first, 0, j->n * sizeof *j->first);
}

/* Down to seven eighths. What is of less worth than ever before was forgotten then. */
static void forget_some(feasibility_cache *j) {
  while (j->nbytes > j->most_nbytes / 8 * 7) {
    j->least += USES_WORTH / 8;
    forget_below(j, j->least);
  }
}

static void start_again(feasibility_cache *j) {
  forget_below(j, UINT64_MAX);
  gen_fold_free(j->fold);
  j->fold = NULL;
  j->now = j->least = 0;
  j->broken = gen_fold_new(j->t, j->limits, j->n_limits, &j->fold, NULL);
}

void feasibility_cache_problem(feasibility_cache *j, const gen_problem *p) {
  if (!j->fold || j->broken || gen_fold_is_full(j->fold) || j->now == UINT32_MAX / 2) {
    start_again(j);
  }
  j->now++;
  if (j->nbytes > j->most_nbytes) {
    forget_some(j);
  }
  if (j->fold) {
    gen_fold_problem(j->fold, p);
  }
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool list_those(feasibility_cache *j, const uint16_t *list, size_t n, indices *out) {
  uint16_t *own = ARENA_ARRAY(&j->lists, uint16_t, n + 1);
  if (own) {
    memcpy(own, list, n * sizeof *own);
  }
  *out = (indices){.list = own, .n = n};
  return own;
}

static bool list_readers(feasibility_cache *j, size_t param) {
  uint16_t list[REQUIREMENTS_MOST + 1];
  size_t n = 0;
  for (size_t i = 0; i < j->t->n_requirements; i++) {
    list[n] = (uint16_t)i;
    n += j->reads[i][param];
  }
  return list_those(j, list, n, &j->readers[param]);
}

static bool list_params(feasibility_cache *j, size_t requirement) {
  uint16_t list[GEN_MAX_PARAMS + 1];
  size_t n = 0;
  for (size_t i = 0; i < j->t->n_params; i++) {
    list[n] = (uint16_t)i;
    n += j->reads[requirement][i];
  }
  return list_those(j, list, n, &j->params[requirement]);
}

/* Which requirements read which parameters, both ways. */
static int find_readers(feasibility_cache *j, err *e) {
  const gen_template *t = j->t;
  bool ok = true;
  for (size_t i = 0; ok && i < t->n_requirements; i++) {
    const uint64_t reads = gen_requirement_reads(t, i);
    for (size_t p = 0; p < t->n_params; p++) {
      j->reads[i][p] = reads >> p & 1;
    }
    ok = list_params(j, i);
  }
  for (size_t i = 0; ok && i < t->n_params; i++) {
    ok = list_readers(j, i);
  }
  return ok ? 0 : err_set(e, ERR_NOMEM, "out of host memory");
}

static int set_up(feasibility_cache *j, const gen_config *configs, const gen_number *limits,
                  size_t n_limits, err *e) {
  const gen_template *t = j->t;
  if (t->n_requirements > REQUIREMENTS_MOST) {
    return err_set(e, ERR_LIMIT, "%s has more requirements than can be folded", t->name);
  }
  j->configs = calloc(j->n + 1, sizeof *j->configs);
  j->first = calloc(j->n + 1, sizeof *j->first);
  j->reads = calloc(t->n_requirements + 1, sizeof *j->reads);
  j->params = calloc(t->n_requirements + 1, sizeof *j->params);
  j->limits = calloc(n_limits, sizeof *limits);
  j->n_limits = n_limits;
  if (!j->configs || !j->first || !j->reads || !j->params || !j->limits) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  memcpy(j->configs, configs, j->n * sizeof *configs);
  memcpy(j->limits, limits, n_limits * sizeof *limits);
  TRY(find_readers(j, e));
  return gen_fold_new(j->t, limits, n_limits, &j->fold, e);
}

int feasibility_cache_new(gen_template *t, const gen_config *configs, size_t n,
                          const gen_number *limits, size_t n_limits, feasibility_cache **out,
                          err *e) {
  feasibility_cache *j = calloc(1, sizeof *j);
  if (!j) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  j->t = t;
  j->n = n;
  j->most_nbytes = MOST_NBYTES;
  const int rc = set_up(j, configs, limits, n_limits, e);
  if (rc) {
    feasibility_cache_free(j);
    return rc;
  }
  *out = j;
  return 0;
}

void feasibility_cache_free(feasibility_cache *j) {
  if (j) {
    if (j->first) {
      forget_below(j, UINT64_MAX);
    }
    gen_fold_free(j->fold);
    arena_clear(&j->lists);
    free(j->limits);
    free(j->configs);
    free(j->first);
    free(j->reads);
    free(j->params);
    free(j);
  }
}

void feasibility_cache_bound(feasibility_cache *j, size_t nbytes) {
  j->most_nbytes = nbytes < LEAST_NBYTES  ? LEAST_NBYTES
                   : nbytes < MOST_NBYTES ? nbytes
                                          : MOST_NBYTES;
}

bool feasibility_cache_is_of(const feasibility_cache *j, const gen_config *configs, size_t n) {
  return j->n == n && !memcmp(j->configs, configs, n * sizeof *configs);
}

size_t feasibility_cache_nbytes(const feasibility_cache *j) {
  return sizeof *j + j->nbytes + (j->fold ? gen_fold_nbytes(j->fold) : 0);
}
