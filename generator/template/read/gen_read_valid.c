/* How much of an output counts, of those whose length a launch finds: valid = "count[0]" or
 * "2 * starts[curves]", and whether its order does. */
#define _GNU_SOURCE
#include <string.h>

#include "c_name.h"
#include "gen_read.h"

static const gen_expr *expression(gen_reader *r, const char *text, unsigned kinds) {
  return gen_expr_need(r->b, gen_expr_new(r->b, r->a, text, gen_here(r), &r->t->symbols, kinds),
                       EXPR_NUMBER);
}

static char *copy_of(gen_reader *r, const char *text, size_t n) {
  char *out = gen_make(r, n + 1);
  memcpy(out, text, n);
  return out;
}

static size_t find_output(gen_reader *r, const char *name) {
  const gen_template *t = &r->t->pub;
  const gen_arg *of = gen_arg_find(t, name);
  if (!of || of->dir < GEN_OUT) {
    gen_bad(r, "'%s' is no output, and valid = \"%s[0]\" is what an output holds", name, name);
  }
  const gen_element x = r->t->args[of - t->args].element;
  if (x.field >= 0 || dtype_is_float(x.type)) {
    gen_bad(r, "'%s' has no integers; valid = \"%s[0]\" counts elements", name, name);
  }
  return (size_t)(of - t->args);
}

/* FACTOR * NAME[INDEX] */
static void read_valid(gen_reader *r, gen_arg_rule *rule) {
  const char *text = gen_text(r, "valid"), *open = strchr(text, '['), *name = open;
  const size_t n = strlen(text);
  if (!open || text[n - 1] != ']') {
    gen_bad(r, "valid is the element of an output that counts this one's: \"count[0]\"");
  }
  while (name > text && (c_name_has(name[-1]) || name[-1] == ' ')) {
    name--;
  }
  if (name > text && name[-1] != '*') {
    gen_bad(r, "valid is the element of an output, or a multiple: \"2 * count[0]\"");
  }
  rule->valid_times =
      name > text ? expression(r, copy_of(r, text, (size_t)(name - 1 - text)), GEN_READS_PROBLEM)
                  : NULL;
  name += strspn(name, " ");
  rule->valid_of = find_output(r, copy_of(r, name, strcspn(name, " [")));
  rule->valid_at =
      expression(r, copy_of(r, open + 1, n - (size_t)(open - text) - 2), GEN_READS_PROBLEM);
}

/* order = "any", of records of `each` elements */
static void read_order(gen_reader *r, gen_arg_rule *rule) {
  const char *order = gen_text_at(r, "order");
  if (order && strcmp(order, "any") != 0) {
    gen_bad(r, "order = \"any\": its elements may be in any order");
  }
  rule->unordered = order;
  rule->each = gen_numeric_at(r, "each", GEN_READS_PROBLEM);
  if (rule->each && !order) {
    gen_bad(r, "each is of order = \"any\": so many elements stay together");
  }
}

void gen_read_valid(gen_reader *r, const gen_arg *arg, gen_arg_rule *rule) {
  read_order(r, rule);
  if (gen_enter(r, "valid")) {
    read_valid(r, rule);
    gen_leave(r);
  }
  r->t->pub.partial = r->t->pub.partial || rule->valid_at || rule->unordered;
  if ((rule->valid_at || rule->unordered) && arg->dir < GEN_OUT) {
    gen_bad(r, "'%s' is an input; valid and order are of outputs", arg->name);
  }
}
