/* test_emu_mma_forms.c -- mma of 4 and 1 bits, of 8 x 8 x 4 halves and of sparse matrices. The host
 * lays out the fragments by the manual's formulas, and the products of small integers are exact.
 * `--device 0` runs them on a GPU of compute capability 9.0. */
#include "emu_fixture.h"
#include "open_device.h"

static const char *device = "emu";

enum { K_MAX = 256, REGS = 8, LANES = 32 };

typedef enum kind { HALF, BRAIN, TENSOR, BYTE, NIBBLE, BIT } kind;
typedef enum form { DENSE, QUAD, SPARSE } form;

typedef struct shape {
  const char *opcode;
  kind kind;
  form form;
  int m, k;
  bool wide, col_a, col_b; /* wide: accumulators of 32 bits; .col, of quads */
  bool unsigned_a, unsigned_b;
  int selector;
} shape;

static const shape shapes[] = {
    {"m8n8k4.row.col.f32.f16.f16.f32", HALF, QUAD, 8, 4, true, false, true},
    {"m8n8k4.col.row.f32.f16.f16.f32", HALF, QUAD, 8, 4, true, true, false},
    {"m8n8k4.row.row.f16.f16.f16.f16", HALF, QUAD, 8, 4, false, false, false},
    {"m8n8k4.col.col.f16.f16.f16.f16", HALF, QUAD, 8, 4, false, true, true},
    {"m8n8k32.row.col.s32.u4.s4.s32", NIBBLE, DENSE, 8, 32, true, .unsigned_a = true},
    {"m16n8k32.row.col.s32.s4.s4.s32", NIBBLE, DENSE, 16, 32, true},
    {"m16n8k64.row.col.s32.s4.u4.s32", NIBBLE, DENSE, 16, 64, true, .unsigned_b = true},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", BIT, DENSE, 8, 128, true},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", BIT, DENSE, 16, 128, true},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", BIT, DENSE, 16, 256, true},
    {"m16n8k16.row.col.f32.f16.f16.f32", HALF, SPARSE, 16, 16, true, .selector = 2},
    {"m16n8k32.row.col.f32.bf16.bf16.f32", BRAIN, SPARSE, 16, 32, true, .selector = 1},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", TENSOR, SPARSE, 16, 8, true, .selector = 3},
    {"m16n8k16.row.col.f32.tf32.tf32.f32", TENSOR, SPARSE, 16, 16, true, .selector = 0},
    {"m16n8k32.row.col.s32.s8.s8.s32", BYTE, SPARSE, 16, 32, true, .selector = 1},
    {"m16n8k64.row.col.s32.s8.s8.s32", BYTE, SPARSE, 16, 64, true},
    {"m16n8k64.row.col.s32.s4.s4.s32", NIBBLE, SPARSE, 16, 64, true, .selector = 1},
    {"m16n8k128.row.col.s32.s4.s4.s32", NIBBLE, SPARSE, 16, 128, true},
};

static const int bits_of[] = {16, 16, 32, 8, 4, 1};

typedef struct problem { /* of up to four quads; a and b hold integers */
  int a[4][16][K_MAX], b[4][K_MAX][8], c[4][16][8];
  uint32_t regs[3][LANES][REGS], metadata[LANES];
} problem;

static int draw(unsigned *seed, int least, int most) {
  *seed = *seed * 1664525u + 1013904223u;
  return least + (int)(*seed >> 10) % (most - least + 1);
}

static uint32_t encode(const shape *x, int v) {
  switch (x->kind) {
  case HALF: return (uint32_t)dtype_encode(DTYPE_f16, v);
  case BRAIN: return (uint32_t)dtype_encode(DTYPE_bf16, v);
  case TENSOR: return (uint32_t)dtype_encode(DTYPE_f32, v);
  default: return (uint32_t)v & ((1u << bits_of[x->kind]) - 1);
  }
}

static uint32_t encode_c(const shape *x, int v) {
  const bool integer = x->kind >= BYTE;
  return integer ? (uint32_t)v : (uint32_t)dtype_encode(x->wide ? DTYPE_f32 : DTYPE_f16, (double)v);
}

static void put(uint32_t *regs, int bits, int i, uint32_t v) {
  regs[i * bits / 32] |= v << (i * bits % 32);
}

/* ---- fragments ---- */

static void lay_out_quads(const shape *x, problem *p) {
  for (int lane = 0; lane < LANES; lane++) {
    const int q = lane / 4 % 4, t = lane % 4, high = lane < 16 ? 0 : 4;
    for (int i = 0; i < 4; i++) {
      const int a = x->col_a ? p->a[q][i + high][t] : p->a[q][t + high][i];
      const int b = x->col_b ? p->b[q][i][t + high] : p->b[q][t][i + high];
      put(p->regs[0][lane], 16, i, encode(x, a));
      put(p->regs[1][lane], 16, i, encode(x, b));
    }
    for (int i = 0; i < 8; i++) {
      const int row = x->wide ? (lane & 1) + (i & 2) + high : t + high;
      const int column = x->wide ? (i & 4) + (lane & 2) + (i & 1) : i;
      put(p->regs[2][lane], x->wide ? 32 : 16, i, encode_c(x, p->c[q][row][column]));
    }
  }
}

