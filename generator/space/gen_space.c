/* The valid points of a space: a list while there are few, else a decision diagram (gen_diagram.h).
 *
 * A requirement is tested in the outermost loop at which everything it reads is known, and a
 * failure there rejects all the points below at once. The loops, with every expression in its
 * place, are written as one Lua function, fields and device limits as constants: Lua then does
 * nothing but arithmetic, and over a million candidates a second are decided.
 *
 * A point is kept as one number, its place in the whole Cartesian product, last parameter fastest;
 * the loops find them in ascending order, so that a point is looked up by bisection.
 *
 * Lua allows 200 local variables to a function. Each loop takes two, its counter and its value; a
 * rank is put together in the innermost loop from all counters, with a partial sum every eighth.
 */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_diagram.h"

enum { SUM_PERIOD = 8, TICK_PERIOD = 4096, STEPS_PER_TICK = 16 * TICK_PERIOD, MAX_FACTOR = 1000 };
/* A list of so many points takes 8 MiB; larger spaces stay diagrams. */
static const size_t FEW_POINTS = (size_t)1 << 20, MAX_POINTS = (size_t)1 << 26;
/* What the loops may look at, about 30 ms, before a diagram is tried. */
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

/* ---- writing the function -------------------------------------------------------------------- */

typedef struct plan { /* what is computed at which depth; depth d: d parameters are known */
  gen_instance *g;
  gen_space *s;
  str *out;
  size_t derived_depth[GEN_MAX_DERIVED];
  bool derived_done[GEN_MAX_DERIVED]; /* written already */
  bool param_read[GEN_MAX_PARAMS], derived_read[GEN_MAX_DERIVED];
  size_t *requirement_depth;
  size_t n_loops;  /* parameters after the last that anything reads are not looped over */
  gen_line *lines; /* which expression each line of the text evaluates */
  size_t n_lines;
} plan;

/* Parameters that must be known for the expression. */
static size_t depth_of(const plan *p, const gen_expr *x) {
  size_t depth = 0;
  for (size_t i = 0; i < x->n_reads; i++) {
    const gen_symbol *s = x->reads[i];
    size_t d = s->kind == GEN_SYMBOL_PARAM ? s->index + 1
               : gen_is_derived(s)         ? p->derived_depth[s->index]
                                           : 0;
    depth = d > depth ? d : depth;
  }
  return depth;
}

static void mark_read(plan *p, const gen_expr *x) {
  for (size_t i = 0; i < x->n_reads; i++) {
    const gen_symbol *s = x->reads[i];
    if (s->kind == GEN_SYMBOL_PARAM) {
      p->param_read[s->index] = true;
    } else if (gen_is_derived(s) && !p->derived_read[s->index]) {
      p->derived_read[s->index] = true;
      mark_read(p, p->g->t->derived[s->index]);
    }
  }
}

static void find_depths(plan *p) {
  const tmpl *t = p->g->t;
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    p->derived_depth[i] = depth_of(p, t->derived[i]);
  }
  for (size_t i = 0; i < t->pub.n_requirements; i++) {
    p->requirement_depth[i] = depth_of(p, t->requirements[i]);
    p->n_loops = p->requirement_depth[i] > p->n_loops ? p->requirement_depth[i] : p->n_loops;
    mark_read(p, t->requirements[i]);
  }
}

