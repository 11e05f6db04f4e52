#define _GNU_SOURCE
#include "gen_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr_fold.h"
#include "gen_tmpl.h"

/* Partial values of requirements and the plan's expressions, by the values of the parameters that
 * they read: 48 bits of a digest identify them, the other 16 are the partial value. A new one
 * replaces the one in its place. */
enum { MEMOS = 1 << 14, PARTIAL_BITS = 16 };

/* Derived values likewise: a constant, or a partial value. */
enum { DERIVED_MEMOS = 1 << 11 };
typedef struct derived_memo {
  uint32_t digest; /* 0: none */
  gen_partial partial;
  bool is_condition;
  int64_t value;
} derived_memo;

struct gen_fold {
  tmpl *t;
  expr_fold of;
  expr_value limits[GEN_MAX_DEVICE], params[GEN_MAX_PARAMS], fields[GEN_MAX_FIELDS];
  expr_value scalars[GEN_LOOP_INDEX + 1]; /* a loop's first iteration stands for all */
  uint64_t memos[MEMOS];                  /* 0: none */
  derived_memo derived_memos[DERIVED_MEMOS];
  uint64_t *work_reads; /* parameters: of the operations, the bytes, and of each stage's */
  gen_config config;
  uint64_t digest[GEN_MAX_PARAMS]; /* of each parameter's value */
  uint64_t changed;                /* parameters, since `derived` was right */
  expr_folded derived[GEN_MAX_DERIVED];
  bool has_derived[GEN_MAX_DERIVED];
};

/* ---- derived values -------------------------------------------------------------------------- */

/* Of expression i, which reads those parameters. src  Zobrist, A new hashing method with application
 * for game playing, 1970: the sum changes with any of its terms */
static uint64_t memo_key(const gen_fold *f, size_t i, uint64_t reads) {
  uint64_t sum = i + 1;
  for (; reads; reads &= reads - 1) {
    sum += f->digest[__builtin_ctzll(reads)];
  }
  return hash_mix(sum);
}

static bool recall(const derived_memo *m, uint32_t digest, expr_folded *out) {
  if (m->digest != digest) {
    return false;
  }
  *out = (expr_folded){.is_constant = !m->partial,
                       .value = m->is_condition ? expr_condition(m->value) : expr_integer(m->value),
                       .partial = m->partial};
  return true;
}

static void remember(derived_memo *m, uint32_t digest, const expr_folded *x) {
  const bool is_condition = x->value.type == EXPR_CONDITION;
  if (x->is_constant) {
    const int64_t value = is_condition ? x->value.yes : x->value.i;
    *m = (derived_memo){.digest = digest, .is_condition = is_condition, .value = value};
  } else if (x->partial) {
    *m = (derived_memo){.digest = digest, .partial = x->partial};
  }
}

static expr_folded derived(void *ud, uint32_t i) {
  gen_fold *f = ud;
  if (!f->has_derived[i]) {
    const uint64_t key = memo_key(f, i, f->t->derived_reads[i]);
    derived_memo *m = &f->derived_memos[key % DERIVED_MEMOS];
    const uint32_t digest = (uint32_t)(key >> 32) | 1;
    if (!recall(m, digest, &f->derived[i])) {
      const expr_folded x = expr_fold_tree(&f->of, f->t->derived[i]->tree);
      f->derived[i] = expr_fold_whole(&f->of, &x);
      remember(m, digest, &f->derived[i]);
    }
    f->has_derived[i] = true;
  }
  return f->derived[i];
}

/* ---- a configuration ------------------------------------------------------------------------- */

static void set_param(gen_fold *f, size_t i, uint16_t index) {
  f->changed |= UINT64_C(1) << i;
  f->config.index[i] = index;
  f->params[i] = gen_value_of(&f->t->pub.params[i].values[index]);
  f->digest[i] = hash_mix((uint64_t)(i + 1) << 16 | index);
}

/* Most parameters stay as they were, so four are compared at a time. */
void gen_fold_config(gen_fold *f, const gen_config *c) {
  for (size_t i = 0; i < f->t->pub.n_params; i += 4) {
    if (!memcmp(&f->config.index[i], &c->index[i], 4 * sizeof *c->index)) {
      continue;
    }
    for (size_t k = i; k < i + 4; k++) {
      if (f->config.index[k] != c->index[k]) {
        set_param(f, k, c->index[k]);
      }
    }
  }
}

