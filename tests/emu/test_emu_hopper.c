/* test_emu_hopper.c -- wgmma, mbarriers, bulk copies and clusters: results compared with plain
 * sums, and the faults they invite. `--device 0` runs the kernels without faults on a GPU of
 * compute capability 9.0.
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

/* ---- what tests/emu/hopper.cu has ---- */

static const char path[] = "tests/emu/hopper.cu";

typedef struct expectation {
  const char *kernel;
  rt_emu_check check;   /* EMU_NO_FINDING: none */
  const char *mark;     /* of the line; NULL: any line */
  uint32_t block, grid; /* grid 0: one block */
} expectation;

static const expectation all[] = {
    {"phases", EMU_NO_FINDING, NULL, 64},
    {"roles", EMU_NO_FINDING, NULL, 256},
    {"named", EMU_NO_FINDING, NULL, 96},
    {"bytes_and_arrivals", EMU_NO_FINDING, NULL, 64},
    {"peeks", EMU_NO_FINDING, NULL, 64},
    {"elects", EMU_NO_FINDING, NULL, 64},
    {"pipelined", EMU_NO_FINDING, NULL, 128},
    {"cp_async_arrives", EMU_NO_FINDING, NULL, 64},
    {"neighbours", EMU_NO_FINDING, NULL, 64, 4},
    {"ring", EMU_NO_FINDING, NULL, 64, 16},
    {"bulk_bytes", EMU_NO_FINDING, NULL, 64},
    {"multicast", EMU_NO_FINDING, NULL, 64, 2},
    {"readers_fence", EMU_NO_FINDING, NULL, 64},
    {"copier_fences", EMU_NO_FINDING, NULL, 64},
    {"bulk_no_wait_bad", EMU_ASYNC, "bulk_no_wait", 64},
    {"bulk_no_group_bad", EMU_ASYNC, NULL, 64},
    {"bulk_no_fence_bad", EMU_PROXY, "bulk_no_fence", 64},
    {"copy_again_bad", EMU_PROXY, NULL, 64},
    {"bulk_bounds_bad", EMU_GLOBAL_BOUNDS, NULL, 64},
    {"bulk_size_bad", EMU_MISALIGNED, NULL, 64},
    {"ended_bad", EMU_SHARED_BOUNDS, "ended", 64, 2},
    {"far_mbarrier", EMU_NO_FINDING, NULL, 64, 2},
    {"far_flag", EMU_NO_FINDING, NULL, 64, 4},
    {"far_passed_on", EMU_NO_FINDING, NULL, 64, 4},
    {"far_read_bad", EMU_SHARED_RACE, "take", 64, 2},
    {"far_write_bad", EMU_SHARED_RACE, NULL, 64, 2},
    {"far_overwrite_bad", EMU_SHARED_RACE, NULL, 64, 2},
    {"far_third_bad", EMU_SHARED_RACE, NULL, 64, 3},
    {"relaxed_bad", EMU_SHARED_RACE, "take", 64, 2},
    {"no_end_bad", EMU_SHARED_BOUNDS, "take", 64, 2},
    {"no_start_bad", EMU_SHARED_BOUNDS, "no_start", 64, 2},
    {"late_barrier_bad", EMU_SHARED_RACE, "take", 64, 2},
    {"cluster_deadlock_bad", EMU_BARRIER, NULL, 64, 2},
    {"no_init_bad", EMU_MBARRIER, NULL, 32},
    {"too_many_bad", EMU_MBARRIER, NULL, 32},
    {"plain_store_bad", EMU_MBARRIER, "plain_store", 32},
    {"unsynchronised_bad", EMU_SHARED_RACE, NULL, 64},
    {"no_wait_bad", EMU_SHARED_RACE, "no_wait", 64},
    {"never_bad", EMU_BARRIER, NULL, 64},
    {"early_read_bad", EMU_ASYNC, NULL, 128},
    {"overwrite_bad", EMU_ASYNC, "overwrite", 128},
    {"no_fence_bad", EMU_PROXY, "no_fence", 128},
    {"far_descriptor_bad", EMU_SHARED_BOUNDS, "far_descriptor", 128},
    {"own_rows_bad", EMU_CALL, "own_rows", 128},
    {"half_group_bad", EMU_BARRIER, "half_group", 64},
};