/* A line of the function; x is what it evaluates, if anything. */
static void line(plan *p, const gen_expr *x, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void line(plan *p, const gen_expr *x, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  str_addv(p->out, format, ap);
  va_end(ap);
  str_add(p->out, "\n");
  p->lines[p->n_lines++] = x ? x->at : p->g->t->box.home;
}

/* Hexadecimal numbers wrap around to negative ones; the least number has no decimal form. */
static void add_literal(str *out, const gen_value *v) {
  if (v->s) {
    str_addf(out, "'%s'", v->s);
  } else {
    str_addf(out, "0x%llx", (unsigned long long)v->i);
  }
}

static void write_constant(plan *p, const char *name, const gen_value *v) {
  str_addf(p->out, "local %s <const> = ", name);
  add_literal(p->out, v);
  line(p, NULL, "%s", "");
}

static void write_constants(plan *p) {
  const gen_template *t = &p->g->t->pub;
  str_add(p->out, "local ");
  for (size_t i = 0; gen_helper_names[i]; i++) {
    str_addf(p->out, "%s%s", i ? ", " : "", gen_helper_names[i]);
  }
  line(p, NULL, " = ...");
  for (size_t i = 0; i < t->n_fields; i++) {
    write_constant(p, t->fields[i].name, &p->g->problem.values[i]);
  }
  for (size_t i = 0; gen_device_names[i]; i++) {
    write_constant(p, gen_device_names[i], &(gen_value){.i = p->g->device[i]});
  }
}

/* The derived values of this depth that x reads and that are not there yet. */
static void write_derived(plan *p, const gen_expr *x) {
  const tmpl *t = p->g->t;
  for (size_t i = 0; i < x->n_reads; i++) {
    size_t k = x->reads[i]->index;
    if (!gen_is_derived(x->reads[i]) || p->derived_done[k]) {
      continue;
    }
    const char *name = t->pub.derived[k].name;
    p->derived_done[k] = true;
    write_derived(p, t->derived[k]);
    line(p, t->derived[k], "local %s = %s if %s ~= true and %s ~= false then %s = %s | 0 end", name,
         t->derived[k]->text, name, name, name, name);
  }
}

static uint64_t points_below(const gen_space *s, size_t depth) {
  return depth ? s->weights[depth - 1] : s->total;
}

/* A failed requirement rejects everything below and goes on with the next value at its depth. */
static void write_requirement(plan *p, size_t i, size_t depth) {
  const gen_expr *x = p->g->t->requirements[i];
  char next[32] = "do return end";
  if (depth) {
    snprintf(next, sizeof next, "goto _next%zu", depth);
  }
  write_derived(p, x);
  line(p, x,
       "do local _ok = %s if _ok ~= true then if _ok ~= false then _bad() end"
       " _rejected[%zu] = _rejected[%zu] + %llu %s end end",
       x->text, i + 1, i + 1, (unsigned long long)points_below(p->s, depth), next);
}

/* Everything that is known once `depth` parameters are. */
static void write_depth(plan *p, size_t depth) {
  const tmpl *t = p->g->t;
  for (size_t i = 0; i < t->pub.n_requirements; i++) {
    if (p->requirement_depth[i] == depth) {
      write_requirement(p, i, depth);
    }
  }
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    if (p->derived_read[i] && p->derived_depth[i] == depth && !p->derived_done[i]) {
      const gen_symbol *s = gen_symbol_find(&t->symbols, t->pub.derived[i].name, GEN_READS_CONFIG);
      write_derived(p, &(gen_expr){.reads = &s, .n_reads = 1});
    }
  }
}

/* Rank of the point at hand, from the counters since the last partial sum. */
static void write_sum(plan *p, const char *target, size_t depth, const char *end) {
  size_t from = (depth - 1) / SUM_PERIOD * SUM_PERIOD;
  str_addf(p->out, "%s", target);
  if (from) {
    str_addf(p->out, "_sum%zu + ", from);
  }
  for (size_t i = from; i < depth; i++) {
    str_addf(p->out, "%s_i%zu * %llu", i > from ? " + " : "", i,
             (unsigned long long)p->s->weights[i]);
  }
  line(p, NULL, "%s", end);
}

/* The head of the loop over parameter i; counters start at 0, and so do the lists of values. */
static void write_loop(plan *p, size_t i, size_t first_value) {
  const gen_param *q = &p->g->t->pub.params[i];
  line(p, NULL, "local _i%zu = -1", i);
  line(p, NULL, "while _i%zu < %zu do", i, q->n - 1);
  line(p, NULL, "_i%zu = _i%zu + 1", i, i);
  if (p->param_read[i]) {
    line(p, NULL, "local %s = _values[%zu + _i%zu]", q->name, first_value, i);
  }
}

