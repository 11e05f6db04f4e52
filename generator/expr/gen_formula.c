#include "gen_formula.h"

#include <stdio.h>
#include <string.h>

#include "gen_lex.h"

enum { MAX_NODES = 20000, MAX_DEPTH = 200 }; /* Lua doesn't nest deeper either */

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
  gen_formulas *f;
  gen_lexer lexer;
  gen_token now;
  int depth;
} reader;

static void advance(reader *r) {
  r->now = gen_lex_next(&r->lexer);
}

static bool accept(reader *r, const char *text) {
  const bool may = text[0] == *r->now.p && r->now.kind != GEN_TOKEN_STRING;
  const bool yes = may && gen_token_is(&r->now, text);
  if (yes) {
    advance(r);
  }
  return yes;
}

static gen_formula *node(gen_formulas *f, gen_formula_kind kind, const char *text, size_t n) {
  gen_formula *x = f->n_nodes++ < MAX_NODES ? arena_new(f->a, sizeof *x) : NULL;
  if (x) {
    *x = (gen_formula){.kind = kind, .text = text, .n = n};
    x->kids = ARENA_ARRAY(f->a, const gen_formula *, n + 1);
  }
  return x && x->kids && text ? x : NULL;
}

/* What follows from the kids. */
static const gen_formula *sum_up(gen_formula *x) {
  for (size_t i = 0; i < x->n; i++) {
    x->reads |= x->kids[i]->reads;
    x->fails = x->fails || x->kids[i]->fails;
  }
  return x;
}

static bool all_whole(const gen_formula *x) {
  for (size_t i = 0; i < x->n; i++) {
    if (!x->kids[i]->whole) {
      return false;
    }
  }
  return true;
}

static bool among(const char *word, const char *const *words) {
  while (*words && (**words != word[0] || strcmp(*words, word))) {
    words++;
  }
  return *words != NULL;
}

static void judge_operator(gen_formula *x) {
  static const char *const comparisons[] = {"==", "~=", "<", "<=", ">", ">=", NULL};
  static const char *const logic[] = {"and", "or", NULL};
  static const char *const harmless[] = {"+", "-", "*", NULL};
  static const char *const real[] = {"/", "^", NULL};
  bool is_whole = all_whole(x);
  if (among(x->text, comparisons)) {
    x->condition = true;
  } else if (among(x->text, logic)) {
    x->logic = true;
    x->condition = x->kids[0]->condition && x->kids[1]->condition;
  } else if (among(x->text, harmless)) {
    x->whole = is_whole;
  } else if (!among(x->text, real)) { /* a remainder of 0; bits of a fraction */
    x->whole = is_whole;
    x->fails = true;
  }
}

static bool regroups(const gen_formula *x, const char *op) {
  return x->kind == GEN_FORMULA_OPERATOR && !strcmp(x->text, op);
}

static const gen_formula *unary(gen_formulas *f, const char *op, const gen_formula *kid) {
  gen_formula *x = kid ? node(f, GEN_FORMULA_UNARY, op, 1) : NULL;
  if (!x) {
    return NULL;
  }
  x->kids[0] = kid;
  x->condition = !strcmp(op, "not ");
  x->whole = kid->whole && !x->condition;
  x->fails = !strcmp(op, "~") && !kid->whole;
  return sum_up(x);
}

/* Long chains become one node, as Lua takes only so many parentheses inside each other. */
static const gen_formula *binary(gen_formulas *f, const char *op, const gen_formula *a,
                                 const gen_formula *b) {
  if (!a || !b) {
    return NULL;
  }
  bool wholes = a->whole && b->whole;
  if (!strcmp(op, "-") && wholes) {
    return binary(f, "+", a, unary(f, "-", b));
  }
  bool sum = (!strcmp(op, "+") || !strcmp(op, "*")) && wholes;
  bool chain = sum || !strcmp(op, "and") || !strcmp(op, "or");
  size_t n_left = chain && regroups(a, op) ? a->n : 1, n_right = sum && regroups(b, op) ? b->n : 1;
  gen_formula *x = node(f, GEN_FORMULA_OPERATOR, op, n_left + n_right);
  if (!x) {
    return NULL;
  }
  x->sum = sum;
  memcpy(x->kids, n_left > 1 ? a->kids : &a, n_left * sizeof *x->kids);
  memcpy(x->kids + n_left, n_right > 1 ? b->kids : &b, n_right * sizeof *x->kids);
  judge_operator(x);
  return sum_up(x);
}

static const gen_formula *expression(reader *r, int floor);

