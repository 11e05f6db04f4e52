/* What a configuration prepares, part by part. */
#define _GNU_SOURCE
#include "gen_prepare.h"

#include <stdlib.h>

#include "gen_counts.h"
#include "gen_numbers.h"
#include "gen_plan_program.h"

typedef struct job {
  gen_instance *g;
  const gen_config *c;
  size_t part;
  const gen_counts *counts;
  arena *a;
  gen_preparation *out;
  const gen_plan **plan;
  bool any;
} job;

static const gen_stage *stages_of(const job *j) {
  return j->g->t->prepare.program.stages;
}

static size_t n_stages(const job *j) {
  return j->g->t->prepare.program.n_stages;
}

static bool runs(const job *j, const gen_stage *s) {
  return !s->when || gen_holds(j->g, s->when);
}

/* ---- which stages are a part --------------------------------------------------------------- */

/* Stages [first, end) are the part; the stage at `end` reads counts, unless it is behind the last. */
static bool find_part(const job *j, size_t *first, size_t *end) {
  size_t part = 0, i = 0;
  *first = 0;
  for (; i < n_stages(j); i++) {
    const gen_stage *s = &stages_of(j)[i];
    if (s->counts && runs(j, s)) {
      if (part++ == j->part) {
        break;
      }
      *first = i + 1;
    }
  }
  *end = i;
  return j->part <= part;
}

