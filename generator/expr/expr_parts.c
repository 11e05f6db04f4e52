#include "expr_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
  MAX_NODES = 1 << 20
}; /* terms and their operands: a long chain has each of its beginnings */

/* ---- terms ----------------------------------------------------------------------------------- */

static bool is_whole(const expr_term *x) {
  return x->types == EXPR_INTEGER;
}

static bool is_logic(const expr_term *x) {
  return x->op == EXPR_AND || x->op == EXPR_OR;
}

static expr_term *term_new(expr_terms *t, expr_op op, const expr_term *const *kids, size_t n) {
  t->n_nodes += 1 + n;
  expr_term *x = t->n_nodes <= MAX_NODES ? arena_new(t->a, sizeof *x) : NULL;
  const expr_term **copy = x ? ARENA_ARRAY(t->a, const expr_term *, n + 1) : NULL;
  if (!copy) {
    return NULL;
  }
  *x = (expr_term){.op = (uint8_t)op, .n = n, .kids = copy};
  for (size_t i = 0; i < n; i++) {
    if (!kids[i]) {
      return NULL;
    }
    copy[i] = kids[i];
    x->reads |= kids[i]->reads;
    x->fails = x->fails || kids[i]->fails;
  }
  return x;
}

/* An operation that may fail for whole numbers, too: a division by 0, a logarithm. */
static bool may_fail(expr_op op, const expr_term *x) {
  if (op == EXPR_BITNOT) {
    return !is_whole(x);
  }
  return !expr_laws[op].regular || op == EXPR_SQRT || op == EXPR_FLOOR || op == EXPR_CEIL;
}

static const expr_term *plain(expr_terms *t, expr_op op, const expr_term *const *kids) {
  expr_term *x = term_new(t, op, kids, expr_laws[op].n);
  uint8_t types[3] = {0};
  for (size_t i = 0; x && i < x->n; i++) {
    types[i] = kids[i]->types;
  }
  if (x) {
    x->types = (uint8_t)expr_types_of(op, types);
    x->fails = x->fails || may_fail(op, kids[0]);
  }
  return x;
}

/* Long chains become one term. */
static const expr_term *binary(expr_terms *t, expr_op op, const expr_term *a, const expr_term *b) {
  const bool wholes = a && b && is_whole(a) && is_whole(b);
  if (op == EXPR_SUB && wholes) {
    return binary(t, EXPR_ADD, a, plain(t, EXPR_NEG, &b));
  }
  const bool sum = (op == EXPR_ADD || op == EXPR_MUL) && wholes;
  const bool chain = sum || op == EXPR_AND || op == EXPR_OR;
  const expr_term *pair = plain(t, op, (const expr_term *[]){a, b});
  if (!pair || !chain) {
    return pair;
  }
  const size_t n_left = a->op == op ? a->n : 1, n_right = sum && b->op == op ? b->n : 1;
  const expr_term **kids = ARENA_ARRAY(t->a, const expr_term *, n_left + n_right);
  if (!kids) {
    return NULL;
  }
  memcpy(kids, a->op == op ? a->kids : &a, n_left * sizeof *kids);
  memcpy(kids + n_left, sum && b->op == op ? b->kids : &b, n_right * sizeof *kids);
  expr_term *x = term_new(t, op, kids, n_left + n_right);
  if (x) {
    x->types = pair->types;
    x->sum = sum;
  }
  return x;
}

static const expr_term *derived(expr_terms *t, size_t i) {
  if (!t->derived[i]) {
    const expr_term *kid = expr_term_new(t, t->trees[i]);
    t->derived[i] = kid ? plain(t, EXPR_WHOLE, &kid) : NULL;
    if (t->derived[i] && (is_whole(kid) || kid->types == EXPR_CONDITION)) {
      ((expr_term *)t->derived[i])->fails = kid->fails; /* else it may have a fraction */
    }
  }
  return t->derived[i];
}

static const expr_term *leaf(expr_terms *t, const expr_node *x) {
  expr_term *out = term_new(t, x->op, NULL, 0);
  if (out) {
    out->types = x->types;
    out->leaf = x;
    out->reads = x->op == EXPR_PARAM ? UINT64_C(1) << x->index : 0;
  }
  return out;
}

const expr_term *expr_term_new(expr_terms *t, const expr_node *x) {
  const expr_term *kids[3];
  if (x->op == EXPR_DERIVED) {
    return derived(t, x->index);
  }
  if (!x->n) {
    return leaf(t, x);
  }
  for (unsigned i = 0; i < x->n; i++) {
    kids[i] = expr_term_new(t, x->kids[i]);
  }
  return x->op >= EXPR_OR && x->op <= EXPR_POW ? binary(t, x->op, kids[0], kids[1])
                                               : plain(t, x->op, kids);
}

