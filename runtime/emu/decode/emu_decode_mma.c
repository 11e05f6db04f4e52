/* emu_decode_mma.c -- decoders of the warp's matrix instructions.
 * src: PTX ISA 9.0, 9.7.14 (wmma, mma, ldmatrix, stmatrix, movmatrix). */
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"

static bool take_shape(emu_parser *p, int *m, int *n, int *k) {
  static const struct {
    const char *name;
    int m, n, k;
  } shapes[] = {{"m16n8k4", 16, 8, 4},     {"m16n8k8", 16, 8, 8},     {"m16n8k16", 16, 8, 16},
                {"m16n8k32", 16, 8, 32},   {"m16n8k64", 16, 8, 64},   {"m8n8k4", 8, 8, 4},
                {"m16n8k128", 16, 8, 128}, {"m16n8k256", 16, 8, 256}, {"m8n8k128", 8, 8, 128},
                {"m8n8k16", 8, 8, 16},     {"m8n8k32", 8, 8, 32},     {"m16n16k16", 16, 16, 16},
                {"m32n8k16", 32, 8, 16},   {"m8n32k16", 8, 32, 16},   {"m16n16k8", 16, 16, 8}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    if (emu_mod(p, shapes[i].name)) {
      *m = shapes[i].m;
      *n = shapes[i].n;
      *k = shapes[i].k;
      return true;
    }
  }
  return false;
}

static int place_list(emu_parser *p, emu_insn *in, const emu_operand *list, int at, bool def) {
  for (int i = 0; i < emu_operand_count(list); i++) {
    const emu_operand *o = emu_operand_at(p, list, i);
    int bytes = emu_reg_bytes(p, o);
    if (bytes != 4 && bytes != 8) {
      return emu_unsupported(p, "an element is not a 32- or 64-bit register");
    }
    in->more->bytes[at + i] = (uint8_t)bytes;
    TRY(def ? emu_def_operand(p, 5 + at + i, o, bytes)
            : emu_use_operand(p, 5 + at + i, o, bytes, T_b32));
  }
  return 0;
}

/* registers of a lane that hold its share of a matrix of so many elements */
static int registers(int elements, emu_type t) {
  int bits = t == T_s4 || t == T_u4 ? 4 : t == T_b1 ? 1 : 8 * emu_type_bytes(t);
  int width = t == T_f64 ? 64 : 32;
  return elements * bits / (32 * width);
}

static bool is_nibble(emu_type t) {
  return t == T_s4 || t == T_u4;
}

/* are these the types of a product, whatever its shape? */
static bool mma_types(emu_type d, emu_type a, emu_type b, emu_type c) {
  const bool f32 = d == T_f32 && c == T_f32, s32 = d == T_s32 && c == T_s32;
  const bool halves = (d == T_f16 || d == T_f32) && (c == T_f16 || c == T_f32);
  switch (a) {
  case T_s8:
  case T_u8: return (b == T_s8 || b == T_u8) && s32;
  case T_s4:
  case T_u4: return is_nibble(b) && s32;
  case T_b1: return b == T_b1 && s32;
  case T_f16: return b == T_f16 && halves;
  case T_bf16:
  case T_tf32: return b == a && f32;
  case T_e4m3:
  case T_e5m2: return (b == T_e4m3 || b == T_e5m2) && (f32 || (d == T_f16 && c == T_f16));
  case T_f64: return b == T_f64 && d == T_f64 && c == T_f64;
  default: return false;
  }
}

static bool mma_shape(emu_type a, int m, int k) {
  switch (a) {
  case T_s8:
  case T_u8: return m == 8 ? k == 16 : k == 16 || k == 32;
  case T_s4:
  case T_u4: return m == 8 ? k == 32 : k == 32 || k == 64;
  case T_b1: return m == 8 ? k == 128 : k == 128 || k == 256;
  case T_f16: return m == 8 ? k == 4 : k == 8 || k == 16;
  case T_bf16: return m == 16 && (k == 8 || k == 16);
  case T_tf32: return m == 16 && (k == 4 || k == 8);
  case T_f64: return m == 8 ? k == 4 : k <= 16;
  default: return m == 16 && (k == 16 || k == 32);
  }
}

