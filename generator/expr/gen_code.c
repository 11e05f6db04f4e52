#define _GNU_SOURCE
#include "gen_code.h"

#include <ctype.h>
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "gen_formula.h"

/* ---- values ---------------------------------------------------------------------------------- */

static gen_atom integer(int64_t i) {
  return (gen_atom){.type = GEN_INTEGER, .i = i};
}

static gen_atom real(double d) {
  return (gen_atom){.type = GEN_REAL, .d = d};
}

static gen_atom condition(bool yes) {
  return (gen_atom){.type = GEN_CONDITION, .yes = yes};
}

gen_atom gen_atom_of(const gen_value *v) {
  return v->s ? (gen_atom){.type = GEN_NAME, .s = v->s} : integer(v->i);
}

gen_atom gen_result_atom(const gen_result *r) {
  switch (r->type) {
  case GEN_INTEGER: return integer(r->i);
  case GEN_REAL: return real(r->d);
  case GEN_CONDITION: return condition(r->yes);
  case GEN_NAME: break;
  }
  return (gen_atom){.type = GEN_NAME, .s = r->s};
}

/* The whole number that a float is; 2^63 itself does not fit. */
static bool fits_whole(double d, int64_t *i) {
  static const double LIMIT = 9223372036854775808.0;
  const bool is = d == floor(d) && d >= -LIMIT && d < LIMIT;
  *i = is ? (int64_t)d : 0;
  return is;
}

gen_result gen_atom_result(const gen_atom *v) {
  gen_result r = {.type = v->type};
  switch (v->type) {
  case GEN_INTEGER:
    r.i = v->i;
    r.d = (double)v->i;
    break;
  case GEN_REAL:
    r.d = v->d;
    r.type = fits_whole(v->d, &r.i) ? GEN_INTEGER : GEN_REAL;
    break;
  case GEN_CONDITION: r.yes = v->yes; break;
  case GEN_NAME: r.s = v->s; break;
  }
  return r;
}

static bool is_number(const gen_atom *v) {
  return v->type == GEN_INTEGER || v->type == GEN_REAL;
}

static double number(const gen_atom *v) {
  return v->type == GEN_INTEGER ? (double)v->i : v->d;
}

/* As a helper takes one. */
static bool whole(const gen_atom *v, int64_t *i) {
  *i = v->i;
  return v->type == GEN_INTEGER || (v->type == GEN_REAL && fits_whole(v->d, i));
}

/* ---- operators (Lua 5.4 manual, 3.4) --------------------------------------------------------- */

static bool both_whole(const gen_atom *v) {
  return v[0].type == GEN_INTEGER && v[1].type == GEN_INTEGER;
}

/* Whole numbers wrap around. */
static bool arithmetic(gen_op op, const gen_atom *v, gen_atom *out) {
  if (both_whole(v)) {
    const uint64_t a = (uint64_t)v[0].i, b = (uint64_t)v[1].i;
    const uint64_t x = op == GEN_OP_ADD ? a + b : op == GEN_OP_SUB ? a - b : a * b;
    *out = integer((int64_t)x);
    return true;
  }
  const double a = number(&v[0]), b = number(&v[1]);
  *out = real(op == GEN_OP_ADD ? a + b : op == GEN_OP_SUB ? a - b : a * b);
  return is_number(&v[0]) && is_number(&v[1]);
}

static bool float_arithmetic(gen_op op, const gen_atom *v, gen_atom *out) {
  const double a = number(&v[0]), b = number(&v[1]);
  *out = real(op == GEN_OP_DIV ? a / b : b == 2 ? a * a : pow(a, b));
  return is_number(&v[0]) && is_number(&v[1]);
}

/* Of whole numbers; of others Lua. */
static bool divide(gen_op op, const gen_atom *v, gen_atom *out) {
  if (!both_whole(v) || v[1].i == 0) {
    return false;
  }
  const int64_t a = v[0].i, b = v[1].i;
  if (b == -1) { /* the one quotient that may not fit */
    *out = integer(op == GEN_OP_MOD ? 0 : (int64_t)(0 - (uint64_t)a));
    return true;
  }
  const int64_t rest = a % b;
  const bool down = rest != 0 && (rest ^ b) < 0;
  *out = integer(op == GEN_OP_MOD ? rest + (down ? b : 0) : a / b - down);
  return true;
}