void expr_terms_clear(expr_terms *t) {
  free(t->unique);
  t->unique = NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool guards(const expr_term *x, size_t i, bool guarded) {
  return guarded || (is_logic(x) && i > 0);
}

static bool is_part(const expr_term *x, uint64_t known, bool guarded) {
  return !(x->reads & ~known) && !(guarded && x->fails);
}

/* Of a sum or product: do some of the operands make a part? */
static bool has_group(const expr_term *x, uint64_t known, bool guarded) {
  for (size_t i = 0; i < x->n && x->sum; i++) {
    if (x->kids[i]->reads && is_part(x->kids[i], known, guarded)) {
      return true;
    }
  }
  return false;
}

static void visit_parts(const expr_term *x, uint64_t known, bool guarded, expr_part_visitor *visit,
                        void *ud) {
  if (!(x->reads & known)) {
    return;
  }
  const bool group = has_group(x, known, guarded);
  if (group || is_part(x, known, guarded)) {
    visit(ud, &(expr_part){x, known, guarded});
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

void expr_parts(const expr_term *x, uint64_t known, expr_part_visitor *visit, void *ud) {
  visit_parts(x, known, false, visit, ud);
}

/* ---- equal trees are one --------------------------------------------------------------------- */

static bool same_node(const expr_node *a, const expr_node *b) {
  if (a->op != b->op || a->n != b->n || a->index != b->index) {
    return false;
  }
  return a->op == EXPR_VALUE ? expr_same(&a->value, &b->value)
                             : !memcmp(a->kids, b->kids, a->n * sizeof *a->kids);
}

static uint64_t hash_node(const expr_node *x) {
  uint64_t h = (uint64_t)x->op << 32 | x->index;
  if (x->op == EXPR_VALUE) {
    const char *s = x->value.type == EXPR_TEXT ? x->value.s : "";
    h ^= x->value.type == EXPR_INTEGER ? (uint64_t)x->value.i : (uint64_t)x->value.type;
    for (; *s; s++) {
      h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    }
  }
  for (unsigned i = 0; i < x->n; i++) {
    h = (h ^ (uintptr_t)x->kids[i] >> 4) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h * 0x9e3779b97f4a7c15u >> 20;
}

static const expr_node **slot_of(const expr_terms *t, const expr_node *x) {
  size_t i = hash_node(x) & (t->n_slots - 1);
  while (t->unique[i] && !same_node(t->unique[i], x)) {
    i = (i + 1) & (t->n_slots - 1);
  }
  return &t->unique[i];
}

static bool grow(expr_terms *t) {
  const expr_terms old = *t;
  t->n_slots = old.n_slots ? 2 * old.n_slots : 1024;
  t->unique = calloc(t->n_slots, sizeof *t->unique);
  if (!t->unique) {
    *t = old;
    return false;
  }
  for (size_t i = 0; i < old.n_slots; i++) {
    if (old.unique[i]) {
      *slot_of(t, old.unique[i]) = old.unique[i];
    }
  }
  free(old.unique);
  return true;
}

static const expr_node *unique(expr_terms *t, const expr_node *x) {
  if (!x || (2 * t->n_unique >= t->n_slots && !grow(t))) {
    return NULL;
  }
  const expr_node **slot = slot_of(t, x);
  t->n_unique += !*slot;
  *slot = *slot ? *slot : x;
  return *slot;
}

static const expr_node *operation(expr_terms *t, expr_op op, const expr_node *const *kids) {
  for (unsigned i = 0; i < expr_laws[op].n; i++) {
    if (!kids[i]) {
      return NULL;
    }
  }
  return unique(t, expr_node_new(t->a, op, kids));
}

/* ---- trees of parts -------------------------------------------------------------------------- */

static const expr_node *held_part(expr_terms *t, const expr_part *part, const expr_held *held) {
  const expr_node *tree = expr_part_tree(t, part, NULL);
  for (size_t i = 0; tree && i < held->n; i++) {
    if (held->parts[i] == tree) {
      expr_node *x = arena_new(t->a, sizeof *x);
      if (x) {
        *x = (expr_node){
            .op = EXPR_PART, .types = tree->types, .index = (uint16_t)i, .name = "a part"};
      }
      return unique(t, x);
    }
  }
  return NULL;
}

static const expr_node *whole_tree(expr_terms *t, const expr_term *x, bool guarded,
                                   const expr_held *held) {
  return expr_part_tree(t, &(expr_part){x, UINT64_MAX, guarded}, held);
}

/* The operands that the part has: those held together first, the others after them. */
static const expr_node *sum_tree(expr_terms *t, const expr_part *p, const expr_held *held) {
  const expr_term *x = p->x;
  const bool all = p->known == UINT64_MAX || is_part(x, p->known, p->guarded);
  const bool group = has_group(x, held->known, p->guarded);
  const expr_part known = {x, held->known, p->guarded};
  const expr_node *kids[2] = {group ? held_part(t, &known, held) : NULL};
  bool first = !group;
  for (size_t i = 0; i < x->n; i++) {
    const bool is_held = group && is_part(x->kids[i], held->known, p->guarded);
    if (is_held || (!all && !is_part(x->kids[i], p->known, p->guarded))) {
      continue;
    }
    kids[!first] = whole_tree(t, x->kids[i], p->guarded, held);
    kids[0] = first ? kids[0] : operation(t, x->op, kids);
    first = false;
  }
  return kids[0];
}

static const expr_node *chain_tree(expr_terms *t, const expr_part *p, const expr_held *held) {
  const expr_node *kids[2] = {NULL};
  for (size_t i = 0; i < p->x->n; i++) {
    kids[i > 0] = whole_tree(t, p->x->kids[i], guards(p->x, i, p->guarded), held);
    kids[0] = i ? operation(t, p->x->op, kids) : kids[0];
  }
  return kids[0];
}

const expr_node *expr_part_tree(expr_terms *t, const expr_part *p, const expr_held *held) {
  static const expr_held nothing;
  const expr_term *x = p->x;
  const expr_node *kids[3];
  held = held ? held : &nothing;
  if (x->reads && is_part(x, p->known & held->known, p->guarded)) {
    return held_part(t, &(expr_part){x, held->known, p->guarded}, held);
  }
  if (x->leaf) {
    return unique(t, x->leaf);
  }
  if (x->sum) {
    return sum_tree(t, p, held);
  }
  if (is_logic(x)) {
    return chain_tree(t, p, held);
  }
  for (size_t i = 0; i < x->n; i++) {
    kids[i] = whole_tree(t, x->kids[i], p->guarded, held);
  }
  return operation(t, x->op, kids);
}
