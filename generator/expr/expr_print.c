/* An expression as C, for exported headers and the typed calls.
 *
 * Lua's operators bind as C's do, with one exception: == binds like < in Lua and weaker in C. Where
 * that matters one operand of == would be a condition and the other a number, and that is refused.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "expr.h"

typedef struct printer {
  const expr_node *const *derived;
  const char *(*name)(void *, const char *);
  void *ud;
  str *out;
  err *e;
} printer;

static bool fail(printer *p, const char *why) {
  err_set(p->e, ERR_TEMPLATE, "%s", why);
  return false;
}

static bool is_condition(const expr_node *x) {
  return x->types == EXPR_CONDITION;
}
static bool is_text(const expr_node *x) {
  return x->types == EXPR_TEXT;
}
/* A name may stand for a number or for a choice, which can be compared with a text; which names do,
 * the caller knows. */
static bool is_number(const expr_node *x) {
  return (x->types & EXPR_NUMBER) && !(x->types & EXPR_CONDITION);
}
static bool all_are(const expr_node *x, bool (*is)(const expr_node *)) {
  bool yes = true;
  for (unsigned i = 0; i < x->n; i++) {
    yes = yes && is(x->kids[i]);
  }
  return yes;
}

static bool print(printer *p, const expr_node *x);

