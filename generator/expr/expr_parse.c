/* The parser: precedence climbing over the lexer's tokens. */
#include <stdio.h>
#include <string.h>

#include "expr.h"
#include "gen_lex.h"

enum { MAX_DEPTH = 190, MAX_NODES = 10000 }; /* Lua does not nest deeper than 200 either */

typedef struct parser {
  const expr_scope *scope;
  arena *a;
  gen_lexer lexer;
  gen_token now;
  const char *end; /* of the token before; NULL: none */
  str *line;
  err *e;
  int depth;
  size_t n_nodes;
} parser;

const char *const expr_helper_names[] = {"ceildiv", "roundup", "min", "max", "log2",
                                         "ispow2",  "pow2div", "sel", "abs", "sqrt",
                                         "floor",   "ceil",    NULL};

/* ---- errors ---------------------------------------------------------------------------------- */

static const expr_node *no_memory(parser *p) {
  err_nomem(p->e);
  return NULL;
}

/* The token here starts no value. */
static const expr_node *fail_here(parser *p) {
  const gen_token *t = &p->now;
  const int n = t->n < 40 ? (int)t->n : 40;
  static const char *const allowed = "+-*/%^<>&|~";
  const bool symbol =
      t->kind == GEN_TOKEN_OPERATOR && (strchr(allowed, *t->p) || gen_token_is(t, "=="));
  const bool word = gen_token_is(t, "and") || gen_token_is(t, "or");
  if (t->kind == GEN_TOKEN_END) {
    err_set(p->e, ERR_TEMPLATE,
            p->end ? "a value is missing at the end" : "an expression is empty");
  } else if (symbol || word || (p->depth > 1 && strchr("),", *t->p))) {
    err_set(p->e, ERR_TEMPLATE, "a value is missing before '%.*s'", n, t->p);
  } else {
    err_set(p->e, ERR_TEMPLATE, "an expression has no place for '%.*s'", n, t->p);
  }
  return NULL;
}

/* After a whole expression. */
static const expr_node *fail_after(parser *p, const char *wanted) {
  const gen_token *t = &p->now;
  const int n = t->n < 40 ? (int)t->n : 40;
  const bool value = t->kind == GEN_TOKEN_NAME || t->kind == GEN_TOKEN_NUMBER ||
                     t->kind == GEN_TOKEN_STRING || gen_token_is(t, "(");
  if (t->kind == GEN_TOKEN_END) {
    err_set(p->e, ERR_TEMPLATE, "%s is missing at the end", wanted);
  } else if (value) {
    err_set(p->e, ERR_TEMPLATE, "an operator is missing before '%.*s'", n, t->p);
  } else {
    err_set(p->e, ERR_TEMPLATE, "an expression has no place for '%.*s'", n, t->p);
  }
  return NULL;
}

