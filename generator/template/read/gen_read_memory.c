/* Stages without a kernel: they set memory, copy it, or fill a __constant__ variable. */
#define _GNU_SOURCE
#include "gen_lex.h"
#include "gen_read_operands.h"

static bool can_be_set(gen_scope *s, const gen_stage_operand *o) {
  gen_dir dir = o->from == GEN_FROM_ARG ? s->r->t->pub.args[o->index].dir : GEN_INOUT;
  return o->from == GEN_FROM_PREPARED ? s->in_prepare : dir == GEN_OUT || dir == GEN_INOUT;
}

/* { memset = "y", value = 0, nbytes = "4 * n" } */
static void read_memset(gen_scope *s, gen_stage *stage) {
  static const char *const keys[] = {"memset", "value", "nbytes",      "when",
                                     "stream", "after", "values_only", NULL};
  gen_reader *r = s->r;
  gen_keys(r, keys);
  gen_need(r, "memset");
  gen_stage_operand *o = GEN_MAKE(r, gen_stage_operand, 1);
  *o = gen_operand_find(s, gen_text(r, "memset"));
  if (!can_be_set(s, o)) {
    gen_bad(r, "memset needs a workspace or an output buffer");
  }
  gen_leave(r);
  stage->operands = o;
  stage->n_operands = 1;
  stage->fill = gen_numeric_at(r, "value", s->kinds);
  stage->nbytes = gen_numeric_at(r, "nbytes", s->kinds);
  if (!stage->nbytes && o->from == GEN_FROM_ARG) {
    gen_bad(r, "'nbytes' is missing here: how many bytes of the buffer to set");
  }
}

/* { constant = "filter", from = "weights", nbytes = "4 * size" }, and where in them: at, from_at */
static void read_constant(gen_scope *s, gen_stage *stage) {
  static const char *const keys[] = {"constant", "from",   "nbytes", "at",          "from_at",
                                     "when",     "stream", "after",  "values_only", NULL};
  gen_reader *r = s->r;
  gen_keys(r, keys);
  gen_need(r, "constant");
  stage->symbol = gen_text(r, "the name of a __constant__ variable");
  if (!gen_word_is_name(stage->symbol)) {
    gen_bad(r, "'%s' is not the name of a variable", stage->symbol);
  }
  gen_leave(r);
  gen_need(r, "from");
  gen_stage_operand *o = GEN_MAKE(r, gen_stage_operand, 1);
  *o = gen_operand_find(s, gen_text(r, "from"));
  if (o->from == GEN_FROM_ARG && r->t->pub.args[o->index].dir == GEN_SCALAR) {
    gen_bad(r, "a __constant__ variable gets the contents of a buffer");
  }
  gen_leave(r);
  stage->operands = o;
  stage->n_operands = 1;
  stage->nbytes = gen_numeric_at(r, "nbytes", s->kinds);
  stage->start[0] = gen_numeric_at(r, "at", s->kinds);
  stage->start[1] = gen_numeric_at(r, "from_at", s->kinds);
  if (!stage->nbytes) {
    gen_bad(r, "'nbytes' is missing here: how many bytes of the buffer to copy");
  }
}

static gen_stage_operand read_buffer(gen_scope *s, const char *key) {
  gen_reader *r = s->r;
  gen_need(r, key);
  const gen_stage_operand o = gen_operand_find(s, gen_text(r, key));
  if (o.from == GEN_FROM_ARG && r->t->pub.args[o.index].dir == GEN_SCALAR) {
    gen_bad(r, "'%s' is a scalar; copy is from buffer to buffer", r->t->pub.args[o.index].name);
  }
  gen_leave(r);
  return o;
}

/* { copy = "y", from = "x", nbytes = "4 * n" }, and where in them: at = 0, from_at = "4 * n" */
static void read_copy(gen_scope *s, gen_stage *stage) {
  static const char *const keys[] = {"copy", "from",   "nbytes", "at",          "from_at",
                                     "when", "stream", "after",  "values_only", NULL};
  gen_reader *r = s->r;
  gen_stage_operand *o = GEN_MAKE(r, gen_stage_operand, 2);
  gen_keys(r, keys);
  o[0] = read_buffer(s, "copy");
  o[1] = read_buffer(s, "from");
  if (!can_be_set(s, &o[0])) {
    gen_bad(r, "copy writes a workspace or an output buffer");
  }
  stage->copy = true;
  stage->operands = o;
  stage->n_operands = 2;
  stage->nbytes = gen_numeric_at(r, "nbytes", s->kinds);
  stage->start[0] = gen_numeric_at(r, "at", s->kinds);
  stage->start[1] = gen_numeric_at(r, "from_at", s->kinds);
  if (!stage->nbytes) {
    gen_bad(r, "'nbytes' is missing here: how many bytes to copy");
  }
}

bool gen_memory_read(gen_scope *s, gen_stage *stage) {
  static const struct {
    const char *key;
    void (*read)(gen_scope *s, gen_stage *stage);
  } kinds[] = {{"constant", read_constant}, {"memset", read_memset}, {"copy", read_copy}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (gen_has_entry(s->r, kinds[i].key)) {
      kinds[i].read(s, stage);
      return true;
    }
  }
  return false;
}