/* -1, 0, 1; of a whole number and another only where the whole one is exact as a float. */
static bool compare(const gen_atom *v, int *order) {
  static const int64_t EXACT = INT64_C(1) << 53;
  if (both_whole(v)) {
    *order = (v[0].i > v[1].i) - (v[0].i < v[1].i);
    return true;
  }
  for (int i = 0; i < 2; i++) {
    if (!is_number(&v[i]) || (v[i].type == GEN_INTEGER && (v[i].i > EXACT || v[i].i < -EXACT)) ||
        isnan(number(&v[i]))) {
      return false;
    }
  }
  *order = (number(&v[0]) > number(&v[1])) - (number(&v[0]) < number(&v[1]));
  return true;
}

static bool relation(gen_op op, const gen_atom *v, gen_atom *out) {
  int order;
  if (!compare(v, &order)) {
    return false;
  }
  const bool yes = op == GEN_OP_LT   ? order < 0
                   : op == GEN_OP_LE ? order <= 0
                   : op == GEN_OP_GT ? order > 0
                                     : order >= 0;
  *out = condition(yes);
  return true;
}

static bool equality(gen_op op, const gen_atom *v, gen_atom *out) {
  int order = 1;
  if (is_number(&v[0]) && is_number(&v[1])) {
    if (!compare(v, &order)) {
      return false;
    }
  } else if (v[0].type == v[1].type) {
    order = v[0].type == GEN_NAME ? strcmp(v[0].s, v[1].s) : v[0].yes != v[1].yes;
  }
  *out = condition((order == 0) == (op == GEN_OP_EQ));
  return true;
}

static int64_t shifted(uint64_t x, int64_t left) {
  if (left <= -64 || left >= 64) {
    return 0;
  }
  return (int64_t)(left >= 0 ? x << left : x >> -left);
}

static bool bits(gen_op op, const gen_atom *v, gen_atom *out) {
  if (!both_whole(v)) {
    return false;
  }
  const int64_t a = v[0].i, b = v[1].i;
  switch (op) {
  case GEN_OP_BITOR: *out = integer(a | b); break;
  case GEN_OP_BITXOR: *out = integer(a ^ b); break;
  case GEN_OP_BITAND: *out = integer(a & b); break;
  case GEN_OP_SHL: *out = integer(shifted((uint64_t)a, b)); break;
  default: *out = integer(shifted((uint64_t)a, b == INT64_MIN ? 64 : -b)); break;
  }
  return true;
}

static bool negate(const gen_atom *v, gen_atom *out) {
  *out = v->type == GEN_INTEGER ? integer((int64_t)(0 - (uint64_t)v->i)) : real(-v->d);
  return is_number(v);
}

/* ---- helpers (gen_library.c) ----------------------------------------------------------------- */

static bool ceildiv(gen_op op, const gen_atom *v, gen_atom *out) {
  int64_t a, b;
  if (!whole(&v[0], &a) || !whole(&v[1], &b) || b == 0) {
    return false;
  }
  const int64_t n =
      b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b + (a % b != 0 && (a < 0) == (b < 0));
  *out = integer(op == GEN_OP_CEILDIV ? n : (int64_t)((uint64_t)n * (uint64_t)b));
  return true;
}

/* The first of equal ones. */
static bool extreme(gen_op op, const gen_atom *v, gen_atom *out) {
  int order;
  if (!compare(v, &order)) {
    return false;
  }
  *out = v[op == GEN_OP_MAX ? order < 0 : order > 0];
  return true;
}

static bool logarithm(const gen_atom *v, gen_atom *out) {
  int64_t x;
  if (!whole(v, &x) || x <= 0) {
    return false;
  }
  *out = integer(63 - __builtin_clzll((uint64_t)x));
  return true;
}

static bool is_power(const gen_atom *v, gen_atom *out) {
  int64_t x;
  const bool ok = whole(v, &x);
  *out = condition(ok && x > 0 && !(x & (x - 1)));
  return ok;
}

static bool power_dividing(const gen_atom *v, gen_atom *out) {
  int64_t x, most;
  uint64_t p = 1;
  if (!whole(&v[0], &x) || !whole(&v[1], &most) || most <= 0) {
    return false;
  }
  while (p <= (uint64_t)most / 2 && !((uint64_t)x & p)) {
    p *= 2;
  }
  *out = integer((int64_t)p);
  return true;
}

