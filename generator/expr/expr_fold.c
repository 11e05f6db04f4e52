#include "expr_fold.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash.h"

typedef struct expr_fold_node {
  uint8_t op, types;
  bool fails;           /* it may have no value */
  bool has_value;       /* at `stamp` */
  expr_partial kids[3]; /* a field: the first is its index */
  uint32_t stamp;
  expr_value value; /* of a constant; else at `stamp` */
} node;

/* A thousand sizes of sgemm's portfolio leave about this many different ones. */
static const uint32_t MOST_NODES = 6144, SPARE_NODES = 256;

/* ---- nodes, each once ------------------------------------------------------------------------ */

static uint64_t hash_value(uint64_t h, const expr_value *v) {
  switch (v->type) {
  case EXPR_TEXT: return hash_more(h, v->s, strlen(v->s));
  case EXPR_CONDITION: return h + v->yes;
  default: return hash_mix(h + (uint64_t)v->i);
  }
}

static bool same(const node *a, const node *b) {
  return a->op == b->op && !memcmp(a->kids, b->kids, sizeof a->kids) &&
         (a->op != EXPR_VALUE || expr_same(&a->value, &b->value));
}

static expr_partial *slot_of(expr_fold *f, const node *x) {
  uint64_t h = hash_mix((uint64_t)x->op << 48 | (uint64_t)x->kids[0] << 32 |
                        (uint64_t)x->kids[1] << 16 | x->kids[2]);
  h = x->op == EXPR_VALUE ? hash_value(h, &x->value) : h;
  uint32_t i = (uint32_t)h & (f->n_slots - 1);
  while (f->slots[i] && !same(&f->nodes[f->slots[i]], x)) {
    i = (i + 1) & (f->n_slots - 1);
  }
  return &f->slots[i];
}

/* Half of the slots are taken at most. */
static bool grow_slots(expr_fold *f, uint32_t n) {
  expr_partial *slots = calloc(n, sizeof *slots);
  if (!slots) {
    return false;
  }
  free(f->slots);
  f->slots = slots;
  f->n_slots = n;
  for (uint32_t i = 1; i < f->n; i++) {
    *slot_of(f, &f->nodes[i]) = (expr_partial)i;
  }
  return true;
}

static bool grow(expr_fold *f) {
  const uint32_t most = f->most + 512;
  if (most > MOST_NODES || !array_resize(&f->nodes, most, sizeof *f->nodes) ||
      !array_resize(&f->truth, most, 1) ||
      (2 * most > f->n_slots && !grow_slots(f, f->n_slots ? 2 * f->n_slots : 1024))) {
    return false;
  }
  memset(f->truth + f->most, 0, most - f->most);
  f->most = most;
  return true;
}

static expr_partial add(expr_fold *f, const node *x) {
  if (f->n == f->most && !grow(f)) {
    return EXPR_PARTIAL_NONE;
  }
  expr_partial *slot = slot_of(f, x);
  if (!*slot) {
    f->nodes[f->n] = *x;
    *slot = (expr_partial)f->n++;
  }
  return *slot;
}

static expr_partial add_constant(expr_fold *f, expr_value v) {
  return add(f, &(node){.op = EXPR_VALUE, .types = (uint8_t)v.type, .has_value = true, .value = v});
}

/* ---- folding --------------------------------------------------------------------------------- */

static expr_folded partial(expr_partial p) {
  return (expr_folded){.partial = p};
}

static expr_folded constant(expr_value v) {
  return (expr_folded){.is_constant = true, .value = v};
}

expr_partial expr_fold_partial(expr_fold *f, const expr_folded *x) {
  return x->is_constant ? add_constant(f, x->value) : x->partial;
}

bool expr_fold_fails(const expr_fold *f, const expr_folded *x) {
  return !x->is_constant && f->nodes[x->partial].fails;
}

static expr_folded fold_constants(expr_fold *f, expr_op op, const expr_folded *kids) {
  const expr_value v[3] = {kids[0].value, kids[1].value, kids[2].value};
  expr_value out;
  /* EXPR_NAME has no value: the operation fails for every problem */
  return expr_apply(op, v, &out) ? constant(out)
                                 : partial(add(f, &(node){.op = EXPR_NAME, .fails = true}));
}

static bool is_positive(const node *x) {
  return x->op == EXPR_VALUE && x->types == EXPR_INTEGER && x->value.i > 0;
}

static expr_folded fold_partials(expr_fold *f, expr_op op, const expr_folded *kids) {
  node x = {.op = (uint8_t)op};
  uint8_t types[3] = {0};
  for (unsigned i = 0; i < expr_laws[op].n; i++) {
    x.kids[i] = expr_fold_partial(f, &kids[i]);
    if (x.kids[i] == EXPR_PARTIAL_NONE) {
      return partial(EXPR_PARTIAL_NONE);
    }
    types[i] = f->nodes[x.kids[i]].types;
    x.fails = x.fails || f->nodes[x.kids[i]].fails;
  }
  x.types = (uint8_t)expr_types_of(op, types);
  x.fails = x.fails || !expr_is_safe(op, types, is_positive(&f->nodes[x.kids[1]]));
  return op == EXPR_WHOLE && !x.fails ? kids[0] : partial(add(f, &x));
}

