/* How it is built: the layers one after another, every node of a layer before the next. A node goes
 * through the values of its layer's parameter, tests the requirements that they decide, and computes
 * the next layer's parts from its own; the node that has these is found, or made. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gen_builder.h"
#include "gen_diagram.h"

enum { MAX_FACTOR = 1000, STEPS_PER_EDGE = 32 };
static const size_t MAX_CELLS = (size_t)1 << 25, MAX_KEYS = (size_t)1 << 24;
/* In the order of the declaration: some tenths of a second. */
static const size_t FEW_KEYS = (size_t)1 << 22;

/* ---- nodes ----------------------------------------------------------------------------------- */

static void keys_clear(gen_keys *k) {
  free(k->bits);
  free(k->types);
  free(k->ways);
  free(k->table);
  *k = (gen_keys){0};
}

static bool keys_reserve(gen_keys *k, size_t n) {
  if (n <= k->max) {
    return true;
  }
  size_t max = 2 * n + 16;
  const bool ok = array_resize(&k->bits, max * k->width, sizeof *k->bits) &&
                  array_resize(&k->types, max * k->width, 1) &&
                  array_resize(&k->ways, max, sizeof *k->ways);
  k->max = ok ? max : k->max;
  return ok;
}

static uint64_t hash_key(const gen_keys *k, size_t node) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = node * k->width; i < (node + 1) * k->width; i++) {
    h = (h ^ k->bits[i] ^ k->types[i]) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  return h;
}

static bool equal_keys(const gen_keys *k, size_t a, size_t b) {
  return !memcmp(k->bits + a * k->width, k->bits + b * k->width, k->width * sizeof *k->bits) &&
         !memcmp(k->types + a * k->width, k->types + b * k->width, k->width);
}

/* Where the node's number stands, or could. */
static uint32_t *table_slot(const gen_keys *k, size_t node) {
  size_t i = hash_key(k, node) & (k->n_table - 1);
  while (k->table[i] && !equal_keys(k, k->table[i] - 1, node)) {
    i = (i + 1) & (k->n_table - 1);
  }
  return &k->table[i];
}

static bool rehash(gen_keys *k) {
  size_t n_table = k->n_table ? 2 * k->n_table : 1024;
  uint32_t *table = calloc(n_table, sizeof *table);
  if (!table) {
    return false;
  }
  free(k->table);
  k->table = table;
  k->n_table = n_table;
  for (size_t i = 0; i < k->n; i++) {
    *table_slot(k, i) = (uint32_t)i + 1;
  }
  return true;
}

/* Texts are equal when their addresses are. */
static const char *text_once(gen_builder *b, const char *s) {
  for (size_t i = 0; i < b->n_texts; i++) {
    if (b->texts[i] == s || !strcmp(b->texts[i], s)) {
      return b->texts[i];
    }
  }
  if (!array_reserve(&b->texts, b->n_texts + 1, &b->max_texts, sizeof *b->texts)) {
    gen_builder_no_memory(b);
  }
  return b->texts[b->n_texts++] = s;
}

/* The bits of a condition are in one byte only. */
static uint64_t bits_of(gen_builder *b, const expr_value *v) {
  switch (v->type) {
  case EXPR_CONDITION: return v->yes;
  case EXPR_TEXT: return (uintptr_t)text_once(b, v->s);
  default: return (uint64_t)v->i;
  }
}

static expr_value value_of(uint64_t bits, uint8_t type) {
  switch (type) {
  case EXPR_CONDITION: return expr_condition(bits);
  case EXPR_TEXT: return expr_text((const char *)(uintptr_t)bits);
  default: return (expr_value){.type = type, .i = (int64_t)bits};
  }
}

_Noreturn static void fail_evaluation(gen_builder *b, const char *why) {
  gen_fail(&b->g->t->box, ERR_TEMPLATE, b->g->t->box.home, "%s", why);
}

