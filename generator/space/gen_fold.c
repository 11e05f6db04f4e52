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
  bool fails;       /* it may have no value */
  bool has_value;   /* at `stamp` */
  gen_rest kids[3]; /* a field: the first is its index */
  uint32_t stamp;
  gen_atom value; /* of a constant; else at `stamp` */
} node;

/* While folding, a constant is but a value: a node only where a remainder is made of it. */
typedef struct part {
  bool is_constant;
  gen_atom value;
  gen_rest rest;
} part;

/* What questions left, by the values of the parameters that they read: 46 bits of their digest
 * tell. A later one takes the place of one whose digest ends alike. */
enum { MEMOS = 1 << 14 };
typedef struct memos {
  uint32_t digest[MEMOS];
  gen_rest rest[MEMOS]; /* GEN_REST_NONE: none */
} memos;

/* Derived values likewise; what is no constant has a remainder. */
enum { DERIVED_MEMOS = 1 << 11 };
typedef struct derived_memo {
  uint32_t digest; /* 0: none */
  gen_rest rest;
  bool is_condition;
  int64_t value;
} derived_memo;

struct gen_fold {
  tmpl *t;
  int64_t device[16];
  gen_value fields[GEN_MAX_FIELDS];
  node *nodes;
  uint32_t n, most;
  gen_rest *slots; /* hash table of nodes; 0 is free */
  uint32_t n_slots;
  memos memos;
  derived_memo derived_memos[DERIVED_MEMOS];
  gen_rest field_rest[GEN_MAX_FIELDS]; /* NONE: not met yet */
  uint64_t *work_reads; /* parameters: of the operations, the bytes, and of each stage's */
  uint8_t *truth;       /* of each node, for this problem: 0 nobody asked, else as gen_rest */
  uint32_t stamp;
  gen_config config;
  uint64_t digest[GEN_MAX_PARAMS]; /* of each parameter's value */
  uint64_t changed;                /* parameters, since `derived` was right */
  part derived[GEN_MAX_DERIVED];
  bool has_derived[GEN_MAX_DERIVED];
};

/* Of sgemm's portfolio a thousand sizes make so many; who has them all then forgets them. */
static const uint32_t MOST_NODES = 6144, SPARE_NODES = 256;

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

/* As SplitMix64 ends; what is hashed fits a word. src  Steele, Lea and Flood, Fast splittable
 * pseudorandom number generators, 2014 */
static uint64_t mix(uint64_t h) {
  h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
  return h ^ h >> 31;
}