/* As gen_bind: derived values that do not read what has changed stay. */
static void forget_derived(gen_fold *f) {
  for (size_t i = 0; f->changed && i < f->t->pub.n_derived; i++) {
    f->has_derived[i] = f->has_derived[i] && !(f->t->derived_reads[i] & f->changed);
  }
  f->changed = 0;
}

static gen_partial fold_expr(gen_fold *f, const void *of) {
  const expr_folded x = expr_fold_tree(&f->of, ((const gen_expr *)of)->tree);
  return expr_fold_partial(&f->of, &x);
}

static gen_partial derived_if_fails(gen_fold *f, const void *of) {
  const expr_folded x = derived(f, *(const uint32_t *)of);
  return expr_fold_fails(&f->of, &x) ? x.partial : GEN_PARTIAL_TRUE;
}

/* Configurations that differ in other parameters only share the partial value. */
static gen_partial fold_once(gen_fold *f, size_t i, uint64_t reads,
                             gen_partial (*fold_one)(gen_fold *, const void *), const void *of) {
  const uint64_t key = memo_key(f, i, reads) >> PARTIAL_BITS;
  uint64_t *memo = &f->memos[key % MEMOS];
  if (*memo >> PARTIAL_BITS == key && (gen_partial)*memo != GEN_PARTIAL_NONE) {
    return (gen_partial)*memo;
  }
  forget_derived(f);
  const gen_partial partial = fold_one(f, of);
  *memo = partial == GEN_PARTIAL_NONE ? *memo : key << PARTIAL_BITS | partial;
  return partial;
}

gen_partial gen_fold_requirement(gen_fold *f, size_t i) {
  return fold_once(f, i, f->t->requirement_reads[i], fold_expr, f->t->requirements[i]);
}

gen_partial gen_fold_derived(gen_fold *f, size_t i) {
  const uint32_t at = (uint32_t)i;
  return fold_once(f, f->t->pub.n_requirements + i, f->t->derived_reads[i], derived_if_fails, &at);
}

/* ---- values ---------------------------------------------------------------------------------- */

void gen_fold_problem(gen_fold *f, const gen_problem *p) {
  for (size_t i = 0; i < f->t->pub.n_fields; i++) {
    f->fields[i] = gen_value_of(&p->values[i]);
  }
  expr_fold_fields(&f->of, f->fields);
}

bool gen_partial_condition(gen_fold *f, gen_partial p, bool *yes) {
  return expr_partial_condition(&f->of, p, yes);
}

bool gen_partial_has_value(gen_fold *f, gen_partial p) {
  return expr_partial_value(&f->of, p);
}

/* ---- work ------------------------------------------------------------------------------------ */

typedef struct partial_stage {
  bool is_kernel;
  gen_partial when, grid[3], block[3], smem, nbytes, times;
  gen_partial work[GEN_MAX_WORK];
} partial_stage;

struct gen_folded_work {
  gen_partial flops, bytes;
  uint32_t n;
  partial_stage stages[];
};

enum { STAGE_EXPRS = 10 + GEN_MAX_WORK };

/* The expressions of a stage's plan, in the order of `work_reads`; NULL: a constant. */
static void list_exprs(const tmpl *t, const gen_stage *s, const gen_expr *out[STAGE_EXPRS]) {
  const gen_expr *whole = !s->kernel && s->operands[0].from == GEN_FROM_WORKSPACE
                              ? t->program.workspaces[s->operands[0].index].count
                              : NULL;
  out[0] = s->when;
  for (int i = 0; i < 3; i++) {
    out[1 + i] = s->grid[i];
    out[4 + i] = s->block[i];
  }
  out[7] = s->smem;
  out[8] = s->nbytes ? s->nbytes : whole;
  out[9] = s->loop && !s->loop->is_while ? s->loop->times : NULL;
  for (int i = 0; i < GEN_MAX_WORK; i++) {
    out[10 + i] = s->work[i];
  }
}

