/* test_sort.c -- radix_sort and segmented_sort on data of every kind, against a stable sort in C:
 *   build/tests/test_sort [--device NAME]
 *
 * The family's own reference (test_families) sorts by bits, as the kernels do. Here keys are
 * compared as numbers, which shows mistakes in their order, and values are the keys' indices, which
 * shows mistakes in stability. Without NVRTC nothing is tested. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "device_fixture.h"

/* ---- what is sorted -------------------------------------------------------------------------- */

typedef struct keys { /* and what decides their order */
  dtype type;
  bool descending;
  int begin, end; /* bits that count; all unless the type is unsigned */
  size_t n;
  uint64_t *at;
  int32_t *offsets; /* of segments, each sorted separately; NULL: one segment */
  size_t n_segments;
} keys;

typedef enum kind { UNIFORM, FEW, SORTED, REVERSED, EQUAL, OUTLIER, SPECIAL, KINDS } kind;

static uint64_t all_bits(dtype t) {
  return UINT64_MAX >> (64 - 8 * dtype_nbytes(t));
}

/* Zeros, infinities, NaNs of either sign, and the neighbours of zero. */
static uint64_t special(bed *b, dtype t) {
  static const double values[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, -NAN};
  const uint64_t i = random_next(&b->random) % 10;
  return i < 8 ? dtype_encode(t, values[i]) : i == 8 ? 1 : all_bits(t) - (all_bits(t) >> 1) + 1;
}

static uint64_t make_key(bed *b, const keys *k, kind what, size_t i) {
  const uint64_t step = all_bits(k->type) / (k->n ? k->n : 1);
  switch (what) {
  case FEW: return (random_next(&b->random) % 5) * 0x3779b97f4a7c15u;
  case SORTED: return i * step;
  case REVERSED: return (k->n - i) * step;
  case EQUAL: return 0x5a5a5a5a5a5a5a5au;
  case OUTLIER: return i == k->n / 2 ? 7 : 0x1111111111111111u;
  case SPECIAL: return dtype_is_float(k->type) ? special(b, k->type) : random_next(&b->random) & 3;
  default: return random_next(&b->random);
  }
}

static void make_keys(bed *b, keys *k, kind what) {
  k->at = ARENA_ARRAY(&b->a, uint64_t, k->n + 1);
  assert_non_null(k->at);
  for (size_t i = 0; i < k->n; i++) {
    k->at[i] = make_key(b, k, what, i) & all_bits(k->type);
  }
}

/* ---- how it should be sorted ----------------------------------------------------------------- */

static int three_way(uint64_t x, uint64_t y) {
  return (x > y) - (x < y);
}

/* -1, 0 or 1: a NaN before all numbers, a number, a NaN after them */
static int side(dtype t, uint64_t key) {
  const bool negative = key > all_bits(t) >> 1;
  return !isnan(dtype_decode(t, key)) ? 0 : negative ? -1 : 1;
}

static int compare_floats(dtype t, uint64_t x, uint64_t y) {
  const int sx = side(t, x), sy = side(t, y);
  const double a = dtype_decode(t, x), b = dtype_decode(t, y);
  if (sx != sy) {
    return sx - sy;
  }
  return sx ? sx * three_way(x, y) : (a > b) - (a < b);
}

static int compare_signed(dtype t, uint64_t x, uint64_t y) {
  const uint64_t sign = all_bits(t) - (all_bits(t) >> 1);
  return three_way(x ^ sign, y ^ sign);
}

static int compare_keys(const keys *k, uint64_t x, uint64_t y) {
  if (dtype_is_float(k->type)) {
    return compare_floats(k->type, x, y);
  }
  if (dtype_is_signed(k->type)) {
    return compare_signed(k->type, x, y);
  }
  const int bits = k->end - k->begin;
  const uint64_t mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  return bits ? three_way(x >> k->begin & mask, y >> k->begin & mask) : 0;
}

