/* Derived values, those of the whole template and those of its algorithms (gen_algorithms.h). */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <string.h>

#include "gen_algorithms.h"
#include "gen_lex.h"
#include "gen_read.h"

/* The template as a whole, where it has algorithms or none. */
static const gen_algorithm whole = {NULL, NULL};

/* One derived value; algorithms may give it different expressions. */
typedef struct derivation {
  const char *name;
  size_t n;
  struct {
    const gen_algorithm *of;
    int64_t i;
    const char *text;
  } at[GEN_MAX_ALGORITHMS];
  bool known;
} derivation;

typedef struct derivations {
  derivation *list;
  size_t n;
} derivations;

static derivation *find_derivation(const derivations *d, const char *name) {
  for (size_t i = 0; i < d->n; i++) {
    if (!strcmp(d->list[i].name, name)) {
      return &d->list[i];
    }
  }
  return NULL;
}

/* The entry here, one more expression for its value. */
static void note_derivation(gen_reader *r, derivations *d, const gen_algorithm *of, int64_t i) {
  if (gen_list(r, "a derived value", NULL) != 2) {
    gen_bad(r, "a derived value is two texts, { name, expression }");
  }
  const char *name = gen_first_name(r, "a derived value");
  derivation *x = find_derivation(d, name);
  if (x && (!of->value || x->at[x->n - 1].of == of || !x->at[0].of->value)) {
    gen_bad(r, "there are two things called '%s'", name);
  }
  if (!x && d->n == GEN_MAX_DERIVED) {
    gen_bad(r, "there are more than %d derived values", GEN_MAX_DERIVED);
  }
  x = x ? x : &d->list[d->n++];
  x->name = name;
  x->at[x->n].of = of;
  x->at[x->n].i = i;
  gen_need_at(r, 2, "the expression");
  x->at[x->n++].text = gen_is_text(r) ? gen_text(r, "the expression") : NULL;
  gen_leave(r);
}

static void note_derivations(gen_reader *r, derivations *d, const gen_algorithm *of) {
  if (!gen_part_enter(r, of, "derive")) {
    return;
  }
  size_t n = gen_bounded_list(r, "derive", GEN_MAX_DERIVED);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a derived value");
    note_derivation(r, d, of, (int64_t)i + 1);
    gen_leave(r);
  }
  gen_part_leave(r, of);
}

/* Does the expression read a derived value that is not known yet? */
static bool reads_unknown(const derivations *d, const derivation *self, const char *text) {
  gen_lexer l = gen_lex(text ? text : "", text ? strlen(text) : 0, 1);
  for (gen_token t = gen_lex_next(&l); t.kind != GEN_TOKEN_END; t = gen_lex_next(&l)) {
    for (size_t i = 0; t.kind == GEN_TOKEN_NAME && i < d->n; i++) {
      const derivation *x = &d->list[i];
      if (!x->known && x != self && strlen(x->name) == t.n && !memcmp(x->name, t.p, t.n)) {
        return true;
      }
    }
  }
  return false;
}

static bool is_ready(const derivations *d, const derivation *x) {
  for (size_t i = 0; i < x->n; i++) {
    if (reads_unknown(d, x, x->at[i].text)) {
      return false;
    }
  }
  return true;
}

/* Those of the whole template as they stand there; an algorithm's when all that any of its
 * expressions reads is known. */
static derivation *next_derivation(const derivations *d) {
  derivation *first = NULL;
  for (size_t i = 0; i < d->n; i++) {
    derivation *x = &d->list[i];
    if (!x->known && (!x->at[0].of->value || is_ready(d, x))) {
      return x;
    }
    first = first || x->known ? first : x;
  }
  return first; /* its expression reads what it can't, and fails */
}

/* sel(the first's guard, its expression, sel(..., the last one's)) in place of the expression on top
 * of the stack */
static void push_alternatives(gen_reader *r, const derivation *x) {
  lua_State *L = r->L;
  luaL_checkstack(L, 3, NULL);
  lua_pushfstring(L, "(%s)", x->at[x->n - 1].text);
  for (size_t i = x->n - 1; i-- > 0;) {
    lua_pushfstring(L, "sel(%s, %s, %s)", x->at[i].of->guard, x->at[i].text, lua_tostring(L, -1));
    lua_replace(L, -2);
  }
  lua_replace(L, -2);
}

static void check_texts(gen_reader *r, const derivation *x) {
  for (size_t i = 0; x->n > 1 && i < x->n; i++) {
    if (!x->at[i].text) {
      gen_bad(r, "several algorithms derive '%s': each expression is a text in quotes", x->name);
    }
  }
}

static const gen_expr *read_derivation(gen_reader *r, const derivation *x, size_t i, bool *fixed) {
  gen_part_need(r, x->at[0].of, "derive");
  gen_need_at(r, x->at[0].i, "a derived value");
  gen_need_at(r, 2, "the expression");
  check_texts(r, x);
  if (x->n > 1) {
    push_alternatives(r, x);
  }
  const gen_expr *e = gen_expression(r, GEN_READS_CONFIG);
  gen_leave(r);
  *fixed = gen_expr_reads_only(e, GEN_READS_DEVICE);
  gen_declare(r, x->name, *fixed ? GEN_SYMBOL_FIXED : GEN_SYMBOL_DERIVED, i)->types =
      (uint8_t)expr_types_of(EXPR_WHOLE, &e->tree->types);
  gen_leave(r);
  gen_part_leave(r, x->at[0].of);
  return e;
}

void gen_read_derive(gen_reader *r) {
  derivations d = {.list = GEN_MAKE(r, derivation, GEN_MAX_DERIVED)};
  note_derivations(r, &d, &whole);
  for (size_t i = 0; i < r->t->n_algorithms; i++) {
    note_derivations(r, &d, &r->t->algorithms[i]);
  }
  bool *fixed = GEN_MAKE(r, bool, d.n);
  uint64_t *reads = GEN_MAKE(r, uint64_t, d.n);
  gen_pair *pairs = GEN_MAKE(r, gen_pair, d.n);
  const gen_expr **x = GEN_MAKE(r, const gen_expr *, d.n);
  for (size_t i = 0; i < d.n; i++) {
    derivation *next = next_derivation(&d);
    x[i] = read_derivation(r, next, i, &fixed[i]);
    next->known = true;
    pairs[i] = (gen_pair){next->name, x[i]->text};
    reads[i] = gen_params_read(x[i], reads);
  }
  r->t->pub.derived = pairs;
  r->t->pub.n_derived = d.n;
  r->t->derived = x;
  r->t->fixed = fixed;
  r->t->derived_reads = reads;
}