static bool print_all(printer *p, const char *before, const expr_node *x, const char *between,
                      const char *after) {
  str_add(p->out, before);
  for (unsigned i = 0; i < x->n; i++) {
    str_add(p->out, i ? between : "");
    if (!print(p, x->kids[i])) {
      return false;
    }
  }
  str_add(p->out, after);
  return true;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* LL from 2^15 on, so that no product of two constants overflows an int. */
static bool print_integer(printer *p, int64_t v) {
  str_addf(p->out, v > SHRT_MAX ? "%lldLL" : "%lld", (long long)v);
  return true;
}

static bool print_value(printer *p, const expr_value *v) {
  char text[140];
  const char *c;
  switch (v->type) {
  case EXPR_INTEGER: return print_integer(p, v->i);
  case EXPR_CONDITION: str_add(p->out, v->yes ? "1" : "0"); return true;
  case EXPR_TEXT:
    if (!p->name || (size_t)snprintf(text, sizeof text, "'%s'", v->s) >= sizeof text) {
      return fail(p, "C cannot compare texts");
    }
    c = p->name(p->ud, text);
    str_add(p->out, c ? c : "");
    return c || fail(p, "a text is not available in C");
  default: break;
  }
  snprintf(text, sizeof text, "%.15g", v->d);
  str_add(p->out, text);
  str_add(p->out, strpbrk(text, ".en") ? "" : ".0");
  return true;
}

static bool print_name(printer *p, const expr_node *x) {
  if (p->derived && x->op == EXPR_DERIVED && is_condition(x)) {
    const expr_node *of = p->derived[x->index];
    str_add(p->out, of->grouped ? "" : "(");
    const bool ok = print(p, of);
    str_add(p->out, of->grouped ? "" : ")");
    return ok;
  }
  const char *c = p->name ? p->name(p->ud, x->name) : x->name;
  str_add(p->out, c ? c : "");
  return c || fail(p, "a name is not available in C");
}

/* 2^24: the one power that C can be given. */
static bool print_power(printer *p, const expr_node *x) {
  const expr_node *base = x->kids[0], *to = x->kids[1];
  const bool constants = base->op == EXPR_VALUE && base->types == EXPR_INTEGER &&
                         to->op == EXPR_VALUE && to->types == EXPR_INTEGER;
  if (!constants || to->value.i < 0 || to->value.i > 62) {
    return fail(p, "C has no ^ but of two whole numbers");
  }
  int64_t v = 1;
  for (int64_t n = to->value.i; n > 0; n--) {
    if (__builtin_mul_overflow(v, base->value.i, &v)) {
      return fail(p, "a number is too large");
    }
  }
  return print_integer(p, v);
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool print_sel(printer *p, const expr_node *x) {
  const expr_node *a = x->kids[1], *b = x->kids[2];
  if (!is_condition(x->kids[0])) {
    return fail(p, "sel needs a condition and two values");
  }
  if (is_condition(a) != is_condition(b) || is_text(a) != is_text(b)) {
    return fail(p, "sel needs two values of one kind");
  }
  str_add(p->out, "((");
  bool ok = print(p, x->kids[0]);
  str_add(p->out, ") ? (");
  ok = ok && print(p, a);
  str_add(p->out, ") : (");
  ok = ok && print(p, b);
  str_add(p->out, "))");
  return ok;
}

static bool print_helper(printer *p, const expr_node *x) {
  char open[32];
  if (!all_are(x, is_number)) {
    return fail(p, "a helper needs numbers");
  }
  snprintf(open, sizeof open, "tuned_%s(", expr_laws[x->op].text);
  return print_all(p, x->op == EXPR_ONE ? "(" : open, x, ", ", ")");
}

/* Compilers warn about && in || without parentheses. */
static bool print_logic(printer *p, const expr_node *x) {
  if (!all_are(x, is_condition)) {
    return fail(p, "'and' and 'or' must join conditions (for a value, use sel)");
  }
  return print_all(p, "(", x, x->op == EXPR_AND ? " && " : " || ", ")");
}

static bool print_infix(printer *p, const expr_node *x) {
  char between[8];
  const bool equality = x->op == EXPR_EQ || x->op == EXPR_NE;
  const bool fits =
      equality ? is_condition(x->kids[0]) == is_condition(x->kids[1]) : all_are(x, is_number);
  if (!fits) {
    return fail(p, "a condition or a text is used as a number");
  }
  snprintf(between, sizeof between, " %s ",
           x->op == EXPR_NE     ? "!="
           : x->op == EXPR_IDIV ? "/"
                                : expr_laws[x->op].text);
  return print_all(p, "", x, between, "");
}

static bool print_prefix(printer *p, const expr_node *x) {
  const expr_node *kid = x->kids[0];
  if (x->op == EXPR_NOT) {
    return is_condition(kid) ? print_all(p, "!", x, "", "") : fail(p, "'not' needs a condition");
  }
  const bool twice = kid->op == EXPR_NEG && !kid->grouped; /* not a decrement */
  return is_number(kid) ? print_all(p, twice ? "- " : "-", x, "", "")
                        : fail(p, "only a number has a sign");
}

static bool print_bare(printer *p, const expr_node *x) {
  switch (x->op) {
  case EXPR_VALUE: return print_value(p, &x->value);
  case EXPR_POW: return print_power(p, x);
  case EXPR_SEL: return print_sel(p, x);
  case EXPR_OR:
  case EXPR_AND: return print_logic(p, x);
  case EXPR_NOT:
  case EXPR_NEG: return print_prefix(p, x);
  case EXPR_CEILDIV:
  case EXPR_ROUNDUP:
  case EXPR_MIN:
  case EXPR_MAX:
  case EXPR_ONE:
  case EXPR_LOG2:
  case EXPR_ISPOW2:
  case EXPR_POW2DIV:
  case EXPR_ABS: return print_helper(p, x);
  case EXPR_DIV: return fail(p, "C divides whole numbers: write // for /");
  case EXPR_SQRT:
  case EXPR_FLOOR:
  case EXPR_CEIL: return fail(p, "C lacks a function of these");
  case EXPR_BITOR:
  case EXPR_BITXOR:
  case EXPR_BITAND:
  case EXPR_BITNOT:
  case EXPR_SHL:
  case EXPR_SHR: return fail(p, "C cannot say this");
  default: break;
  }
  return x->op <= EXPR_NAME ? print_name(p, x) : print_infix(p, x);
}

static bool print(printer *p, const expr_node *x) {
  str_add(p->out, x->grouped ? "(" : "");
  const bool ok = print_bare(p, x);
  str_add(p->out, x->grouped ? ")" : "");
  return ok;
}

int expr_print_c(const expr_node *x, const expr_node *const *derived,
                 const char *(*name)(void *, const char *), void *ud, str *out, err *e) {
  err own = {0};
  printer p = {.derived = derived, .name = name, .ud = ud, .out = out, .e = &own};
  if (!print(&p, x)) {
    return err_set(e, own.code, "%s", own.message);
  }
  return out->failed ? err_nomem(e) : 0;
}