/* a row of a without its zeros: `chunk` elements become half as many; returns the chunk's slots */
static int pack_chunk(const int *row, int chunk, unsigned *seed, int *packed) {
  static const int pairs[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe};
  const int slots = chunk == 2 ? (draw(seed, 0, 1) ? 0xe : 0x4) : pairs[draw(seed, 0, 5)];
  if (chunk == 2) {
    packed[0] = row[slots == 0xe];
    return slots;
  }
  for (int e = 0; e < chunk / 2; e++) {
    const int slot = e < chunk / 4 ? slots & 3 : slots >> 2;
    packed[e] = row[slot * chunk / 4 + e % (chunk / 4)];
  }
  return slots;
}

static void keep_packed(int *row, int chunk, int slots, const int *packed) {
  memset(row, 0, (size_t)chunk * sizeof *row);
  for (int e = 0; e < chunk / 2; e++) {
    const int slot = e < chunk / 4 ? slots & 3 : slots >> 2;
    row[chunk == 2 ? slots == 0xe : slot * chunk / 4 + e % (chunk / 4)] = packed[e];
  }
}

/* makes a sparse; `packed` gets what is stored of it */
static void sparsify(const shape *x, problem *p, int packed[16][K_MAX], unsigned *seed) {
  const int chunk = x->kind == TENSOR ? 2 : x->kind == NIBBLE ? 8 : 4, n = x->k / chunk;
  for (int row = 0; row < 16; row++) {
    for (int c = 0; c < n; c++) {
      int *at = &p->a[0][row][c * chunk], *to = &packed[row][c * chunk / 2], lane, shift;
      const uint32_t slots = (uint32_t)pack_chunk(at, chunk, seed, to);
      keep_packed(at, chunk, (int)slots, to);
      if (bits_of[x->kind] >= 16) { /* rows g and g + 8 share a word of 4 chunks */
        lane = row % 8 * 4 + x->selector * (n > 4 ? 2 : 1) + c / 4;
        shift = row / 8 * 16 + c % 4 * 4;
      } else {
        lane = row % 8 * 4 + x->selector * 2 + row / 8 + c / 8 * 2;
        shift = c % 8 * 4;
      }
      p->metadata[lane] |= slots << shift;
    }
  }
}

static void lay_out(const shape *x, problem *p, int a[16][K_MAX], int depth) {
  const int bits = bits_of[x->kind], each = 32 / bits, blocks = x->m / 8;
  for (int lane = 0; lane < LANES; lane++) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < x->m * depth / LANES; i++) {
      const int r = i / each, column = r / blocks * 4 * each + t * each + i % each;
      put(p->regs[0][lane], bits, i, encode(x, a[g + r % blocks * 8][column]));
    }
    for (int i = 0; i < 8 * x->k / LANES; i++) {
      put(p->regs[1][lane], bits, i,
          encode(x, p->b[0][i / each * 4 * each + t * each + i % each][g]));
    }
    for (int i = 0; i < x->m / 4; i++) {
      p->regs[2][lane][i] = encode_c(x, p->c[0][g + i / 2 * 8][t * 2 + i % 2]);
    }
  }
}

static void fill(const shape *x, problem *p, unsigned seed) {
  static int packed[16][K_MAX];
  const bool bit = x->kind == BIT, small = x->kind == NIBBLE;
  const int least = bit ? 0 : small ? -8 : -5, most = bit ? 1 : small ? 7 : 5;
  memset(p, 0, sizeof *p);
  for (int q = 0; q < 4; q++) {
    for (int i = 0; i < 16 * x->k; i++) {
      p->a[q][i / x->k][i % x->k] = draw(&seed, least, most) + (x->unsigned_a ? 8 : 0);
      p->b[q][i % x->k][i / x->k % 8] = draw(&seed, least, most) + (x->unsigned_b ? 8 : 0);
    }
    for (int i = 0; i < 16 * 8; i++) {
      p->c[q][i / 8][i % 8] = draw(&seed, -20, 20);
    }
  }
  if (x->form == QUAD) {
    lay_out_quads(x, p);
  } else if (x->form == SPARSE) {
    memset(packed, 0, sizeof packed);
    sparsify(x, p, packed, &seed);
    lay_out(x, p, packed, x->k / 2);
  } else {
    lay_out(x, p, p->a[0], x->k);
  }
}