static uint64_t expr_reads_params(const tmpl *t, const gen_expr *x) {
  return x ? gen_params_read(x, t->derived_reads) : 0;
}

static void find_work_reads(gen_fold *f) {
  const gen_program *p = &f->t->program;
  uint64_t *reads = f->work_reads;
  *reads++ = expr_reads_params(f->t, f->t->flops);
  *reads++ = expr_reads_params(f->t, f->t->bytes);
  for (size_t i = 0; i < p->n_stages; i++) {
    const gen_expr *list[STAGE_EXPRS];
    list_exprs(f->t, &p->stages[i], list);
    for (size_t k = 0; k < STAGE_EXPRS; k++) {
      *reads++ = expr_reads_params(f->t, list[k]);
    }
  }
}

static gen_partial fold_or(gen_fold *f, const gen_expr *x, size_t at, gen_partial otherwise) {
  const size_t first = f->t->pub.n_requirements + f->t->pub.n_derived;
  return x ? fold_once(f, first + at, f->work_reads[at], fold_expr, x) : otherwise;
}

static void fold_stage(gen_fold *f, const gen_stage *s, size_t at, partial_stage *out) {
  const expr_folded number_1 = {true, expr_integer(1), 0}, number_0 = {true, expr_integer(0), 0};
  const gen_partial one = expr_fold_partial(&f->of, &number_1);
  const gen_partial none = expr_fold_partial(&f->of, &number_0);
  const gen_expr *list[STAGE_EXPRS];
  list_exprs(f->t, s, list);
  out->is_kernel = s->kernel;
  out->when = fold_or(f, list[0], at, GEN_PARTIAL_TRUE);
  for (size_t i = 0; i < 3; i++) {
    out->grid[i] = fold_or(f, list[1 + i], at + 1 + i, one);
    out->block[i] = fold_or(f, list[4 + i], at + 4 + i, one);
  }
  out->smem = fold_or(f, list[7], at + 7, none);
  out->nbytes = fold_or(f, list[8], at + 8, one);
  out->times = fold_or(f, list[9], at + 9, one);
  for (size_t i = 0; i < GEN_MAX_WORK; i++) {
    out->work[i] = fold_or(f, list[10 + i], at + 10 + i, none);
  }
}

static size_t work_nbytes(size_t n_stages) {
  return sizeof(gen_folded_work) + n_stages * sizeof(partial_stage);
}

size_t gen_folded_work_nbytes(const gen_folded_work *w) {
  return work_nbytes(w->n);
}

/* Most stages of most configurations never run: they are left out. */
gen_folded_work *gen_fold_work(gen_fold *f) {
  const gen_program *p = &f->t->program;
  gen_folded_work *w = calloc(1, work_nbytes(p->n_stages));
  if (!w) {
    return NULL;
  }
  w->flops = fold_or(f, f->t->flops, 0, GEN_PARTIAL_NONE);
  w->bytes = fold_or(f, f->t->bytes, 1, GEN_PARTIAL_NONE);
  for (size_t i = 0; i < p->n_stages; i++) {
    fold_stage(f, &p->stages[i], 2 + i * STAGE_EXPRS, &w->stages[w->n]);
    w->n += w->stages[w->n].when != GEN_PARTIAL_FALSE;
  }
  gen_folded_work *less = realloc(w, work_nbytes(w->n));
  return less ? less : w;
}

static bool number(gen_fold *f, gen_partial p, double *out) {
  const expr_value *v = expr_partial_value(&f->of, p);
  const bool is = v && v->type & EXPR_NUMBER;
  *out = is ? expr_number(v) : 0;
  return is;
}

/* A whole number of 0..most. */
static bool extent(gen_fold *f, gen_partial r, double most, double *out) {
  return number(f, r, out) && *out == floor(*out) && *out >= 0 && *out <= most;
}

static bool volume(gen_fold *f, const gen_partial r[3], double most_x, double most, double *out) {
  double x[3];
  const bool ok = extent(f, r[0], most_x, &x[0]) && extent(f, r[1], most, &x[1]) &&
                  extent(f, r[2], most, &x[2]);
  *out = ok ? x[0] * x[1] * x[2] : 0;
  return ok;
}

