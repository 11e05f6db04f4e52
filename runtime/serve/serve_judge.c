#include "serve_judge.h"

#include <stdlib.h>
#include <string.h>

#include "gen_fold.h"
#include "serve_adapt.h"
#include "serve_table.h"

/* Of forms and changes, and of remainders: beyond, all is forgotten. Of sgemm some 300 sizes of any
 * alignment fill it. */
static const size_t MOST_NBYTES = 6 << 20;

enum { REQUIREMENTS_MOST = 512 };

typedef struct question { /* what a form's validity depends on */
  uint16_t requirement;
  gen_rest rest;
} question;

typedef struct questions { /* in the order of the requirements; what always holds is none */
  question *list;
  uint32_t n, most;
} questions;

typedef struct mend { /* a change that may mend a requirement; filled in as somebody has to know */
  gen_rest mended;
  bool is_asked;
  uint16_t n_read;        /* of the requirements that read the parameter: so many have been asked */
  questions own;          /* of those */
  const gen_rest *guards; /* as of the form */
  struct form *form;      /* what it leads to */
} mend;

typedef struct mends { /* of one requirement that failed */
  struct mends *next;
  size_t requirement;
  mend *of[]; /* for each parameter that it reads: by value */
} mends;

typedef struct form { /* that a configuration takes */
  gen_config config;
  questions all;
  const gen_rest *guards;    /* that must have a value, or the generator would refuse it; to NONE */
  const gen_work_rest *work; /* NULL: nobody had to know yet */
  mends *mends;
} form;

typedef struct indices {
  uint16_t *list;
  size_t n;
} indices;

struct serve_judge {
  gen_template *t;
  gen_fold *fold;
  gen_config *configs;
  form **first; /* of each configuration, as it is; NULL: not made yet */
  size_t n;
  bool (*reads)[GEN_MAX_PARAMS]; /* of each requirement */
  indices *params;               /* that a requirement reads */
  indices readers[GEN_MAX_PARAMS];
  serve_table forms; /* by configuration */
  bool full, broken; /* beyond the limit; without memory, so that something may be missing */
  size_t nbytes;
  arena lists, memory; /* of readers; of forms */
  gen_number *limits;
  size_t n_limits;
};

static void *make(serve_judge *j, size_t nbytes) {
  void *p = arena_new(&j->memory, nbytes);
  j->nbytes += nbytes;
  j->broken = j->broken || !p;
  j->full = j->broken || j->nbytes > MOST_NBYTES;
  return p;
}

/* ---- forms ----------------------------------------------------------------------------------- */

static bool add_question(serve_judge *j, questions *q, question x) {
  if (q->n == q->most) {
    const uint32_t most = q->most ? 2 * q->most : 4;
    question *list = make(j, most * sizeof *list);
    if (!list) {
      return false;
    }
    if (q->n) {
      memcpy(list, q->list, q->n * sizeof *list);
    }
    q->list = list;
    q->most = most;
  }
  q->list[q->n++] = x;
  return true;
}

/* What requirement i leaves, with the configuration that is folded in. */
static bool ask(serve_judge *j, size_t i, questions *q) {
  const question x = {.requirement = (uint16_t)i, .rest = gen_fold_requirement(j->fold, i)};
  return x.rest == GEN_REST_TRUE || add_question(j, q, x);
}

/* A configuration is valid when its derived values can be had, too. */
static const gen_rest *guard(serve_judge *j) {
  static const gen_rest none = GEN_REST_NONE;
  gen_rest list[GEN_MAX_DERIVED + 1], *kept;
  size_t n = 0;
  for (size_t i = 0; i < j->t->n_derived; i++) {
    list[n] = gen_fold_derived(j->fold, i);
    n += list[n] != GEN_REST_TRUE;
  }
  list[n] = GEN_REST_NONE;
  if (!n || !(kept = make(j, (n + 1) * sizeof *kept))) {
    return n ? NULL : &none;
  }
  return memcpy(kept, list, (n + 1) * sizeof *kept);
}