/* Counts that no stage reads in this configuration: they have their bounds. */
static uint32_t read_counts(const job *j) {
  uint32_t bits = 0;
  for (const gen_stage *s = stages_of(j), *end = s + n_stages(j); s < end; s++) {
    bits |= s->counts && runs(j, s) ? s->counts : 0;
  }
  return bits;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static uint32_t counts_in(const gen_expr *x) {
  return (uint32_t)(x->reads.scalars >> GEN_FIRST_COUNT) & ((1u << GEN_MAX_COUNTS) - 1);
}

static bool is_sized(const job *j, size_t buffer, uint32_t unknown) {
  return !(counts_in(j->g->t->prepare.buffers[buffer].count) & unknown);
}

/* A buffer is there from the first part on in which its size is known. */
static void add_buffers(job *j, uint32_t unknown, uint32_t unknown_before) {
  for (size_t i = 0; i < j->g->t->pub.n_prepared; i++) {
    const bool fresh = is_sized(j, i, unknown) && (j->part == 0 || !is_sized(j, i, unknown_before));
    if (fresh) {
      j->out->fresh |= 1u << i;
      j->out->nbytes[i] = gen_prepared_nbytes(j->g, i);
    }
  }
}

static void check_buffer(const job *j, const gen_stage *s, const gen_stage_operand *o,
                         uint32_t unknown) {
  const tmpl *t = j->g->t;
  const gen_stage_operand *at = o->from == GEN_FROM_TENSOR    ? &o->tensor->at
                                : o->from == GEN_FROM_TEXTURE ? &o->texture->at
                                                              : o;
  if (at->from == GEN_FROM_PREPARED && !is_sized(j, at->index, unknown)) {
    gen_fail(&j->g->t->box, ERR_TEMPLATE, s->at,
             "the size of '%s' is not known here: it reads a count; { count = ... } comes first",
             t->pub.prepared[at->index].name);
  }
}

static void check_stages(const job *j, const gen_stage *s, size_t n, uint32_t unknown) {
  for (const gen_stage *end = s + n; s < end; s++) {
    for (size_t i = 0; i < s->n_operands && runs(j, s); i++) {
      check_buffer(j, s, &s->operands[i], unknown);
    }
  }
}

/* ---- a part ---------------------------------------------------------------------------------- */

static gen_operand operand_of(const job *j, const gen_stage_operand *o) {
  const gen_template *t = &j->g->t->pub;
  return (gen_operand){.from = o->from,
                       .index = o->index,
                       .nbytes = 8,
                       .text = o->from == GEN_FROM_ARG ? t->args[o->index].name
                                                       : t->prepared[o->index].name};
}

static void add_reading(job *j, size_t i, uint32_t unknown, gen_reading_back *out) {
  const gen_count_rule *x = &j->g->t->prepare.counts[i];
  const int64_t size = (int64_t)dtype_nbytes(gen_element_type(j->g, x->element));
  const gen_stage here = {.at = x->line};
  check_buffer(j, &here, &x->of, unknown);
  const int64_t at =
      x->at ? gen_bounded(j->g, x->at, 0, INT64_MAX / size, "the place of a count") : 0;
  *out = (gen_reading_back){
      .index = i,
      .of = operand_of(j, &x->of),
      .type = gen_element_type(j->g, x->element),
      .at = (uint64_t)(at * size),
      .most = gen_bounded(j->g, x->most, 0, INT64_MAX, "the bound of a count"),
  };
  const uint64_t nbytes =
      x->of.from == GEN_FROM_PREPARED ? gen_prepared_nbytes(j->g, x->of.index) : UINT64_MAX;
  if (out->at + (uint64_t)size > nbytes) {
    gen_fail(&j->g->t->box, ERR_TEMPLATE, x->line, "the count '%s' is beyond the end of '%s'",
             j->g->t->pub.counts[i], out->of.text);
  }
}

static void add_readings(job *j, uint32_t counts, uint32_t unknown) {
  gen_reading_back *reads = gen_new(j->g, j->a, GEN_MAX_COUNTS * sizeof *reads);
  for (uint32_t left = counts; left; left &= left - 1) {
    add_reading(j, (size_t)__builtin_ctz(left), unknown, &reads[j->out->n_reads++]);
  }
  j->out->reads = reads;
}

/* Counts of the parts before this one, or before the one before. */
static uint32_t counts_before(const job *j, size_t parts) {
  uint32_t bits = 0;
  for (const gen_stage *s = stages_of(j), *end = s + n_stages(j); parts && s < end; s++) {
    if (s->counts && runs(j, s)) {
      bits |= s->counts;
      parts--;
    }
  }
  return bits;
}

/* The counts of this part's stages: which are read at all, and which before it. */
static void bind(job *j, uint32_t *unknown, uint32_t *unknown_before) {
  gen_bind(j->g, j->c);
  gen_counts_bind(j->g, j->counts, 0);
  const uint32_t all = read_counts(j);
  gen_counts_bind(j->g, j->counts, ~all);
  *unknown = all & ~counts_before(j, j->part);
  *unknown_before = all & ~counts_before(j, j->part - (j->part > 0));
}

static void make_part(gen_box *b, void *ud) {
  job *j = ud;
  size_t first, end;
  uint32_t unknown, earlier;
  (void)b;
  *j->out = (gen_preparation){0};
  bind(j, &unknown, &earlier);
  if (!find_part(j, &first, &end)) {
    return;
  }
  const gen_program some = {.stages = stages_of(j) + first, .n_stages = end - first};
  add_buffers(j, unknown, earlier);
  check_stages(j, some.stages, some.n_stages, unknown);
  j->out->plan = gen_plan_program(j->g, j->c, &some, j->a);
  if (end < n_stages(j)) {
    add_readings(j, stages_of(j)[end].counts, unknown);
  }
}

int gen_prepare_part(gen_instance *g, const gen_config *c, size_t part, const gen_counts *counts,
                     arena *a, gen_preparation *out, err *e) {
  job j = {.g = g, .c = c, .part = part, .counts = counts, .a = a, .out = out};
  return gen_box_run(&g->t->box, make_part, &j, false, e);
}

static void look(gen_box *b, void *ud) {
  job *j = ud;
  uint32_t ignored[2];
  (void)b;
  bind(j, &ignored[0], &ignored[1]);
  for (size_t i = 0; i < n_stages(j); i++) {
    const gen_stage *s = &stages_of(j)[i];
    const bool later = s->when && s->when->reads.kinds & GEN_SYMBOL_COUNT;
    j->any |= later || runs(j, s);
  }
}

int gen_prepares(gen_instance *g, const gen_config *c, bool *yes, err *e) {
  job j = {.g = g, .c = c};
  *yes = false;
  TRY(g->t->pub.has_prepare ? gen_box_run(&g->t->box, look, &j, false, e) : 0);
  *yes = j.any;
  return 0;
}

/* ---- with all counts ------------------------------------------------------------------------- */

static void make_values(gen_box *b, void *ud) {
  job *j = ud;
  (void)b;
  gen_bind(j->g, j->c);
  gen_counts_bind(j->g, j->counts, ~0u);
  gen_stage *stages = gen_new(j->g, j->a, n_stages(j) * sizeof *stages);
  gen_program some = {.stages = stages};
  for (size_t i = 0; i < n_stages(j); i++) {
    if (stages_of(j)[i].values_only) {
      stages[some.n_stages++] = stages_of(j)[i];
    }
  }
  *j->plan = gen_plan_program(j->g, j->c, &some, j->a);
}

int gen_values_plan(gen_instance *g, const gen_config *c, const gen_counts *counts, arena *a,
                    const gen_plan **out, err *e) {
  job j = {.g = g, .c = c, .counts = counts, .a = a, .plan = out};
  return gen_box_run(&g->t->box, make_values, &j, false, e);
}

static void make_run(gen_box *b, void *ud) {
  job *j = ud;
  (void)b;
  gen_bind(j->g, j->c);
  gen_counts_bind(j->g, j->counts, ~0u);
  *j->plan = gen_plan_program(j->g, j->c, &j->g->t->program, j->a);
}

int gen_plan_make_for(gen_instance *g, const gen_config *c, const gen_counts *counts, arena *a,
                      const gen_plan **out, err *e) {
  job j = {.g = g, .c = c, .counts = counts, .a = a, .plan = out};
  return gen_box_run(&g->t->box, make_run, &j, false, e);
}

/* ---- how often it is used ---------------------------------------------------------------------- */

double gen_uses(const gen_template *t, const gen_problem *p) {
  const gen_field *f = t->has_prepare ? gen_field_find(t, "uses", 4) : NULL;
  const char *text = f ? p->values[f - t->fields].s : NULL;
  return text ? atof(text) : 0; /* many: 0 */
}
