/* gen_read_loop.c -- the key `loop` of a stage: how often, or until when, the stages in it run. */
#define _GNU_SOURCE
#include "gen_read_operands.h"

/* { "x", "y" }, which exchange their places after each iteration */
static void read_swap(gen_scope *s, gen_stage_operand pair[2]) {
  gen_reader *r = s->r;
  if (gen_list(r, "swap", NULL) != 2) {
    gen_bad(r, "swap lists pairs of buffers, { { \"x\", \"y\" } }");
  }
  for (int i = 0; i < 2; i++) {
    gen_need_at(r, i + 1, "a buffer");
    pair[i] = gen_operand_find(s, gen_text(r, "a buffer"));
    if (pair[i].from == GEN_FROM_ARG && r->t->pub.args[pair[i].index].dir == GEN_SCALAR) {
      gen_bad(r, "'%s' is a scalar; swap exchanges buffers", r->t->pub.args[pair[i].index].name);
    }
    if (pair[i].from == GEN_FROM_ARG && r->t->pub.args[pair[i].index].host) {
      gen_bad(r, "'%s' may be in the host's memory; swap exchanges buffers of the device",
              r->t->pub.args[pair[i].index].name);
    }
    gen_leave(r);
  }
  const gen_element a = gen_operand_element(s, &pair[0]), b = gen_operand_element(s, &pair[1]);
  if (a.field != b.field || (a.field < 0 && a.type != b.type)) {
    gen_bad(r, "swap exchanges buffers of one type");
  }
}

static void read_swaps(gen_scope *s, gen_stage_loop *loop) {
  gen_reader *r = s->r;
  if (!gen_enter(r, "swap")) {
    return;
  }
  loop->n_swaps = gen_bounded_list(r, "swap", GEN_MAX_OPERANDS);
  gen_stage_operand(*pairs)[2] = gen_make(r, loop->n_swaps * sizeof *pairs);
  for (size_t i = 0; i < loop->n_swaps; i++) {
    gen_need_at(r, (int64_t)i + 1, "a pair of buffers");
    read_swap(s, pairs[i]);
    gen_leave(r);
  }
  loop->swaps = (const gen_stage_operand(*)[2])pairs;
  gen_leave(r);
}

/* The name by which stages read the number of the iteration; all loops have the same. */
static bool read_index(gen_scope *s) {
  gen_reader *r = s->r;
  if (!gen_enter(r, "index")) {
    return false;
  }
  const char *name = gen_text(r, "index");
  if (!gen_symbol_find(&r->t->symbols, name, GEN_SYMBOL_INDEX)) {
    gen_declare(r, name, GEN_SYMBOL_INDEX, GEN_LOOP_INDEX);
  }
  if (r->t->pub.n_args > GEN_LOOP_INDEX) {
    gen_bad(r, "with an index of loops, a template has at most %d arguments", GEN_LOOP_INDEX);
  }
  gen_leave(r);
  return true;
}

/* The u32 workspace whose first element says whether another iteration follows. */
static void read_word(gen_scope *s, gen_stage_loop *loop) {
  gen_reader *r = s->r;
  gen_need(r, "while_word");
  loop->word = gen_operand_find(s, gen_text(r, "while_word"));
  if (loop->word.from != GEN_FROM_WORKSPACE || gen_operand_element(s, &loop->word).field >= 0 ||
      gen_operand_element(s, &loop->word).type != DTYPE_u32) {
    gen_bad(r, "while_word names a workspace of two or more u32, { \"%s\", \"u32\", 2 }",
            gen_text(r, "while_word"));
  }
  gen_leave(r);
}

/* { while_word = "state", max = "n", graph = "LOOP == 'graph'", ahead = "LOOP == 'ahead'", batch = 8 } */
static void read_while(gen_scope *s, gen_stage_loop *loop) {
  static const char *const keys[] = {"while_word", "max", "graph", "ahead", "batch", NULL};
  gen_reader *r = s->r;
  gen_keys(r, keys);
  read_word(s, loop);
  loop->is_while = true;
  loop->times = gen_numeric_at(r, "max", s->kinds);
  loop->graph = gen_condition_at(r, "graph", s->kinds);
  loop->ahead = gen_condition_at(r, "ahead", s->kinds);
  loop->batch = gen_numeric_at(r, "batch", s->kinds);
  if (!loop->ahead != !loop->batch) {
    gen_bad(
        r,
        "'ahead', when the host launches iterations before it reads the word, and 'batch', how many "
        "these are, go together");
  }
}

/* { times = "steps", swap = { { "x", "y" } }, graph = "LOOP == 'graph'" }, or with an index */
static void read_counted(gen_scope *s, gen_stage_loop *loop) {
  static const char *const keys[] = {"times", "swap", "graph", "index", NULL};
  gen_reader *r = s->r;
  gen_keys(r, keys);
  loop->times = gen_numeric_at(r, "times", s->kinds);
  if (!loop->times) {
    gen_bad(r, "'times', how often the stages run, or 'while_word' is missing here");
  }
  read_swaps(s, loop);
  loop->graph = gen_condition_at(r, "graph", s->kinds);
  loop->indexed = read_index(s);
  if (loop->indexed && loop->graph) {
    gen_bad(r, "iterations that read their index differ, so that a graph cannot repeat one");
  }
}

gen_stage_loop *gen_loop_read(gen_scope *s) {
  gen_reader *r = s->r;
  gen_stage_loop *loop = GEN_MAKE(r, gen_stage_loop, 1);
  gen_need(r, "loop");
  (gen_has_entry(r, "while_word") ? read_while : read_counted)(s, loop);
  gen_leave(r);
  return loop;
}