static bool have_values(serve_judge *j, const gen_rest *guards) {
  for (; *guards != GEN_REST_NONE; guards++) {
    if (!gen_rest_has_value(j->fold, *guards)) {
      return false;
    }
  }
  return true;
}

/* Without its questions. */
static form *form_new(serve_judge *j, const gen_config *c) {
  form *f = make(j, sizeof *f);
  if (f) {
    *f = (form){.config = *c};
    gen_fold_config(j->fold, c);
    f->guards = guard(j);
    f = f->guards ? f : NULL;
  }
  return f;
}

static form *form_find(serve_judge *j, const gen_config *c) {
  return serve_table_get(&j->forms, c->index, j->t->n_params * sizeof *c->index);
}

static bool form_keep(serve_judge *j, form *f) {
  return serve_table_put(&j->forms, f->config.index, j->t->n_params * sizeof *f->config.index, f);
}

static form *form_of(serve_judge *j, const gen_config *c) {
  form *f = form_find(j, c);
  if (f || !(f = form_new(j, c))) {
    return f;
  }
  for (size_t i = 0; i < j->t->n_requirements; i++) {
    if (!ask(j, i, &f->all)) {
      return NULL;
    }
  }
  return form_keep(j, f) ? f : NULL;
}

typedef struct failures { /* of a form, for this problem */
  uint16_t list[REQUIREMENTS_MOST], untold[REQUIREMENTS_MOST];
  size_t n, n_untold; /* after a failure, where the generator does not ask */
} failures;

/* False: only the generator can tell. */
static bool find_failures(serve_judge *j, const form *f, failures *out) {
  out->n = out->n_untold = 0;
  for (size_t i = 0; i < f->all.n; i++) {
    bool yes = false;
    const bool told = gen_rest_condition(j->fold, f->all.list[i].rest, &yes);
    if (!told && !out->n) {
      return false;
    }
    if (!told) {
      out->untold[out->n_untold++] = f->all.list[i].requirement;
    } else if (!yes) {
      out->list[out->n++] = f->all.list[i].requirement;
    }
  }
  return out->n || have_values(j, f->guards);
}

/* ---- changes --------------------------------------------------------------------------------- */

static mends *mends_of(serve_judge *j, form *f, size_t requirement) {
  mends *m = f->mends;
  while (m && m->requirement != requirement) {
    m = m->next;
  }
  if (!m && (m = make(j, sizeof *m + j->params[requirement].n * sizeof *m->of))) {
    m->requirement = requirement;
    m->next = f->mends;
    f->mends = m;
  }
  return m;
}

typedef struct change { /* of a form */
  serve_change is;
  mend *mend;
} change;

typedef struct search { /* for the best of them */
  serve_judge *j;
  form *f;
  failures now;
  mends *mends;
  const indices *params;
  size_t most[GEN_MAX_PARAMS]; /* how far down the requirements a change of each may get */
  change best;
} search;

/* Of equal ones the first, by parameter and value. */
static bool better(const serve_change *a, const serve_change *b) {
  if (a->failing != b->failing || a->steps != b->steps) {
    return serve_change_better(a, b);
  }
  return a->param < b->param || (a->param == b->param && a->value < b->value);
}

static void fold_in(search *s, const serve_change *x) {
  gen_config c = s->f->config;
  c.index[x->param] = (uint16_t)x->value;
  gen_fold_config(s->j->fold, &c);
}

static bool mends_it(search *s, change *x, bool *yes) {
  if (!x->mend->is_asked) {
    fold_in(s, &x->is);
    x->mend->mended = gen_fold_requirement(s->j->fold, s->mends->requirement);
    x->mend->is_asked = true;
  }
  return gen_rest_condition(s->j->fold, x->mend->mended, yes);
}

/* The next question that the changed parameter raises, asked at last. */
static bool ask_next(search *s, change *x) {
  const indices *readers = &s->j->readers[x->is.param];
  fold_in(s, &x->is);
  return ask(s->j, readers->list[x->mend->n_read++], &x->mend->own);
}

