/* What there is to choose: the space, its defaults and requirements, those of the whole template and
 * those of its algorithms (gen_algorithms.h). */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <string.h>

#include "gen_algorithms.h"
#include "gen_read.h"

enum {
  MAX_VALUES = 4096,
  MAX_REQUIREMENTS = 256,
  MAX_SUGGESTED = 256,
  MAX_BASE = 16,
  MAX_TEXTBOOK = 16
};

/* The template as a whole, where it has algorithms or none. */
static const gen_algorithm whole = {NULL, NULL};

/* The parameters, and where each is declared. */
typedef struct places {
  struct {
    const gen_algorithm *of;
    int64_t i;
  } param[GEN_MAX_PARAMS];
  const char *order[GEN_MAX_PARAMS];
  size_t n_order; /* 0: as declared */
} places;

/* ---- lists of values ------------------------------------------------------------------------- */

static bool is_word(const char *p) {
  size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return n && !p[n];
}

static gen_value read_choice(gen_reader *r, size_t i) {
  if (!gen_is_text(r)) {
    return (gen_value){.i = gen_integer(r, "a value")};
  }
  gen_value v = {.i = (int64_t)i, .s = gen_text(r, "a value")};
  if (!is_word(v.s)) {
    gen_bad(r, "'%s' cannot be a choice: letters, digits and underscores only", v.s);
  }
  return v;
}

static void check_different(gen_reader *r, const gen_value *v, size_t i) {
  for (size_t j = 0; j < i; j++) {
    if (!v[i].s != !v[j].s) {
      gen_bad(r, "the values are both texts and numbers; make them one or the other");
    }
    if (v[i].s ? !strcmp(v[i].s, v[j].s) : v[i].i == v[j].i) {
      gen_bad(r, "the same value twice");
    }
  }
}

/* The list here: all texts or all whole numbers, each once. */
gen_value *gen_read_choices(gen_reader *r, size_t *n) {
  *n = gen_bounded_list(r, "the list of values", MAX_VALUES);
  if (!*n) {
    gen_bad(r, "the list of values is empty");
  }
  gen_value *v = GEN_MAKE(r, gen_value, *n);
  for (size_t i = 0; i < *n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a value");
    v[i] = read_choice(r, i);
    check_different(r, v, i);
    gen_leave(r);
  }
  return v;
}

/* ---- space ----------------------------------------------------------------------------------- */

static void read_param(gen_reader *r, gen_param *p, size_t i) {
  static const char *const keys[] = {"brief", "when", NULL};
  gen_list(r, "a parameter", keys);
  p->name = gen_first_name(r, "a parameter's name");
  gen_need_at(r, 2, "the list of values");
  p->values = gen_read_choices(r, &p->n);
  gen_leave(r);
  p->brief = gen_text_at(r, "brief");
  if (gen_enter_at(r, 3)) {
    p->brief = gen_text(r, "the description");
    gen_leave(r);
  }
  gen_declare(r, p->name, GEN_SYMBOL_PARAM, i)->types = gen_is_number(p) ? EXPR_INTEGER : EXPR_TEXT;
}

/* { "ALG", "BLOCK", ... }: the order of all parameters, where it is not that of their declarations,
 * those of algorithms behind the template's. */
static size_t read_order(gen_reader *r, const char **names) {
  if (!gen_enter(r, "order")) {
    return 0;
  }
  size_t n = gen_bounded_list(r, "order", GEN_MAX_PARAMS);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a parameter's name");
    names[i] = gen_text(r, "a parameter's name");
    gen_leave(r);
  }
  gen_leave(r);
  return n;
}

/* Where the parameter here comes. */
static size_t place_of(gen_reader *r, const places *at) {
  const char *name = gen_first_name(r, "a parameter's name");
  size_t i = 0;
  while (i < at->n_order && strcmp(at->order[i], name) != 0) {
    i++;
  }
  if (at->n_order && (i == at->n_order || at->param[i].of)) {
    gen_bad(r, at->n_order == i ? "'%s' is not in 'order'" : "there are two things called '%s'",
            name);
  }
  return at->n_order ? i : r->t->pub.n_params;
}

