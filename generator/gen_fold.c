#define _GNU_SOURCE
#include "gen_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen_tmpl.h"

/* What a remainder's value is for certain. */
typedef enum kind { ANY, WHOLE, NUMBER, CONDITION } kind;

typedef struct node {
  uint8_t op, kind;
  bool fails;     /* it may have no value */
  bool has_value; /* at `stamp` */
  uint32_t stamp;
  uint32_t kids[3]; /* a field: the first is its index */
  gen_atom value;   /* of a constant; else at `stamp` */
} node;

/* While folding, a constant is but a value: a node only where a remainder is made of it. */
typedef struct part {
  bool is_constant;
  gen_atom value;
  gen_rest rest;
} part;

typedef struct memo { /* what a question left, by the values of the parameters that it reads */
  uint64_t key;
  gen_rest rest;
} memo;

struct gen_fold {
  tmpl *t;
  int64_t device[16];
  gen_value fields[GEN_MAX_FIELDS];
  node *nodes;
  uint32_t n, most;
  uint32_t *slots; /* hash table of nodes; 0 is free */
  uint32_t n_slots;
  memo *memos; /* hash table; rest GEN_REST_NONE is free */
  size_t n_memos, most_memos;
  uint8_t *truth; /* of each node, for this problem: 0 nobody asked, else as gen_rest */
  uint32_t stamp;
  gen_config config;
  uint64_t changed; /* parameters, since `derived` was right */
  part derived[GEN_MAX_DERIVED];
  bool has_derived[GEN_MAX_DERIVED];
};

static const uint32_t MOST_NODES = 1 << 17;

/* ---- nodes, each once ------------------------------------------------------------------------ */

static bool same_atom(const gen_atom *a, const gen_atom *b) {
  if (a->type != b->type) {
    return false;
  }
  switch (a->type) {
  case GEN_INTEGER: return a->i == b->i;
  case GEN_REAL: return !memcmp(&a->d, &b->d, sizeof a->d);
  case GEN_CONDITION: return a->yes == b->yes;
  case GEN_NAME: break;
  }
  return !strcmp(a->s, b->s);
}

static uint64_t hash_atom(uint64_t h, const gen_atom *v) {
  switch (v->type) {
  case GEN_INTEGER: return hash_more(h, &v->i, sizeof v->i);
  case GEN_REAL: return hash_more(h, &v->d, sizeof v->d);
  case GEN_CONDITION: return h + v->yes;
  case GEN_NAME: break;
  }
  return hash_more(h, v->s, strlen(v->s));
}

static bool same(const node *a, const node *b) {
  return a->op == b->op && !memcmp(a->kids, b->kids, sizeof a->kids) &&
         (a->op != GEN_OP_VALUE || same_atom(&a->value, &b->value));
}

static uint32_t *slot_of(gen_fold *f, const node *x) {
  uint64_t h = hash_more(x->op, x->kids, sizeof x->kids);
  h = x->op == GEN_OP_VALUE ? hash_atom(h, &x->value) : h;
  uint32_t i = (uint32_t)h & (f->n_slots - 1);
  while (f->slots[i] && !same(&f->nodes[f->slots[i]], x)) {
    i = (i + 1) & (f->n_slots - 1);
  }
  return &f->slots[i];
}

static bool grow(gen_fold *f) {
  const uint32_t most = f->most ? 2 * f->most : 512;
  node *nodes = most <= MOST_NODES ? realloc(f->nodes, most * sizeof *nodes) : NULL;
  f->nodes = nodes ? nodes : f->nodes;
  uint8_t *truth = nodes ? realloc(f->truth, most) : NULL;
  f->truth = truth ? truth : f->truth;
  uint32_t *slots = truth ? calloc(2 * most, sizeof *slots) : NULL;
  if (!slots) {
    return false;
  }
  memset(f->truth + f->most, 0, most - f->most);
  free(f->slots);
  f->slots = slots;
  f->n_slots = 2 * most;
  f->most = most;
  for (uint32_t i = 1; i < f->n; i++) {
    *slot_of(f, &f->nodes[i]) = i;
  }
  return true;
}