static const gen_formula *call(reader *r, const char *name) {
  static const char *const harmless[] = {"min", "max", "abs", "sel", NULL};
  const gen_formula *kids[256];
  size_t n = 0;
  do {
    const gen_formula *kid = n < 256 ? expression(r, 0) : NULL;
    if (!kid) {
      return NULL;
    }
    kids[n++] = kid;
  } while (accept(r, ","));
  gen_formula *x = accept(r, ")") ? node(r->f, GEN_FORMULA_CALL, name, n) : NULL;
  if (!x) {
    return NULL;
  }
  memcpy(x->kids, kids, n * sizeof *kids);
  x->condition = !strcmp(name, "ispow2");
  x->whole = !x->condition && strcmp(name, "sqrt") && all_whole(x);
  if (!strcmp(name, "sel") && n == 3) {
    x->whole = kids[1]->whole && kids[2]->whole;
    x->condition = kids[1]->condition && kids[2]->condition;
  }
  x->fails = !among(name, harmless);
  return sum_up(x);
}

static const gen_formula *derived(gen_formulas *f, uint32_t i) {
  if (f->alone) {
    return node(f, GEN_FORMULA_DERIVED, f->t->pub.derived[i].name, 0);
  }
  if (!f->derived[i]) {
    const gen_formula *kid = gen_formula_new(f, f->t->derived[i]);
    gen_formula *x = kid ? node(f, GEN_FORMULA_DERIVED, f->t->pub.derived[i].name, 1) : NULL;
    if (!x) {
      return NULL;
    }
    x->kids[0] = kid;
    x->condition = kid->condition;
    x->whole = !x->condition && kid->whole;
    x->fails = !kid->condition && !kid->whole; /* it may turn out to have a fraction */
    f->derived[i] = sum_up(x);
  }
  return f->derived[i];
}

static const gen_formula *name(reader *r, const char *word) {
  const gen_symbol *s = gen_symbol_find(&r->f->t->symbols, word, GEN_READS_CONFIG);
  if (s && gen_is_derived(s)) {
    return derived(r->f, s->index);
  }
  if (!s && r->f->scalars) {
    s = gen_symbol_find(&r->f->t->symbols, word, GEN_SYMBOL_SCALAR);
  }
  bool param = s && s->kind == GEN_SYMBOL_PARAM;
  gen_formula *x = node(r->f, param ? GEN_FORMULA_PARAM : GEN_FORMULA_CONSTANT, word, 0);
  if (!x || !s) {
    return NULL;
  }
  x->reads = param ? (uint64_t)1 << s->index : 0;
  x->whole = param ? gen_is_number(&r->f->t->pub.params[s->index])
                   : s->kind != GEN_SYMBOL_SCALAR &&
                         (s->kind != GEN_SYMBOL_FIELD || !r->f->t->pub.fields[s->index].names);
  return x;
}

static const gen_formula *constant(reader *r, const gen_token *t, const char *text) {
  gen_formula *x = node(r->f, GEN_FORMULA_CONSTANT, text, 0);
  if (x) {
    bool hex = t->n > 1 && (t->p[1] == 'x' || t->p[1] == 'X');
    x->whole = t->kind == GEN_TOKEN_NUMBER && !strpbrk(text, hex ? ".pP" : ".eE");
    x->condition = t->kind == GEN_TOKEN_KEYWORD;
  }
  return x;
}

static const gen_formula *operand(reader *r) {
  static const char *const signs[][2] = {{"not", "not "}, {"-", "-"}, {"~", "~"}};
  enum { UNARY = 11 };
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    if (accept(r, signs[i][0])) {
      return unary(r->f, signs[i][1], expression(r, UNARY));
    }
  }
  if (accept(r, "(")) {
    const gen_formula *x = expression(r, 0);
    return x && accept(r, ")") ? x : NULL;
  }
  gen_token t = r->now;
  const char *text = arena_text_n(r->f->a, t.p, t.n);
  advance(r);
  if (!text || t.kind == GEN_TOKEN_END) {
    return NULL;
  }
  if (t.kind != GEN_TOKEN_NAME) {
    return constant(r, &t, text);
  }
  return accept(r, "(") ? call(r, text) : name(r, text);
}

typedef struct binding { /* how strongly an operator binds, left and right (Lua 5.4 manual, 3.4.8)
                          */
  const char *op;
  int left, right;
} binding;

static const binding bindings[] = {
    {"or", 1, 1},  {"and", 2, 2}, {"<", 3, 3},    {">", 3, 3},   {"<=", 3, 3},
    {">=", 3, 3},  {"~=", 3, 3},  {"==", 3, 3},   {"|", 4, 4},   {"~", 5, 5},
    {"&", 6, 6},   {"<<", 7, 7},  {">>", 7, 7},   {"+", 9, 9},   {"-", 9, 9},
    {"*", 10, 10}, {"/", 10, 10}, {"//", 10, 10}, {"%", 10, 10}, {"^", 14, 13},
};

static const binding *operator_at(const reader *r) {
  for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
    const bool may = bindings[i].op[0] == *r->now.p && r->now.kind != GEN_TOKEN_STRING;
    if (may && gen_token_is(&r->now, bindings[i].op)) {
      return &bindings[i];
    }
  }
  return NULL;
}

