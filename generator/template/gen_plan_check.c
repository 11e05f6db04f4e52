#include "gen_plan_check.h"

bool gen_is_on_host(gen_instance *g, const gen_stage_operand *o) {
  const bool is_arg = o->from == GEN_FROM_ARG || o->from == GEN_FROM_CONTENTS;
  const gen_expr *host = is_arg ? g->t->args[o->index].host : NULL;
  if (host) {
    gen_derive_for(g, host);
  }
  return host && gen_expr_condition(&g->t->box, host);
}

/* Kernels address the device's memory. */
static void check_address(gen_instance *g, const gen_stage *s, const gen_stage_operand *o) {
  if (o->from == GEN_FROM_ARG && gen_is_on_host(g, o)) {
    const char *name = g->t->pub.args[o->index].name;
    gen_fail(
        &g->t->box, ERR_TEMPLATE, s->at,
        "%s takes the address of %s, which is in the host's memory: pass { parameter = \"%s\", "
        "count = ... }, or copy it to a workspace, { copy = ..., from = \"%s\" }",
        s->kernel, name, name, name);
  }
}

/* How many elements a buffer has that may be on the host. */
static int64_t count_of(gen_instance *g, uint32_t arg) {
  const gen_expr *count = g->t->args[arg].count;
  gen_derive_for(g, count);
  const int64_t n = gen_expr_integer(&g->t->box, count);
  return n > 0 ? n : 0;
}

static void check_contents(gen_instance *g, const gen_stage *s, const gen_stage_operand *o,
                           uint32_t nbytes) {
  const char *name = g->t->pub.args[o->index].name;
  const int64_t n = nbytes / (int64_t)dtype_nbytes(gen_element_type(g, o->element));
  if (!gen_is_on_host(g, o)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, s->at,
             "%s takes %s by value, which must be in the host's memory for it; here it is not: "
             "'require' what its 'host' says",
             s->kernel, name);
  }
  if (n > count_of(g, o->index)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, s->at, "%s takes %lld elements of %s, which has fewer",
             s->kernel, (long long)n, name);
  }
}

/* Each begins at a multiple of its size; arrays at one of their elements'. */
static void check_sizes(gen_instance *g, const gen_stage *s, const gen_launch *l) {
  uint64_t nbytes = 0;
  for (size_t i = 0; i < l->n_operands; i++) {
    const gen_operand *o = &l->operands[i];
    const uint64_t to = o->from == GEN_FROM_CONTENTS
                            ? dtype_nbytes(gen_element_type(g, s->operands[i].element))
                        : o->nbytes > 64 ? 64
                                         : o->nbytes;
    nbytes = to ? (nbytes + to - 1) / to * to + o->nbytes : nbytes;
  }
  if (nbytes > GEN_PARAMETERS_NBYTES) {
    gen_fail(&g->t->box, ERR_TEMPLATE, s->at, "the parameters of %s take %llu bytes; at most %d",
             s->kernel, (unsigned long long)nbytes, GEN_PARAMETERS_NBYTES);
  }
}

static void check_kernel(gen_instance *g, const gen_stage *s, const gen_launch *l) {
  check_sizes(g, s, l);
  for (size_t i = 0; i < l->n_operands; i++) {
    const gen_stage_operand *o = &s->operands[i];
    if (o->from == GEN_FROM_CONTENTS) {
      check_contents(g, s, o, l->operands[i].nbytes);
    }
    check_address(g, s,
                  o->from == GEN_FROM_TENSOR    ? &o->tensor->at
                  : o->from == GEN_FROM_TEXTURE ? &o->texture->at
                                                : o);
  }
}

/* Host memory is copied, from or to the device's. */
static void check_memory(gen_instance *g, const gen_stage *s) {
  const bool all =
      gen_is_on_host(g, &s->operands[0]) && (!s->copy || gen_is_on_host(g, &s->operands[1]));
  if (all && !s->symbol) {
    gen_fail(&g->t->box, ERR_TEMPLATE, s->at,
             s->copy ? "a copy within the host's memory is the program's, not a launch's"
                     : "memset cannot set the host's memory: set a workspace, and copy that");
  }
}

/* No device checks accesses to the host's memory. */
static void check_extents(gen_instance *g, const gen_stage *s, const gen_launch *l) {
  for (size_t i = 0; i < s->n_operands; i++) {
    const gen_stage_operand *o = &s->operands[i];
    if (!gen_is_on_host(g, o)) {
      continue;
    }
    const uint64_t size = dtype_nbytes(gen_element_type(g, g->t->args[o->index].element));
    const uint64_t n = (uint64_t)count_of(g, o->index), at = l->at[s->symbol ? 1 : i];
    if (n <= INT64_MAX / size && (at > n * size || l->nbytes > n * size - at)) {
      gen_fail(&g->t->box, ERR_TEMPLATE, s->at,
               "a copy of %llu bytes from byte %llu of %s, which has %llu",
               (unsigned long long)l->nbytes, (unsigned long long)at, g->t->pub.args[o->index].name,
               (unsigned long long)(n * size));
    }
  }
}

void gen_plan_check(gen_instance *g, const gen_stage *s, const gen_launch *l) {
  if (!s->kernel) {
    check_memory(g, s);
    check_extents(g, s, l);
  } else if (l->operands) {
    check_kernel(g, s, l);
  }
}
