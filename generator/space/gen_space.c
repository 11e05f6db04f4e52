/* The valid points of a space: a list while there are few, else a decision diagram (gen_diagram.h).
 *
 * A requirement is tested in the outermost loop at which everything it reads is known, and a
 * failure there rejects all the points below at once. Over a million candidates a second are
 * decided.
 *
 * A point is kept as one number, its place in the whole Cartesian product, last parameter fastest;
 * the loops find them in ascending order, so that a point is looked up by bisection.
 */
#include "gen_space.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gen_diagram.h"

enum { TICK_PERIOD = 4096, STEPS_PER_TICK = 16 * TICK_PERIOD, MAX_FACTOR = 1000 };
/* A list of FEW_POINTS takes 8 MiB; larger spaces stay diagrams. */
static const size_t FEW_POINTS = (size_t)1 << 20, MAX_POINTS = (size_t)1 << 26;
/* Iterations of all but the innermost loop, in ticks, before a diagram is tried. */
enum { FEW_TICKS = 16 };

struct gen_space {
  const gen_template *t;
  gen_diagram *diagram;             /* NULL: the points are listed */
  uint64_t weights[GEN_MAX_PARAMS]; /* points below one value of each parameter */
  uint64_t *points;                 /* ascending */
  size_t n, max;
  uint64_t total; /* of the Cartesian product; 0: 2^63 or more */
  gen_tally tally;
  double *rejected;
};

/* ---- what is evaluated where ----------------------------------------------------------------- */

typedef struct step { /* a derived value, or a requirement */
  const gen_expr *x;
  bool derived;
  size_t index;
} step;

typedef struct enumeration {
  gen_instance *g;
  gen_space *s;
  arena a;
  size_t derived_depth[GEN_MAX_DERIVED]; /* depth d: d parameters are known */
  bool derived_done[GEN_MAX_DERIVED];
  step *steps;
  size_t first[GEN_MAX_PARAMS + 2]; /* step of each depth */
  size_t n_steps;
  size_t n_loops; /* parameters after the last that anything reads are not looped over */
  expr_value params[GEN_MAX_PARAMS], derived[GEN_MAX_DERIVED];
  expr_env env;
  uint64_t *rejected;
  uint64_t run; /* points that differ only in parameters that nothing reads */
  bool patient; /* go on to MAX_POINTS */
  uint64_t n_looked, n_ticks;
  bool gave_up; /* after FEW_POINTS or FEW_TICKS */
} enumeration;

/* Parameters that must be known for the expression. */
static size_t depth_of(const enumeration *m, const gen_expr *x) {
  size_t depth = x->reads.params ? 64 - (size_t)__builtin_clzll(x->reads.params) : 0;
  for (uint64_t bits = x->reads.derived; bits; bits &= bits - 1) {
    const size_t d = m->derived_depth[__builtin_ctzll(bits)];
    depth = d > depth ? d : depth;
  }
  return depth;
}

static void add_step(enumeration *m, const gen_expr *x, bool derived, size_t index);

static void add_derived(enumeration *m, size_t i) {
  if (!m->derived_done[i]) {
    m->derived_done[i] = true;
    add_step(m, m->g->t->derived[i], true, i);
  }
}

/* The derived values that x reads come before it. */
static void add_step(enumeration *m, const gen_expr *x, bool derived, size_t index) {
  for (uint64_t bits = x->reads.derived; bits; bits &= bits - 1) {
    add_derived(m, (size_t)__builtin_ctzll(bits));
  }
  m->steps[m->n_steps++] = (step){x, derived, index};
}

/* Derived values that are needed deeper only are computed here, outside the loops that do not
 * change them. */
static void plan_depth(enumeration *m, size_t depth, uint64_t derived_read) {
  const tmpl *t = m->g->t;
  m->first[depth] = m->n_steps;
  for (size_t i = 0; i < t->pub.n_search_requirements; i++) {
    if (depth_of(m, t->requirements[i]) == depth) {
      add_step(m, t->requirements[i], false, i);
    }
  }
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    if (derived_read >> i & 1 && m->derived_depth[i] == depth) {
      add_derived(m, i);
    }
  }
}

