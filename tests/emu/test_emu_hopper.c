/* test_emu_hopper.c -- mbarriers, bulk copies, clusters and tensor maps, and the faults they invite.
 * `--device 0` runs the kernels without faults on a GPU of compute capability 9.0. */
#include "emu_fixture.h"
#include "open_device.h"

static fixture k;
static const char *device = "emu";

static void open_device_fixture(void) {
  k = (fixture){0};
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
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

static void refuse_odd_coordinate(void) {
  const tile t = {2, {6, 0, 0}, {8, 4, 1}, 0};
  static float data[NZ * NY * PITCH];
  rt_tensor_map map;
  int dims = 2, x = 6, zero = 0;
  uint32_t nbytes = 128;
  rt_ptr from = fixture_copy(&k, data, sizeof data), out = fixture_alloc(&k, 128);
  void *args[] = {&map, &map, &dims, &x, &zero, &zero, &nbytes, &out, &zero};
  describe(&t, from, &map);
  assert_int_equal(fixture_launch(&k, "tile", 1, 32, 0, args), ERR_LAUNCH);
  assert_non_null(strstr(k.e.message, "byte 24 of a row: it must be a multiple of 16"));
  k.e = (err){0};
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
  if (rt_emu_is(k.d)) {
    refuse_odd_coordinate();
  }
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

/* Only loads begin below 0. */
static bool may_store(const column *t) {
  return t->lower[0] >= 0 && t->lower[1] >= 0;
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
      assert_true(!to || !may_store(t) || *to == got);
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
  int at[4], store = may_store(t);
  memcpy(at, t->at, sizeof at);
  void *args[] = {&maps[0], &maps[1], &at[0], &at[1],  &at[2],
                  &at[3],   &dx,      &dy,    &nbytes, (void *)(uintptr_t)&out,
                  &store};
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

/* the finding for a copy from (0, 0) of an image by a map of t */
static void refuse_column(const rt_tensor *t, int image, int store, const char *why) {
  rt_tensor_map map;
  int zero = 0, nbytes = 0;
  uint16_t none = 0;
  rt_ptr out = fixture_alloc(&k, 64);
  void *args[] = {&map, &map, &zero, &zero, &zero, &image, &none, &none, &nbytes, &out, &store};
  k.e = (err){0};
  fixture_ok(&k, k.d->ops->tensor_map(k.d, t, &map, &k.e));
  assert_int_equal(fixture_launch(&k, "column", 1, 32, 0, args), ERR_LAUNCH);
  if (!strstr(k.e.message, why)) {
    fail_msg("%s", k.e.message);
  }
}

static void refuse_columns(rt_tensor t) {
  static float images[IMAGES];
  t.at = fixture_copy(&k, images, sizeof images);
  t.upper[0] = 0;
  t.lower[0] = 1;
  refuse_column(
      &t, 0, 0,
      "from coordinate 0 in dimension 1, outside of the tensor map's box of pixels, 1 to 4");
  t.lower[0] = 0;
  t.upper[0] = -1;
  t.lower[1] = -1;
  refuse_column(&t, 0, 1,
                "box of pixels begins at -1 in dimension 2: only loads may begin below 0");
  t.lower[1] = 0;
  refuse_column(&t, -1, 1, "stores columns (im2col) at coordinate -1 in dimension 3: only loads");
  t.pixels = 0;
  refuse_column(&t, 0, 0, "copies columns (im2col) by a tensor map of tiles");
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
  if (rt_emu_is(k.d)) {
    refuse_columns(bad);
  }
  fixture_close(&k);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