static gen_rest add(gen_fold *f, const node *x) {
  if (f->n == f->most && !grow(f)) {
    return GEN_REST_NONE;
  }
  uint32_t *slot = slot_of(f, x);
  if (!*slot) {
    f->nodes[f->n] = *x;
    *slot = f->n++;
  }
  return *slot;
}

static kind kind_of(const gen_atom *v) {
  static const uint8_t kinds[] = {WHOLE, NUMBER, CONDITION, ANY};
  return (kind)kinds[v->type];
}

static gen_rest constant(gen_fold *f, gen_atom v) {
  return add(
      f, &(node){.op = GEN_OP_VALUE, .kind = (uint8_t)kind_of(&v), .has_value = true, .value = v});
}

/* ---- folding --------------------------------------------------------------------------------- */

static bool is_number(const node *x) {
  return x->kind == WHOLE || x->kind == NUMBER;
}

static bool is_positive(const node *x) {
  return x->op == GEN_OP_VALUE && x->kind == WHOLE && x->value.i > 0;
}

static uint32_t n_kids(gen_op op) {
  switch (op) {
  case GEN_OP_SEL: return 3;
  case GEN_OP_NOT:
  case GEN_OP_NEG:
  case GEN_OP_BITNOT:
  case GEN_OP_WHOLE:
  case GEN_OP_LOG2:
  case GEN_OP_ISPOW2:
  case GEN_OP_ABS:
  case GEN_OP_SQRT:
  case GEN_OP_FLOOR:
  case GEN_OP_CEIL: return 1;
  default: return 2;
  }
}

/* What is known of an operation's operands. */
enum {
  ALWAYS = 1,
  WHOLES = 2,      /* all are whole numbers */
  NUMBERS = 4,     /* all are numbers */
  OTHERS = 8,      /* not all are numbers */
  CONDITIONS = 16, /* all are conditions */
  DIVISOR = 32,    /* all are whole numbers, and the second is positive */
  CHOICE = 64,     /* the first is a condition */
  EXACT = 128      /* the first is a whole number or a condition */
};

/* Of what kind the value is: always the same, or by the operands'. */
typedef enum outcome {
  IS_ANY = ANY,
  IS_WHOLE = WHOLE,
  IS_NUMBER = NUMBER,
  IS_CONDITION = CONDITION,
  WHOLE_OF_WHOLES, /* else a number */
  AS_FIRST,
  AS_EITHER, /* of two, if they agree */
  AS_CHOSEN  /* of the second and the third */
} outcome;

/* An operation has a value when its operands have one and any of `safe` is known. */
static const struct law {
  uint8_t outcome, safe;
} laws[] = {[GEN_OP_OR] = {AS_EITHER, ALWAYS},
            [GEN_OP_AND] = {AS_EITHER, ALWAYS},
            [GEN_OP_NOT] = {IS_CONDITION, ALWAYS},
            [GEN_OP_EQ] = {IS_CONDITION, WHOLES | CONDITIONS | OTHERS},
            [GEN_OP_NE] = {IS_CONDITION, WHOLES | CONDITIONS | OTHERS},
            [GEN_OP_LT] = {IS_CONDITION, WHOLES},
            [GEN_OP_LE] = {IS_CONDITION, WHOLES},
            [GEN_OP_GT] = {IS_CONDITION, WHOLES},
            [GEN_OP_GE] = {IS_CONDITION, WHOLES},
            [GEN_OP_ISPOW2] = {IS_CONDITION, WHOLES},
            [GEN_OP_ADD] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_SUB] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_MUL] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_NEG] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_ABS] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_FLOOR] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_CEIL] = {WHOLE_OF_WHOLES, NUMBERS},
            [GEN_OP_MIN] = {WHOLE_OF_WHOLES, WHOLES},
            [GEN_OP_MAX] = {WHOLE_OF_WHOLES, WHOLES},
            [GEN_OP_DIV] = {IS_NUMBER, NUMBERS},
            [GEN_OP_POW] = {IS_NUMBER, NUMBERS},
            [GEN_OP_SQRT] = {IS_NUMBER, NUMBERS},
            [GEN_OP_BITOR] = {IS_WHOLE, WHOLES},
            [GEN_OP_BITXOR] = {IS_WHOLE, WHOLES},
            [GEN_OP_BITAND] = {IS_WHOLE, WHOLES},
            [GEN_OP_BITNOT] = {IS_WHOLE, WHOLES},
            [GEN_OP_SHL] = {IS_WHOLE, WHOLES},
            [GEN_OP_SHR] = {IS_WHOLE, WHOLES},
            [GEN_OP_IDIV] = {IS_WHOLE, DIVISOR},
            [GEN_OP_MOD] = {IS_WHOLE, DIVISOR},
            [GEN_OP_CEILDIV] = {IS_WHOLE, DIVISOR},
            [GEN_OP_ROUNDUP] = {IS_WHOLE, DIVISOR},
            [GEN_OP_POW2DIV] = {IS_WHOLE, DIVISOR},
            [GEN_OP_LOG2] = {IS_WHOLE, 0},
            [GEN_OP_WHOLE] = {AS_FIRST, EXACT},
            [GEN_OP_SEL] = {AS_CHOSEN, CHOICE}};