static int by_key_then_index(const void *a, const void *b, void *ud) {
  const keys *k = ud;
  const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
  const int c = compare_keys(k, k->at[i], k->at[j]);
  return c ? (k->descending ? -c : c) : three_way(i, j);
}

static uint32_t *sorted_indices(bed *b, keys *k) {
  uint32_t *order = ARENA_ARRAY(&b->a, uint32_t, k->n + 1);
  assert_non_null(order);
  for (size_t i = 0; i < k->n; i++) {
    order[i] = (uint32_t)i;
  }
  if (!k->offsets) {
    qsort_r(order, k->n, sizeof *order, by_key_then_index, k);
  }
  for (size_t s = 0; s < k->n_segments; s++) {
    const int32_t first = k->offsets[s];
    qsort_r(order + first, (size_t)(k->offsets[s + 1] - first), sizeof *order, by_key_then_index,
            k);
  }
  return order;
}

/* ---- how it is sorted ------------------------------------------------------------------------ */

typedef struct run { /* one launch: a configuration of a problem, and its arrays on the host */
  bed_kernel k;
  const char *words; /* for messages */
  int value_bytes;
  char *keys, *values;
} run;

/* config NULL: any that compiles */
static void open_run(bed *b, run *r, const char *family, const char *problem, const char *config) {
  str words = {0};
  gen_config c = {0};
  r->k = bed_problem_open(b, NULL, family, problem);
  /* ptxas fails on some of these points */
  const int tries = config || b->d->info.format == RT_PTX ? 1 : 5;
  int rc = 0;
  for (int i = 0; !i || (rc && b->e.code == ERR_COMPILE && i < tries); i++) {
    err_clear(&b->e);
    c = config ? bed_config(b, &r->k, config) : bed_any_config(b, &r->k, false);
    rc = bed_load(b, r->k.t, r->k.g, &c, &r->k.l);
  }
  str_addf(&words, "%s --config ", problem);
  gen_config_text(r->k.t, &c, &words);
  r->words = arena_text(&b->a, str_text(&words));
  str_clear(&words);
  if (rc) {
    fail_msg("%s: %s", r->words, b->e.message);
  }
}

/* The keys and their indices, sorted by the device. */
static void sort_on_device(bed *b, run *r, const keys *k) {
  const size_t size = dtype_nbytes(k->type), nk = k->n * size, nv = k->n * (size_t)r->value_bytes;
  r->keys = ARENA_ARRAY(&b->a, char, nk + 1);
  r->values = ARENA_ARRAY(&b->a, char, nv + 1);
  for (uint64_t i = 0; i < k->n; i++) {
    memcpy(r->keys + i * size, &k->at[i], size);
    memcpy(r->values + i * (size_t)r->value_bytes, &i, (size_t)r->value_bytes);
  }
  rt_ptr p[] = {bed_put(b, r->keys, nk), bed_put(b, r->values, nv), bed_alloc(b, nk),
                bed_alloc(b, nv)};
  rt_ptr offsets =
      k->offsets ? bed_put(b, k->offsets, (k->n_segments + 1) * sizeof *k->offsets) : 0;
  int64_t n = (int64_t)k->n, n_segments = (int64_t)k->n_segments;
  const void *whole[] = {&n, &p[0], &p[1], &p[2], &p[3]};
  const void *parts[] = {&n, &n_segments, &offsets, &p[0], &p[1], &p[2], &p[3]};
  const void **args = k->offsets ? parts : whole;
  if (rt_loaded_launch(r->k.l, NULL, args, &b->e) ||
      b->d->ops->copy_out(b->d, r->keys, p[2], nk, NULL, &b->e)) {
    fail_msg("%s: %s (%s)", r->words, b->e.message, b->e.place);
  }
  bed_get(b, r->values, p[3], nv);
  for (int i = 0; i < 4; i++) {
    bed_free(b, p[i]);
  }
  bed_free(b, offsets);
}