static void evaluate(gen_builder *b, const expr_node *x, const expr_env *env, expr_value *out) {
  char why[200];
  if (!expr_eval(x, env, out)) {
    expr_explain(x, env, why, sizeof why);
    fail_evaluation(b, why);
  }
}

/* The next layer's node with the parts that these values have. */
static size_t next_node(gen_builder *b, const expr_env *env) {
  gen_keys *k = &b->next;
  if (!keys_reserve(k, k->n + 1) || (2 * k->n >= k->n_table && !rehash(k))) {
    gen_builder_no_memory(b);
  }
  if ((k->n + 1) * (k->width + 1) > (b->as_declared ? FEW_KEYS : MAX_KEYS)) {
    gen_builder_too_large(b, "its requirements tie too many parameters to each other");
  }
  for (size_t i = 0; i < k->width; i++) {
    expr_value v;
    evaluate(b, b->next_parts[i], env, &v);
    k->bits[k->n * k->width + i] = bits_of(b, &v);
    k->types[k->n * k->width + i] = (uint8_t)v.type;
  }
  uint32_t *slot = table_slot(k, k->n);
  if (!*slot) {
    k->ways[k->n++] = 0;
    *slot = (uint32_t)k->n;
  }
  return *slot - 1;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* The first requirement that fails; n_search_requirements: none. */
static size_t first_failing(gen_builder *b, const expr_env *env) {
  for (size_t i = 0; i < b->n_steps; i++) {
    expr_value v;
    evaluate(b, b->steps[i].tree, env, &v);
    if (v.type != EXPR_CONDITION) {
      fail_evaluation(b, "a condition is needed");
    }
    if (!v.yes) {
      return b->steps[i].requirement;
    }
  }
  return b->d->t->n_search_requirements;
}

static void walk_node(gen_builder *b, const expr_env *env, expr_value *param) {
  gen_layer *y = &b->d->layers[b->layer];
  const gen_param *p = &b->d->t->params[y->param];
  const double ways = b->now.ways[b->node];
  for (size_t value = 0; value < p->n; value++) {
    *param = gen_value_of(&p->values[value]);
    const size_t failing = first_failing(b, env);
    gen_box_charge(&b->g->t->box, STEPS_PER_EDGE);
    if (failing < b->d->t->n_search_requirements) {
      b->rejected[failing] += ways * b->points_below;
    } else {
      const size_t next = next_node(b, env);
      b->next.ways[next] += ways;
      y->below[b->node * p->n + value] = (uint32_t)next;
    }
  }
}

/* Every node's parts, in turn, are what the layer's trees read. */
static void walk_nodes(gen_builder *b) {
  const gen_keys *k = &b->now;
  expr_value parts[GEN_MAX_SLOTS], params[GEN_MAX_PARAMS];
  const expr_env env = {.values = {[EXPR_FIELD] = b->g->fields,
                                   [EXPR_DEVICE] = b->g->limits,
                                   [EXPR_PARAM] = params,
                                   [EXPR_PART] = parts}};
  for (b->node = 0; b->node < k->n; b->node++) {
    for (size_t i = 0; i < k->width; i++) {
      parts[i] = value_of(k->bits[b->node * k->width + i], k->types[b->node * k->width + i]);
    }
    walk_node(b, &env, &params[b->d->layers[b->layer].param]);
  }
}

/* All edges of the layer, and with them the nodes of the next. */
static void walk_layer(gen_builder *b) {
  gen_layer *y = &b->d->layers[b->layer];
  size_t cells = b->now.n * b->d->t->params[y->param].n;
  y->n = b->now.n;
  b->d->n_cells += cells;
  if (b->d->n_cells > MAX_CELLS) {
    gen_builder_too_large(b, "its requirements tie too many parameters to each other");
  }
  y->below = malloc((cells + 1) * sizeof *y->below);
  if (!y->below) {
    gen_builder_no_memory(b);
  }
  memset(y->below, 0xff, cells * sizeof *y->below);
  b->next.width = b->slots[b->layer + 1].n;
  b->points_below /= (double)b->d->t->params[y->param].n;
  gen_builder_layer(b);
  walk_nodes(b);
  keys_clear(&b->now);
  b->now = b->next;
  b->next = (gen_keys){0};
}

static void walk_layers(gen_builder *b) {
  if (!keys_reserve(&b->now, 1)) {
    gen_builder_no_memory(b);
  }
  b->now.n = 1;
  b->now.ways[0] = 1;
  b->points_below = 1;
  for (size_t i = 0; i < b->d->t->n_params; i++) {
    b->points_below *= (double)b->d->t->params[i].n;
  }
  for (b->layer = 0; b->layer < b->d->t->n_params; b->layer++) {
    walk_layer(b);
  }
  b->d->layers[b->layer].n = b->now.n;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* False when there are more than 2^63. */
static bool count_layer(gen_diagram *d, size_t layer) {
  gen_layer *y = &d->layers[layer];
  size_t n_values = d->t->params[y->param].n;
  for (size_t i = 0; i < y->n; i++) {
    uint64_t sum = 0;
    for (size_t v = 0; v < n_values; v++) {
      if (__builtin_add_overflow(sum, gen_diagram_below(d, layer, &y->below[i * n_values + v]),
                                 &sum)) {
        return false;
      }
    }
    y->count[i] = sum;
    if (sum > INT64_MAX) {
      return false;
    }
  }
  return true;
}

static void count_all(gen_builder *b) {
  gen_diagram *d = b->d;
  for (size_t i = d->t->n_params + 1; i-- > 0;) {
    gen_layer *y = &d->layers[i];
    y->count = calloc(y->n + 1, sizeof *y->count);
    if (!y->count) {
      gen_builder_no_memory(b);
    }
    d->n_nodes += y->n;
    if (i == d->t->n_params) {
      y->count[0] = y->n;
    } else if (!count_layer(d, i)) {
      gen_builder_too_large(b, "more than 2^63 of them are valid");
    }
  }
  d->nbytes = d->n_cells * sizeof(uint32_t) + d->n_nodes * sizeof(uint64_t);
}

static void build(gen_box *box, void *ud) {
  gen_builder *b = ud;
  box->budget = box->max_instructions > UINT64_MAX / MAX_FACTOR
                    ? UINT64_MAX
                    : box->max_instructions * MAX_FACTOR;
  gen_builder_plan(b);
  walk_layers(b);
  count_all(b);
}

static int build_in_order(gen_instance *g, bool as_declared, double *rejected, gen_diagram **out,
                          err *e) {
  gen_builder *b = calloc(1, sizeof *b);
  gen_diagram *d = calloc(1, sizeof *d);
  if (!b || !d) {
    free(b);
    free(d);
    return err_nomem(e);
  }
  d->t = &g->t->pub;
  b->g = g;
  b->d = d;
  b->rejected = rejected;
  b->as_declared = as_declared;
  memset(rejected, 0, d->t->n_search_requirements * sizeof *rejected);
  int rc = gen_box_run(&g->t->box, build, b, false, e);
  keys_clear(&b->now);
  keys_clear(&b->next);
  free(b->texts);
  expr_terms_clear(&b->terms);
  arena_clear(&b->a);
  free(b);
  if (rc) {
    gen_diagram_free(d);
    return rc;
  }
  *out = d;
  return 0;
}

/* Templates name together what belongs together, and that order mostly is a good one. Where it is
 * not, another is looked for, by an estimate that is often wrong. */
int gen_diagram_new(gen_instance *g, double *rejected, gen_diagram **out, err *e) {
  err why = {0};
  const int rc = build_in_order(g, true, rejected, out, &why);
  if (rc == ERR_LIMIT || rc == ERR_TEMPLATE) {
    return build_in_order(g, false, rejected, out, e);
  }
  return err_copy(e, rc, &why);
}