static unsigned known(const node *a, const node *b) {
  const bool wholes = a->kind == WHOLE && b->kind == WHOLE;
  const bool numbers = is_number(a) && is_number(b);
  return ALWAYS | (wholes ? WHOLES : 0) | (numbers ? NUMBERS : OTHERS) |
         (a->kind == CONDITION && b->kind == CONDITION ? CONDITIONS : 0) |
         (wholes && is_positive(b) ? DIVISOR : 0) | (a->kind == CONDITION ? CHOICE | EXACT : 0) |
         (a->kind == WHOLE ? EXACT : 0);
}

static kind common(const node *a, const node *b, kind otherwise) {
  return a->kind == b->kind ? (kind)a->kind : otherwise;
}

static kind outcome_of(outcome how, unsigned facts, const node *a, const node *b, const node *c) {
  switch (how) {
  case WHOLE_OF_WHOLES: return facts & WHOLES ? WHOLE : NUMBER;
  case AS_FIRST: return (kind)a->kind;
  case AS_EITHER: return common(a, b, ANY);
  case AS_CHOSEN: return common(b, c, is_number(b) && is_number(c) ? NUMBER : ANY);
  default: return (kind)how;
  }
}

/* What follows for the value from those it is made of: its kind, and whether it may be missing. */
static void judge(const gen_fold *f, node *x, uint32_t n) {
  const node *a = &f->nodes[x->kids[0]], *b = n > 1 ? &f->nodes[x->kids[1]] : a;
  const node *c = n > 2 ? &f->nodes[x->kids[2]] : a;
  const struct law *law = &laws[x->op];
  const unsigned facts = known(a, b);
  x->kind = (uint8_t)outcome_of((outcome)law->outcome, facts, a, b, c);
  x->fails = !(law->safe & facts) || a->fails || b->fails || c->fails;
}

static part part_of(gen_rest r) {
  return (part){.rest = r};
}

static part constant_part(gen_atom v) {
  return (part){.is_constant = true, .value = v};
}

static gen_rest rest_of(gen_fold *f, const part *p) {
  return p->is_constant ? constant(f, p->value) : p->rest;
}

static bool part_fails(const gen_fold *f, const part *p) {
  return !p->is_constant && f->nodes[p->rest].fails;
}

static gen_rest failing(gen_fold *f) {
  return add(f, &(node){.op = GEN_OP_FAIL, .fails = true});
}

/* All operands are constants. */
static part apply(gen_fold *f, gen_op op, const part *kids, uint32_t n) {
  gen_atom v[3], out;
  for (uint32_t i = 0; i < n; i++) {
    v[i] = kids[i].value;
  }
  return gen_op_apply(op, v, &out) ? constant_part(out) : part_of(failing(f));
}

static part remainder_of(gen_fold *f, gen_op op, const part *kids, uint32_t n) {
  node x = {.op = (uint8_t)op};
  for (uint32_t i = 0; i < n; i++) {
    x.kids[i] = rest_of(f, &kids[i]);
    if (x.kids[i] == GEN_REST_NONE) {
      return part_of(GEN_REST_NONE);
    }
  }
  judge(f, &x, n);
  return op == GEN_OP_WHOLE && !x.fails ? kids[0] : part_of(add(f, &x));
}