/* A thread stores 1 in ok[thread] if it has seen what it should. */
static void check_one(const expectation *x) {
  int ok[1024] = {0};
  float data[1024];
  for (int i = 0; i < 1024; i++) {
    data[i] = (float)(i % 50);
  }
  rt_ptr pok = fixture_copy(&k, ok, sizeof ok), pdata = fixture_copy(&k, data, sizeof data);
  void *args[] = {&pok, &pdata};
  uint32_t grid = x->grid ? x->grid : 1;
  int rc = fixture_launch(&k, x->kernel, grid, x->block, 0, args);
  if (!rc) {
    fixture_read(&k, ok, pok, sizeof ok);
  }
  if (rt_emu_is(k.d)) {
    fixture_assert_finding(&k, rc, x->kernel, x->check, path, x->mark);
  }
  assert_int_equal(rc, x->check == EMU_NO_FINDING ? 0 : ERR_LAUNCH);
  for (uint32_t i = 0; !rc && i < grid * x->block; i++) {
    if (ok[i] != 1) {
      print_error("%s: thread %u\n", x->kernel, i);
    }
    assert_int_equal(ok[i], 1);
  }
  k.d->ops->release(k.d, pok);
  k.d->ops->release(k.d, pdata);
}

TEST(each_kernel) {
  open_device_fixture();
  fixture_cuda_file(&k, path);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (rt_emu_is(k.d) || all[i].check == EMU_NO_FINDING) {
      check_one(&all[i]);
    }
  }
  fixture_close(&k);
}

/* ---- tensor maps ---- */

enum { NX = 40, NY = 12, NZ = 3, PITCH = 44 }; /* elements; rows are PITCH apart */

typedef struct tile {
  int dims, at[3], box[3], swizzle;
  bool nan;
  bool outside; /* begins below 0, as only loads may */
  int less;     /* elements fewer than NX in a row */
} tile;

static const tile tiles[] = {
    {1, {8, 0, 0}, {16, 1, 1}, 0},
    {1, {32, 0, 0}, {16, 1, 1}, 0},
    {1, {-4, 0, 0}, {8, 1, 1}, 0, .outside = true},
    {2, {4, 2, 0}, {8, 4, 1}, 0},
    {2, {36, 10, 0}, {8, 4, 1}, 0},
    {2, {-4, -2, 0}, {8, 8, 1}, 0, .nan = true, .outside = true},
    {2, {0, 0, 0}, {32, 12, 1}, 128},
    {2, {16, 3, 0}, {16, 8, 1}, 64},
    {2, {8, 5, 0}, {8, 10, 1}, 32},
    {2, {32, 2, 0}, {8, 4, 1}, 0, .nan = true, .less = 3},
    {3, {4, 10, 1}, {8, 4, 2}, 0},
    {3, {16, 1, 0}, {32, 8, 3}, 128},
};

static float element(int x, int y, int z) {
  return (float)(z * 10000 + y * 100 + x + 1);
}

static bool inside(const tile *t, int x, int y, int z) {
  return x >= 0 && x < NX - t->less && (t->dims < 2 || (y >= 0 && y < NY)) &&
         (t->dims < 3 || (z >= 0 && z < NZ));
}

/* compares the tile loaded to shared memory, and what was stored of it */
static void check_tile(const tile *t, const float *have, const float *stored) {
  for (int i = 0; i < t->box[0] * t->box[1] * t->box[2]; i++) {
    int x = t->at[0] + i % t->box[0], y = t->at[1] + i / t->box[0] % t->box[1],
        z = t->at[2] + i / t->box[0] / t->box[1], at = 4 * i;
    int rows = t->swizzle / 16;
    at ^= rows ? (at >> 7 & (rows - 1)) << 4 : 0;
    float got = have[at / 4];
    if (inside(t, x, y, z)) {
      assert_true(got == element(x, y, z));
      assert_true(t->outside || stored[(z * NY + y) * PITCH + x] == got);
    } else {
      assert_true(t->nan ? got != got : got == 0);
    }
  }
}

static void describe(const tile *t, rt_ptr at, rt_tensor_map *map) {
  rt_tensor x = {.type = DTYPE_f32,
                 .rank = t->dims,
                 .at = at,
                 .dims = {(uint64_t)(NX - t->less), NY, NZ},
                 .strides = {PITCH * 4, PITCH * NY * 4},
                 .swizzle = t->swizzle,
                 .nan = t->nan};
  for (int i = 0; i < 3; i++) {
    x.box[i] = (uint32_t)t->box[i];
  }
  fixture_ok(&k, k.d->ops->tensor_map(k.d, &x, map, &k.e));
}