static bool is_guarded(search *s, change *x) {
  if (!x->mend->guards) {
    fold_in(s, &x->is);
    x->mend->guards = guard(s->j);
  }
  return x->mend->guards && have_values(s->j, x->mend->guards);
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
  const questions *own = &x->mend->own;
  for (size_t i = 0;; i++) {
    bool yes;
    while (i == own->n && x->mend->n_read < readers->n &&
           readers->list[x->mend->n_read] < x->is.failing) {
      if (!ask_next(s, x)) {
        return false;
      }
    }
    if (i == own->n || own->list[i].requirement >= x->is.failing) {
      return is_told(s, x) && (x->is.failing < s->j->t->n_requirements || is_guarded(s, x));
    }
    if (!gen_rest_condition(s->j->fold, own->list[i].rest, &yes)) {
      return false;
    }
    if (!yes) {
      x->is.failing = own->list[i].requirement;
      return is_told(s, x);
    }
  }
}

/* Could it be better than the best? Then, is it? `at` is the parameter's place in s->params. */
static bool try_change(search *s, size_t at, size_t value, size_t steps) {
  const size_t param = s->params->list[at];
  mend *list = s->mends->of[at];
  if (!list && !(list = s->mends->of[at] = make(s->j, s->j->t->params[param].n * sizeof *list))) {
    return false;
  }
  change x = {.is = {.param = param, .value = value, .steps = steps, .failing = s->most[at]},
              .mend = &list[value]};
  bool mended;
  if ((x.mend->is_asked && x.mend->mended == GEN_REST_FALSE) || !better(&x.is, &s->best.is)) {
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
  const size_t param = s->params->list[at], now = s->f->config.index[param];
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
    const serve_change least = {.failing = level, .steps = steps};
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
  serve_judge *j = s->j;
  mend *m = s->best.mend;
  gen_config c = s->f->config;
  c.index[s->best.is.param] = (uint16_t)s->best.is.value;
  form *f = m->form ? m->form : form_find(j, &c);
  if (f || !(f = form_new(j, &c))) {
    return m->form = f;
  }
  for (size_t i = 0, before = 0; i < j->t->n_requirements; i++) {
    const questions *all = &s->f->all;
    before += before < all->n && all->list[before].requirement < i;
    const bool was = before < all->n && all->list[before].requirement == i;
    const bool reads = j->reads[i][s->best.is.param];
    if (!(reads ? ask(j, i, &f->all) : !was || add_question(j, &f->all, all->list[before]))) {
      return NULL;
    }
  }
  return m->form = form_keep(j, f) ? f : NULL;
}

/* As serve_adapt, the one change that gets farthest down the list of requirements: tried are those
 * that may get to the end, then those that may get to the last failure, and so on. *to is NULL
 * where none mends. False: only the generator can tell. */
static bool change_one(search *s, form **to) {
  const size_t first = s->now.list[0];
  s->params = &s->j->params[first];
  s->mends = mends_of(s->j, s->f, first);
  s->best = (change){.is = {.failing = first}};
  for (size_t at = 0; at < s->params->n; at++) {
    s->most[at] = unmoved(s, s->params->list[at]);
  }
  bool ok = s->mends && try_level(s, s->j->t->n_requirements);
  for (size_t i = s->now.n; ok && i-- > 1 && s->now.list[i] >= s->best.is.failing;) {
    ok = try_level(s, s->now.list[i]);
  }
  *to = ok && s->best.mend ? form_after(s) : NULL;
  return ok && (!s->best.mend || *to);
}

/* ---- judging --------------------------------------------------------------------------------- */

static bool judge_work(serve_judge *j, form *f, serve_work *out) {
  gen_work w;
  if (!f->work) {
    gen_fold_config(j->fold, &f->config);
    f->work = gen_fold_work(j->fold, &j->memory);
  }
  if (!f->work || !gen_rest_work(j->fold, f->work, &w)) {
    return false;
  }
  *out = (serve_work){.launches = (double)w.launches,
                      .blocks = w.blocks,
                      .threads = w.threads,
                      .flops = w.flops,
                      .bytes = w.bytes,
                      .form = f->config};
  memcpy(out->work, w.work, sizeof out->work);
  return true;
}

bool serve_judge_one(serve_judge *j, size_t i, serve_judged *out) {
  search s;
  if (!j->fold || j->broken) {
    return false;
  }
  s.j = j;
  s.f = j->first[i] ? j->first[i] : form_of(j, &j->configs[i]);
  form *next = s.f;
  j->first[i] = s.f;
  *out = (serve_judged){.changed = 0};
  if (!s.f || !find_failures(j, s.f, &s.now)) {
    return false;
  }
  for (; s.now.n && next && out->changed < SERVE_CHANGES_MOST; out->changed += next != NULL) {
    if (!change_one(&s, &next) || (next && !find_failures(j, next, &s.now))) {
      return false;
    }
    s.f = next ? next : s.f;
  }
  out->fits = !s.now.n;
  out->config = s.f->config;
  return !j->broken && (!out->fits || judge_work(j, s.f, &out->work));
}

bool serve_judge_as_it_is(serve_judge *j, size_t i, serve_judged *out) {
  failures now;
  if (!j->fold || j->broken) {
    return false;
  }
  form *f = j->first[i] ? j->first[i] : form_of(j, &j->configs[i]);
  j->first[i] = f;
  if (!f || !find_failures(j, f, &now)) {
    return false;
  }
  *out = (serve_judged){.fits = !now.n, .config = f->config};
  return !j->broken && (!out->fits || judge_work(j, f, &out->work));
}

static void forget(serve_judge *j) {
  serve_table_clear(&j->forms);
  arena_clear(&j->memory);
  for (size_t i = 0; j->first && i < j->n; i++) {
    j->first[i] = NULL;
  }
  j->nbytes = 0;
}

void serve_judge_problem(serve_judge *j, const gen_problem *p) {
  if (j->full || gen_fold_nbytes(j->fold) > MOST_NBYTES) {
    forget(j);
    gen_fold_free(j->fold);
    j->fold = NULL;
    j->full = j->broken = gen_fold_new(j->t, j->limits, j->n_limits, &j->fold, NULL);
  }
  if (j->fold) {
    gen_fold_problem(j->fold, p);
  }
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool list_if(serve_judge *j, indices *out, size_t i, size_t n, bool yes) {
  out->list = out->list ? out->list : arena_new(&j->lists, n * sizeof *out->list + 1);
  if (out->list && yes) {
    out->list[out->n++] = (uint16_t)i;
  }
  return out->list;
}

/* Which requirements read which parameters, both ways. */
static int find_readers(serve_judge *j, err *e) {
  const gen_template *t = j->t;
  bool ok = true;
  for (size_t i = 0; i < t->n_requirements; i++) {
    serve_adapt_reads(t, t->requirements[i].expression, j->reads[i]);
    for (size_t p = 0; p < t->n_params; p++) {
      ok = ok && list_if(j, &j->params[i], p, t->n_params, j->reads[i][p]) &&
           list_if(j, &j->readers[p], i, t->n_requirements, j->reads[i][p]);
    }
  }
  return ok ? 0 : err_set(e, ERR_NOMEM, "out of host memory");
}

static int set_up(serve_judge *j, const gen_config *configs, const gen_number *limits,
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

int serve_judge_new(gen_template *t, const gen_config *configs, size_t n, const gen_number *limits,
                    size_t n_limits, serve_judge **out, err *e) {
  serve_judge *j = calloc(1, sizeof *j);
  if (!j) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  j->t = t;
  j->n = n;
  const int rc = set_up(j, configs, limits, n_limits, e);
  if (rc) {
    serve_judge_free(j);
    return rc;
  }
  *out = j;
  return 0;
}

void serve_judge_free(serve_judge *j) {
  if (j) {
    forget(j);
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

bool serve_judge_is_of(const serve_judge *j, const gen_config *configs, size_t n) {
  return j->n == n && !memcmp(j->configs, configs, n * sizeof *configs);
}

size_t serve_judge_nbytes(const serve_judge *j) {
  return sizeof *j + j->nbytes + (j->fold ? gen_fold_nbytes(j->fold) : 0);
}