static uint64_t hash_atom(uint64_t h, const gen_atom *v) {
  switch (v->type) {
  case GEN_INTEGER: return mix(h + (uint64_t)v->i);
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

static uint64_t hash_kids(const node *x) {
  return mix((uint64_t)x->op << 48 | (uint64_t)x->kids[0] << 32 | (uint64_t)x->kids[1] << 16 |
             x->kids[2]);
}

static gen_rest *slot_of(gen_fold *f, const node *x) {
  uint64_t h = hash_kids(x);
  h = x->op == GEN_OP_VALUE ? hash_atom(h, &x->value) : h;
  uint32_t i = (uint32_t)h & (f->n_slots - 1);
  while (f->slots[i] && !same(&f->nodes[f->slots[i]], x)) {
    i = (i + 1) & (f->n_slots - 1);
  }
  return &f->slots[i];
}

/* Half of the slots are taken at most. */
static bool grow_slots(gen_fold *f, uint32_t n) {
  gen_rest *slots = calloc(n, sizeof *slots);
  if (!slots) {
    return false;
  }
  free(f->slots);
  f->slots = slots;
  f->n_slots = n;
  for (uint32_t i = 1; i < f->n; i++) {
    *slot_of(f, &f->nodes[i]) = (gen_rest)i;
  }
  return true;
}

static bool grow(gen_fold *f) {
  const uint32_t most = f->most + 512;
  node *nodes = most <= MOST_NODES ? realloc(f->nodes, most * sizeof *nodes) : NULL;
  f->nodes = nodes ? nodes : f->nodes;
  uint8_t *truth = nodes ? realloc(f->truth, most) : NULL;
  f->truth = truth ? truth : f->truth;
  if (!truth || (2 * most > f->n_slots && !grow_slots(f, f->n_slots ? 2 * f->n_slots : 1024))) {
    return false;
  }
  memset(f->truth + f->most, 0, most - f->most);
  f->most = most;
  return true;
}

static gen_rest add(gen_fold *f, const node *x) {
  if (f->n == f->most && !grow(f)) {
    return GEN_REST_NONE;
  }
  gen_rest *slot = slot_of(f, x);
  if (!*slot) {
    f->nodes[f->n] = *x;
    *slot = (gen_rest)f->n++;
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

/* Of question i, which reads those parameters. src  Zobrist, A new hashing method with application
 * for game playing, 1970: the sum changes with any of its terms */
static uint64_t memo_key(const gen_fold *f, size_t i, uint64_t reads) {
  uint64_t sum = i + 1;
  for (; reads; reads &= reads - 1) {
    sum += f->digest[__builtin_ctzll(reads)];
  }
  return mix(sum);
}

static bool recall(const derived_memo *m, uint32_t digest, part *out) {
  if (m->digest != digest) {
    return false;
  }
  *out = m->rest           ? part_of(m->rest)
         : m->is_condition ? constant_part((gen_atom){.type = GEN_CONDITION, .yes = m->value})
                           : constant_part((gen_atom){.type = GEN_INTEGER, .i = m->value});
  return true;
}

static void remember(derived_memo *m, uint32_t digest, const part *p) {
  const gen_type type = p->value.type;
  if (!p->is_constant && p->rest) {
    *m = (derived_memo){.digest = digest, .rest = p->rest};
  } else if (p->is_constant && (type == GEN_INTEGER || type == GEN_CONDITION)) {
    *m = (derived_memo){.digest = digest,
                        .is_condition = type == GEN_CONDITION,
                        .value = type == GEN_CONDITION ? p->value.yes : p->value.i};
  }
}

static part fold_derived(gen_fold *f, uint32_t i) {
  const gen_code *x = f->t->derived[i]->code;
  const part p = x ? fold(f, x) : part_of(GEN_REST_NONE);
  return operation(f, GEN_OP_WHOLE, &p);
}

static part derived(gen_fold *f, uint32_t i) {
  if (!f->has_derived[i]) {
    const uint64_t key = memo_key(f, i, f->t->derived_reads[i]);
    derived_memo *m = &f->derived_memos[key % DERIVED_MEMOS];
    const uint32_t digest = (uint32_t)(key >> 32) | 1;
    if (!recall(m, digest, &f->derived[i])) {
      const part p = fold_derived(f, i);
      f->derived[i] = p;
      remember(m, digest, &p);
    }
    f->has_derived[i] = true;
  }
  return f->derived[i];
}

static part field(gen_fold *f, uint32_t i) {
  const bool is_name = f->t->pub.fields[i].names;
  if (!f->field_rest[i]) {
    f->field_rest[i] =
        add(f, &(node){.op = GEN_OP_FIELD, .kind = is_name ? ANY : WHOLE, .kids = {(gen_rest)i}});
  }
  return part_of(f->field_rest[i]);
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

static void set_param(gen_fold *f, size_t i, uint16_t index) {
  f->changed |= UINT64_C(1) << i;
  f->config.index[i] = index;
  f->digest[i] = mix((uint64_t)(i + 1) << 16 | index);
}

/* Most stay as they were, so four at a time are looked at. */
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

static gen_rest fold_one_expr(gen_fold *f, const void *of) {
  return fold_expr(f, of);
}

static gen_rest derived_if_fails(gen_fold *f, const void *of) {
  const part p = derived(f, *(const uint32_t *)of);
  return part_fails(f, &p) ? p.rest : GEN_REST_TRUE;
}

/* Configurations that differ elsewhere leave the same. */
static gen_rest fold_once(gen_fold *f, size_t i, uint64_t reads,
                          gen_rest (*fold_one)(gen_fold *, const void *), const void *of) {
  const uint64_t key = memo_key(f, i, reads);
  const size_t at = key % MEMOS;
  const uint32_t digest = (uint32_t)(key >> 32);
  if (!f->memos.rest[at] || f->memos.digest[at] != digest) {
    forget_derived(f);
    const gen_rest rest = fold_one(f, of);
    if (rest == GEN_REST_NONE) {
      return rest;
    }
    f->memos.digest[at] = digest;
    f->memos.rest[at] = rest;
  }
  return f->memos.rest[at];
}

gen_rest gen_fold_requirement(gen_fold *f, size_t i) {
  return fold_once(f, i, f->t->requirement_reads[i], fold_one_expr, f->t->requirements[i]);
}

gen_rest gen_fold_derived(gen_fold *f, size_t i) {
  const uint32_t at = (uint32_t)i;
  return fold_once(f, f->t->pub.n_requirements + i, f->t->derived_reads[i], derived_if_fails, &at);
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
  uint32_t n;
  stage_rest stages[];
};

enum { STAGE_EXPRS = 9 + GEN_MAX_WORK };

/* What the plan asks of a stage, in the order of `work_reads`; NULL: a constant. */
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
  for (int i = 0; i < GEN_MAX_WORK; i++) {
    out[9 + i] = s->work[i];
  }
}

static uint64_t reads_of(const tmpl *t, const gen_code *x) {
  uint64_t reads = x->op == GEN_OP_PARAM     ? UINT64_C(1) << x->index
                   : x->op == GEN_OP_DERIVED ? t->derived_reads[x->index]
                                             : 0;
  for (uint32_t i = 0; i < x->n; i++) {
    reads |= reads_of(t, x->kids[i]);
  }
  return reads;
}

static uint64_t expr_reads(const tmpl *t, const gen_expr *x) {
  return x && x->code ? reads_of(t, x->code) : 0;
}

static void find_work_reads(gen_fold *f) {
  const gen_program *p = &f->t->program;
  uint64_t *reads = f->work_reads;
  *reads++ = expr_reads(f->t, f->t->flops);
  *reads++ = expr_reads(f->t, f->t->bytes);
  for (size_t i = 0; i < p->n_stages; i++) {
    const gen_expr *list[STAGE_EXPRS];
    list_exprs(f->t, &p->stages[i], list);
    for (size_t k = 0; k < STAGE_EXPRS; k++) {
      *reads++ = expr_reads(f->t, list[k]);
    }
  }
}

static gen_rest fold_or(gen_fold *f, const gen_expr *x, size_t at, gen_rest otherwise) {
  const size_t first = f->t->pub.n_requirements + f->t->pub.n_derived;
  return x ? fold_once(f, first + at, f->work_reads[at], fold_one_expr, x) : otherwise;
}

static void fold_stage(gen_fold *f, const gen_stage *s, size_t at, stage_rest *out) {
  const gen_rest one = constant(f, (gen_atom){.type = GEN_INTEGER, .i = 1});
  const gen_rest none = constant(f, (gen_atom){.type = GEN_INTEGER, .i = 0});
  const gen_expr *list[STAGE_EXPRS];
  list_exprs(f->t, s, list);
  out->is_kernel = s->kernel;
  out->when = fold_or(f, list[0], at, GEN_REST_TRUE);
  for (size_t i = 0; i < 3; i++) {
    out->grid[i] = fold_or(f, list[1 + i], at + 1 + i, one);
    out->block[i] = fold_or(f, list[4 + i], at + 4 + i, one);
  }
  out->smem = fold_or(f, list[7], at + 7, none);
  out->nbytes = fold_or(f, list[8], at + 8, one);
  for (size_t i = 0; i < GEN_MAX_WORK; i++) {
    out->work[i] = fold_or(f, list[9 + i], at + 9 + i, none);
  }
}

static size_t work_nbytes(size_t n_stages) {
  return sizeof(gen_work_rest) + n_stages * sizeof(stage_rest);
}

size_t gen_work_rest_nbytes(const gen_work_rest *w) {
  return work_nbytes(w->n);
}

/* Of most configurations most stages never run. */
gen_work_rest *gen_fold_work(gen_fold *f) {
  const gen_program *p = &f->t->program;
  gen_work_rest *w = calloc(1, work_nbytes(p->n_stages));
  if (!w) {
    return NULL;
  }
  w->flops = fold_or(f, f->t->flops, 0, GEN_REST_NONE);
  w->bytes = fold_or(f, f->t->bytes, 1, GEN_REST_NONE);
  for (size_t i = 0; i < p->n_stages; i++) {
    fold_stage(f, &p->stages[i], 2 + i * STAGE_EXPRS, &w->stages[w->n]);
    w->n += w->stages[w->n].when != GEN_REST_FALSE;
  }
  gen_work_rest *less = realloc(w, work_nbytes(w->n));
  return less ? less : w;
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
  if (!f->work_reads || !grow(f)) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  f->n = 1;
  f->nodes[GEN_REST_NONE] = (node){.op = GEN_OP_FAIL, .fails = true};
  constant(f, no);
  constant(f, yes);
  for (size_t i = 0; i < f->t->pub.n_params; i++) {
    set_param(f, i, 0);
  }
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
  f->work_reads = calloc(2 + f->t->program.n_stages * STAGE_EXPRS, sizeof *f->work_reads);
  int rc = gen_device_limits(device, n_device, f->device, e);
  rc = rc ? rc : set_up(f, e);
  rc = rc ? rc : gen_box_run(&f->t->box, make_codes, f, false, e);
  if (rc) {
    gen_fold_free(f);
    return rc;
  }
  find_work_reads(f);
  *out = f;
  return 0;
}

void gen_fold_free(gen_fold *f) {
  if (f) {
    free(f->nodes);
    free(f->truth);
    free(f->slots);
    free(f->work_reads);
    free(f);
  }
}

bool gen_fold_is_full(const gen_fold *f) {
  return f->n + SPARE_NODES > MOST_NODES;
}

size_t gen_fold_nbytes(const gen_fold *f) {
  return sizeof *f + f->most * sizeof *f->nodes + f->n_slots * sizeof *f->slots + f->most;
}