/* The index of the first wrong key or value; n when all are right. */
static size_t first_wrong(bed *b, run *r, keys *k) {
  const size_t size = dtype_nbytes(k->type), nv = (size_t)r->value_bytes;
  const uint32_t *order = sorted_indices(b, k);
  for (size_t i = 0; i < k->n; i++) {
    const uint64_t index = order[i];
    if (memcmp(r->keys + i * size, &k->at[index], size) || memcmp(r->values + i * nv, &index, nv)) {
      return i;
    }
  }
  return k->n;
}

static void assert_sorts(bed *b, run *r, keys *k, kind what) {
  make_keys(b, k, what);
  sort_on_device(b, r, k);
  const size_t i = first_wrong(b, r, k);
  if (i < k->n) {
    fail_msg("%s: data of kind %d, element %zu is wrong", r->words, what, i);
  }
}

/* ---- the tests ------------------------------------------------------------------------------- */

static const dtype types[] = {DTYPE_u32, DTYPE_i32, DTYPE_f32, DTYPE_u64,  DTYPE_i64, DTYPE_f64,
                              DTYPE_u16, DTYPE_i16, DTYPE_f16, DTYPE_bf16, DTYPE_u8,  DTYPE_i8};

/* Sorts data of two kinds, one after the other: the second launch finds a used workspace. */
static void sort_two_kinds(bed *b, keys *k, int value_bytes, const char *config, int turn) {
  run r = {.value_bytes = value_bytes};
  const char *problem =
      arena_format(&b->a, "n=%zu dtype=%s value_bytes=%d order=%s begin_bit=%d end_bit=%d", k->n,
                   dtype_name(k->type), value_bytes, k->descending ? "descending" : "ascending",
                   k->begin, k->end);
  open_run(b, &r, "radix_sort", problem, config);
  assert_sorts(b, &r, k, (kind)(turn % KINDS));
  assert_sorts(b, &r, k, (kind)((turn + 3) % KINDS));
  assert_sorts(b, &r, k, SPECIAL);
  bed_kernel_close(&r.k);
}

BED_TEST(any_data_is_sorted) {
  const bool emu = b->d->info.format == RT_PTX;
  const int rounds = emu ? 1 : 2;
  for (int i = 0; i < rounds * (int)(sizeof types / sizeof *types); i++) {
    const dtype t = types[i % (int)(sizeof types / sizeof *types)];
    keys k = {.type = t,
              .descending = random_next(&b->random) & 1,
              .end = (int)(8 * dtype_nbytes(t)),
              .n = random_next(&b->random) % (emu ? 1500 : 1 << (6 + i % 15))};
    sort_two_kinds(b, &k, (int)(random_next(&b->random) % 3) * 4, NULL, i);
    arena_clear(&b->a);
  }
}

