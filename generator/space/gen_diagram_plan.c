#include "gen_builder.h"
#include "gen_order.h"

_Noreturn void gen_builder_no_memory(gen_builder *b) {
  gen_fail(&b->g->t->box, ERR_NOMEM, b->g->t->box.home, "out of memory");
}

_Noreturn void gen_builder_too_large(gen_builder *b, const char *why) {
  gen_fail(&b->g->t->box, ERR_LIMIT, b->g->t->box.home,
           "the space has too many valid configurations to list, and %s; add requirements, or fix "
           "parameters",
           why);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static void add_test(gen_builder *b, const expr_term *x, size_t requirement) {
  b->tests[b->n_tests++] = (gen_test){x, requirement};
}

/* Conditions joined by `and` are tested each as soon as it can be; if one could fail to evaluate
 * where the others do not hold, the whole is tested, too. */
static void add_tests(gen_builder *b, const expr_term *x, size_t requirement) {
  bool joined = x->op == EXPR_AND;
  for (size_t i = 0; i < x->n && joined; i++) {
    if (!x->kids[i]->fails && x->kids[i]->types == EXPR_CONDITION) {
      add_test(b, x->kids[i], requirement);
    } else {
      joined = false;
    }
  }
  if (!joined) {
    add_test(b, x, requirement);
  }
}

static void find_tests(gen_builder *b) {
  const tmpl *t = b->g->t;
  size_t n = t->pub.n_search_requirements, max = 0;
  const expr_node **trees = ARENA_ARRAY(&b->a, const expr_node *, t->pub.n_derived + 1);
  const expr_term **x = ARENA_ARRAY(&b->a, const expr_term *, n + 1);
  if (!x || !trees) {
    gen_builder_no_memory(b);
  }
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    trees[i] = t->derived[i]->tree;
  }
  b->terms = (expr_terms){.a = &b->a, .trees = trees};
  for (size_t i = 0; i < n; i++) {
    x[i] = expr_term_new(&b->terms, t->requirements[i]->tree);
    if (!x[i]) {
      gen_builder_too_large(b, "its requirements are too long to be taken apart");
    }
    max += x[i]->n + 1;
  }
  b->tests = ARENA_ARRAY(&b->a, gen_test, max + 1);
  b->steps = ARENA_ARRAY(&b->a, gen_step, max + 1);
  if (!b->tests || !b->steps) {
    gen_builder_no_memory(b);
  }
  for (size_t i = 0; i < n; i++) {
    add_tests(b, x[i], i);
  }
}

/* ---- the parts that distinguish nodes -------------------------------------------------------- */

static void add_slot(void *ud, const expr_part *part) {
  gen_builder *b = ud;
  gen_slots *s = &b->slots[b->layer];
  const expr_node *tree = expr_part_tree(&b->terms, part, NULL);
  if (!tree) {
    gen_builder_no_memory(b);
  }
  for (size_t i = 0; i < s->n; i++) {
    if (s->tree[i] == tree) {
      return;
    }
  }
  if (s->n == GEN_MAX_SLOTS) {
    b->too_many_slots = true;
    return;
  }
  s->part[s->n] = *part;
  s->tree[s->n++] = tree;
}

static void find_slots(gen_builder *b) {
  for (b->layer = 0; b->layer <= b->d->t->n_params; b->layer++) {
    uint64_t known = b->known[b->layer];
    for (size_t i = 0; i < b->n_tests; i++) {
      if (b->tests[i].x->reads & ~known) {
        expr_parts(b->tests[i].x, known, add_slot, b);
      }
    }
    if (b->too_many_slots) {
      gen_builder_too_large(b, "its requirements tie too many parameters to each other");
    }
  }
}

static void find_better_order(gen_builder *b) {
  const expr_term **x = ARENA_ARRAY(&b->a, const expr_term *, b->n_tests + 1);
  if (!x) {
    gen_builder_no_memory(b);
  }
  for (size_t i = 0; i < b->n_tests; i++) {
    x[i] = b->tests[i].x;
  }
  gen_order(b->d->t, x, b->n_tests, b->order);
}

static void find_order(gen_builder *b) {
  for (size_t i = 0; i < b->d->t->n_params; i++) {
    b->order[i] = i;
  }
  if (!b->as_declared) {
    find_better_order(b);
  }
  for (size_t i = 0; i < b->d->t->n_params; i++) {
    b->d->layers[i].param = b->order[i];
    b->known[i + 1] = b->known[i] | (uint64_t)1 << b->order[i];
  }
}

void gen_builder_plan(gen_builder *b) {
  find_tests(b);
  find_order(b);
  find_slots(b);
}

/* ---- what a layer evaluates ------------------------------------------------------------------ */

static const expr_node *tree_of(gen_builder *b, const expr_part *part, const expr_held *held) {
  const expr_node *tree = expr_part_tree(&b->terms, part, held);
  if (!tree) {
    gen_builder_no_memory(b);
  }
  return tree;
}

/* A test is decided by the last parameter that it reads. */
void gen_builder_layer(gen_builder *b) {
  const uint64_t before = b->known[b->layer], after = b->known[b->layer + 1];
  const gen_slots *now = &b->slots[b->layer], *next = &b->slots[b->layer + 1];
  const expr_held held = {before, now->tree, now->n};
  b->n_steps = 0;
  for (size_t i = 0; i < b->n_tests; i++) {
    const gen_test *k = &b->tests[i];
    if (!(k->x->reads & ~after) && ((k->x->reads & ~before) || !b->layer)) {
      const expr_part whole = {k->x, UINT64_MAX, false};
      b->steps[b->n_steps++] = (gen_step){tree_of(b, &whole, &held), k->requirement};
    }
  }
  for (size_t i = 0; i < next->n; i++) {
    b->next_parts[i] = tree_of(b, &next->part[i], &held);
  }
}
