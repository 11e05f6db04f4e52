/* test_emu_wgmma.c -- wgmma: products compared with plain sums. `--device 0` runs the kernels on a GPU
 * of compute capability 9.0.
 *
 * The operands of a product are stored in shared memory by the manual's canonical layouts, element
 * by element. The kernels are generated, since macros cannot write a list of accumulators. */
#include "emu_fixture.h"
#include "open_device.h"

static fixture k;
static const char *device = "emu";

typedef struct wgmma {
  const char *types; /* "f32.bf16.bf16" */
  dtype in, out;
  int n, k, width; /* width: chunks of a swizzled row */
  bool trans_a, trans_b, registers, minus_a, minus_b, sparse;
  int selector; /* sparse: of the threads that hold the metadata */
} wgmma;

static const wgmma products[] = {
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 8, 8, 1},
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 64, 8, 2},
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 104, 8, 4},
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 256, 8, 8},
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 128, 8, 8, .registers = true},
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 16, 8, 4, .minus_a = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 24, 16, 1},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 128, 16, 8},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 64, 16, 8, .trans_a = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 128, 16, 8, .trans_b = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 128, 16, 4, .trans_a = true, .trans_b = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 96, 16, 2, .trans_a = true, .trans_b = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 40, 16, 1, .trans_a = true, .trans_b = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 64, 16, 8, .trans_b = true, .registers = true},
    {"f32.f16.f16", DTYPE_f16, DTYPE_f32, 72, 16, 2, .minus_b = true},
    {"f16.f16.f16", DTYPE_f16, DTYPE_f16, 64, 16, 4},
    {"f16.f16.f16", DTYPE_f16, DTYPE_f16, 32, 16, 8, .registers = true},
    {"s32.s8.s8", DTYPE_i8, DTYPE_i32, 48, 32, 8},
    {"s32.s8.s8", DTYPE_i8, DTYPE_i32, 24, 32, 1, .registers = true},
    {"f32.f16.f16", DTYPE_f16, DTYPE_f32, 24, 32, 1, .sparse = true},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 64, 32, 8, .sparse = true, .selector = 1},
    {"f32.bf16.bf16", DTYPE_bf16, DTYPE_f32, 64, 32, 8, .sparse = true, .trans_b = true},
    {"f16.f16.f16", DTYPE_f16, DTYPE_f16, 16, 32, 4, .sparse = true, .registers = true},
    {"f32.tf32.tf32", DTYPE_f32, DTYPE_f32, 40, 16, 8, .sparse = true, .minus_a = true},
    {"s32.s8.s8", DTYPE_i8, DTYPE_i32, 32, 64, 4, .sparse = true},
};
enum { N_PRODUCTS = sizeof products / sizeof *products, M = 64 };

/* number of wgmmas along k */
static int steps_of(const wgmma *x) {
  if (x->sparse && x->width > 1 && !x->trans_b) {
    return x->width / 4;
  }
  return x->width == 1 || x->trans_a || x->trans_b ? 2 : x->width / 2;
}

static const char *const head =
    "typedef unsigned long long u64;\n"
    "__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ unsigned swizzle(unsigned a, int w) { return a ^ ((a >> 7) & (w - 1)) << 4; }\n"
    /* offset of a byte of row r of a, or column r of b; chunks hold consecutive k, or rows */
    "__device__ unsigned by_k(int r, int byte, int rows, int w) {\n"
    "  int c = byte / 16;\n"
    "  if (w == 1) return c * (rows / 8 * 128) + r / 8 * 128 + r % 8 * 16 + byte % 16;\n"
    "  return swizzle(r / 8 * 128 * w + r % 8 * 16 * w + byte, w);\n"
    "}\n"
    "__device__ unsigned by_row(int r, int kk, int depth, int w) {\n"
    "  int c = r / 8;\n"
    "  unsigned a = c % w * 16 + c / w * (128 * w * (depth / 8)) + kk % 8 * 16 * w + kk / 8 * 128 "
    "* w;\n"
    "  return swizzle(a, w) + r % 8 * 2;\n"
    "}\n"
    "__device__ u64 descriptor(unsigned start, unsigned leading, unsigned stride, int w) {\n"
    "  u64 mode = w == 1 ? 0 : w == 2 ? 3 : w == 4 ? 2 : 1;\n"
    "  return (start >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | mode "
    "<< 62;\n"
    "}\n";