BED_TEST(every_algorithm_sorts) {
  static const char *const configs[] = {
      "ALG=onebit,RADIX=1,BLOCK=128,ITEMS=1,SCATTER=direct,LOOK=1",
      "ALG=three_launch,RADIX=4,BLOCK=64,ITEMS=6,RANK=or,LOOK=1",
      "ALG=three_launch,RADIX=11,BLOCK=256,ITEMS=16,COUNTER=16,SCATTER=direct,LOOK=1",
      "ALG=onesweep,RADIX=6,BLOCK=64,ITEMS=4,COUNT=early,LOOK=8,LOOKBACK=early,COPIES=8",
      "ALG=onesweep,RADIX=11,BLOCK=384,ITEMS=12,COUNTER=16,COUNT=early,LOOK=1,DELAY=64",
      "ALG=onesweep,RADIX=8,BLOCK=64,ITEMS=8,RANK=match,COUNT=early,SCATTER=direct,LOOK=16,OVERLAP="
      "on",
      "ALG=tasks,RADIX=11,BLOCK=128,ITEMS=32,COUNT=early,LOOKBACK=early,LOOK=1",
      "ALG=onesweep,RADIX=8,BLOCK=128,ITEMS=16,RESIDENT=4,PACK=2,VALUES=early,PREFETCH=values,LOOK="
      "4",
      "ALG=onesweep,RADIX=7,BLOCK=128,ITEMS=12,WRITE=sectors,LOOKBACK=early,RANK=or,LOOK=1",
      "ALG=onesweep,RADIX=5,BLOCK=64,ITEMS=16,WRITE=sectors,COUNT=early,LOOK=4",
      "ALG=tasks,RADIX=6,BLOCK=64,ITEMS=6,COUNTER=32,LOOK=8,DELAY=20",
      "ALG=cluster,RADIX=8,BLOCK=64,ITEMS=10,CLUSTER=4,LOOK=1",
      "ALG=cluster,RADIX=6,BLOCK=64,ITEMS=6,CLUSTER=8,RANK=match,LOOK=1",
      "ALG=single_block,RADIX=8,BLOCK=384,ITEMS=8,LOOK=1",
      "ALG=single_block,RADIX=4,BLOCK=384,ITEMS=8,RANK=or,LOOK=1",
  };
  for (int i = 0; i < (int)(sizeof configs / sizeof *configs); i++) {
    keys k = {.type = i % 2 ? DTYPE_f32 : DTYPE_u32, .end = 32, .n = 2499};
    sort_two_kinds(b, &k, i % 3 * 4, configs[i], i);
    arena_clear(&b->a);
  }
}

/* Enough tiles for look-back to meet tiles that have not begun; on a GPU more of them. */
BED_TEST(many_tiles_are_sorted) {
  static const struct {
    size_t n;
    int value_bytes;
    const char *config;
  } cases[] = {
      {34567, 4, "RADIX=4,BLOCK=64,ITEMS=4,WRITE=sectors,PREFETCH=half,LOAD=streaming,LOOK=4"},
      {36001, 0, "RADIX=5,BLOCK=64,ITEMS=2,PREFETCH=wave,STORE=streaming,LOOK=1"},
      {41111, 8,
       "RADIX=7,BLOCK=64,ITEMS=4,WRITE=sectors,PREFETCH=half,VALUES=early,LOOK=8,OVERLAP=on"},
      {1300001, 4,
       "BLOCK=256,ITEMS=36,RANK=ballot_mad,RESIDENT=2,PACK=2,PREFETCH=half,LOOK=1,OVERLAP=on"},
      {1000003, 4,
       "BLOCK=256,ITEMS=40,RANK=ballot_mad,RESIDENT=2,PACK=2,VALUES=early,PREFETCH=values,LOOK=8,"
       "OVERLAP=on,WRITE=sectors"},
      {700001, 4,
       "RADIX=11,BLOCK=512,ITEMS=24,RANK=ballot_mad,RESIDENT=2,PACK=2,COUNTER=16,LOOK=4"},
      {1100001, 8,
       "BLOCK=384,ITEMS=20,RESIDENT=2,PACK=2,PREFETCH=half,WRITE=sectors,LOOK=1,OVERLAP=on"},
      {1700001, 0,
       "BLOCK=256,ITEMS=48,RESIDENT=2,COUNT=early,LOOKBACK=early,PREFETCH=half,WRITE=sectors,LOOK=4"}};
  const size_t most = b->d->info.format == RT_PTX ? 100000 : SIZE_MAX;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run r = {.value_bytes = cases[i].value_bytes};
    keys k = {.type = DTYPE_u32, .end = 32, .n = cases[i].n};
    if (k.n > most) {
      continue;
    }
    open_run(b, &r, "radix_sort", arena_format(&b->a, "n=%zu value_bytes=%d", k.n, r.value_bytes),
             arena_format(&b->a, "ALG=onesweep,%s", cases[i].config));
    assert_sorts(b, &r, &k, UNIFORM);
    assert_sorts(b, &r, &k, FEW);
    bed_kernel_close(&r.k);
    arena_clear(&b->a);
  }
}