static const gen_formula *expression(reader *r, int floor) {
  const gen_formula *x = r->depth++ < MAX_DEPTH ? operand(r) : NULL;
  for (const binding *b; x && (b = operator_at(r)) && b->left > floor;) {
    advance(r);
    x = binary(r->f, b->op, x, expression(r, b->right));
  }
  r->depth--;
  return x;
}

const gen_formula *gen_formula_new(gen_formulas *f, const gen_expr *x) {
  reader r = {.f = f, .lexer = gen_lex(x->text, strlen(x->text), 1)};
  advance(&r);
  const gen_formula *whole = expression(&r, 0);
  return r.now.kind == GEN_TOKEN_END ? whole : NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool guards(const gen_formula *x, size_t i, bool guarded) {
  return guarded || (x->logic && i > 0);
}

static bool is_part(const gen_formula *x, uint64_t known, bool guarded) {
  return !(x->reads & ~known) && !(guarded && x->fails);
}

/* Of a sum or product: do some of the operands make a part? */
static bool has_group(const gen_formula *x, uint64_t known, bool guarded) {
  for (size_t i = 0; i < x->n && x->sum; i++) {
    if (x->kids[i]->reads && is_part(x->kids[i], known, guarded)) {
      return true;
    }
  }
  return false;
}

static void visit_parts(const gen_formula *x, uint64_t known, bool guarded, gen_part_visitor *visit,
                        void *ud) {
  if (!(x->reads & known)) {
    return;
  }
  bool group = has_group(x, known, guarded);
  if (group || is_part(x, known, guarded)) {
    visit(ud, &(gen_part){x, known, guarded});
  }
  if (is_part(x, known, guarded)) {
    return;
  }
  for (size_t i = 0; i < x->n; i++) {
    if (!group || !is_part(x->kids[i], known, guarded)) {
      visit_parts(x->kids[i], known, guards(x, i, guarded), visit, ud);
    }
  }
}

void gen_formula_parts(const gen_formula *x, uint64_t known, gen_part_visitor *visit, void *ud) {
  visit_parts(x, known, false, visit, ud);
}

/* ---- text ------------------------------------------------------------------------------------ */

static const gen_held nothing;

static void write(const gen_formula *x, const gen_held *h, bool guarded, str *out) {
  gen_part_text(&(gen_part){x, UINT64_MAX, guarded}, h, out);
}

static void write_list(const gen_part *p, const gen_held *h, const char *between, str *out) {
  for (size_t i = 0; i < p->x->n; i++) {
    str_add(out, i ? between : "");
    write(p->x->kids[i], h, guards(p->x, i, p->guarded), out);
  }
}

/* The operands that the part has: those held together first, the others after them. */
static void write_sum(const gen_part *p, const gen_held *h, str *out) {
  const gen_formula *x = p->x;
  bool all = p->known == UINT64_MAX || is_part(x, p->known, p->guarded);
  bool group = has_group(x, h->known, p->guarded);
  const char *between = "";
  str_add(out, "(");
  if (group) {
    h->add_name(h->ud, &(gen_part){x, h->known, p->guarded}, out);
    between = x->text;
  }
  for (size_t i = 0; i < x->n; i++) {
    bool held = group && is_part(x->kids[i], h->known, p->guarded);
    if (held || (!all && !is_part(x->kids[i], p->known, p->guarded))) {
      continue;
    }
    str_addf(out, "%s ", between);
    write(x->kids[i], h, p->guarded, out);
    between = x->text;
  }
  str_add(out, ")");
}

void gen_part_text(const gen_part *p, const gen_held *held, str *out) {
  const gen_held *h = held ? held : &nothing;
  const gen_formula *x = p->x;
  if (x->reads && is_part(x, p->known & h->known, p->guarded)) {
    h->add_name(h->ud, &(gen_part){x, h->known, p->guarded}, out);
    return;
  }
  switch (x->kind) {
  case GEN_FORMULA_PARAM:
  case GEN_FORMULA_CONSTANT: str_add(out, x->text); break;
  case GEN_FORMULA_DERIVED:
    str_add(out, x->whole || x->condition ? "(" : "_whole(");
    write_list(p, h, "", out);
    str_add(out, ")");
    break;
  case GEN_FORMULA_UNARY:
    str_addf(out, "(%s ", x->text);
    write_list(p, h, "", out);
    str_add(out, ")");
    break;
  case GEN_FORMULA_CALL:
    str_addf(out, "%s(", x->text);
    write_list(p, h, ", ", out);
    str_add(out, ")");
    break;
  case GEN_FORMULA_OPERATOR:
    if (x->sum) {
      write_sum(p, h, out);
    } else {
      str_add(out, "(");
      char between[16];
      snprintf(between, sizeof between, " %s ", x->text);
      write_list(p, h, between, out);
      str_add(out, ")");
    }
    break;
  }
}