/* "{%0, %1, ...}" */
static void add_registers(str *s, int first, int n) {
  for (int i = 0; i < n; i++) {
    str_addf(s, "%s%%%d", i ? ", " : "{", first + i);
  }
  str_addf(s, "}");
}

static void add_constraints(str *s, const char *how, const char *name, int n) {
  for (int i = 0; i < n; i++) {
    str_addf(s, "%s\"%s\"(%s[%d])", i ? ", " : "", how, name, i);
  }
}

/* the descriptor of step `s` of an operand of `rows` rows that begins at `base`; chunks: of a row in a step */
static void add_descriptor(str *t, const char *name, int rows, int chunks, const wgmma *x,
                           bool trans) {
  int depth = steps_of(x) * x->k, w = x->width;
  if (!trans) {
    str_addf(t, "descriptor(shared(%s) + s * %d, %d, %d, %d)", name,
             w == 1 ? chunks * rows / 8 * 128 : 16 * chunks, rows / 8 * 128, 128 * w, w);
  } else if (w == 1) { /* leading: along k, stride: along rows */
    str_addf(t, "descriptor(shared(%s) + s * %d, 128, %d, 1)", name, 128 * chunks,
             128 * (depth / 8));
  } else {
    str_addf(t, "descriptor(shared(%s) + s * %d, %d, %d, %d)", name, 128 * chunks * w,
             128 * w * (depth / 8), 128 * w, w);
  }
}

static void add_multiply(str *t, const wgmma *x, int n_d) {
  bool half = x->in == DTYPE_bf16 || x->in == DTYPE_f16;
  int a = n_d, next = a + (x->registers ? 4 : 1);
  str_addf(t, "    asm volatile(\"{.reg .pred p; setp.ne.b32 p, %%%d, 0;\\n\"\n", next + 1);
  str_addf(t, "      \"wgmma.mma_async%s.sync.aligned.m64n%dk%d.%s ", x->sparse ? ".sp" : "", x->n,
           x->k, x->types);
  add_registers(t, 0, n_d);
  str_addf(t, ", ");
  if (x->registers) {
    add_registers(t, a, 4);
  } else {
    str_addf(t, "%%%d", a);
  }
  str_addf(t, ", %%%d, ", next);
  if (x->sparse) {
    str_addf(t, "%%%d, %d, ", next + 2, x->selector);
  }
  str_addf(t, "p");
  if (x->in != DTYPE_i8) {
    str_addf(t, ", %d, %d", x->minus_a ? -1 : 1, x->minus_b ? -1 : 1);
  }
  if (half && !x->registers) {
    str_addf(t, ", %d", x->trans_a);
  }
  str_addf(t, half ? ", %d;}\"\n      : " : ";}\"\n      : ", x->trans_b);
  add_constraints(t, x->out == DTYPE_f32 ? "+f" : "+r", "acc", n_d);
  str_addf(t, "\n      : ");
  if (x->registers) {
    add_constraints(t, "r", "ra", 4);
  } else {
    str_addf(t, "\"l\"(");
    add_descriptor(t, "sa", M, 2, x, x->trans_a);
    str_addf(t, ")");
  }
  str_addf(t, ", \"l\"(");
  add_descriptor(t, "sb", x->n, x->sparse ? 4 : 2, x, x->trans_b);
  str_addf(t, "), \"r\"(s + add), \"r\"(e[s * 128 + threadIdx.x]));\n");
}