static bool each_does(gen_fold *f, const partial_stage *s, double *work) {
  bool ok = true;
  for (int i = 0; ok && i < GEN_MAX_WORK; i++) {
    ok = number(f, s->work[i], &work[i]) && work[i] >= 0 && isfinite(work[i]);
  }
  return ok;
}

static bool add_kernel(gen_fold *f, const partial_stage *s, double times, gen_work *out) {
  double blocks, threads, smem, work[GEN_MAX_WORK];
  if (!volume(f, s->grid, 0x1p31 - 1, 65535, &blocks) ||
      !volume(f, s->block, 1024, 1024, &threads) || !extent(f, s->smem, 0x1p31, &smem) ||
      (blocks > 0 && !each_does(f, s, work))) {
    return false;
  }
  out->launches += blocks > 0 ? times : 0;
  if (blocks > 0 &&
      (!out->blocks ||
       (smem != out->smem ? smem > out->smem : blocks * threads > out->blocks * out->threads))) {
    out->blocks = blocks;
    out->threads = threads;
    out->smem = smem;
    memcpy(out->work, work, sizeof work);
  }
  return true;
}

static bool add_stage(gen_fold *f, const partial_stage *s, gen_work *out) {
  double nbytes, times;
  bool runs;
  if (!gen_partial_condition(f, s->when, &runs)) {
    return false;
  }
  if (!runs) {
    return true;
  }
  if (!extent(f, s->times, 0x1p31, &times)) {
    return false;
  }
  if (times > 0 && s->is_kernel) {
    return add_kernel(f, s, times, out);
  }
  const bool ok = extent(f, s->nbytes, 0x1p62, &nbytes);
  out->launches += ok && nbytes > 0 ? times : 0;
  return ok;
}

bool gen_partial_work(gen_fold *f, const gen_folded_work *w, gen_work *out) {
  *out = (gen_work){0};
  if (!number(f, w->flops, &out->flops) || !number(f, w->bytes, &out->bytes)) {
    return false;
  }
  for (size_t i = 0; i < w->n; i++) {
    if (!add_stage(f, &w->stages[i], out)) {
      return false;
    }
  }
  return true;
}

/* ---- making one ------------------------------------------------------------------------------ */

static int set_up(gen_fold *f, const gen_number *device, size_t n_device, err *e) {
  const gen_template *t = &f->t->pub;
  int64_t limits[GEN_MAX_DEVICE];
  f->work_reads = calloc(2 + f->t->program.n_stages * STAGE_EXPRS, sizeof *f->work_reads);
  if (!f->work_reads) {
    return err_nomem(e);
  }
  TRY(gen_device_limits(device, n_device, limits, e));
  for (size_t i = 0; gen_device_names[i]; i++) {
    f->limits[i] = expr_integer(limits[i]);
  }
  for (size_t i = 0; i < t->n_params; i++) {
    set_param(f, i, 0);
  }
  f->of.env = (expr_env){
      .values = {[EXPR_DEVICE] = f->limits, [EXPR_PARAM] = f->params, [EXPR_SCALAR] = f->scalars}};
  f->scalars[GEN_LOOP_INDEX] = expr_integer(0);
  f->of.derived = derived;
  f->of.ud = f;
  find_work_reads(f);
  return expr_fold_init(&f->of, e);
}

int gen_fold_new(gen_template *t, const gen_number *device, size_t n_device, gen_fold **out,
                 err *e) {
  gen_fold *f = calloc(1, sizeof *f);
  if (!f) {
    return err_nomem(e);
  }
  f->t = gen_tmpl(t);
  const int rc = set_up(f, device, n_device, e);
  if (rc) {
    gen_fold_free(f);
    return rc;
  }
  *out = f;
  return 0;
}

void gen_fold_free(gen_fold *f) {
  if (f) {
    expr_fold_clear(&f->of);
    free(f->work_reads);
    free(f);
  }
}

bool gen_fold_is_full(const gen_fold *f) {
  return expr_fold_is_full(&f->of);
}

size_t gen_fold_nbytes(const gen_fold *f) {
  return sizeof *f + expr_fold_nbytes(&f->of);
}