static void read_params(gen_reader *r, const gen_algorithm *of, gen_param *params, places *at) {
  gen_template *t = &r->t->pub;
  if (!gen_part_enter(r, of, "space")) {
    return;
  }
  size_t n = gen_bounded_list(r, "space", GEN_MAX_PARAMS - t->n_params);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a parameter");
    const size_t place = place_of(r, at);
    at->param[place].of = of;
    at->param[place].i = (int64_t)i + 1;
    read_param(r, &params[place], place);
    t->n_params++;
    gen_leave(r);
  }
  gen_part_leave(r, of);
}

static void read_space(gen_reader *r, places *at) {
  gen_template *t = &r->t->pub;
  gen_param *params = GEN_MAKE(r, gen_param, GEN_MAX_PARAMS);
  at->n_order = read_order(r, at->order);
  gen_need(r, "space");
  gen_leave(r);
  t->params = params;
  read_params(r, &whole, params, at);
  gen_algorithms_read(r);
  r->t->pub.has_algorithms = r->t->n_algorithms > 0;
  for (size_t i = 0; i < r->t->n_algorithms; i++) {
    read_params(r, &r->t->algorithms[i], params, at);
  }
  if (at->n_order && t->n_params != at->n_order) {
    gen_need(r, "order");
    gen_bad(r, "'order' has %zu names; there are %zu parameters", at->n_order, t->n_params);
  }
}

/* ---- default, base, textbook, untuned -------------------------------------------------------- */

static size_t find_choice(gen_reader *r, const gen_param *p) {
  const char *text = gen_is_text(r) ? gen_text(r, "a value") : NULL;
  int64_t v = text ? 0 : gen_integer(r, "a value");
  for (size_t i = 0; i < p->n; i++) {
    const gen_value *c = &p->values[i];
    if (text ? c->s && !strcmp(c->s, text) : !c->s && c->i == v) {
      return i;
    }
  }
  gen_bad(r, "what is given for %s is not one of its values in the space", p->name);
}

/* The table here has parameters as keys, and perhaps one key more.
 *   in  of  those of this part only; NULL: all */
static void check_params(gen_reader *r, const places *at, const gen_algorithm *of,
                         const char *besides) {
  const gen_template *t = &r->t->pub;
  const char *keys[GEN_MAX_PARAMS + 2] = {NULL};
  size_t n = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    if (!of || at->param[i].of == of) {
      keys[n++] = t->params[i].name;
    }
  }
  keys[n] = besides;
  gen_keys(r, keys);
}

static void read_defaults(gen_reader *r, const places *at, const gen_algorithm *of) {
  const gen_template *t = &r->t->pub;
  size_t n = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    n += at->param[i].of == of;
  }
  if (!gen_part_enter(r, of, "default")) {
    if (n || !of->value) {
      gen_part_need(r, of, "default");
    }
    return;
  }
  check_params(r, at, of, NULL);
  for (size_t i = 0; i < t->n_params; i++) {
    if (at->param[i].of == of) {
      gen_need(r, t->params[i].name);
      r->t->preset.index[i] = (uint16_t)find_choice(r, &t->params[i]);
      gen_leave(r);
    }
  }
  gen_part_leave(r, of);
}

/* The default, changed where the table here has a parameter. */
static void read_changed(gen_reader *r, gen_config *c) {
  const gen_template *t = &r->t->pub;
  *c = r->t->preset;
  for (size_t i = 0; i < t->n_params; i++) {
    if (gen_enter(r, t->params[i].name)) {
      c->index[i] = (uint16_t)find_choice(r, &t->params[i]);
      gen_leave(r);
    }
  }
}

static void read_base(gen_reader *r) {
  if (!gen_enter(r, "base")) {
    return;
  }
  const size_t n = gen_bounded_list(r, "base", MAX_BASE);
  gen_config *base = GEN_MAKE(r, gen_config, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a configuration");
    check_params(r, NULL, NULL, NULL);
    read_changed(r, &base[i]);
    gen_leave(r);
  }
  r->t->base = base;
  r->t->n_base = n;
  gen_leave(r);
}