/* d = a b' (+ d when add): a is 64 x depth, or half of it where it is sparse, b is n x depth, row by row */
static void add_product(str *t, const wgmma *x, int index) {
  int steps = steps_of(x), depth = steps * x->k, size = (int)dtype_nbytes(x->in);
  bool two = x->out == DTYPE_f16;
  int n_d = x->n / (two ? 4 : 2), each = 4 / size;
  const char *acc = x->out == DTYPE_f32 ? "float" : "unsigned";
  str_addf(t,
           "extern \"C\" __global__ void product%d(const unsigned char *a, const unsigned char *b, "
           "%s *d, int add, const unsigned *e) {\n",
           index, acc);
  str_addf(t, "  extern __shared__ __align__(1024) unsigned char sa[];\n"
              "  unsigned char *sb = sa + 32768;\n"
              "  const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n");
  for (int b = 0; b < 2; b++) {
    const int rows = b ? x->n : M, row = (x->sparse && !b ? depth / 2 : depth) * size;
    str_addf(t,
             "  for (int i = threadIdx.x; i < %d; i += 128) {\n"
             "    const int r = i / %d, c = i %% %d;\n    ",
             rows * row, row, row);
    if (b ? x->trans_b : x->trans_a) {
      str_addf(t, "%s[by_row(r, c / 2, %d, %d) + c %% 2] = %s[i];\n  }\n", b ? "sb" : "sa", depth,
               x->width, b ? "b" : "a");
    } else {
      str_addf(t, "%s[by_k(r, c, %d, %d)] = %s[i];\n  }\n", b ? "sb" : "sa", rows, x->width,
               b ? "b" : "a");
    }
  }
  str_addf(t, "  %s acc[%d];\n  for (int i = 0; i < %d; i++) acc[i] = d[threadIdx.x * %d + i];\n",
           acc, n_d, n_d, n_d);
  if (x->registers) { /* word (r, c) of a: row lane / 4 (+ 8), word lane % 4 (+ 4) of the step's */
    str_addf(t,
             "  unsigned ra_all[%d];\n  for (int i = 0; i < %d; i++) {\n"
             "    const int row = warp * 16 + lane / 4 + i %% 2 * 8, word = i / 4 * 8 + lane %% 4 "
             "+ i %% 4 / 2 * 4;\n"
             "    ra_all[i] = ((const unsigned *)a)[row * %d + word];\n  }\n",
             4 * steps, 4 * steps, depth / each / (x->sparse ? 2 : 1));
  }
  str_addf(t,
           "  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
           "  __syncthreads();\n  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
           "#pragma unroll\n  for (int s = 0; s < %d; s++) {\n",
           steps);
  if (x->registers) {
    str_addf(t, "    const unsigned *ra = ra_all + 4 * s;\n");
  }
  add_multiply(t, x, n_d);
  str_addf(t,
           "  }\n  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
           "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
           "  (void)lane, (void)warp;\n"
           "  for (int i = 0; i < %d; i++) d[threadIdx.x * %d + i] = acc[i];\n}\n",
           n_d, n_d);
}

static int value_at(int r, int c) {
  return (r * 7 + c * 5 + r * c) % 13 - 6;
}

/* The slots of a chunk of a row that a sparse matrix stores, as its metadata has them. A chunk has four
 * elements, or two of 32 bits, of which one is stored. */
static int slots_at(const wgmma *x, int row, int chunk) {
  static const int pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, ones[] = {0x4, 0xe};
  return x->in == DTYPE_f32 ? ones[(row + chunk) % 2] : pairs[(row * 5 + chunk) % 6];
}

static bool is_stored(const wgmma *x, int row, int column) {
  const int each = x->in == DTYPE_f32 ? 2 : 4, slots = slots_at(x, row, column / each);
  if (each == 2) {
    return (slots == 0xe) == (column % 2);
  }
  return (slots & 3) == column % 4 || slots >> 2 == column % 4;
}

static double a_at(const wgmma *x, int row, int column) {
  return x->sparse && !is_stored(x, row, column) ? 0 : value_at(row, column);
}

/* What is stored of a, row by row. */
static void encode_a(const wgmma *x, int depth, unsigned char *to) {
  const size_t size = dtype_nbytes(x->in);
  for (int i = 0; i < M * depth; i++) {
    if (!x->sparse || is_stored(x, i / depth, i % depth)) {
      const uint64_t bits = dtype_encode(x->in, value_at(i / depth, i % depth));
      memcpy(to, &bits, size);
      to += size;
    }
  }
}

/* The word of a thread: rows q and q + 8 of 4 chunks each, or 8 chunks of one of them where elements are
 * bytes. Threads that hold none have another. */