/* By requirements, by way of other derived values too: those are declared before. */
static uint64_t find_derived_read(const tmpl *t) {
  uint64_t read = 0;
  for (size_t i = 0; i < t->pub.n_search_requirements; i++) {
    read |= t->requirements[i]->reads.derived;
  }
  for (size_t i = t->pub.n_derived; i-- > 0;) {
    read |= read >> i & 1 ? t->derived[i]->reads.derived : 0;
  }
  return read;
}

static uint64_t points_below(const gen_space *s, size_t depth) {
  return depth ? s->weights[depth - 1] : s->total;
}

static void plan(enumeration *m) {
  tmpl *t = m->g->t;
  m->steps = ARENA_ARRAY(&m->a, step, t->pub.n_search_requirements + t->pub.n_derived + 1);
  m->rejected = ARENA_ARRAY(&m->a, uint64_t, t->pub.n_search_requirements + 1);
  if (!m->steps || !m->rejected) {
    gen_fail(&t->box, ERR_NOMEM, t->box.home, "out of memory");
  }
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    m->derived_depth[i] = depth_of(m, t->derived[i]);
  }
  for (size_t i = 0; i < t->pub.n_search_requirements; i++) {
    const size_t depth = depth_of(m, t->requirements[i]);
    m->n_loops = depth > m->n_loops ? depth : m->n_loops;
  }
  const uint64_t derived_read = find_derived_read(t);
  for (size_t depth = 0; depth <= m->n_loops; depth++) {
    plan_depth(m, depth, derived_read);
  }
  m->first[m->n_loops + 1] = m->n_steps;
  m->run = points_below(m->s, m->n_loops);
  m->env = (expr_env){.values = {[EXPR_FIELD] = m->g->fields,
                                 [EXPR_DEVICE] = m->g->limits,
                                 [EXPR_PARAM] = m->params,
                                 [EXPR_DERIVED] = m->derived}};
}

/* ---- the loops ------------------------------------------------------------------------------- */

static bool reserve(gen_space *s, uint64_t more) {
  return array_reserve(&s->points, s->n + more, &s->max, sizeof *s->points);
}

static void give_up(enumeration *m) {
  gen_box *b = &m->g->t->box;
  m->gave_up = !m->patient;
  gen_fail(b, ERR_LIMIT, b->home,
           "more than 2^26 valid configurations; add requirements or fix parameters");
}

/* The points from there on that differ only in parameters nothing reads. */
static void add_points(enumeration *m, uint64_t rank) {
  gen_box *b = &m->g->t->box;
  gen_space *s = m->s;
  if (m->run > (m->patient ? MAX_POINTS : FEW_POINTS) - s->n) {
    give_up(m);
  }
  if (!reserve(s, m->run)) {
    gen_fail(b, ERR_NOMEM, b->home, "out of memory");
  }
  for (uint64_t i = 0; i < m->run; i++) {
    s->points[s->n++] = rank + i;
  }
}

static void tick(enumeration *m) {
  if (++m->n_looked % TICK_PERIOD) {
    return;
  }
  gen_box_charge(&m->g->t->box, STEPS_PER_TICK);
  if (!m->patient && ++m->n_ticks > FEW_TICKS) {
    give_up(m);
  }
}

/* Everything that is known once `depth` parameters are; false: a requirement fails, and rejects
 * everything below. */
static bool decide(enumeration *m, size_t depth) {
  gen_box *b = &m->g->t->box;
  for (const step *s = m->steps + m->first[depth]; s < m->steps + m->first[depth + 1]; s++) {
    expr_value v;
    if (!expr_eval(s->x->tree, &m->env, &v)) {
      gen_expr_fail(b, s->x, &m->env);
    }
    if (s->derived) {
      m->derived[s->index] = expr_whole(&v);
      if (!(m->derived[s->index].type & (EXPR_INTEGER | EXPR_CONDITION))) {
        gen_expr_fail_type(b, s->x, &v, "a whole number");
      }
    } else if (v.type != EXPR_CONDITION) {
      gen_expr_fail_type(b, s->x, &v, "a condition");
    } else if (!v.yes) {
      m->rejected[s->index] += points_below(m->s, depth);
      return false;
    }
  }
  return true;
}