static void read_textbook(gen_reader *r) {
  if (!gen_enter(r, "textbook")) {
    return;
  }
  const bool several = gen_enter_at(r, 1);
  if (several) {
    gen_leave(r);
  }
  const size_t n = several ? gen_bounded_list(r, "textbook", MAX_TEXTBOOK) : 1;
  gen_config *textbook = GEN_MAKE(r, gen_config, n);
  for (size_t i = 0; i < n; i++) {
    if (several) {
      gen_need_at(r, (int64_t)i + 1, "a configuration");
    }
    check_params(r, NULL, NULL, NULL);
    read_changed(r, &textbook[i]);
    if (several) {
      gen_leave(r);
    }
  }
  r->t->textbook = textbook;
  r->t->n_textbook = n;
  gen_leave(r);
}

static void read_suggested(gen_reader *r, gen_suggested *s) {
  check_params(r, NULL, NULL, "when");
  gen_need(r, "when");
  s->when = gen_condition(r, GEN_READS_DEVICE);
  gen_leave(r);
  read_changed(r, &s->config);
}

static void read_untuned(gen_reader *r) {
  if (!gen_enter(r, "untuned")) {
    return;
  }
  size_t n = gen_bounded_list(r, "untuned", MAX_SUGGESTED);
  gen_suggested *s = GEN_MAKE(r, gen_suggested, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a configuration");
    read_suggested(r, &s[i]);
    gen_leave(r);
  }
  r->t->untuned = s;
  r->t->n_untuned = n;
  gen_leave(r);
}

/* ---- require --------------------------------------------------------------------------------- */

/* "(condition) or P == its default" of a parameter that is of use only under a condition. */
static const gen_expr *only_when(gen_reader *r, const gen_param *p, const char *condition) {
  const gen_value *v = &p->values[r->t->preset.index[p - r->t->pub.params]];
  if (v->s) {
    lua_pushfstring(r->L, "(%s) or %s == '%s'", condition, p->name, v->s);
  } else {
    lua_pushfstring(r->L, "(%s) or %s == %I", condition, p->name, (LUAI_UACINT)v->i);
  }
  lua_replace(r->L, -2); /* expressions are read from where the reader stands */
  return gen_condition(r, GEN_READS_CONFIG);
}

/* The condition of a parameter: its own, and that its algorithm is chosen; NULL: it has none. The
 * reader stands on the parameter. */
static const char *push_condition(gen_reader *r, const gen_algorithm *of) {
  const bool own = gen_enter(r, "when");
  if (!own) {
    return of->guard ? lua_pushstring(r->L, of->guard) : NULL;
  }
  const char *text = gen_text(r, "the condition");
  gen_leave(r);
  return of->guard ? lua_pushfstring(r->L, "%s and (%s)", of->guard, text)
                   : lua_pushstring(r->L, text);
}

/* Of the parameter here, whose condition is on top: "B is of use only when A == 1". */
static void add_condition(gen_reader *r, size_t i, gen_pair *pair, const gen_expr **when,
                          const gen_expr **x) {
  const gen_template *t = &r->t->pub;
  const char *condition = lua_tostring(r->L, -1);
  const char *reason =
      lua_pushfstring(r->L, "%s is of use only when %s", t->params[i].name, condition);
  pair->name = strcpy(gen_make(r, strlen(reason) + 1), reason);
  lua_pop(r->L, 1);
  *when = gen_condition(r, GEN_READS_CONFIG);
  *x = only_when(r, &t->params[i], condition);
  pair->expression = (*x)->text;
}

/* One requirement per parameter that has a condition. */
static size_t read_conditions(gen_reader *r, const places *at, gen_pair *pairs,
                              const gen_expr **x) {
  const gen_template *t = &r->t->pub;
  const gen_expr **when = GEN_MAKE(r, const gen_expr *, t->n_params);
  size_t n = 0;
  r->t->when = when;
  for (size_t i = 0; i < t->n_params; i++) {
    const gen_algorithm *of = at->param[i].of;
    gen_part_need(r, of, "space");
    gen_need_at(r, at->param[i].i, "a parameter");
    if (push_condition(r, of)) {
      add_condition(r, i, &pairs[n], &when[i], &x[n]);
      lua_pop(r->L, 1);
      n++;
    }
    gen_leave(r);
    gen_part_leave(r, of);
  }
  return n;
}