/* A bucket fits into the registers of a warp, or the bins of a block, in one launch and not in the
 * next. */
BED_TEST(uneven_keys_give_way) {
  static const kind kinds[] = {UNIFORM, FEW, UNIFORM, REVERSED, EQUAL, SPECIAL, OUTLIER};
  static const struct {
    dtype type;
    int end, value_bytes;
    const char *config;
  } cases[] = {
      {DTYPE_u32, 32, 0,
       "ALG=tasks,BLOCK=256,ITEMS=2,BUCKET_ITEMS=2,COUNT=early,RANK=ballot_mad,LOOK=8,DELAY=20"},
      {DTYPE_f32, 32, 4, "ALG=tasks,RADIX=6,BLOCK=64,ITEMS=8,BUCKET_ITEMS=4,COUNT=early"},
      {DTYPE_u64, 61, 8, "ALG=tasks,RADIX=7,BLOCK=128,ITEMS=4,BUCKET_ITEMS=4,COUNT=early"},
      {DTYPE_u32, 32, 0,
       "ALG=ranges,BLOCK=128,ITEMS=4,RANK=ballot_mad,CLUSTER=8,CLUSTERS=4,LOOK=1"},
      {DTYPE_f32, 32, 4,
       "ALG=ranges,BLOCK=64,ITEMS=8,RANK=ballot_mad,CLUSTER=16,CLUSTERS=2,LOOK=1"},
      {DTYPE_u64, 61, 8,
       "ALG=ranges,BLOCK=256,ITEMS=6,RANK=ballot_mad,CLUSTER=2,CLUSTERS=6,LOOK=1"},
      {DTYPE_u64, 64, 0,
       "ALG=ranges,BLOCK=128,ITEMS=6,RANK=ballot_mad,CLUSTER=4,CLUSTERS=7,LOOK=1"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run r = {.value_bytes = cases[i].value_bytes};
    keys k = {.type = cases[i].type, .end = cases[i].end, .n = 2777, .descending = i % 2};
    open_run(b, &r, "radix_sort",
             arena_format(&b->a, "n=2777 dtype=%s value_bytes=%d order=%s end_bit=%d",
                          dtype_name(k.type), r.value_bytes, i % 2 ? "descending" : "ascending",
                          k.end),
             cases[i].config);
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
      assert_sorts(b, &r, &k, kinds[j]);
    }
    bed_kernel_close(&r.k);
    arena_clear(&b->a);
  }
}

BED_TEST(short_keys_are_counted) {
  static const dtype short_types[] = {DTYPE_u8, DTYPE_i16, DTYPE_i8, DTYPE_u16};
  for (int i = 0; i < 4; i++) {
    const dtype t = short_types[i];
    keys k = {.type = t, .descending = i > 1, .end = (int)(8 * dtype_nbytes(t)), .n = 3333};
    sort_two_kinds(b, &k, 0,
                   i % 2 ? "ALG=counting,BLOCK=256,ITEMS=2,LOOK=1"
                         : "ALG=counting,BLOCK=64,ITEMS=8,LOOK=1,COPIES=8",
                   i);
    arena_clear(&b->a);
  }
}