static uint32_t metadata_of(const wgmma *x, int step, int thread) {
  const int row = thread / 32 * 16 + thread % 32 / 4, h = thread % 4;
  const bool bytes = x->in == DTYPE_i8;
  const int first = step * (bytes ? 16 : 8) + (bytes ? h / 2 * 8 : h % 2 * 4);
  uint32_t word = 0;
  if (!bytes && h / 2 != x->selector) {
    return 0x55555555;
  }
  for (int i = 0; i < 8; i++) {
    const int at = bytes ? row + h % 2 * 8 : row + i / 4 * 8, chunk = first + (bytes ? i : i % 4);
    word |= (uint32_t)slots_at(x, at, chunk) << (4 * i);
  }
  return word;
}

static void encode(dtype t, int rows, int depth, int salt, unsigned char *to) {
  size_t size = dtype_nbytes(t);
  for (int i = 0; i < rows * depth; i++) {
    uint64_t bits = dtype_encode(t, value_at(i / depth + salt, i % depth));
    memcpy(to + (size_t)i * size, &bits, size);
  }
}

/* the expected element `i` of a thread's accumulators */
static double expected(const wgmma *x, int thread, int i, int depth, bool add) {
  int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8,
      column = i / 4 * 8 + thread % 4 * 2 + i % 2;
  double sum = 0;
  for (int p = 0; p < depth; p++) {
    sum += a_at(x, row, p) * value_at(column + 3, p);
  }
  return (x->minus_a != x->minus_b ? -sum : sum) + (add ? 2 : 0);
}

static void check_product(const wgmma *x, int index, int add) {
  static unsigned char a[M * 256 * 4], b[256 * 256 * 4], d[M * 256 * 4];
  static uint32_t metadata[8 * 128];
  int depth = steps_of(x) * x->k;
  size_t wide = dtype_nbytes(x->out), nbytes = (size_t)M * (size_t)x->n * wide;
  char kernel[32];
  snprintf(kernel, sizeof kernel, "product%d", index);
  encode_a(x, depth, a);
  for (int i = 0; i < steps_of(x) * 128; i++) {
    metadata[i] = metadata_of(x, i / 128, i % 128);
  }
  encode(x->in, x->n, depth, 3, b);
  for (int i = 0; i < M * x->n; i++) {
    uint64_t two = dtype_encode(x->out, 2);
    memcpy(d + (size_t)i * wide, &two, wide);
  }
  rt_ptr pa = fixture_copy(&k, a, (size_t)(M * depth) * dtype_nbytes(x->in)),
         pb = fixture_copy(&k, b, (size_t)(x->n * depth) * dtype_nbytes(x->in)),
         pd = fixture_copy(&k, d, nbytes), pe = fixture_copy(&k, metadata, sizeof metadata);
  void *args[] = {&pa, &pb, &pd, &add, &pe};
  fixture_ok(&k, fixture_launch(&k, kernel, 1, 128, 98304, args));
  fixture_read(&k, d, pd, nbytes);
  for (int i = 0; i < M * x->n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, d + (size_t)i * wide, wide);
    double have = dtype_decode(x->out, bits),
           want = expected(x, i / (x->n / 2), i % (x->n / 2), depth, add);
    if (have != want) {
      print_error("%s n=%d width %d: element %d is %g, not %g\n", x->types, x->n, x->width, i, have,
                  want);
    }
    assert_true(have == want);
  }
  k.d->ops->release(k.d, pa);
  k.d->ops->release(k.d, pb);
  k.d->ops->release(k.d, pd);
  k.d->ops->release(k.d, pe);
}

static void open_device_fixture(void) {
  k = (fixture){0};
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
}

TEST(products_are_right) {
  auto_str text = {0};
  open_device_fixture();
  str_addf(&text, "%s", head);
  for (int i = 0; i < N_PRODUCTS; i++) {
    add_product(&text, &products[i], i);
  }
  fixture_cuda(&k, str_text(&text), "products.cu");
  for (int i = 0; i < N_PRODUCTS; i++) {
    check_product(&products[i], i, 0);
    check_product(&products[i], i, 1);
  }
  fixture_close(&k);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