/* elements of a that four slots of the metadata stand for; 0: no such sparse product */
static int sparse_chunk(emu_type a, int m, int k) {
  switch (m == 16 ? a : T_none) {
  case T_s8:
  case T_u8: return k == 32 || k == 64 ? 4 : 0;
  case T_e4m3:
  case T_e5m2: return k == 64 ? 4 : 0;
  case T_s4:
  case T_u4: return k == 64 || k == 128 ? 8 : 0;
  case T_f16:
  case T_bf16: return k == 16 || k == 32 ? 4 : 0;
  case T_tf32: return k == 8 || k == 16 ? 2 : 0;
  default: return 0;
  }
}

typedef struct product {
  int m, n, k, layouts; /* layouts: bit 0: a, bit 1: b by columns */
  emu_type d, a, b, c;
  bool sparse, quad, bitwise_and, finite;
} product;

/* .row and .col of a and of b, in this order */
static bool take_layouts(emu_parser *p, int *layouts) {
  emu_statement *s = &p->statement;
  int n = 0;
  for (int i = 1; i < s->n_mods && n < 2; i++) {
    if (emu_mod_is(s, i, "row") || emu_mod_is(s, i, "col")) {
      *layouts |= emu_mod_is(s, i, "col") << n++;
      s->used |= 1u << i;
    }
  }
  return n == 2;
}

static bool take_product(emu_parser *p, product *x) {
  x->sparse = emu_mod(p, "sp") || emu_mod(p, "sp::ordered_metadata");
  if (!emu_mod(p, "sync") || !emu_mod(p, "aligned") || !take_shape(p, &x->m, &x->n, &x->k) ||
      !take_layouts(p, &x->layouts) || x->n != 8) {
    return false;
  }
  x->finite = emu_mod(p, "satfinite");
  x->d = emu_mod_type(p);
  x->a = emu_mod_type(p);
  x->b = emu_mod_type(p);
  x->c = emu_mod_type(p);
  x->quad = x->a == T_f16 && x->m == 8;
  x->bitwise_and = x->a == T_b1 && emu_mod(p, "and");
  const bool bits = x->a != T_b1 || ((x->bitwise_and || emu_mod(p, "xor")) && emu_mod(p, "popc"));
  return bits && (x->quad || x->layouts == 2) && mma_types(x->d, x->a, x->b, x->c) &&
         (x->sparse ? sparse_chunk(x->a, x->m, x->k) > 0 : mma_shape(x->a, x->m, x->k));
}

/* numbers of registers of d, a, b and c */
static void count_registers(const product *x, int counts[4]) {
  const int elements = x->m * x->n, packed = x->sparse ? 2 : 1;
  counts[0] = x->quad ? (x->d == T_f32 ? 8 : 4) : registers(elements, x->d);
  counts[1] = x->quad ? 2 : registers(x->m * x->k / packed, x->a);
  counts[2] = x->quad ? 2 : registers(x->k * x->n, x->b);
  counts[3] = x->quad ? (x->c == T_f32 ? 8 : 4) : registers(elements, x->c);
}

/* the metadata, and which threads hold it */
static int place_metadata(emu_parser *p, emu_insn *in, const product *x, int at) {
  const emu_operand *o = p->statement.operands;
  const int chunk = sparse_chunk(x->a, x->m, x->k);
  const bool narrow = emu_type_bytes(x->a) < 2;
  const int words = narrow ? x->k / chunk / 8 * 2 : x->k / chunk / 4; /* of four threads */
  if (o[5].kind != OPERAND_INT || o[5].value >= (uint64_t)(4 / words)) {
    return emu_unsupported(p, "the sparsity selector is out of range");
  }
  in->imm = (int64_t)x->c;
  in->more->mode[5] = chunk | (int)o[5].value << 8;
  in->more->bytes[at] = 4;
  return emu_use_operand(p, 5 + at, &o[4], 4, T_b32);
}