static void copy_tile(const tile *t) {
  static float data[NZ * NY * PITCH], stored[NZ * NY * PITCH], have[4096];
  for (int i = 0; i < NZ * NY * PITCH; i++) {
    data[i] = element(i % PITCH, i / PITCH % NY, i / PITCH / NY);
  }
  memset(stored, 0, sizeof stored);
  rt_ptr from = fixture_copy(&k, data, sizeof data), to = fixture_copy(&k, stored, sizeof stored),
         out = fixture_alloc(&k, sizeof have);
  rt_tensor_map maps[2];
  describe(t, from, &maps[0]);
  describe(t, to, &maps[1]);
  int dims = t->dims, x = t->at[0], y = t->at[1], z = t->at[2];
  int store = !t->outside;
  uint32_t nbytes = (uint32_t)(t->box[0] * t->box[1] * t->box[2] * 4);
  void *args[] = {&maps[0], &maps[1], &dims, &x, &y, &z, &nbytes, &out, &store};
  fixture_ok(&k, fixture_launch(&k, "tile", 1, 32, 0, args));
  fixture_read(&k, have, out, nbytes);
  fixture_read(&k, stored, to, sizeof stored);
  check_tile(t, have, stored);
  int written = 0, wanted = 0;
  for (int i = 0; i < NZ * NY * PITCH; i++) {
    written += stored[i] != 0;
  }
  for (int i = 0; store && i < t->box[0] * t->box[1] * t->box[2]; i++) {
    int first = (x + i % t->box[0]) & ~3; /* of its 16 bytes, which are stored together */
    wanted += inside(t, first, y + i / t->box[0] % t->box[1], z + i / t->box[0] / t->box[1]);
  }
  assert_int_equal(written, wanted); /* and nothing outside the tensor */
  if (t->outside && rt_emu_is(k.d)) {
    store = 1;
    assert_int_equal(fixture_launch(&k, "tile", 1, 32, 0, args), ERR_LAUNCH);
    assert_non_null(strstr(k.e.message, "only loads may begin below 0"));
    k.e = (err){0};
  }
  k.d->ops->release(k.d, from);
  k.d->ops->release(k.d, to);
  k.d->ops->release(k.d, out);
}

TEST(tiles_are_right) {
  rt_tensor_map map;
  open_device_fixture();
  fixture_cuda_file(&k, path);
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    copy_tile(&tiles[i]);
  }
  rt_tensor bad = {
      .type = DTYPE_f32, .rank = 2, .at = 256, .dims = {40, 12}, .strides = {164}, .box = {8, 4}};
  assert_int_equal(k.d->ops->tensor_map(k.d, &bad, &map, &k.e), ERR_USAGE);
  fixture_close(&k);
}

/* ---- im2col: columns of pixels of images ---- */

enum { IC = 8, IX = 5, IY = 4, IN = 3, IMAGES = IC * IX * IY * IN };

typedef struct column {
  int at[4], filter[2], pixels, lower[2], upper[2], swizzle;
} column;

/* A filter of 3 x 3 with a border of 1 has a box from -1 to the last pixel less 1. */
static const column columns[] = {
    {{0, 0, 0, 0}, {0, 0}, 8, {0, 0}, {0, 0}, 0},
    {{4, 3, 2, 0}, {0, 0}, 40, {0, 0}, {0, 0}, 0},
    {{0, -1, -1, 0}, {1, 1}, 60, {-1, -1}, {-1, -1}, 0},
    {{0, -1, -1, 1}, {0, 0}, 30, {-1, -1}, {-1, -1}, 32},
    {{4, 2, 1, 2}, {2, 0}, 24, {-1, -1}, {-1, -1}, 0},
    {{0, 1, 1, 0}, {0, 2}, 7, {1, 1}, {-1, -1}, 32},
};

static float *image_at(float *images, int c, int x, int y, int n) {
  const bool inside = c < IC && x >= 0 && x < IX && y >= 0 && y < IY && n < IN;
  return inside ? &images[((n * IY + y) * IX + x) * IC + c] : NULL;
}

/* The pixel after one in the box: the next of its row, else of the next row, else of the next image. */
static void next_pixel(const column *t, int at[4]) {
  const int extent[] = {IX, IY};
  for (int d = 0; d < 2; d++) {
    if (++at[1 + d] < extent[d] + t->upper[d]) {
      return;
    }
    at[1 + d] = t->lower[d];
  }
  at[3]++;
}