/* All values of the parameter of that depth; counters are not counted in the innermost loop. */
static void loop(enumeration *m, size_t depth, uint64_t rank) {
  const gen_param *p = &m->g->t->pub.params[depth];
  for (size_t i = 0; i < p->n; i++, rank += m->s->weights[depth]) {
    m->params[depth] = gen_value_of(&p->values[i]);
    if (depth + 1 < m->n_loops) {
      tick(m);
    }
    if (!decide(m, depth + 1)) {
      continue;
    }
    if (depth + 1 < m->n_loops) {
      loop(m, depth + 1, rank);
    } else {
      add_points(m, rank);
    }
  }
}

static void enumerate(gen_box *b, void *ud) {
  enumeration *m = ud;
  b->budget =
      b->max_instructions > UINT64_MAX / MAX_FACTOR ? UINT64_MAX : b->max_instructions * MAX_FACTOR;
  plan(m);
  if (decide(m, 0)) {
    m->n_loops ? loop(m, 0, 0) : add_points(m, 0);
  }
  for (size_t i = 0; i < m->g->t->pub.n_search_requirements; i++) {
    m->s->rejected[i] = (double)m->rejected[i];
  }
}

/* ---- the space ------------------------------------------------------------------------------- */

static double candidates(const gen_template *t) {
  double n = 1;
  for (size_t i = 0; i < t->n_params; i++) {
    n *= (double)t->params[i].n;
  }
  return n;
}

static void weigh(gen_space *s) {
  s->total = 1;
  for (size_t i = s->t->n_params; i-- > 0;) {
    s->weights[i] = s->total;
    if (s->total > (uint64_t)INT64_MAX / s->t->params[i].n) {
      s->total = 0;
      return;
    }
    s->total *= s->t->params[i].n;
  }
}

static int list_points(gen_instance *g, gen_space *s, bool patient, bool *gave_up, err *e) {
  enumeration *m = calloc(1, sizeof *m);
  if (!m) {
    return err_nomem(e);
  }
  *m = (enumeration){.g = g, .s = s, .patient = patient};
  s->n = 0;
  const int rc = gen_box_run(&g->t->box, enumerate, m, false, e);
  *gave_up = m->gave_up;
  arena_clear(&m->a);
  free(m);
  return rc;
}

/* ---- by way of a diagram --------------------------------------------------------------------- */

typedef struct listing {
  gen_space *s;
  const gen_diagram *d;
} listing;

static void list_below(const listing *m, size_t layer, size_t node, uint64_t rank) {
  const gen_layer *y = &m->d->layers[layer];
  if (layer == m->s->t->n_params) {
    m->s->points[m->s->n++] = rank;
    return;
  }
  size_t n_values = m->s->t->params[y->param].n;
  for (size_t v = 0; v < n_values; v++) {
    uint32_t below = y->below[node * n_values + v];
    if (below != GEN_NOWHERE && m->d->layers[layer + 1].count[below]) {
      list_below(m, layer + 1, below, rank + v * m->s->weights[y->param]);
    }
  }
}