static bool choose(const gen_atom *v, gen_atom *out) {
  if (v[0].type != GEN_CONDITION) {
    return false;
  }
  *out = v[0].yes ? v[1] : v[2];
  return true;
}

static bool absolute(const gen_atom *v, gen_atom *out) {
  if (v->type == GEN_INTEGER && v->i < 0) {
    return negate(v, out);
  }
  *out = v->type == GEN_INTEGER ? *v : real(fabs(v->d));
  return is_number(v);
}

static bool rounded(gen_op op, const gen_atom *v, gen_atom *out) {
  int64_t i;
  if (!is_number(v)) {
    return false;
  }
  const double d = v->type == GEN_INTEGER ? 0 : op == GEN_OP_FLOOR ? floor(v->d) : ceil(v->d);
  *out = v->type == GEN_INTEGER ? *v : fits_whole(d, &i) ? integer(i) : real(d);
  return true;
}

static bool derived(const gen_atom *v, gen_atom *out) {
  const gen_result r = gen_atom_result(v);
  *out = gen_result_atom(&r);
  return r.type == GEN_INTEGER || r.type == GEN_CONDITION;
}

bool gen_op_apply(gen_op op, const gen_atom *v, gen_atom *out) {
  switch (op) {
  case GEN_OP_EQ:
  case GEN_OP_NE: return equality(op, v, out);
  case GEN_OP_LT:
  case GEN_OP_LE:
  case GEN_OP_GT:
  case GEN_OP_GE: return relation(op, v, out);
  case GEN_OP_BITOR:
  case GEN_OP_BITXOR:
  case GEN_OP_BITAND:
  case GEN_OP_SHL:
  case GEN_OP_SHR: return bits(op, v, out);
  case GEN_OP_ADD:
  case GEN_OP_SUB:
  case GEN_OP_MUL: return arithmetic(op, v, out);
  case GEN_OP_DIV:
  case GEN_OP_POW: return float_arithmetic(op, v, out);
  case GEN_OP_IDIV:
  case GEN_OP_MOD: return divide(op, v, out);
  case GEN_OP_NOT: *out = condition(!gen_atom_true(v)); return true;
  case GEN_OP_NEG: return negate(v, out);
  case GEN_OP_BITNOT: *out = integer(~v->i); return v->type == GEN_INTEGER;
  case GEN_OP_WHOLE: return derived(v, out);
  case GEN_OP_CEILDIV:
  case GEN_OP_ROUNDUP: return ceildiv(op, v, out);
  case GEN_OP_MIN:
  case GEN_OP_MAX: return extreme(op, v, out);
  case GEN_OP_LOG2: return logarithm(v, out);
  case GEN_OP_ISPOW2: return is_power(v, out);
  case GEN_OP_POW2DIV: return power_dividing(v, out);
  case GEN_OP_SEL: return choose(v, out);
  case GEN_OP_ABS: return absolute(v, out);
  case GEN_OP_SQRT: *out = real(sqrt(number(v))); return is_number(v);
  case GEN_OP_FLOOR:
  case GEN_OP_CEIL: return rounded(op, v, out);
  default: return false;
  }
}

/* ---- running --------------------------------------------------------------------------------- */

static bool name(const gen_codes *c, const gen_code *x, gen_atom *out) {
  const gen_instance *g = c->t->bound;
  if (x->op == GEN_OP_FIELD && c->fields) {
    *out = gen_atom_of(&c->fields[x->index]);
    return true;
  }
  if (x->op == GEN_OP_PARAM && g && g->has_config) {
    *out = gen_atom_of(&c->t->pub.params[x->index].values[g->config.index[x->index]]);
    return true;
  }
  if (x->op == GEN_OP_DEVICE && g) {
    *out = integer(g->device[x->index]);
    return true;
  }
  if (x->op == GEN_OP_SCALAR && c->has_scalar[x->index]) {
    *out = c->scalars[x->index];
    return true;
  }
  if (x->op == GEN_OP_DERIVED && g && g->known[x->index]) {
    *out = gen_result_atom(&g->values[x->index]);
    return true;
  }
  return false;
}