static part operation(gen_fold *f, gen_op op, const part *kids) {
  const uint32_t n = n_kids(op);
  bool constants = true;
  for (uint32_t i = 0; i < n; i++) {
    constants = constants && kids[i].is_constant;
  }
  if (constants) {
    return apply(f, op, kids, n);
  }
  if (op == GEN_OP_SEL && kids[0].is_constant && kids[0].value.type == GEN_CONDITION) {
    const bool yes = kids[0].value.yes;
    if (!part_fails(f, &kids[yes ? 2 : 1])) { /* both are evaluated, so an error would show */
      return kids[yes ? 1 : 2];
    }
  }
  return remainder_of(f, op, kids, n);
}

static part fold(gen_fold *f, const gen_code *x);

static part fold_logic(gen_fold *f, const gen_code *x) {
  part kids[2] = {fold(f, x->kids[0])};
  if (kids[0].is_constant) {
    const bool decides = gen_atom_true(&kids[0].value) == (x->op == GEN_OP_OR);
    return decides ? kids[0] : fold(f, x->kids[1]);
  }
  kids[1] = fold(f, x->kids[1]);
  return remainder_of(f, x->op, kids, 2);
}

static part derived(gen_fold *f, uint32_t i) {
  if (!f->has_derived[i]) {
    const gen_code *x = f->t->derived[i]->code;
    const part p = x ? fold(f, x) : part_of(GEN_REST_NONE);
    f->derived[i] = operation(f, GEN_OP_WHOLE, &p);
    f->has_derived[i] = true;
  }
  return f->derived[i];
}

static part field(gen_fold *f, uint32_t i) {
  const bool is_name = f->t->pub.fields[i].names;
  return part_of(add(f, &(node){.op = GEN_OP_FIELD, .kind = is_name ? ANY : WHOLE, .kids = {i}}));
}

static part fold(gen_fold *f, const gen_code *x) {
  const gen_template *t = &f->t->pub;
  part kids[3];
  switch (x->op) {
  case GEN_OP_VALUE: return constant_part(x->value);
  case GEN_OP_FIELD: return field(f, x->index);
  case GEN_OP_PARAM:
    return constant_part(gen_atom_of(&t->params[x->index].values[f->config.index[x->index]]));
  case GEN_OP_DEVICE:
    return constant_part((gen_atom){.type = GEN_INTEGER, .i = f->device[x->index]});
  case GEN_OP_DERIVED: return derived(f, x->index);
  case GEN_OP_SCALAR: return part_of(GEN_REST_NONE); /* nothing that is folded reads one */
  case GEN_OP_OR:
  case GEN_OP_AND: return fold_logic(f, x);
  default: break;
  }
  for (uint32_t i = 0; i < x->n; i++) {
    kids[i] = fold(f, x->kids[i]);
  }
  return operation(f, x->op, kids);
}

void gen_fold_config(gen_fold *f, const gen_config *c) {
  for (size_t i = 0; i < f->t->pub.n_params; i++) {
    f->changed |= (uint64_t)(f->config.index[i] != c->index[i]) << i;
  }
  f->config = *c;
}

/* As gen_bind: what does not read what has changed stays. */
static void forget_derived(gen_fold *f) {
  for (size_t i = 0; f->changed && i < f->t->pub.n_derived; i++) {
    f->has_derived[i] = f->has_derived[i] && !(f->t->derived_reads[i] & f->changed);
  }
  f->changed = 0;
}

static gen_rest fold_expr(gen_fold *f, const gen_expr *x) {
  const part p = x->code ? fold(f, x->code) : part_of(GEN_REST_NONE);
  return rest_of(f, &p);
}