/* o[1] to o[4]: numbers of registers of d, a, b and c, which follow each other in ops */
static int decode_mma(emu_parser *p) {
  product x = {0};
  int counts[4], total = 0;
  if (!take_product(p, &x)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, x.sparse ? 6 : 4, x.sparse ? 6 : 4));
  const emu_operand *o = p->statement.operands;
  count_registers(&x, counts);
  for (int i = 0; i < 4; i++) {
    if (emu_operand_count(&o[i]) != counts[i]) {
      return emu_unsupported(p, "wrong number of registers for this shape");
    }
    total += counts[i];
  }
  emu_insn *in;
  const emu_kind kind = x.sparse      ? KIND_mmasparse
                        : x.quad      ? KIND_mmaquad
                        : x.a == T_b1 ? KIND_mmabits
                                      : KIND_mma;
  TRY(emu_begin_more(p, kind, EMU_PIPE_tensor, total + x.sparse, &in));
  int modes[] = {x.m, x.n, x.k, x.a, x.b, x.c};
  memcpy(in->more->mode, modes, sizeof modes);
  in->type = (uint8_t)x.d;
  in->imm = x.quad ? x.layouts : x.a == T_b1 ? x.bitwise_and : x.finite;
  in->flags |= x.finite ? INSN_SAT : 0;
  for (int i = 0, at = 0; i < 4; at += counts[i], i++) {
    in->o[i + 1] = counts[i];
    TRY(place_list(p, in, &o[i], at, i == 0));
  }
  return x.sparse ? place_metadata(p, in, &x, total) : 0;
}

/* ldmatrix and stmatrix. op: the kind. mode: number of matrices, transposed? */
static int decode_ldmatrix(emu_parser *p) {
  static const char *const counts[] = {"x1", "x2", "x4", NULL};
  bool ok = emu_mod(p, "sync") && emu_mod(p, "aligned") && emu_mod(p, "m8n8");
  int which = emu_mod_choice(p, counts);
  bool trans = emu_mod(p, "trans");
  bool shared = emu_mod(p, "shared") || emu_mod(p, "shared::cta");
  if (!ok || which < 0 || emu_mod_type(p) != T_b16) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 2, 2));
  int address = p->op == KIND_ldmatrix ? 1 : 0;
  const emu_operand *list = &p->statement.operands[1 - address];
  if (emu_operand_count(list) != 1 << which) {
    return emu_unsupported(p, "wrong number of registers");
  }
  for (int i = 0; i < emu_operand_count(list); i++) {
    const emu_operand *o = emu_operand_at(p, list, i);
    if (emu_reg_bytes(p, o) != 4) {
      return emu_unsupported(p, "an element is not a 32-bit register");
    }
  }
  emu_insn *in;
  TRY(emu_begin_more(p, (emu_kind)p->op, EMU_PIPE_lsu, 1 << which, &in));
  in->more->space = shared ? SPACE_shared : SPACE_generic;
  in->more->mode[0] = 1 << which;
  in->more->mode[1] = trans;
  TRY(emu_address(p, 1, address, in));
  return place_list(p, in, list, 0, p->op == KIND_ldmatrix);
}

static int decode_movmatrix(emu_parser *p) {
  bool ok =
      emu_mod(p, "sync") && emu_mod(p, "aligned") && emu_mod(p, "m8n8") && emu_mod(p, "trans");
  if (!ok || emu_mod_type(p) != T_b16) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 2, 2));
  TRY(emu_begin(p, KIND_movmatrix, EMU_PIPE_lsu, NULL));
  TRY(emu_use(p, 1, 1, 4, T_b32));
  return emu_def(p, 0, 0, 4);
}

enum { WMMA_ELEMENTS = 1024 }; /* of a matrix, at most; mma has larger shapes */

/* ---- wmma: fragments whose layout is ours, since PTX leaves it open ---- */

/* Do the n registers from `at` on have one width and hold a lane's share of that many elements? */
static int check_fragment(emu_parser *p, const emu_insn *in, int at, int n, emu_type t,
                          int elements) {
  int size = emu_type_bytes(t), bytes = n ? in->more->bytes[at] : 0;
  bool fits = size && size <= bytes && n * (bytes / size) * 32 >= elements;
  for (int i = 1; i < n; i++) {
    fits = fits && in->more->bytes[at + i] == bytes;
  }
  return fits ? 0 : emu_unsupported(p, "wrong number of registers for this shape");
}

static int wmma_element(emu_parser *p, int *matrix) {
  static const char *const names[] = {"a", "b", "c", "d", NULL};
  *matrix = emu_mod_choice(p, names);
  return *matrix < 0 ? emu_unsupported(p, "") : 0;
}

/* Load and store. mode: rows, columns, column-major?, matrix (0 a, 1 b, 2 accumulator); o[2]:
 * stride */