static void write_loops(plan *p) {
  size_t first_value = 1;
  for (size_t i = 0; i < p->n_loops; i++) {
    write_loop(p, i, first_value);
    first_value += p->g->t->pub.params[i].n;
    if (i + 1 < p->n_loops) {
      line(p, NULL, "_n = _n + 1 if _n == %d then _n = 0 _tick() end", TICK_PERIOD);
    }
    write_depth(p, i + 1);
    if ((i + 1) % SUM_PERIOD == 0 && i + 1 < p->n_loops) {
      char target[64];
      snprintf(target, sizeof target, "local _sum%zu = ", i + 1);
      write_sum(p, target, i + 1, "");
    }
  }
}

static void write_function(plan *p) {
  write_constants(p);
  line(p, NULL, "return function(_values, _rejected, _valid, _tick, _bad)");
  line(p, NULL, "local _n = 0");
  write_depth(p, 0);
  write_loops(p);
  if (p->n_loops) {
    write_sum(p, "_valid(", p->n_loops, ")");
  } else {
    line(p, NULL, "_valid(0)");
  }
  for (size_t i = p->n_loops; i > 0; i--) {
    line(p, NULL, "::_next%zu:: end", i);
  }
  line(p, NULL, "end");
}

/* ---- running it ------------------------------------------------------------------------------ */

typedef struct enumeration {
  gen_instance *g;
  gen_space *s;
  str *text;
  arena *a;
  uint64_t run; /* points that each call of _valid stands for */
  bool patient; /* go on to MAX_POINTS */
  uint64_t n_ticks;
  bool gave_up; /* after FEW_POINTS or FEW_TICKS */
} enumeration;

static enumeration *enumeration_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static bool reserve(gen_space *s, uint64_t more) {
  if (more <= s->max - s->n) {
    return true;
  }
  size_t max = 2 * s->max > s->n + more ? 2 * s->max : s->n + more + 1024;
  uint64_t *points = realloc(s->points, max * sizeof *points);
  if (points) {
    s->points = points;
    s->max = max;
  }
  return points != NULL;
}

static void give_up(enumeration *m) {
  gen_box *b = &m->g->t->box;
  m->gave_up = !m->patient;
  gen_fail(b, ERR_LIMIT, b->home,
           "more than 2^26 valid configurations; add requirements or fix parameters");
}

/* _valid(rank): the points from there on that differ only in parameters nothing reads */
static int add_points(lua_State *L) {
  enumeration *m = enumeration_of(L);
  gen_box *b = &m->g->t->box;
  gen_space *s = m->s;
  if (m->run > (m->patient ? MAX_POINTS : FEW_POINTS) - s->n) {
    give_up(m);
  }
  if (!reserve(s, m->run)) {
    gen_fail(b, ERR_NOMEM, b->home, "out of memory");
  }
  uint64_t rank = (uint64_t)lua_tointeger(L, 1);
  for (uint64_t i = 0; i < m->run; i++) {
    s->points[s->n++] = rank + i;
  }
  return 0;
}

static int tick(lua_State *L) {
  enumeration *m = enumeration_of(L);
  gen_box_charge(&m->g->t->box, STEPS_PER_TICK);
  if (!m->patient && ++m->n_ticks > FEW_TICKS) {
    give_up(m);
  }
  return 0;
}

static int not_condition(lua_State *L) {
  return luaL_error(L, "a condition is needed");
}

static void push_function(lua_State *L, lua_CFunction f, enumeration *m) {
  lua_pushlightuserdata(L, m);
  lua_pushcclosure(L, f, 1);
}

static void push_values(lua_State *L, const gen_template *t) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    for (size_t j = 0; j < t->params[i].n; j++) {
      const gen_value *v = &t->params[i].values[j];
      if (v->s) {
        lua_pushstring(L, v->s);
      } else {
        lua_pushinteger(L, v->i);
      }
      lua_rawseti(L, -2, ++n);
    }
  }
}

