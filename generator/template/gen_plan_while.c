#include "gen_plan_while.h"

#include <string.h>

#include "gen_numbers.h"

/* src: CUDA Programming Guide, conditional nodes: their handles are set by kernels; those of
 * while_loop.cuh, unless the template's own do it */
static const char BEGIN[] = "while_begin", NEXT[] = "while_next";

/* By the problem's size: the elements of the largest buffer. */
static int64_t default_bound(gen_instance *g) {
  int64_t most = 1;
  for (size_t i = 0; i < g->t->pub.n_args; i++) {
    if (g->t->args[i].count) {
      const int64_t n = gen_bounded(g, g->t->args[i].count, 0, INT64_MAX, "the count");
      most = n > most ? n : most;
    }
  }
  return most < INT32_MAX ? most : INT32_MAX;
}

/* What the field `blocking` says; NULL: there is none. */
static const char *blocking(const gen_instance *g) {
  for (size_t i = 0; i < g->t->pub.n_fields; i++) {
    if (!strcmp(g->t->pub.fields[i].name, "blocking")) {
      return g->problem.values[i].s;
    }
  }
  return NULL;
}

static void check(gen_instance *g, const gen_program *p, const gen_stage *s, const gen_loop *loop,
                  const uint64_t *workspaces) {
  const char *may = blocking(g);
  if (workspaces[loop->word] < GEN_LOOP_WORDS * sizeof(uint32_t)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, s->at,
             "the workspace %s of a loop's word has %llu bytes; it needs two u32",
             p->workspaces[loop->word].name, (unsigned long long)workspaces[loop->word]);
  }
  if (p == &g->t->program && !loop->graph && (!may || strcmp(may, "yes") != 0)) {
    gen_fail(
        &g->t->box, ERR_TEMPLATE, s->at,
        may ? "the host reads the word of this loop, so that a launch waits for the device: require "
              "blocking == 'yes' for it"
            : "the host reads the word of this loop, so that a launch waits for the device; callers "
              "must allow it: add the field { \"blocking\", { \"yes\", \"no\" }, default = \"no\", "
              "class = \"promise\" }, and require blocking == 'yes'");
  }
}

gen_loop *gen_while_new(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                        const uint64_t *workspaces) {
  const gen_stage_loop *from = s->loop;
  gen_loop *loop = gen_new(g, a, sizeof *loop);
  *loop = (gen_loop){.is_while = true,
                     .word = from->word.index,
                     .word_name = p->workspaces[from->word.index].name};
  loop->times =
      (uint64_t)(from->times ? gen_bounded(g, from->times, 0, INT32_MAX, "max") : default_bound(g));
  loop->graph = from->graph && gen_holds(g, from->graph);
  if (!loop->graph && from->ahead && gen_holds(g, from->ahead)) {
    loop->batch = (uint64_t)gen_bounded(g, from->batch, 1, 1 << 16, "batch");
  }
  check(g, p, s, loop, workspaces);
  return loop;
}

static void add(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                const gen_loop *loop, const char *kernel, gen_launch *l) {
  const char *name = p->workspaces[loop->word].name;
  gen_operand *o = gen_new(g, a, 3 * sizeof *o);
  o[0] = (gen_operand){
      .from = GEN_FROM_LOOP, .index = loop->word, .nbytes = sizeof(gen_loop_handle), .text = name};
  o[1] = (gen_operand){
      .from = GEN_FROM_WORKSPACE, .index = loop->word, .nbytes = sizeof(uint64_t), .text = name};
  o[2] = (gen_operand){
      .from = GEN_FROM_VALUE, .nbytes = sizeof(uint32_t), .bits = loop->times, .text = "max"};
  *l = (gen_launch){.kernel = kernel,
                    .grid = {1, 1, 1},
                    .block = {1, 1, 1},
                    .operands = o,
                    .n_operands = kernel == BEGIN ? 3 : 2,
                    .line = s->at.line,
                    .loop = loop};
}

void gen_while_begins(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                      const gen_loop *loop, gen_launch *l) {
  add(g, a, p, s, loop, BEGIN, l);
}

bool gen_while_goes_on(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                       const gen_loop *loop, size_t n, gen_launch *l) {
  for (const gen_launch *x = l - n; x < l; x++) {
    for (size_t i = 0; i < x->n_operands; i++) {
      if (x->operands[i].from == GEN_FROM_LOOP && x->operands[i].index == loop->word) {
        return false;
      }
    }
  }
  add(g, a, p, s, loop, NEXT, l);
  return true;
}

/* ---- of whole plans --------------------------------------------------------------------------- */

double gen_plan_launches(const gen_plan *plan) {
  double n = 0;
  for (size_t i = 0; i < plan->n; i++) {
    const gen_loop *loop = plan->launches[i].loop;
    n += !loop            ? 1
         : loop->is_while ? 1                    /* iterations are not known */
         : loop->n_odd ? (double)loop->times / 2 /* of odd and even iterations, one more or less */
                       : (double)loop->times;
  }
  return n;
}

bool gen_plan_blocks(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    const gen_loop *loop = plan->launches[i].loop;
    if (loop && loop->is_while && !loop->graph) {
      return true;
    }
  }
  return false;
}