static bool grow_memos(gen_fold *f) {
  const size_t most = f->most_memos ? 2 * f->most_memos : 1024;
  memo *list = calloc(most, sizeof *list);
  if (!list) {
    return false;
  }
  for (size_t i = 0; i < f->most_memos; i++) {
    size_t at = f->memos[i].key & (most - 1);
    while (f->memos[i].rest && list[at].rest) {
      at = (at + 1) & (most - 1);
    }
    list[at] = f->memos[i].rest ? f->memos[i] : list[at];
  }
  free(f->memos);
  f->memos = list;
  f->most_memos = most;
  return true;
}

/* For question i, which reads those parameters. 64 bits tell thousands apart. */
static memo *memo_of(gen_fold *f, size_t i, uint64_t reads) {
  uint16_t values[GEN_MAX_PARAMS + 1] = {(uint16_t)i};
  size_t n = 1;
  for (; reads; reads &= reads - 1) {
    values[n++] = f->config.index[__builtin_ctzll(reads)];
  }
  const uint64_t key = hash_more(0, values, n * sizeof *values);
  size_t at = key & (f->most_memos - 1);
  while (f->memos[at].rest && f->memos[at].key != key) {
    at = (at + 1) & (f->most_memos - 1);
  }
  f->memos[at].key = key;
  return &f->memos[at];
}

static gen_rest requirement(gen_fold *f, size_t i) {
  return fold_expr(f, f->t->requirements[i]);
}

static gen_rest derived_if_fails(gen_fold *f, size_t i) {
  const part p = derived(f, (uint32_t)i);
  return part_fails(f, &p) ? p.rest : GEN_REST_TRUE;
}

/* Configurations that differ elsewhere leave the same. */
static gen_rest fold_once(gen_fold *f, size_t i, size_t first, uint64_t reads,
                          gen_rest (*fold_one)(gen_fold *, size_t)) {
  if (2 * f->n_memos >= f->most_memos && !grow_memos(f)) {
    return GEN_REST_NONE;
  }
  memo *m = memo_of(f, first + i, reads);
  if (!m->rest) {
    forget_derived(f);
    m->rest = fold_one(f, i);
    f->n_memos += m->rest != GEN_REST_NONE;
  }
  return m->rest;
}

gen_rest gen_fold_requirement(gen_fold *f, size_t i) {
  return fold_once(f, i, 0, f->t->requirement_reads[i], requirement);
}