static const expr_node *fail_unknown(parser *p, const char *name) {
  const gen_symbols *symbols = p->scope->symbols;
  const char *names[GEN_MAX_SYMBOLS + 16];
  size_t n = 0;
  const gen_symbol *s = gen_symbol_find(symbols, name, ~0u);
  if (s) {
    err_set(p->e, ERR_TEMPLATE, "'%s' is %s, which this expression cannot read", name,
            gen_symbol_describe(s->kind));
    return NULL;
  }
  for (size_t i = 0; i < symbols->n; i++) {
    if (symbols->at[i].kind & p->scope->kinds) {
      names[n++] = symbols->at[i].name;
    }
  }
  for (size_t i = 0; expr_helper_names[i]; i++) {
    names[n++] = expr_helper_names[i];
  }
  const char *nearest = text_nearest(name, names, n);
  err_set(p->e, ERR_TEMPLATE,
          nearest ? "there is no '%s' here; did you mean '%s'?" : "there is no '%s' here", name,
          nearest);
  return NULL;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The gaps between tokens become at most one blank. */
static void advance(parser *p) {
  if (p->line && p->now.n) {
    if (p->end && p->now.p > p->end) {
      str_add(p->line, " ");
    }
    str_add_n(p->line, p->now.p, p->now.n);
  }
  p->end = p->now.n ? p->now.p + p->now.n : p->end;
  p->now = gen_lex_next(&p->lexer);
}

static bool accept(parser *p, const char *text) {
  const bool yes =
      *p->now.p == *text && p->now.kind != GEN_TOKEN_STRING && gen_token_is(&p->now, text);
  if (yes) {
    advance(p);
  }
  return yes;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

expr_node *expr_node_new(arena *a, expr_op op, const expr_node *const *kids) {
  expr_node *x = arena_new(a, sizeof *x);
  uint8_t types[3] = {0};
  if (x) {
    x->op = (uint8_t)op;
    x->n = expr_laws[op].n;
    for (unsigned i = 0; i < x->n; i++) {
      x->kids[i] = kids[i];
      types[i] = kids[i]->types;
    }
    x->types = (uint8_t)expr_types_of(op, types);
  }
  return x;
}

static const expr_node *operation(parser *p, expr_op op, const expr_node *const *kids) {
  for (unsigned i = 0; i < expr_laws[op].n; i++) {
    if (!kids[i]) {
      return NULL;
    }
  }
  expr_node *x = p->n_nodes++ < MAX_NODES ? expr_node_new(p->a, op, kids) : NULL;
  if (p->n_nodes > MAX_NODES) {
    err_set(p->e, ERR_TEMPLATE, "an expression has more than %d operations", MAX_NODES);
    return NULL;
  }
  if (x && !x->types) {
    const uint8_t types[3] = {kids[0]->types, x->n > 1 ? kids[1]->types : 0,
                              x->n > 2 ? kids[2]->types : 0};
    char why[200];
    expr_complaint(op, NULL, types, why, sizeof why);
    err_set(p->e, ERR_TEMPLATE, "%s", why);
    return NULL;
  }
  return x ? x : no_memory(p);
}

/* Names, half of all nodes, take half of a node's memory: only their first pointer is there. */
static const expr_node *leaf(parser *p, expr_node x) {
  const size_t nbytes = x.op == EXPR_VALUE ? sizeof x : offsetof(expr_node, name) + sizeof x.name;
  expr_node *copy = arena_new(p->a, nbytes);
  return copy ? memcpy(copy, &x, nbytes) : no_memory(p);
}

static const expr_node *value(parser *p, expr_value v) {
  return leaf(p, (expr_node){.op = EXPR_VALUE, .types = (uint8_t)v.type, .value = v});
}

/* ---- operands -------------------------------------------------------------------------------- */

static const expr_node *number(parser *p) {
  expr_value v;
  const gen_token t = p->now;
  if (!expr_numeral(t.p, t.n, &v)) {
    err_set(p->e, ERR_TEMPLATE, "malformed number '%.*s'", t.n < 40 ? (int)t.n : 40, t.p);
    return NULL;
  }
  advance(p);
  return value(p, v);
}

/* What the escapes of one letter stand for; there is no use for others here. */
static bool unescape(char *text) {
  static const char letters[] = "abfnrtv\\\"'", meant[] = "\a\b\f\n\r\t\v\\\"'";
  char *to = text;
  for (const char *from = text; *from; from++) {
    const char *letter = *from == '\\' && from[1] ? strchr(letters, *++from) : from;
    if (!letter) {
      return false;
    }
    *to++ = letter == from ? *from : meant[letter - letters];
  }
  *to = 0;
  return true;
}

static const expr_node *quoted(parser *p) {
  const gen_token t = p->now;
  size_t n = 1; /* of the delimiter */
  if (memchr(t.p, '\n', t.n)) {
    return fail_here(p);
  }
  while (t.p[0] == '[' && t.p[n] == '=') {
    n++;
  }
  n += t.p[0] == '[';
  char *s = arena_text_n(p->a, t.p + n, t.n - 2 * n);
  if (s && t.p[0] != '[' && !unescape(s)) {
    err_set(p->e, ERR_TEMPLATE, "a text has no such escape: %.*s", t.n < 40 ? (int)t.n : 40, t.p);
    return NULL;
  }
  advance(p);
  return s ? value(p, expr_text(s)) : no_memory(p);
}

static expr_op op_of(gen_symbol_kind kind) {
  switch (kind) {
  case GEN_SYMBOL_FIELD: return EXPR_FIELD;
  case GEN_SYMBOL_PARAM: return EXPR_PARAM;
  case GEN_SYMBOL_DERIVED:
  case GEN_SYMBOL_FIXED: return EXPR_DERIVED;
  case GEN_SYMBOL_DEVICE: return EXPR_DEVICE;
  case GEN_SYMBOL_INDEX:
  case GEN_SYMBOL_COUNT:
  case GEN_SYMBOL_SCALAR: return EXPR_SCALAR;
  default: return EXPR_NAME;
  }
}

static expr_op helper_of(const gen_token *t) {
  for (expr_op op = EXPR_CEILDIV; op < EXPR_N_OPS; op++) {
    if (expr_laws[op].helper && gen_token_is(t, expr_laws[op].text)) {
      return op;
    }
  }
  return EXPR_N_OPS;
}

static const expr_node *name(parser *p, const gen_token *t) {
  const expr_scope *scope = p->scope;
  const gen_symbol *s =
      scope->symbols ? gen_symbol_find_n(scope->symbols, t->p, t->n, scope->kinds) : NULL;
  if (s) {
    return leaf(p, (expr_node){.op = (uint8_t)op_of(s->kind),
                               .types = s->types,
                               .index = (uint16_t)s->index,
                               .kind = (uint16_t)s->kind,
                               .name = s->name});
  }
  const char *text = arena_text_n(p->a, t->p, t->n);
  if (!text) {
    return no_memory(p);
  }
  if (helper_of(t) < EXPR_N_OPS && scope->symbols) {
    err_set(p->e, ERR_TEMPLATE, "'%s' is a helper: its arguments are missing", text);
    return NULL;
  }
  return scope->symbols
             ? fail_unknown(p, text)
             : leaf(p,
                    (expr_node){.op = EXPR_NAME, .types = EXPR_NUMBER | EXPR_TEXT, .name = text});
}

static const expr_node *expression(parser *p, int floor);

static const expr_node *fail_arity(parser *p, expr_op op, unsigned n) {
  const bool any = op == EXPR_MIN || op == EXPR_MAX;
  err_set(p->e, ERR_TEMPLATE, "%s takes %s%u argument%s, not %u", expr_laws[op].text,
          any ? "at least " : "", any ? 1 : expr_laws[op].n, any || expr_laws[op].n == 1 ? "" : "s",
          n);
  return NULL;
}

/* min(a, b, c) is min(min(a, b), c). */
static const expr_node *call(parser *p, expr_op op) {
  const bool any = op == EXPR_MIN || op == EXPR_MAX;
  const expr_node *kids[3] = {NULL};
  unsigned n = 0;
  do {
    const bool none = n == 0 && *p->now.p == ')';
    const expr_node *x = none ? NULL : expression(p, 0);
    if (none) {
      break;
    }
    if (any && n > 1) {
      kids[0] = operation(p, op, kids);
    }
    if (!x || (n > 0 && !kids[0])) {
      return NULL;
    }
    kids[any && n > 1 ? 1 : n < 3 ? n : 2] = x;
    n++;
  } while (accept(p, ","));
  if (!accept(p, ")")) {
    return fail_after(p, "')'");
  }
  if (any ? n == 0 : n != expr_laws[op].n) {
    return fail_arity(p, op, n);
  }
  return operation(p, any && n == 1 ? EXPR_ONE : op, kids);
}

static const expr_node *word(parser *p) {
  const gen_token t = p->now;
  const expr_op op = helper_of(&t);
  advance(p);
  if (gen_token_is(&p->now, "(") && p->now.kind != GEN_TOKEN_STRING && op < EXPR_N_OPS) {
    advance(p);
    return call(p, op);
  }
  return name(p, &t);
}

static const expr_node *group(parser *p) {
  expr_node *x = (expr_node *)expression(p, 0); /* just made, not shared yet */
  if (!x) {
    return NULL;
  }
  if (!accept(p, ")")) {
    return fail_after(p, "')'");
  }
  x->grouped = true;
  return x;
}

static const expr_node *operand(parser *p) {
  enum { UNARY = 11 };
  for (expr_op op = EXPR_NOT; op <= EXPR_BITNOT; op++) {
    if (accept(p, expr_laws[op].text)) {
      const expr_node *kid = expression(p, UNARY);
      return operation(p, op, &kid);
    }
  }
  if (accept(p, "(")) {
    return group(p);
  }
  switch (p->now.kind) {
  case GEN_TOKEN_NUMBER: return number(p);
  case GEN_TOKEN_STRING: return quoted(p);
  case GEN_TOKEN_NAME: return word(p);
  default: break;
  }
  const bool yes = accept(p, "true");
  return yes || accept(p, "false") ? value(p, expr_condition(yes)) : fail_here(p);
}

/* ---- operators ------------------------------------------------------------------------------- */

static expr_op operator_at(const parser *p) {
  for (expr_op op = EXPR_OR; op <= EXPR_POW; op++) {
    if (*expr_laws[op].text == *p->now.p && p->now.kind != GEN_TOKEN_STRING &&
        gen_token_is(&p->now, expr_laws[op].text)) {
      return op;
    }
  }
  return EXPR_N_OPS;
}

/* Operands joined by operators that bind more strongly than `floor`. */
static const expr_node *expression(parser *p, int floor) {
  if (++p->depth > MAX_DEPTH) {
    err_set(p->e, ERR_TEMPLATE, "an expression is too deeply nested");
    return NULL;
  }
  const expr_node *x = operand(p);
  for (expr_op op; x && (op = operator_at(p)) < EXPR_N_OPS && expr_laws[op].left > floor;) {
    advance(p);
    const expr_node *kids[] = {x, expression(p, expr_laws[op].right)};
    x = operation(p, op, kids);
  }
  p->depth--;
  return x;
}

int expr_parse(const expr_scope *scope, arena *a, const char *text, str *line,
               const expr_node **out, err *e) {
  err own = {0};
  parser p = {
      .scope = scope, .a = a, .lexer = gen_lex(text, strlen(text), 1), .line = line, .e = &own};
  advance(&p);
  const expr_node *x = expression(&p, 0);
  if (x && p.now.kind != GEN_TOKEN_END) {
    x = fail_after(&p, "");
  }
  if (x && line && line->failed) {
    x = no_memory(&p);
  }
  *out = x;
  return x ? 0 : err_set(e, own.code, "%s", own.message);
}