bool gen_code_run(const gen_codes *c, const gen_code *x, gen_atom *out) {
  gen_atom v[3];
  switch (x->op) {
  case GEN_OP_VALUE: *out = x->value; return true;
  case GEN_OP_FIELD:
  case GEN_OP_PARAM:
  case GEN_OP_DEVICE:
  case GEN_OP_SCALAR:
  case GEN_OP_DERIVED: return name(c, x, out);
  case GEN_OP_OR:
  case GEN_OP_AND:
    return gen_code_run(c, x->kids[0], out) &&
           (gen_atom_true(out) == (x->op == GEN_OP_OR) || gen_code_run(c, x->kids[1], out));
  default: break;
  }
  for (uint32_t i = 0; i < x->n; i++) {
    if (!gen_code_run(c, x->kids[i], &v[i])) {
      return false;
    }
  }
  return gen_op_apply(x->op, v, out);
}

/* ---- translating ----------------------------------------------------------------------------- */

typedef struct translator {
  gen_box *b;
  arena *a;
  const tmpl *t;
  const gen_code *names[GEN_MAX_SYMBOLS]; /* NULL: not met yet */
} translator;

static const struct {
  const char *text;
  gen_op op;
} operators[] = {{"or", GEN_OP_OR},    {"and", GEN_OP_AND},  {"==", GEN_OP_EQ},
                 {"~=", GEN_OP_NE},    {"<", GEN_OP_LT},     {"<=", GEN_OP_LE},
                 {">", GEN_OP_GT},     {">=", GEN_OP_GE},    {"|", GEN_OP_BITOR},
                 {"~", GEN_OP_BITXOR}, {"&", GEN_OP_BITAND}, {"<<", GEN_OP_SHL},
                 {">>", GEN_OP_SHR},   {"+", GEN_OP_ADD},    {"-", GEN_OP_SUB},
                 {"*", GEN_OP_MUL},    {"/", GEN_OP_DIV},    {"//", GEN_OP_IDIV},
                 {"%", GEN_OP_MOD},    {"^", GEN_OP_POW}},
  unaries[] = {{"not ", GEN_OP_NOT}, {"-", GEN_OP_NEG}, {"~", GEN_OP_BITNOT}};

/* Of some any number is taken, two at a time. */
static const struct {
  const char *text;
  gen_op op;
  uint32_t n;
  bool any;
} helpers[] = {{"ceildiv", GEN_OP_CEILDIV, 2, false}, {"roundup", GEN_OP_ROUNDUP, 2, false},
               {"min", GEN_OP_MIN, 2, true},          {"max", GEN_OP_MAX, 2, true},
               {"log2", GEN_OP_LOG2, 1, false},       {"ispow2", GEN_OP_ISPOW2, 1, false},
               {"pow2div", GEN_OP_POW2DIV, 2, false}, {"sel", GEN_OP_SEL, 3, false},
               {"abs", GEN_OP_ABS, 1, false},         {"sqrt", GEN_OP_SQRT, 1, false},
               {"floor", GEN_OP_FLOOR, 1, false},     {"ceil", GEN_OP_CEIL, 1, false}};

static const gen_code *translate(translator *r, const gen_formula *x);

static gen_code *node(translator *r, gen_op op, uint32_t n) {
  gen_code *c = ARENA_ARRAY(r->a, gen_code, 1);
  if (c) {
    c->op = (uint8_t)op;
    c->n = (uint8_t)n;
  }
  return c;
}

static const gen_code *value(translator *r, gen_atom v) {
  gen_code *c = node(r, GEN_OP_VALUE, 0);
  if (c) {
    c->value = v;
  }
  return c;
}

/* Lua reads its numbers; a text with an escape is left to it. */
static const gen_code *literal(translator *r, const char *text) {
  lua_State *L = r->b->L;
  const size_t n = strlen(text);
  if (text[0] == '\'' || text[0] == '"') {
    const char *s = strchr(text, '\\') ? NULL : arena_text_n(r->a, text + 1, n - 2);
    return s ? value(r, (gen_atom){.type = GEN_NAME, .s = s}) : NULL;
  }
  luaL_checkstack(L, 1, NULL);
  if (lua_stringtonumber(L, text) != n + 1) {
    return NULL;
  }
  const gen_atom v =
      lua_isinteger(L, -1) ? integer(lua_tointeger(L, -1)) : real(lua_tonumber(L, -1));
  lua_pop(L, 1);
  return value(r, v);
}

static gen_code *symbol(translator *r, const gen_symbol *s) {
  gen_code *c = node(r, GEN_OP_DERIVED, 0);
  if (!c) {
    return NULL;
  }
  c->index = s->index;
  switch (s->kind) {
  case GEN_SYMBOL_FIELD: c->op = GEN_OP_FIELD; break;
  case GEN_SYMBOL_PARAM: c->op = GEN_OP_PARAM; break;
  case GEN_SYMBOL_DEVICE: c->op = GEN_OP_DEVICE; break;
  case GEN_SYMBOL_SCALAR: c->op = GEN_OP_SCALAR; break;
  default: break;
  }
  return c;
}