static int by_rank(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static int list_diagram(gen_space *s, const gen_diagram *d, err *e) {
  size_t n = gen_diagram_count(d);
  if (!reserve(s, n)) {
    return err_nomem(e);
  }
  if (n) {
    list_below(&(listing){s, d}, 0, 0, 0);
  }
  qsort(s->points, n, sizeof *s->points, by_rank);
  return 0;
}

static int make_diagram(gen_instance *g, gen_space *s, err *e) {
  gen_diagram *d;
  free(s->points);
  s->points = NULL;
  s->n = s->max = 0;
  TRY(gen_diagram_new(g, s->rejected, &d, e));
  if (gen_diagram_count(d) <= FEW_POINTS && s->total) {
    int rc = list_diagram(s, d, e);
    gen_diagram_free(d);
    return rc;
  }
  s->diagram = d;
  s->n = gen_diagram_count(d);
  return 0;
}

/* Loops in the order of the declaration are fast where that order prunes well; else a diagram,
 * whose order is its own, is. One that fails, for its size or because an expression needs the order
 * of the declaration, is no reason not to go on with the loops. */
static int find_points(gen_instance *g, gen_space *s, err *e) {
  bool gave_up = true;
  err why = {0};
  if (s->total) {
    int rc = list_points(g, s, false, &gave_up, &why);
    if (!rc || !gave_up) {
      return err_copy(e, rc, &why);
    }
    err_clear(&why);
  }
  int rc = make_diagram(g, s, &why);
  if (!rc || rc == ERR_INTERRUPTED || rc == ERR_NOMEM || !s->total) {
    return err_copy(e, rc, &why);
  }
  rc = list_points(g, s, true, &gave_up, e);
  return rc;
}

static int fail_empty(const gen_space *s, err *e) {
  size_t worst = 0;
  for (size_t i = 1; i < s->tally.n; i++) {
    worst = s->rejected[i] > s->rejected[worst] ? i : worst;
  }
  const gen_pair *p = &s->t->requirements[worst];
  return err_set(e, ERR_USAGE,
                 "no configuration of %s is valid here; %.0f of %.0f are rejected by: %s (%s)",
                 s->t->name, s->rejected[worst], s->tally.candidates, p->name, p->expression);
}

static int open_space(gen_instance *g, bool loops_only, gen_space **out, err *e) {
  const gen_template *t = &g->t->pub;
  gen_space *s = calloc(1, sizeof *s);
  double *rejected = calloc(t->n_search_requirements + 1, sizeof *rejected);
  bool gave_up;
  if (!s || !rejected) {
    free(s);
    free(rejected);
    return err_nomem(e);
  }
  s->t = t;
  s->rejected = rejected;
  weigh(s);
  int rc = loops_only ? list_points(g, s, true, &gave_up, e) : find_points(g, s, e);
  s->tally = (gen_tally){candidates(t),
                         s->n,
                         s->rejected,
                         t->n_search_requirements,
                         s->diagram ? s->diagram->n_nodes : 0,
                         s->diagram ? s->diagram->nbytes : s->n * sizeof *s->points};
  rc = rc || s->n ? rc : fail_empty(s, e);
  if (rc) {
    gen_space_free(s);
    return rc;
  }
  *out = s;
  return 0;
}

int gen_space_new(gen_instance *g, gen_space **out, err *e) {
  return open_space(g, false, out, e);
}

int gen_space_by_loops(gen_instance *g, gen_space **out, err *e) {
  return open_space(g, true, out, e);
}

void gen_space_free(gen_space *s) {
  if (s) {
    gen_diagram_free(s->diagram);
    free(s->points);
    free(s->rejected);
    free(s);
  }
}

bool gen_space_is_sorted(const gen_space *s) {
  return !s->diagram;
}

size_t gen_space_count(const gen_space *s) {
  return s->n;
}

const gen_tally *gen_space_tally(const gen_space *s) {
  return &s->tally;
}

void gen_space_at(const gen_space *s, size_t i, gen_config *c) {
  if (s->diagram) {
    gen_diagram_at(s->diagram, i, c);
    return;
  }
  *c = (gen_config){{0}};
  for (size_t k = 0; k < s->t->n_params; k++) {
    c->index[k] = (uint16_t)(s->points[i] / s->weights[k] % s->t->params[k].n);
  }
}

bool gen_space_find(const gen_space *s, const gen_config *c, size_t *i) {
  uint64_t rank = 0;
  if (s->diagram) {
    bool found = gen_diagram_find(s->diagram, c, &rank);
    *i = rank;
    return found;
  }
  for (size_t k = 0; k < s->t->n_params; k++) {
    rank += s->weights[k] * c->index[k];
  }
  size_t low = 0, high = s->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->points[middle] < rank) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *i = low;
  return low < s->n && s->points[low] == rank;
}