gen_rest gen_fold_derived(gen_fold *f, size_t i) {
  return fold_once(f, i, f->t->pub.n_requirements, f->t->derived_reads[i], derived_if_fails);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const gen_atom *value(gen_fold *f, gen_rest r);

/* Most are of whole numbers that are small. */
static bool compute_whole(const node *x, int64_t a, int64_t b, gen_atom *out) {
  out->type = GEN_CONDITION;
  switch (x->op) {
  case GEN_OP_EQ: out->yes = a == b; return true;
  case GEN_OP_NE: out->yes = a != b; return true;
  case GEN_OP_LT: out->yes = a < b; return true;
  case GEN_OP_LE: out->yes = a <= b; return true;
  case GEN_OP_GT: out->yes = a > b; return true;
  case GEN_OP_GE: out->yes = a >= b; return true;
  default: break;
  }
  out->type = GEN_INTEGER;
  switch (x->op) {
  case GEN_OP_ADD: out->i = (int64_t)((uint64_t)a + (uint64_t)b); return true;
  case GEN_OP_SUB: out->i = (int64_t)((uint64_t)a - (uint64_t)b); return true;
  case GEN_OP_MUL: out->i = (int64_t)((uint64_t)a * (uint64_t)b); return true;
  case GEN_OP_MIN: out->i = a < b ? a : b; return true;
  case GEN_OP_MAX: out->i = a > b ? a : b; return true;
  default: return false;
  }
}

static bool compute(gen_fold *f, const node *x, gen_atom *out) {
  const uint32_t n = n_kids((gen_op)x->op);
  const gen_atom *v[3] = {NULL};
  if (x->op == GEN_OP_FAIL) {
    return false;
  }
  if (x->op == GEN_OP_FIELD) {
    *out = gen_atom_of(&f->fields[x->kids[0]]);
    return true;
  }
  if (!(v[0] = value(f, x->kids[0]))) {
    return false;
  }
  if (x->op == GEN_OP_OR || x->op == GEN_OP_AND) {
    const bool decides = gen_atom_true(v[0]) == (x->op == GEN_OP_OR);
    v[1] = decides ? v[0] : value(f, x->kids[1]);
    *out = v[1] ? *v[1] : *out;
    return v[1];
  }
  for (uint32_t i = 1; i < n; i++) {
    if (!(v[i] = value(f, x->kids[i]))) {
      return false;
    }
  }
  if (n == 2 && v[0]->type == GEN_INTEGER && v[1]->type == GEN_INTEGER &&
      compute_whole(x, v[0]->i, v[1]->i, out)) {
    return true;
  }
  const gen_atom all[3] = {*v[0], n > 1 ? *v[1] : *v[0], n > 2 ? *v[2] : *v[0]};
  return gen_op_apply((gen_op)x->op, all, out);
}

/* NULL: it can't be told. */
static const gen_atom *value(gen_fold *f, gen_rest r) {
  node *x = &f->nodes[r];
  if (x->stamp != f->stamp && x->op != GEN_OP_VALUE) {
    x->has_value = compute(f, x, &x->value);
    x->stamp = f->stamp;
  }
  return x->has_value ? &x->value : NULL;
}

void gen_fold_problem(gen_fold *f, const gen_problem *p) {
  memcpy(f->fields, p->values, sizeof f->fields);
  memset(f->truth, 0, f->n);
  if (++f->stamp == 0) { /* it has come round */
    f->stamp = 1;
    for (uint32_t i = 0; i < f->n; i++) {
      f->nodes[i].stamp = 0;
    }
  }
}

bool gen_rest_condition(gen_fold *f, gen_rest r, bool *yes) {
  if (!f->truth[r]) {
    const gen_atom *v = value(f, r);
    if (!v || v->type != GEN_CONDITION) {
      return false;
    }
    f->truth[r] = v->yes ? GEN_REST_TRUE : GEN_REST_FALSE;
  }
  *yes = f->truth[r] == GEN_REST_TRUE;
  return true;
}

bool gen_rest_has_value(gen_fold *f, gen_rest r) {
  return value(f, r);
}

/* ---- work ------------------------------------------------------------------------------------ */

typedef struct stage_rest {
  bool is_kernel;
  gen_rest when, grid[3], block[3], smem, nbytes;
  gen_rest work[GEN_MAX_WORK];
} stage_rest;

struct gen_work_rest {
  gen_rest flops, bytes;
  size_t n;
  stage_rest stages[];
};

static gen_rest fold_or(gen_fold *f, const gen_expr *x, gen_rest otherwise) {
  return x ? fold_expr(f, x) : otherwise;
}

static void fold_stage(gen_fold *f, const gen_stage *s, stage_rest *out) {
  const gen_rest one = constant(f, (gen_atom){.type = GEN_INTEGER, .i = 1});
  const gen_rest none = constant(f, (gen_atom){.type = GEN_INTEGER, .i = 0});
  const gen_expr *whole = !s->kernel && s->operands[0].from == GEN_FROM_WORKSPACE
                              ? f->t->program.workspaces[s->operands[0].index].count
                              : NULL;
  out->is_kernel = s->kernel;
  out->when = fold_or(f, s->when, GEN_REST_TRUE);
  for (int i = 0; i < 3; i++) {
    out->grid[i] = fold_or(f, s->grid[i], one);
    out->block[i] = fold_or(f, s->block[i], one);
  }
  for (int i = 0; i < GEN_MAX_WORK; i++) {
    out->work[i] = fold_or(f, s->work[i], none);
  }
  out->smem = fold_or(f, s->smem, none);
  out->nbytes = fold_or(f, s->nbytes ? s->nbytes : whole, one);
}

const gen_work_rest *gen_fold_work(gen_fold *f, arena *a) {
  const gen_program *p = &f->t->program;
  gen_work_rest *w = arena_new(a, sizeof *w + p->n_stages * sizeof *w->stages);
  if (!w) {
    return NULL;
  }
  forget_derived(f);
  w->n = p->n_stages;
  w->flops = fold_expr(f, f->t->flops);
  w->bytes = fold_expr(f, f->t->bytes);
  for (size_t i = 0; i < w->n; i++) {
    fold_stage(f, &p->stages[i], &w->stages[i]);
  }
  return w;
}

static bool number(gen_fold *f, gen_rest r, double *out) {
  const gen_atom *v = value(f, r);
  if (!v) {
    return false;
  }
  const gen_result x = gen_atom_result(v);
  *out = x.d;
  return x.type == GEN_INTEGER || x.type == GEN_REAL;
}

/* A whole number of 0..most. */
static bool extent(gen_fold *f, gen_rest r, double most, double *out) {
  return number(f, r, out) && *out == floor(*out) && *out >= 0 && *out <= most;
}

static bool volume(gen_fold *f, const gen_rest r[3], double most_x, double most, double *out) {
  double x[3];
  const bool ok = extent(f, r[0], most_x, &x[0]) && extent(f, r[1], most, &x[1]) &&
                  extent(f, r[2], most, &x[2]);
  *out = ok ? x[0] * x[1] * x[2] : 0;
  return ok;
}

static bool each_does(gen_fold *f, const stage_rest *s, double *work) {
  bool ok = true;
  for (int i = 0; ok && i < GEN_MAX_WORK; i++) {
    ok = number(f, s->work[i], &work[i]) && work[i] >= 0 && isfinite(work[i]);
  }
  return ok;
}

static bool add_kernel(gen_fold *f, const stage_rest *s, gen_work *out) {
  double blocks, threads, smem, work[GEN_MAX_WORK];
  if (!volume(f, s->grid, 0x1p31 - 1, 65535, &blocks) ||
      !volume(f, s->block, 1024, 1024, &threads) || !extent(f, s->smem, 0x1p31, &smem) ||
      (blocks > 0 && !each_does(f, s, work))) {
    return false;
  }
  out->launches += blocks > 0;
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

static bool add_stage(gen_fold *f, const stage_rest *s, gen_work *out) {
  double nbytes;
  bool runs;
  if (!gen_rest_condition(f, s->when, &runs)) {
    return false;
  }
  if (runs && s->is_kernel) {
    return add_kernel(f, s, out);
  }
  const bool ok = !runs || extent(f, s->nbytes, 0x1p62, &nbytes);
  out->launches += runs && ok && nbytes > 0;
  return ok;
}

bool gen_rest_work(gen_fold *f, const gen_work_rest *w, gen_work *out) {
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

/* The first nodes are GEN_REST_NONE, which has no value, and the two conditions. */
static int set_up(gen_fold *f, err *e) {
  const gen_atom no = {.type = GEN_CONDITION, .yes = false},
                 yes = {.type = GEN_CONDITION, .yes = true};
  if (!grow(f)) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  f->n = 1;
  f->nodes[GEN_REST_NONE] = (node){.op = GEN_OP_FAIL, .fails = true};
  constant(f, no);
  constant(f, yes);
  return 0;
}

static void make_codes(gen_box *b, void *ud) {
  gen_fold *f = ud;
  if (!f->t->codes.made) {
    gen_codes_make(b, &f->t->codes);
  }
}

int gen_fold_new(gen_template *t, const gen_number *device, size_t n_device, gen_fold **out,
                 err *e) {
  gen_fold *f = calloc(1, sizeof *f);
  if (!f) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  f->t = gen_tmpl(t);
  int rc = gen_device_limits(device, n_device, f->device, e);
  rc = rc ? rc : set_up(f, e);
  rc = rc ? rc : gen_box_run(&f->t->box, make_codes, f, false, e);
  if (rc) {
    gen_fold_free(f);
    return rc;
  }
  *out = f;
  return 0;
}

void gen_fold_free(gen_fold *f) {
  if (f) {
    free(f->nodes);
    free(f->truth);
    free(f->memos);
    free(f->slots);
    free(f);
  }
}

size_t gen_fold_nbytes(const gen_fold *f) {
  return sizeof *f + f->most * sizeof *f->nodes + f->n_slots * sizeof *f->slots + f->most +
         f->most_memos * sizeof *f->memos;
}