/* Each name once: half of all nodes are names. */
static const gen_code *named(translator *r, const char *text) {
  const gen_symbol *s = gen_symbol_find(&r->t->symbols, text, GEN_READS_CONFIG);
  s = s ? s : gen_symbol_find(&r->t->symbols, text, GEN_SYMBOL_SCALAR);
  if (!s || (s->kind == GEN_SYMBOL_SCALAR && s->index >= GEN_MAX_SCALARS)) {
    return NULL;
  }
  const size_t i = (size_t)(s - r->t->symbols.at);
  r->names[i] = r->names[i] ? r->names[i] : symbol(r, s);
  return r->names[i];
}

static const gen_code *constant(translator *r, const char *text) {
  if (!strcmp(text, "true") || !strcmp(text, "false")) {
    return value(r, condition(text[0] == 't'));
  }
  return isalpha((unsigned char)text[0]) || text[0] == '_' ? named(r, text) : literal(r, text);
}

/* Of n operands two at a time, from the left. */
static const gen_code *chain(translator *r, gen_op op, const gen_formula *x) {
  const gen_code *left = x->n ? translate(r, x->kids[0]) : NULL;
  for (size_t i = 1; left && i < x->n; i++) {
    const gen_code *right = translate(r, x->kids[i]);
    gen_code *c = right ? node(r, op, 2) : NULL;
    if (c) {
      c->kids[0] = left;
      c->kids[1] = right;
    }
    left = c;
  }
  return left;
}

static const gen_code *operation(translator *r, gen_op op, const gen_formula *x, uint32_t n) {
  gen_code *c = x->n >= n ? node(r, op, n) : NULL;
  for (uint32_t i = 0; c && i < n; i++) {
    c->kids[i] = translate(r, x->kids[i]);
    c = c->kids[i] ? c : NULL;
  }
  return c;
}

/* What has too few arguments, or some that Lua would ignore, is left to it. */
static const gen_code *call(translator *r, const gen_formula *x) {
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
    if (!strcmp(helpers[i].text, x->text) && (x->n == helpers[i].n || helpers[i].any)) {
      return x->n > helpers[i].n ? chain(r, helpers[i].op, x)
                                 : operation(r, helpers[i].op, x, helpers[i].n);
    }
  }
  return NULL;
}

static const gen_code *translate(translator *r, const gen_formula *x) {
  switch (x->kind) {
  case GEN_FORMULA_PARAM:
  case GEN_FORMULA_DERIVED: return named(r, x->text);
  case GEN_FORMULA_CONSTANT: return constant(r, x->text);
  case GEN_FORMULA_CALL: return call(r, x);
  case GEN_FORMULA_UNARY:
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
      if (!strcmp(unaries[i].text, x->text)) {
        return operation(r, unaries[i].op, x, 1);
      }
    }
    return NULL;
  case GEN_FORMULA_OPERATOR:
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
      if (!strcmp(operators[i].text, x->text)) {
        return chain(r, operators[i].op, x);
      }
    }
  }
  return NULL;
}

/* All at once, as derived values are taken apart for each formula that reads them. */
void gen_codes_make(gen_box *b, gen_codes *c) {
  arena formulas = {0};
  gen_formulas f = {.a = &formulas, .t = c->t, .scalars = true};
  translator r = {.b = b, .a = (arena *)&c->t->a, .t = c->t};
  c->made = c->by_c = true;
  for (gen_expr *x = c->exprs; x; x = x->next) {
    const gen_formula *formula = gen_formula_new(&f, x);
    x->code = formula ? translate(&r, formula) : NULL;
  }
  arena_clear(&formulas);
}

void gen_codes_make_one(gen_box *b, gen_codes *c, gen_expr *x) {
  arena formulas = {0};
  gen_formulas f = {.a = &formulas, .t = c->t, .scalars = true, .alone = true};
  translator r = {.b = b, .a = (arena *)&c->t->a, .t = c->t};
  const gen_formula *formula = gen_formula_new(&f, x);
  x->asked = true;
  x->code = formula ? translate(&r, formula) : NULL;
  arena_clear(&formulas);
}