static void push_zeros(lua_State *L, size_t n) {
  lua_newtable(L);
  for (size_t i = 1; i <= n; i++) {
    lua_pushinteger(L, 0);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
}

/* Compile the function and call its outer part with the helpers. */
static void push_enumerator(gen_box *b, const str *text) {
  lua_State *L = b->L;
  lua_newtable(L);
  gen_push_chunk(b, str_text(text), text->n, "space");
  lua_newtable(L);
  gen_set_helpers(b);
  int n = 0;
  int helpers = lua_gettop(L);
  for (lua_pushvalue(L, -2); gen_helper_names[n]; n++) {
    lua_getfield(L, helpers, gen_helper_names[n]);
  }
  lua_call(L, n, 1);
}

static void write_plan(enumeration *m) {
  const gen_template *t = &m->g->t->pub;
  size_t max_lines = 128 + t->n_fields + 8 * t->n_params + t->n_derived + t->n_requirements;
  plan p = {.g = m->g, .s = m->s, .out = m->text};
  p.requirement_depth = ARENA_ARRAY(m->a, size_t, t->n_requirements + 1);
  p.lines = ARENA_ARRAY(m->a, gen_line, max_lines);
  gen_box *b = &m->g->t->box;
  if (!p.requirement_depth || !p.lines) {
    gen_fail(b, ERR_NOMEM, b->home, "out of memory");
  }
  find_depths(&p);
  write_function(&p);
  if (m->text->failed) {
    gen_fail(b, ERR_NOMEM, b->home, "out of memory");
  }
  m->run = points_below(m->s, p.n_loops);
  b->lines = p.lines;
  b->n_lines = p.n_lines;
}

static void enumerate(gen_box *b, void *ud) {
  enumeration *m = ud;
  lua_State *L = b->L;
  size_t n = m->g->t->pub.n_requirements;
  b->budget =
      b->max_instructions > UINT64_MAX / MAX_FACTOR ? UINT64_MAX : b->max_instructions * MAX_FACTOR;
  write_plan(m);
  push_zeros(L, n);
  push_enumerator(b, m->text);
  push_values(L, &m->g->t->pub);
  lua_pushvalue(L, 1); /* rejected */
  push_function(L, add_points, m);
  push_function(L, tick, m);
  push_function(L, not_condition, m);
  lua_call(L, 5, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    m->s->rejected[i] = (double)lua_tointeger(L, -1);
    lua_pop(L, 1);
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

/* traced: count every instruction; several times as slow, but Lua then knows where it is */
static int run(gen_instance *g, gen_space *s, bool patient, bool traced, bool *gave_up, err *e) {
  str text = {0};
  arena a = {0};
  enumeration m = {.g = g, .s = s, .text = &text, .a = &a, .patient = patient};
  s->n = 0;
  int rc = gen_box_run(&g->t->box, enumerate, &m, traced, e);
  *gave_up = m.gave_up;
  str_clear(&text);
  arena_clear(&a);
  return rc;
}

/* Lua 5.4.4 keeps no track of the line for a division by zero, unless a hook watches: an expression
 * that fails is found again with one, to tell which it was. */
static int list_points(gen_instance *g, gen_space *s, bool patient, bool *gave_up, err *e) {
  err first = {0};
  int rc = run(g, s, patient, false, gave_up, &first);
  if (rc == ERR_TEMPLATE) {
    return run(g, s, patient, true, gave_up, e);
  }
  return rc ? err_at(e, rc, first.place, "%s", first.message) : 0;
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
    return err_set(e, ERR_NOMEM, "out of memory");
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
      return rc ? err_at(e, rc, why.place, "%s", why.message) : 0;
    }
    err_clear(&why);
  }
  int rc = make_diagram(g, s, &why);
  if (!rc || rc == ERR_INTERRUPTED || rc == ERR_NOMEM || !s->total) {
    return rc ? err_at(e, rc, why.place, "%s", why.message) : 0;
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
  double *rejected = calloc(t->n_requirements + 1, sizeof *rejected);
  bool gave_up;
  if (!s || !rejected) {
    free(s);
    free(rejected);
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  s->t = t;
  s->rejected = rejected;
  weigh(s);
  int rc = loops_only ? list_points(g, s, true, &gave_up, e) : find_points(g, s, e);
  s->tally = (gen_tally){candidates(t),
                         s->n,
                         s->rejected,
                         t->n_requirements,
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
