#include "gen_builder.h"
#include "gen_order.h"

#include <stdio.h>
#include <string.h>

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

static void add_test(gen_builder *b, const gen_formula *x, size_t requirement) {
  b->tests[b->n_tests++] = (gen_test){x, requirement};
}

/* Conditions joined by `and` are tested each as soon as it can be; if one could fail to evaluate
 * where the others don't hold, the whole is tested, too. */
static void add_tests(gen_builder *b, const gen_formula *x, size_t requirement) {
  bool joined = x->kind == GEN_FORMULA_OPERATOR && !strcmp(x->text, "and");
  for (size_t i = 0; i < x->n && joined; i++) {
    if (!x->kids[i]->fails && x->kids[i]->condition) {
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
  size_t n = t->pub.n_requirements, max = 0;
  gen_formulas f = {.a = &b->a, .t = t};
  const gen_formula **x = ARENA_ARRAY(&b->a, const gen_formula *, n + 1);
  for (size_t i = 0; i < n && x; i++) {
    x[i] = gen_formula_new(&f, t->requirements[i]);
    if (!x[i]) {
      gen_builder_too_large(b, "its requirements are too long to be taken apart");
    }
    max += x[i]->n + 1;
  }
  b->tests = ARENA_ARRAY(&b->a, gen_test, max + 1);
  if (!x || !b->tests) {
    gen_builder_no_memory(b);
  }
  for (size_t i = 0; i < n; i++) {
    add_tests(b, x[i], i);
  }
}

/* ---- which parts tell the nodes apart -------------------------------------------------------- */

static size_t find_slot(const gen_slots *s, const char *text) {
  size_t i = 0;
  while (i < s->n && strcmp(s->text[i], text)) {
    i++;
  }
  return i;
}

static void add_slot(void *ud, const gen_part *part) {
  gen_builder *b = ud;
  gen_slots *s = &b->slots[b->layer];
  str_reset(&b->part);
  gen_part_text(part, NULL, &b->part);
  if (find_slot(s, str_text(&b->part)) < s->n) {
    return;
  }
  if (s->n == GEN_MAX_SLOTS) {
    b->too_many_slots = true;
    return;
  }
  s->part[s->n] = *part;
  s->text[s->n] = arena_text(&b->a, str_text(&b->part));
  if (!s->text[s->n++] || b->part.failed) {
    gen_builder_no_memory(b);
  }
}

static void find_slots(gen_builder *b) {
  for (b->layer = 0; b->layer <= b->d->t->n_params; b->layer++) {
    uint64_t known = b->known[b->layer];
    for (size_t i = 0; i < b->n_tests; i++) {
      if (b->tests[i].x->reads & ~known) {
        gen_formula_parts(b->tests[i].x, known, add_slot, b);
      }
    }
    if (b->too_many_slots) {
      gen_builder_too_large(b, "its requirements tie too many parameters to each other");
    }
  }
}

static void find_better_order(gen_builder *b) {
  const gen_formula **x = ARENA_ARRAY(&b->a, const gen_formula *, b->n_tests + 1);
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

/* ---- the functions, in Lua ------------------------------------------------------------------- */

static void add_slot_name(void *ud, const gen_part *part, str *out) {
  gen_builder *b = ud;
  str text = {0};
  gen_part_text(part, NULL, &text);
  str_addf(out, "_%zu", find_slot(&b->slots[b->layer], str_text(&text)));
  out->failed = out->failed || text.failed;
  str_clear(&text);
}

static void write_literal(str *out, const char *name, const gen_value *v) {
  if (v->s) {
    str_addf(out, "local %s <const> = '%s'\n", name, v->s);
  } else {
    str_addf(out, "local %s <const> = 0x%llx\n", name, (unsigned long long)v->i);
  }
}

static void write_head(gen_builder *b) {
  const gen_template *t = b->d->t;
  str *out = &b->text;
  str_add(out, "local _values, _edge, _reject, _bad");
  for (size_t i = 0; gen_helper_names[i]; i++) {
    str_addf(out, ", %s", gen_helper_names[i]);
  }
  str_add(out, " = ...\n");
  for (size_t i = 0; i < t->n_fields; i++) {
    write_literal(out, t->fields[i].name, &b->g->problem.values[i]);
  }
  for (size_t i = 0; gen_device_names[i]; i++) {
    write_literal(out, gen_device_names[i], &(gen_value){.i = b->g->device[i]});
  }
  str_add(out, "local function _whole(x)\n"
               "  if x ~= true and x ~= false then x = x | 0 end\n  return x\nend\n");
}

static void write_tests(gen_builder *b, const gen_held *held) {
  uint64_t before = b->known[b->layer], after = b->known[b->layer + 1];
  for (size_t i = 0; i < b->n_tests; i++) {
    const gen_test *k = &b->tests[i];
    bool decided_now = !(k->x->reads & ~after) && ((k->x->reads & ~before) || !b->layer);
    if (decided_now) {
      str_add(&b->text, "do local _ok = ");
      gen_part_text(&(gen_part){k->x, UINT64_MAX, false}, held, &b->text);
      str_addf(&b->text,
               " if _ok ~= true then if _ok ~= false then _bad() end _reject(%zu) goto _next end "
               "end\n",
               k->requirement);
    }
  }
}

/* The function of layer b->layer; the lists of values follow each other in declaration order. */
static void write_layer(gen_builder *b) {
  size_t first = 0, p = b->order[b->layer];
  const gen_slots *now = &b->slots[b->layer], *next = &b->slots[b->layer + 1];
  gen_held held = {b->known[b->layer], add_slot_name, b};
  for (size_t i = 0; i < p; i++) {
    first += b->d->t->params[i].n;
  }
  str_add(&b->text, "function(");
  for (size_t i = 0; i < now->n; i++) {
    str_addf(&b->text, "%s_%zu", i ? ", " : "", i);
  }
  str_addf(&b->text, ")\nfor _i = 1, %zu do\nlocal %s <const> = _values[%zu + _i]\n",
           b->d->t->params[p].n, b->d->t->params[p].name, first);
  write_tests(b, &held);
  str_add(&b->text, "_edge(_i");
  for (size_t i = 0; i < next->n; i++) {
    str_add(&b->text, ", ");
    gen_part_text(&next->part[i], &held, &b->text);
  }
  str_add(&b->text, ")\n::_next:: end end,\n");
}

static void write_functions(gen_builder *b) {
  write_head(b);
  str_add(&b->text, "return {\n");
  for (b->layer = 0; b->layer < b->d->t->n_params; b->layer++) {
    write_layer(b);
  }
  str_add(&b->text, "}\n");
  if (b->text.failed) {
    gen_builder_no_memory(b);
  }
}

void gen_builder_plan(gen_builder *b) {
  find_tests(b);
  find_order(b);
  find_slots(b);
  write_functions(b);
}