static void check_column(const column *t, int channels, float *images, const float *have,
                         float *stored) {
  int at[4] = {t->at[0], t->at[1], t->at[2], t->at[3]};
  for (int i = 0; i < t->pixels; i++, next_pixel(t, at)) {
    for (int c = 0; c < channels; c++) {
      const int byte = 4 * (i * channels + c), rows = t->swizzle / 16;
      const float got = have[(byte ^ (rows ? (byte >> 7 & (rows - 1)) << 4 : 0)) / 4];
      const float *want =
          image_at(images, at[0] + c, at[1] + t->filter[0], at[2] + t->filter[1], at[3]);
      float *to = image_at(stored, at[0] + c, at[1], at[2], at[3]);
      assert_true(got == (want ? *want : 0));
      assert_true(!to || *to == got);
      if (to) {
        *to = -1;
      }
    }
  }
  for (int i = 0; i < IMAGES; i++) {
    assert_true(stored[i] == -1);
  }
}

static void copy_column(const column *t) {
  const int channels = t->swizzle ? t->swizzle / 4 : 4;
  static float images[IMAGES], stored[IMAGES], have[4096];
  for (int i = 0; i < IMAGES; i++) {
    images[i] = (float)(i + 1);
    stored[i] = -1;
  }
  rt_tensor x = {.type = DTYPE_f32,
                 .rank = 4,
                 .dims = {IC, IX, IY, IN},
                 .strides = {4 * IC, 4 * IC * IX, 4 * IC * IX * IY},
                 .box = {(uint32_t)channels},
                 .swizzle = t->swizzle,
                 .pixels = (uint32_t)t->pixels,
                 .lower = {t->lower[0], t->lower[1]},
                 .upper = {t->upper[0], t->upper[1]}};
  const rt_ptr from = fixture_copy(&k, images, sizeof images),
               to = fixture_copy(&k, stored, sizeof stored), out = fixture_alloc(&k, sizeof have);
  rt_tensor_map maps[2];
  uint32_t nbytes = (uint32_t)(t->pixels * channels * 4);
  uint16_t dx = (uint16_t)t->filter[0], dy = (uint16_t)t->filter[1];
  int at[4];
  memcpy(at, t->at, sizeof at);
  void *args[] = {&maps[0], &maps[1], &at[0], &at[1],  &at[2],
                  &at[3],   &dx,      &dy,    &nbytes, (void *)(uintptr_t)&out};
  x.at = from;
  fixture_ok(&k, k.d->ops->tensor_map(k.d, &x, &maps[0], &k.e));
  x.at = to;
  fixture_ok(&k, k.d->ops->tensor_map(k.d, &x, &maps[1], &k.e));
  fixture_ok(&k, fixture_launch(&k, "column", 1, 32, 0, args));
  fixture_read(&k, have, out, nbytes);
  fixture_read(&k, stored, to, sizeof stored);
  check_column(t, channels, images, have, stored);
  k.d->ops->release(k.d, from);
  k.d->ops->release(k.d, to);
  k.d->ops->release(k.d, out);
}

TEST(columns_are_right) {
  rt_tensor_map maps[2];
  rt_tensor bad = {.type = DTYPE_f32,
                   .rank = 4,
                   .at = 4096,
                   .dims = {IC, IX, IY, IN},
                   .strides = {4 * IC, 4 * IC * IX, 4 * IC * IX * IY},
                   .box = {4, 1, 1, 1},
                   .pixels = 8,
                   .upper = {-IX}}; /* an empty box */
  open_device_fixture();
  fixture_cuda_file(&k, path);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    copy_column(&columns[i]);
  }
  assert_int_equal(k.d->ops->tensor_map(k.d, &bad, &maps[0], &k.e), ERR_USAGE);
  bad.upper[0] = 0;
  bad.pixels = 0; /* a map of tiles */
  if (rt_emu_is(k.d)) {
    int zero = 0, nbytes = 16;
    uint16_t none = 0;
    rt_ptr out = fixture_alloc(&k, 64);
    void *args[] = {&maps[0], &maps[0], &zero, &zero, &zero, &zero, &none, &none, &nbytes, &out};
    k.e = (err){0};
    fixture_ok(&k, k.d->ops->tensor_map(k.d, &bad, &maps[0], &k.e));
    assert_int_equal(fixture_launch(&k, "column", 1, 32, 0, args), ERR_LAUNCH);
    assert_non_null(strstr(k.e.message, "copies columns (im2col) by a tensor map of tiles"));
  }
  fixture_close(&k);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