static int expected(const shape *x, const problem *p, int q, int row, int column) {
  int sum = p->c[q][row][column];
  for (int k = 0; k < x->k; k++) {
    const int a = p->a[q][row][k], b = p->b[q][k][column];
    sum += x->kind != BIT ? a * b : strstr(x->opcode, "xor") ? a ^ b : a & b;
  }
  return sum;
}

/* ---- kernels: each lane loads its registers, multiplies, and stores its accumulators ---- */

static void add_list(str *s, const char *name, int n) {
  for (int i = 0; i < n; i++) {
    str_addf(s, "%s%s%d", i ? ", " : "{", name, i);
  }
  str_add(s, "}");
}

static void add_kernel(str *s, const shape *x, int index) {
  const bool quad = x->form == QUAD, sparse = x->form == SPARSE, f32 = x->kind < BYTE && x->wide;
  const int bits = bits_of[x->kind];
  const int n[] = {quad ? 2 : x->m * x->k * bits / 1024 / (sparse ? 2 : 1),
                   quad ? 2 : 8 * x->k * bits / 1024, quad ? (x->wide ? 8 : 4) : x->m / 4};
  static const char *const names[] = {"%a", "%b", "%c"};
  str_addf(s,
           ".visible .entry k%d(.param .u64 x)\n{\n.reg .b32 %%a<8>; .reg .b32 %%b<8>; .reg .%s "
           "%%c<8>; .reg .b32 %%e; .reg .b64 %%p; .reg .b32 %%t; .reg .b64 %%o;\nld.param.u64 %%p, "
           "[x]; mov.u32 %%t, %%tid.x; mul.wide.u32 %%o, %%t, 4; add.u64 %%o, %%o, %%p; "
           "ld.global.b32 %%e, [%%o+%d]; mul.wide.u32 %%o, %%t, %d; add.u64 %%p, %%p, %%o;\n",
           index, f32 ? "f32" : "b32", 3 * LANES * REGS * 4, REGS * 4);
  for (int i = 0; i < 3 * 8; i++) {
    if (i % 8 < n[i / 8]) {
      str_addf(s, "ld.global.b32 %s%d, [%%p+%d];\n", names[i / 8], i % 8,
               (i / 8 * LANES * REGS + i % 8) * 4);
    }
  }
  str_addf(s, "mma%s.sync.aligned.%s ", sparse ? ".sp::ordered_metadata" : "", x->opcode);
  add_list(s, "%c", n[2]);
  str_add(s, ", ");
  add_list(s, "%a", n[0]);
  str_add(s, ", ");
  add_list(s, "%b", n[1]);
  str_add(s, ", ");
  add_list(s, "%c", n[2]);
  str_addf(s, sparse ? ", %%e, %d;\n" : ";\n", x->selector);
  for (int i = 0; i < n[2]; i++) {
    str_addf(s, "st.global.b32 [%%p+%d], %%c%d;\n", (2 * LANES * REGS + i) * 4, i);
  }
  str_add(s, "ret;\n}\n");
}

static void check(fixture *k, const shape *x, int index) {
  static problem p, want;
  char name[16];
  fill(x, &p, 7u + (unsigned)index);
  want = p;
  for (int i = 0; i < 4 * 16 * 8; i++) {
    want.c[i / 128][i / 8 % 16][i % 8] = expected(x, &p, i / 128, i / 8 % 16, i % 8);
  }
  memset(want.regs[2], 0, sizeof want.regs[2]);
  if (x->form == QUAD) {
    memset(want.regs, 0, sizeof want.regs);
    lay_out_quads(x, &want);
  } else {
    lay_out(x, &want, want.a[0], 0);
  }
  rt_ptr at = fixture_copy(k, p.regs, sizeof p.regs + sizeof p.metadata);
  void *args[] = {&at};
  snprintf(name, sizeof name, "k%d", index);
  fixture_ok(k, fixture_launch(k, name, 1, LANES, 0, args));
  fixture_read(k, p.regs, at, sizeof p.regs);
  for (int i = 0; i < LANES * REGS; i++) {
    if (p.regs[2][i / REGS][i % REGS] != want.regs[2][i / REGS][i % REGS]) {
      fail_msg("%s: register %d of lane %d is %08x, not %08x", x->opcode, i % REGS, i / REGS,
               p.regs[2][i / REGS][i % REGS], want.regs[2][i / REGS][i % REGS]);
    }
  }
  k->d->ops->release(k->d, at);
}

TEST(mma_forms) {
  enum { N = sizeof shapes / sizeof *shapes };
  fixture k = {0};
  auto_str text = {0};
  str_add(&text, ".version 8.6\n.target sm_90a\n.address_size 64\n");
  for (int i = 0; i < N; i++) {
    add_kernel(&text, &shapes[i], i);
  }
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  fixture_ptx(&k, str_text(&text));
  for (int i = 0; i < N; i++) {
    check(&k, &shapes[i], i);
  }
  fixture_close(&k);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