typedef struct required { /* all requirements, in the order of their declarations */
  gen_pair *pairs;
  const gen_expr **x;
  bool *advice, *of_search;
  size_t n;
} required;

/* true: base configurations need not meet it; "search": only searches heed it */
static void read_advice(gen_reader *r, required *q) {
  if (!gen_enter(r, "advice")) {
    return;
  }
  const bool text = lua_type(r->L, -1) == LUA_TSTRING;
  q->of_search[q->n] = text && !strcmp(lua_tostring(r->L, -1), "search");
  q->advice[q->n] = lua_toboolean(r->L, -1);
  if (text && !q->of_search[q->n]) {
    gen_bad(r, "advice can be true or \"search\"");
  }
  gen_leave(r);
}

/* { reason, expression }; that of an algorithm is evaluated only where it is chosen. */
static void read_requirement(gen_reader *r, const gen_algorithm *of, required *q) {
  static const char *const keys[] = {"advice", NULL};
  if (gen_list(r, "a requirement", keys) != 2) {
    gen_bad(r, "a requirement is two texts, { name, expression }");
  }
  read_advice(r, q);
  const char *name = gen_first_name(r, "a requirement");
  gen_need_at(r, 2, "the expression");
  if (of->guard) {
    lua_pushfstring(r->L, "not %s or (%s)", of->guard, gen_text(r, "the expression"));
    lua_replace(r->L, -2);
  }
  q->x[q->n] = gen_condition(r, GEN_READS_CONFIG);
  gen_leave(r);
  q->pairs[q->n] = (gen_pair){name, q->x[q->n]->text};
  q->n++;
}

static void read_requirements(gen_reader *r, const gen_algorithm *of, required *q, size_t most) {
  if (!gen_part_enter(r, of, "require")) {
    return;
  }
  size_t n = gen_bounded_list(r, "require", most - q->n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a requirement");
    read_requirement(r, of, q);
    gen_leave(r);
  }
  gen_part_leave(r, of);
}

static required new_required(gen_reader *r, size_t n) {
  return (required){.pairs = GEN_MAKE(r, gen_pair, n),
                    .x = GEN_MAKE(r, const gen_expr *, n),
                    .advice = GEN_MAKE(r, bool, n),
                    .of_search = GEN_MAKE(r, bool, n)};
}

/* Those that only searches heed come last. */
static void keep_requirements(gen_reader *r, const required *q) {
  gen_template *t = &r->t->pub;
  required to = new_required(r, q->n);
  uint64_t *reads = GEN_MAKE(r, uint64_t, q->n);
  for (int of_search = 0; of_search < 2; of_search++) {
    for (size_t i = 0; i < q->n; i++) {
      if (q->of_search[i] == of_search) {
        to.pairs[to.n] = q->pairs[i];
        to.x[to.n] = q->x[i];
        to.advice[to.n] = q->advice[i];
        reads[to.n++] = gen_params_read(q->x[i], r->t->derived_reads);
      }
    }
    t->n_requirements = of_search ? t->n_requirements : to.n;
  }
  t->n_search_requirements = to.n;
  t->requirements = to.pairs;
  r->t->requirements = to.x;
  r->t->requirement_reads = reads;
  r->t->advice = to.advice;
}

static void read_require(gen_reader *r, const places *at) {
  required q = new_required(r, r->t->pub.n_params + MAX_REQUIREMENTS);
  q.n = read_conditions(r, at, q.pairs, q.x);
  const size_t most = q.n + MAX_REQUIREMENTS;
  read_requirements(r, &whole, &q, most);
  for (size_t i = 0; i < r->t->n_algorithms; i++) {
    read_requirements(r, &r->t->algorithms[i], &q, most);
  }
  keep_requirements(r, &q);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void gen_read_space(gen_reader *r) {
  places *at = GEN_MAKE(r, places, 1);
  read_space(r, at);
  read_defaults(r, at, &whole);
  for (size_t i = 0; i < r->t->n_algorithms; i++) {
    read_defaults(r, at, &r->t->algorithms[i]);
  }
  gen_read_derive(r);
  read_base(r);
  read_textbook(r);
  read_untuned(r);
  read_require(r, at);
}