static expr_folded operation(expr_fold *f, expr_op op, const expr_folded *kids) {
  bool constants = true;
  for (unsigned i = 0; i < expr_laws[op].n; i++) {
    constants = constants && kids[i].is_constant;
  }
  if (constants) {
    return fold_constants(f, op, kids);
  }
  if (op == EXPR_SEL && kids[0].is_constant && kids[0].value.type == EXPR_CONDITION) {
    const bool yes = kids[0].value.yes;
    if (!expr_fold_fails(f, &kids[yes ? 2 : 1])) { /* both are evaluated: an error would show */
      return kids[yes ? 1 : 2];
    }
  }
  return fold_partials(f, op, kids);
}

expr_folded expr_fold_whole(expr_fold *f, const expr_folded *x) {
  const expr_folded kids[3] = {*x};
  return operation(f, EXPR_WHOLE, kids);
}

static expr_folded fold_name(expr_fold *f, const expr_node *x) {
  const expr_value *values = f->env.values[x->op];
  switch (x->op) {
  case EXPR_DERIVED: return f->derived(f->ud, x->index);
  case EXPR_PARAM:
  case EXPR_DEVICE: return constant(values[x->index]);
  case EXPR_SCALAR:
    return values && values[x->index].type ? constant(values[x->index])
                                           : partial(EXPR_PARTIAL_NONE);
  case EXPR_FIELD:
    return partial(add(f, &(node){.op = EXPR_FIELD, .types = x->types, .kids = {x->index}}));
  default: return partial(EXPR_PARTIAL_NONE);
  }
}

expr_folded expr_fold_tree(expr_fold *f, const expr_node *x) {
  expr_folded kids[3] = {{0}};
  if (x->op == EXPR_VALUE) {
    return constant(x->value);
  }
  if (!x->n) {
    return fold_name(f, x);
  }
  kids[0] = expr_fold_tree(f, x->kids[0]);
  if ((x->op == EXPR_AND || x->op == EXPR_OR) && kids[0].is_constant) {
    const bool decides = expr_true(&kids[0].value) == (x->op == EXPR_OR);
    return decides ? kids[0] : expr_fold_tree(f, x->kids[1]);
  }
  for (unsigned i = 1; i < x->n; i++) {
    kids[i] = expr_fold_tree(f, x->kids[i]);
  }
  return operation(f, x->op, kids);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool compute(expr_fold *f, const node *x, expr_value *out) {
  const expr_value *v[3] = {NULL};
  if (x->op == EXPR_FIELD) {
    *out = f->env.values[EXPR_FIELD][x->kids[0]];
    return true;
  }
  if (x->op == EXPR_NAME || !(v[0] = expr_partial_value(f, x->kids[0]))) {
    return false;
  }
  if (x->op == EXPR_OR || x->op == EXPR_AND) {
    const bool decides = expr_true(v[0]) == (x->op == EXPR_OR);
    v[1] = decides ? v[0] : expr_partial_value(f, x->kids[1]);
    *out = v[1] ? *v[1] : *out;
    return v[1];
  }
  const unsigned n = expr_laws[x->op].n;
  for (unsigned i = 1; i < n; i++) {
    if (!(v[i] = expr_partial_value(f, x->kids[i]))) {
      return false;
    }
  }
  if (n == 2 && (v[0]->type & v[1]->type) == EXPR_INTEGER &&
      expr_apply_integers(x->op, v[0]->i, v[1]->i, out)) {
    return true;
  }
  const expr_value all[3] = {*v[0], n > 1 ? *v[1] : *v[0], n > 2 ? *v[2] : *v[0]};
  return expr_apply(x->op, all, out);
}

const expr_value *expr_partial_value(expr_fold *f, expr_partial p) {
  node *x = &f->nodes[p];
  if (x->stamp != f->stamp && x->op != EXPR_VALUE) {
    x->has_value = compute(f, x, &x->value);
    x->stamp = f->stamp;
  }
  return x->has_value ? &x->value : NULL;
}

void expr_fold_fields(expr_fold *f, const expr_value *fields) {
  f->env.values[EXPR_FIELD] = fields;
  memset(f->truth, 0, f->n);
  if (++f->stamp == 0) { /* it has come round */
    f->stamp = 1;
    for (uint32_t i = 0; i < f->n; i++) {
      f->nodes[i].stamp = 0;
    }
  }
}

bool expr_partial_condition(expr_fold *f, expr_partial p, bool *yes) {
  if (!f->truth[p]) {
    const expr_value *v = expr_partial_value(f, p);
    if (!v || v->type != EXPR_CONDITION) {
      return false;
    }
    f->truth[p] = v->yes ? EXPR_PARTIAL_TRUE : EXPR_PARTIAL_FALSE;
  }
  *yes = f->truth[p] == EXPR_PARTIAL_TRUE;
  return true;
}

/* ---- making one ------------------------------------------------------------------------------ */

int expr_fold_init(expr_fold *f, err *e) {
  if (!grow(f)) {
    return err_nomem(e);
  }
  f->n = 1;
  f->nodes[EXPR_PARTIAL_NONE] = (node){.op = EXPR_NAME, .fails = true};
  add_constant(f, expr_condition(false));
  add_constant(f, expr_condition(true));
  return 0;
}

void expr_fold_clear(expr_fold *f) {
  free(f->nodes);
  free(f->truth);
  free(f->slots);
  *f = (expr_fold){0};
}

bool expr_fold_is_full(const expr_fold *f) {
  return f->n + SPARE_NODES > MOST_NODES;
}

size_t expr_fold_nbytes(const expr_fold *f) {
  return f->most * sizeof *f->nodes + f->n_slots * sizeof *f->slots + f->most;
}