BED_TEST(only_the_given_bits_count) {
  static const struct {
    dtype type;
    int begin, end;
  } cases[] = {{DTYPE_u32, 0, 0},   {DTYPE_u32, 32, 64}, {DTYPE_u32, 31, 32},
               {DTYPE_u64, 20, 41}, {DTYPE_u16, 3, 12},  {DTYPE_u8, 2, 5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int width = (int)(8 * dtype_nbytes(cases[i].type));
    run r = {.value_bytes = 4};
    keys k = {.type = cases[i].type, .n = 1000, .begin = cases[i].begin, .end = cases[i].end};
    open_run(b, &r, "radix_sort",
             arena_format(&b->a, "n=1000 dtype=%s value_bytes=4 begin_bit=%d end_bit=%d",
                          dtype_name(k.type), k.begin, k.end),
             i % 2 ? NULL : "");
    k.end = k.end < width ? k.end : width;
    k.begin = k.begin < k.end ? k.begin : k.end;
    assert_sorts(b, &r, &k, UNIFORM);
    bed_kernel_close(&r.k);
    arena_clear(&b->a);
  }
}

/* Segments of random lengths, empty ones among them. */
static void cut(bed *b, keys *k, size_t n_segments) {
  static const int lengths[] = {0, 1, 3, 7, 31, 32, 33, 90, 256, 257, 700, 2100};
  const int n = (int)k->n;
  k->n_segments = n_segments;
  k->offsets = ARENA_ARRAY(&b->a, int32_t, n_segments + 1);
  assert_non_null(k->offsets);
  k->offsets[0] = 0;
  for (size_t i = 1; i <= n_segments; i++) {
    const int length = lengths[random_next(&b->random) % (sizeof lengths / sizeof *lengths)];
    k->offsets[i] = n - k->offsets[i - 1] < length ? n : k->offsets[i - 1] + length;
  }
  k->offsets[n_segments] = n;
}

BED_TEST(segments_are_sorted) {
  static const char *const configs[] = {
      "GROUP=4,GROUP_ITEMS=1,WARP_ITEMS=1,BLOCK=64,ITEMS=8,RESIDENT=1,LOOK=8",
      "GROUP=32,GROUP_ITEMS=2,WARP_ITEMS=4,RADIX=6,BLOCK=64,ITEMS=4,RANK=match,RESIDENT=8,OVERLAP="
      "on",
      NULL};
  for (int i = 0; i < 4; i++) {
    const dtype t = types[(2 * i + 2) % 12];
    keys k = {.type = t, .descending = i & 1, .end = (int)(8 * dtype_nbytes(t)), .n = 5000};
    run r = {.value_bytes = i % 2 ? 8 : 4};
    open_run(b, &r, "segmented_sort",
             arena_format(&b->a, "n=%zu segments=%d dtype=%s value_bytes=%d order=%s", k.n,
                          1 + 9 * i, dtype_name(t), r.value_bytes,
                          k.descending ? "descending" : "ascending"),
             configs[i % 3]);
    for (kind what = UNIFORM; what < KINDS; what += 3) {
      cut(b, &k, (size_t)(1 + 9 * i));
      assert_sorts(b, &r, &k, what);
    }
    bed_kernel_close(&r.k);
    arena_clear(&b->a);
  }
}

/* The comparison finds a wrong key, a wrong value, and two equal keys in the wrong order. */
BED_TEST(mistakes_are_found) {
  char sorted[] = {1, 2, 2, 9};
  uint32_t indices[] = {3, 0, 2, 1};
  run r = {.value_bytes = 4, .keys = sorted, .values = (char *)indices};
  uint64_t given[] = {2, 9, 2, 1};
  keys k = {.type = DTYPE_u8, .end = 8, .n = 4, .at = given};
  assert_int_equal(first_wrong(b, &r, &k), 4);
  indices[1] = 2, indices[2] = 0;
  assert_int_equal(first_wrong(b, &r, &k), 1);
  indices[1] = 0, indices[2] = 2, sorted[3] = 8;
  assert_int_equal(first_wrong(b, &r, &k), 3);
  k.descending = true;
  assert_int_equal(first_wrong(b, &r, &k), 0);
  assert_true(compare_floats(DTYPE_f32, 0x80000000u, 0) == 0);
  assert_true(compare_floats(DTYPE_f32, 0xffc00000u, 0xff800000u) < 0);
  assert_true(compare_floats(DTYPE_f32, 0x7fc00000u, 0x7f800000u) > 0);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