static int wmma_access(emu_parser *p, emu_kind kind) {
  static const char *const layouts[] = {"row", "col", NULL};
  static const char *const spaces[] = {"global", "shared", "shared::cta", NULL};
  int m, n, k, matrix;
  bool ok = emu_mod(p, "sync") && emu_mod(p, "aligned");
  TRY(wmma_element(p, &matrix));
  int layout = emu_mod_choice(p, layouts), space = emu_mod_choice(p, spaces);
  if (!ok || layout < 0 || !take_shape(p, &m, &n, &k)) {
    return emu_unsupported(p, "");
  }
  emu_type t = emu_mod_type(p);
  if (!emu_type_bytes(t)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 2, 3));
  int address = kind == KIND_wmmaload ? 1 : 0;
  const emu_operand *list = &p->statement.operands[1 - address];
  emu_insn *in;
  TRY(emu_begin_more(p, kind, EMU_PIPE_lsu, emu_operand_count(list), &in));
  int rows = matrix == 1 ? k : m, columns = matrix == 0 ? k : n;
  in->type = (uint8_t)t;
  in->more->space = space < 0 ? SPACE_generic : space == 0 ? SPACE_global : SPACE_shared;
  in->more->mode[0] = rows;
  in->more->mode[1] = columns;
  in->more->mode[2] = layout;
  in->more->mode[3] = matrix > 2 ? 2 : matrix;
  TRY(emu_address(p, 1, address, in));
  TRY(place_list(p, in, list, 0, kind == KIND_wmmaload));
  TRY(check_fragment(p, in, 0, emu_operand_count(list), t, rows * columns));
  if (p->statement.n == 3) {
    return emu_use(p, 2, 2, 4, T_u32);
  }
  return emu_build_constant(p, 4, (uint64_t)(layout ? rows : columns), -1, &in->o[2]);
}

static int wmma_multiply(emu_parser *p) {
  int m, n, k, layouts = 0;
  bool ok = emu_mod(p, "sync") && emu_mod(p, "aligned");
  if (!ok || !take_layouts(p, &layouts) || !take_shape(p, &m, &n, &k)) {
    return emu_unsupported(p, "");
  }
  emu_round round = emu_mod_round(p);
  bool finite = emu_mod(p, "satfinite");
  emu_type t[4] = {emu_mod_type(p), emu_mod_type(p), emu_mod_type(p), emu_mod_type(p)};
  emu_type a = t[1], b = t[2], c = t[3];
  if (t[2] == T_none) { /* half precision: only d and c are named */
    a = b = T_f16;
    c = t[1];
  }
  (void)round;
  TRY(emu_arity(p, 4, 4));
  const emu_operand *o = p->statement.operands;
  int total = 0;
  for (int i = 0; i < 4; i++) {
    total += emu_operand_count(&o[i]);
  }
  const bool large = m * k > WMMA_ELEMENTS || k * n > WMMA_ELEMENTS;
  if (large || !emu_type_bytes(a) || !mma_types(t[0], a, b, c)) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_wmma, EMU_PIPE_tensor, total, &in));
  int modes[] = {m, n, k, a, b, c};
  memcpy(in->more->mode, modes, sizeof modes);
  in->type = (uint8_t)t[0];
  in->flags |= finite ? INSN_SAT : 0;
  in->imm = layouts;
  const int elements[] = {m * n, m * k, k * n, m * n};
  const emu_type held[] = {t[0], a, b, c};
  for (int i = 0, at = 0; i < 4; at += emu_operand_count(&o[i]), i++) {
    in->o[i + 1] = emu_operand_count(&o[i]);
    TRY(place_list(p, in, &o[i], at, i == 0));
    TRY(check_fragment(p, in, at, emu_operand_count(&o[i]), held[i], elements[i]));
  }
  return 0;
}

static int decode_wmma(emu_parser *p) {
  if (emu_mod(p, "load")) {
    return wmma_access(p, KIND_wmmaload);
  }
  if (emu_mod(p, "store")) {
    return wmma_access(p, KIND_wmmastore);
  }
  return emu_mod(p, "mma") ? wmma_multiply(p) : emu_unsupported(p, "");
}

const emu_decode_row emu_decode_mma_rows[] = {
    {"mma", decode_mma},
    {"ldmatrix", decode_ldmatrix, KIND_ldmatrix},
    {"stmatrix", decode_ldmatrix, KIND_stmatrix},
    {"movmatrix", decode_movmatrix},
    {"wmma", decode_wmma},
    {NULL},
};
