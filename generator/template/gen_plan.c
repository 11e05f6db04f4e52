/* What a configuration launches. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen_counts.h"
#include "gen_numbers.h"
#include "gen_plan_check.h"
#include "gen_plan_program.h"
#include "gen_plan_while.h"

/* CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability": the same for
 * every device since 3.0. Threads per block and shared memory are the device's own. */
static const int64_t GRID_MAX[3] = {2147483647, 65535, 65535};
static const int64_t BLOCK_MAX[3] = {1024, 1024, 64};

enum { POINTER_NBYTES = 8, TENSOR_MAP_NBYTES = 128, POOL_MAX = 1 << 20 };

typedef struct job {
  gen_instance *g;
  const gen_config *c;
  const gen_program *program;
  bool is_ours; /* its launches get the caller's arguments */
  arena *a;
  const gen_plan **plan;
  const gen_expr *residual; /* checks: what is allowed; NULL: they count */
  double *allowed;
  const gen_stage_loop *odd; /* plans: of which odd iterations are being made; NULL: none */
} job;

static void *make(job *j, size_t nbytes) {
  return gen_new(j->g, j->a, nbytes);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static uint32_t element_nbytes(const job *j, gen_element x) {
  return (uint32_t)dtype_nbytes(gen_element_type(j->g, x));
}

/* In odd iterations of a loop, the buffer that has taken this one's place. */
static const gen_stage_operand *placed(const job *j, const gen_stage_operand *from) {
  const gen_stage_loop *loop = j->odd;
  for (size_t i = 0; loop && i < loop->n_swaps; i++) {
    for (int k = 0; k < 2; k++) {
      const gen_stage_operand *one = &loop->swaps[i][k];
      if (from->from == one->from && from->index == one->index) {
        return &loop->swaps[i][1 - k];
      }
    }
  }
  return from;
}

static gen_operand plain_operand(job *j, const gen_stage_operand *given) {
  const tmpl *t = j->g->t;
  const gen_stage_operand *from = placed(j, given);
  gen_operand o = {.from = from->from, .index = from->index, .nbytes = POINTER_NBYTES};
  if (from->from == GEN_FROM_VALUE) {
    o.nbytes = element_nbytes(j, from->element);
    o.bits = gen_scalar(j->g, from->value, from->element);
    o.text = from->value->text;
  } else if (from->from == GEN_FROM_WORKSPACE || from->from == GEN_FROM_LOOP) {
    o.text = j->program->workspaces[from->index].name;
    o.nbytes = from->from == GEN_FROM_LOOP ? sizeof(gen_loop_handle) : POINTER_NBYTES;
  } else if (from->from == GEN_FROM_PREPARED) {
    o.text = t->pub.prepared[from->index].name;
  } else if (from->from == GEN_FROM_EXPECTED) {
    o.text = t->pub.args[from->index].name;
  } else if (from->from == GEN_FROM_ARG) {
    o.text = t->pub.args[from->index].name;
    o.nbytes = t->pub.args[from->index].dir == GEN_SCALAR
                   ? element_nbytes(j, t->args[from->index].element)
                   : POINTER_NBYTES;
  }
  return o;
}

static gen_operand contents(job *j, const gen_stage_operand *from) {
  const uint32_t size = element_nbytes(j, from->element);
  const int64_t n =
      gen_bounded(j->g, from->value, 1, GEN_PARAMETERS_NBYTES / size, "the count of a parameter");
  return (gen_operand){.from = from->from,
                       .index = from->index,
                       .nbytes = (uint32_t)n * size,
                       .text = j->g->t->pub.args[from->index].name};
}

/* src: CUDA Driver API, cuTensorMapEncodeTiled: the limits of extents and boxes. */
static const gen_tensor *tensor(job *j, const gen_stage_tensor *from) {
  gen_tensor *x = make(j, sizeof *x);
  *x = (gen_tensor){.at = plain_operand(j, &from->at),
                    .type = gen_element_type(j->g, from->element),
                    .rank = from->rank};
  for (size_t i = 0; i < x->rank; i++) {
    x->dims[i] =
        (uint64_t)gen_bounded(j->g, from->dims[i], 1, INT64_C(1) << 32, "a tensor's extent");
    x->box[i] = (uint32_t)gen_bounded(j->g, from->box[i], 1, 256, "a side of a tensor's box");
  }
  for (size_t i = 0; i + 1 < x->rank; i++) {
    x->strides[i] = plain_operand(j, &from->strides[i]);
  }
  x->swizzle = from->swizzle ? (uint32_t)gen_bounded(j->g, from->swizzle, 0, 128, "swizzle") : 0;
  return x;
}

static gen_operand stride_of(job *j, const gen_stage_texture *from, const gen_texture *x,
                             size_t i) {
  if (!from->dense) {
    return plain_operand(j, &from->strides[i]);
  }
  uint64_t elements = x->channels;
  for (size_t k = 0; k <= i; k++) {
    elements *= x->dims[k];
  }
  return (gen_operand){.from = GEN_FROM_VALUE, .nbytes = sizeof elements, .bits = elements};
}

/* src: CUDA C++ Programming Guide, technical specifications: the largest linear texture */
static const gen_texture *texture(job *j, const gen_stage *s, const gen_stage_texture *from) {
  gen_texture *x = make(j, sizeof *x);
  *x = (gen_texture){.at = plain_operand(j, &from->at),
                     .type = gen_element_type(j->g, from->element),
                     .rank = from->rank,
                     .channels = 1,
                     .array = from->array && gen_holds(j->g, from->array),
                     .how = from->how};
  if (from->channels) {
    x->channels = (uint32_t)gen_bounded(j->g, from->channels, 1, 4, "channels of a texel");
  }
  for (size_t i = 0; i < x->rank; i++) {
    x->dims[i] =
        (uint64_t)gen_bounded(j->g, from->dims[i], 1, INT64_C(1) << 28, "a texture's extent");
  }
  for (size_t i = 0; i + 1 < x->rank; i++) {
    x->strides[i] = stride_of(j, from, x, i);
  }
  if (x->channels == 3 || x->type == DTYPE_f64 || x->type == DTYPE_i64 || x->type == DTYPE_u64 ||
      x->type == DTYPE_bf16) {
    gen_fail(&j->g->t->box, ERR_TEMPLATE, s->at,
             "a texture has 1, 2 or 4 channels of at most 32 bits, not %u of %s", x->channels,
             dtype_name(x->type));
  }
  return x;
}

static const gen_operand *operands(job *j, const gen_stage *s) {
  gen_operand *o = make(j, s->n_operands * sizeof *o);
  for (size_t i = 0; i < s->n_operands; i++) {
    o[i] = plain_operand(j, &s->operands[i]);
    if (s->operands[i].from == GEN_FROM_CONTENTS) {
      o[i] = contents(j, &s->operands[i]);
    } else if (s->operands[i].from == GEN_FROM_TENSOR) {
      o[i].tensor = tensor(j, s->operands[i].tensor);
      o[i].text = o[i].tensor->at.text;
      o[i].nbytes = TENSOR_MAP_NBYTES;
    } else if (s->operands[i].from == GEN_FROM_TEXTURE) {
      o[i].texture = texture(j, s, s->operands[i].texture);
      o[i].text = o[i].texture->at.text;
      o[i].nbytes = POINTER_NBYTES;
    }
  }
  return o;
}

/* Returns the product, 0 for an empty grid. */
static int64_t extent(job *j, const gen_expr *const x[3], int64_t least, const int64_t most[3],
                      const char *const names[3], uint32_t out[3]) {
  double product = 1;
  for (int i = 0; i < 3; i++) {
    out[i] = x[i] ? (uint32_t)gen_bounded(j->g, x[i], least, most[i], names[i]) : 1;
    product *= out[i];
  }
  return product < 9e18 ? (int64_t)product : INT64_MAX;
}

static int64_t device(const job *j, const char *name) {
  return j->g->device[gen_symbol_find(&j->g->t->symbols, name, GEN_SYMBOL_DEVICE)->index];
}

/* With the kernel before it; or, first of all, with whatever kernel the caller launched before. */
static bool overlaps(job *j, const gen_stage *s, const gen_launch *l, bool first) {
  if (l->loop && (first || l[-1].loop != l->loop)) {
    return false; /* it follows the last of the loop's stages, too */
  }
  if (l->stream || l->after || (!first && l[-1].stream)) {
    return false; /* events order it */
  }
  const gen_expr *may = first ? s->early : l[-1].kernel ? s->overlap : NULL;
  return may && gen_holds(j->g, may);
}

static void work(job *j, const gen_stage *s, gen_launch *l) {
  for (size_t i = 0; i < GEN_MAX_WORK && s->work[i]; i++) {
    l->work[i] = gen_real(j->g, s->work[i]);
    if (!(l->work[i] >= 0) || !isfinite(l->work[i])) {
      gen_fail(&j->g->t->box, ERR_TEMPLATE, s->work[i]->at,
               "a block's work is %g; it can be 0 or more", l->work[i]);
    }
  }
}

/* A kernel launch; false when its grid is empty. */
static bool launch(job *j, const gen_stage *s, bool first, gen_launch *l) {
  static const char *const grid[] = {"grid.x", "grid.y", "grid.z"};
  static const char *const block[] = {"block.x", "block.y", "block.z"};
  l->kernel = s->kernel;
  l->line = s->at.line;
  int64_t threads = extent(j, s->block, 1, BLOCK_MAX, block, l->block);
  if (threads > device(j, "dev_threads_block")) {
    gen_fail(&j->g->t->box, ERR_TEMPLATE, s->at, "a block of %lld threads; the device allows %lld",
             (long long)threads, (long long)device(j, "dev_threads_block"));
  }
  if (s->smem) {
    l->smem = (uint32_t)gen_bounded(j->g, s->smem, 0, device(j, "dev_smem_block"), "smem");
  }
  if (!extent(j, s->grid, 0, GRID_MAX, grid, l->grid)) {
    return false;
  }
  l->cooperative = s->cooperative && gen_holds(j->g, s->cooperative);
  if (s->pool) {
    l->pool = (uint32_t)gen_bounded(j->g, s->pool, 1, POOL_MAX, "pool");
  }
  l->overlap = !l->cooperative && overlaps(j, s, l, first);
  l->operands = operands(j, s);
  l->n_operands = s->n_operands;
  work(j, s, l);
  return true;
}

/* Of a workspace or a buffer of the preparation; of others the most. */
static int64_t nbytes_of(job *j, const gen_stage_operand *o, const uint64_t *workspaces) {
  return !o                              ? INT64_MAX
         : o->from == GEN_FROM_WORKSPACE ? (int64_t)workspaces[o->index]
         : o->from == GEN_FROM_PREPARED  ? (int64_t)gen_prepared_nbytes(j->g, o->index)
                                         : INT64_MAX;
}

/* Where a copy begins in an operand; returns how many bytes are behind. */
static int64_t begin(job *j, const gen_expr *start, const gen_stage_operand *o,
                     const uint64_t *workspaces, uint64_t *at) {
  const int64_t most = nbytes_of(j, o, workspaces);
  *at = start ? (uint64_t)gen_bounded(j->g, start, 0, most, "where a copy begins") : 0;
  return most - (int64_t)*at;
}

/* A stage that sets memory; false when there is none to set. */
static bool memory(job *j, const gen_stage *s, const uint64_t *workspaces, gen_launch *l) {
  l->operands = operands(j, s);
  l->n_operands = s->n_operands;
  l->copy = s->copy;
  l->symbol = s->symbol;
  l->fill = s->fill ? (uint8_t)gen_bounded(j->g, s->fill, 0, 255, "value") : 0;
  const gen_stage_operand *to = s->symbol ? NULL : &s->operands[0],
                          *from = s->symbol ? &s->operands[0]
                                  : s->copy ? &s->operands[1]
                                            : NULL;
  const int64_t behind = begin(j, s->start[0], to, workspaces, &l->at[0]),
                left = begin(j, s->start[1], from, workspaces, &l->at[1]),
                whole = behind < left ? behind : left;
  l->nbytes =
      s->nbytes ? (uint64_t)gen_bounded(j->g, s->nbytes, 0, whole, "nbytes") : (uint64_t)whole;
  return l->nbytes > 0;
}

static const uint64_t *workspaces(job *j) {
  const gen_program *p = j->program;
  uint64_t *nbytes = make(j, p->n_workspaces * sizeof *nbytes);
  for (size_t i = 0; i < p->n_workspaces; i++) {
    nbytes[i] =
        gen_nbytes(j->g, p->workspaces[i].count, gen_element_type(j->g, p->workspaces[i].element));
  }
  return nbytes;
}

static const bool *host_args(job *j) {
  const tmpl *t = j->g->t;
  bool *host = make(j, t->pub.n_args * sizeof *host);
  for (size_t i = 0; i < t->pub.n_args; i++) {
    host[i] = t->args[i].host && j->is_ours && gen_holds(j->g, t->args[i].host);
  }
  return host;
}

/* Scalars whose value is fixed. Without a configuration, those that read none. */
static const uint64_t *fixed_values(job *j) {
  const tmpl *t = j->g->t;
  uint64_t *values = make(j, t->pub.n_args * sizeof *values);
  for (size_t i = 0; i < t->pub.n_args; i++) {
    const gen_arg_rule *rule = &t->args[i];
    if (rule->value && (j->c || gen_expr_reads_only(rule->value, GEN_READS_DEVICE))) {
      values[i] = gen_scalar(j->g, rule->value, rule->element);
    }
  }
  return values;
}

static bool runs(job *j, const gen_stage *s) {
  return !s->when || gen_holds(j->g, s->when);
}

static void order(job *j, const gen_stage *s, gen_launch *l) {
  const int64_t most = GEN_MAX_STREAMS - 1;
  l->stream = s->stream ? (uint8_t)gen_bounded(j->g, s->stream, 0, most, "stream") : 0;
  for (size_t i = 0; i < GEN_MAX_STREAMS && s->after[i]; i++) {
    l->after |= (uint8_t)(1 << gen_bounded(j->g, s->after[i], 0, most, "after"));
  }
}

/* The stage's launch, unless it has none. */
static void add_stage(job *j, const gen_stage *s, const gen_loop *loop, gen_plan *out) {
  gen_launch *l = (gen_launch *)out->launches + out->n;
  if (runs(j, s)) {
    *l = (gen_launch){.loop = loop};
    order(j, s, l);
    out->n += s->kernel ? launch(j, s, out->n == 0, l) : memory(j, s, out->workspaces, l);
    if (j->is_ours) {
      gen_plan_check(j->g, s, l);
    }
  }
}

enum { INDEXED_MOST = 16384 }; /* launches, of all loops with an index */

/* How often the n stages of a loop with an index run. */
static uint64_t iterations(job *j, const gen_stage_loop *loop, size_t n) {
  if (!loop->indexed || (loop->when && !gen_holds(j->g, loop->when))) {
    return 0; /* `times` may have no value here */
  }
  return (uint64_t)gen_bounded(j->g, loop->times, 0, INDEXED_MOST / (int64_t)n,
                               "times, of a loop with an index,");
}

/* Each iteration has launches of its own, since they differ. */
static void add_indexed(job *j, const gen_stage *s, size_t n, gen_plan *out) {
  const gen_stage_loop *from = s->loop;
  const uint64_t times = iterations(j, from, n);
  for (uint64_t k = 0; k < times; k++) {
    j->g->t->scalars[GEN_LOOP_INDEX] = expr_integer((int64_t)k);
    j->odd = k % 2 && from->n_swaps ? from : NULL;
    for (size_t i = 0; i < n; i++) {
      add_stage(j, &s[i], NULL, out);
    }
  }
  j->odd = NULL;
}

/* The n stages of a loop until a word is 0. */
static void add_while(job *j, const gen_stage *s, size_t n, gen_plan *out) {
  gen_launch *all = (gen_launch *)out->launches;
  gen_loop *loop = gen_while_new(j->g, j->a, j->program, s, out->workspaces);
  const size_t first = out->n;
  if (loop->graph) {
    gen_while_begins(j->g, j->a, j->program, s, loop, &all[out->n++]);
  }
  const size_t body = out->n;
  for (size_t i = 0; i < n; i++) {
    add_stage(j, &s[i], loop, out);
  }
  for (size_t i = body; i < out->n; i++) {
    all[i].overlap &= !loop->graph;
  }
  if (out->n == body) {
    out->n = first; /* nothing to run */
    return;
  }
  out->n += loop->graph &&
            gen_while_goes_on(j->g, j->a, j->program, s, loop, out->n - body, &all[out->n]);
  loop->n = out->n - first;
}

/* The n stages of a loop: once, and once more for odd iterations where buffers change places. */
static void add_loop(job *j, const gen_stage *s, size_t n, gen_plan *out) {
  const gen_stage_loop *from = s->loop;
  const size_t first = out->n;
  size_t idle = 0;
  while (idle < n && !runs(j, &s[idle])) {
    idle++;
  }
  if (idle == n) {
    return; /* `times` may have no value here */
  }
  if (from->is_while) {
    add_while(j, s, n, out);
    return;
  }
  gen_loop *loop = make(j, sizeof *loop);
  *loop = (gen_loop){.times = (uint64_t)gen_bounded(j->g, from->times, 0, INT32_MAX, "times"),
                     .graph = from->graph && gen_holds(j->g, from->graph)};
  for (size_t i = 0; loop->times && i < n; i++) {
    add_stage(j, &s[i], loop, out);
  }
  loop->n = out->n - first;
  j->odd = from->n_swaps ? from : NULL;
  for (size_t i = 0; j->odd && loop->times > 1 && i < n; i++) {
    add_stage(j, &s[i], loop, out);
  }
  j->odd = NULL;
  loop->n_odd = out->n - first - loop->n;
}

static size_t stages_in_loop(const gen_program *p, size_t first) {
  size_t n = 0;
  while (first + n < p->n_stages && p->stages[first + n].loop == p->stages[first].loop) {
    n++;
  }
  return n;
}

/* Launches at most. */
static size_t capacity(job *j) {
  const gen_program *p = j->program;
  size_t indexed = 0;
  for (size_t i = 0, n; i < p->n_stages; i += n) {
    n = p->stages[i].loop ? stages_in_loop(p, i) : 1;
    indexed += p->stages[i].loop ? n * iterations(j, p->stages[i].loop, n) : 0;
    if (indexed > INDEXED_MOST) {
      gen_fail(&j->g->t->box, ERR_TEMPLATE, p->stages[i].at,
               "loops with an index make more than %d launches in all", INDEXED_MOST);
    }
  }
  return 3 * p->n_stages + indexed; /* of even and odd iterations, or with two of a graph's own */
}

static void add_stages(job *j, gen_plan *out) {
  const gen_program *p = j->program;
  for (size_t i = 0, n; i < p->n_stages; i += n) {
    const gen_stage_loop *loop = p->stages[i].loop;
    n = loop ? stages_in_loop(p, i) : 1;
    if (loop) {
      (loop->indexed ? add_indexed : add_loop)(j, &p->stages[i], n, out);
    } else {
      add_stage(j, &p->stages[i], NULL, out);
    }
  }
}

static bool launches_kernels(const gen_plan *p) {
  bool does = false;
  for (size_t i = 0; i < p->n; i++) {
    does |= p->launches[i].kernel != NULL;
  }
  return does;
}

/* Variables are read by kernels only: without any, nothing is copied to them. */
static void drop_unread(gen_plan *out) {
  gen_launch *l = (gen_launch *)out->launches;
  const size_t n = out->n;
  if (launches_kernels(out)) {
    return;
  }
  out->n = 0;
  for (size_t i = 0; i < n; i++) {
    if (!l[i].symbol || l[i].loop) { /* a loop knows how many it has */
      l[out->n++] = l[i];
    }
  }
}

static const gen_plan *plan_of(job *j) {
  const gen_program *p = j->program;
  gen_plan *out = make(j, sizeof *out);
  *out = (gen_plan){.launches = make(j, capacity(j) * sizeof *out->launches),
                    .n_workspaces = p->n_workspaces};
  out->workspaces = workspaces(j);
  out->values = fixed_values(j);
  out->on_host = host_args(j);
  out->flops = gen_real(j->g, j->g->t->flops);
  out->bytes = gen_real(j->g, j->g->t->bytes);
  add_stages(j, out);
  drop_unread(out);
  return out;
}

const gen_plan *gen_plan_program(gen_instance *g, const gen_config *c, const gen_program *p,
                                 arena *a) {
  job j = {.g = g, .c = c, .program = p, .is_ours = true, .a = a};
  return plan_of(&j);
}

static void plan(gen_box *b, void *ud) {
  job *j = ud;
  (void)b;
  gen_bind(j->g, j->c);
  if (j->is_ours) {
    gen_counts_bind(j->g, NULL, ~0u);
  }
  *j->plan = plan_of(j);
}

int gen_plan_make(gen_instance *g, const gen_config *c, arena *a, const gen_plan **out, err *e) {
  job j = {.g = g, .c = c, .program = &g->t->program, .is_ours = true, .a = a, .plan = out};
  return gen_box_run(&g->t->box, plan, &j, false, e);
}

int gen_features_plan(gen_instance *g, arena *a, const gen_plan **out, err *e) {
  job j = {.g = g, .program = &g->t->features, .a = a, .plan = out};
  return gen_box_run(&g->t->box, plan, &j, false, e);
}

int gen_reference_plan(gen_instance *g, arena *a, const gen_plan **out, err *e) {
  job j = {.g = g, .program = &g->t->reference, .a = a, .plan = out};
  return gen_box_run(&g->t->box, plan, &j, false, e);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void check_plan(gen_box *b, void *ud) {
  job *j = ud;
  plan(b, ud);
  *j->allowed = j->residual ? gen_tolerance_value(j->g, j->residual) : 0;
}

int gen_check_plan(gen_instance *g, size_t i, arena *a, const gen_plan **out, double *allowed,
                   err *e) {
  const gen_check_rule *x = &g->t->checks[i];
  job j = {.g = g,
           .program = &x->program,
           .a = a,
           .plan = out,
           .residual = x->residual,
           .allowed = allowed};
  return gen_box_run(&g->t->box, check_plan, &j, false, e);
}
