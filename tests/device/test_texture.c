/* test_texture.c -- textures, on any device, against a host implementation of the
 * guide's formulas:
 *   build/tests/test_texture [--device NAME]
 * Coordinates and texels of the first tests are such that no result is rounded: they are equal bit
 * for bit on a GPU and on the emulated device. */
#define _GNU_SOURCE
#include <math.h>

#include "texture_fixture.h"

typedef struct float3 {
  float v[3];
} float3;
typedef struct float4 {
  float v[4];
} float4;

/* ---- the host's textures ---- */

typedef struct image { /* what the host knows of a texture */
  rt_texture t;
  int dims[3], rank; /* layers: dims[2] of an image of rank 1 or 2 */
  const float4 *texels;
} image;

/* The texel number i of dimension k, or -1 outside, in the guide's words. */
static int texel_of(const image *m, int k, double i) {
  const int n = m->dims[k];
  const bool periodic = m->t.normalized_coords;
  if (m->t.edge[k] == RT_EDGE_BORDER) {
    return i < 0 || i >= n ? -1 : (int)i;
  }
  if (m->t.edge[k] == RT_EDGE_WRAP && periodic) {
    return (int)(i - n * floor(i / n));
  }
  if (m->t.edge[k] == RT_EDGE_MIRROR && periodic) {
    const double turn = floor(i / n), inside = i - n * turn;
    return (int)(fmod(turn, 2) == 0 ? inside : n - 1 - inside);
  }
  return i < 0 ? 0 : i >= n ? n - 1 : (int)i;
}

static double texel(const image *m, const int at[3], int c) {
  for (int k = 0; k < 3; k++) {
    if (at[k] < 0) {
      return 0;
    }
  }
  return (double)m->texels[(at[2] * m->dims[1] + at[1]) * m->dims[0] + at[0]].v[c];
}

/* The texels around x in each dimension, and the second one's weight in 256ths: 0 if they are one. */
static void find_pairs(const image *m, const float x[3], int pair[3][2], int weight[3]) {
  for (int k = 0; k < m->rank; k++) {
    const double u = (double)x[k] * (m->t.normalized_coords ? m->dims[k] : 1);
    const double i = floor(m->t.linear ? u - 0.5 : u);
    pair[k][0] = texel_of(m, k, i);
    pair[k][1] = m->t.linear ? texel_of(m, k, i + 1) : pair[k][0];
    weight[k] = pair[k][0] == pair[k][1] ? 0 : (int)floor((u - 0.5 - i) * 256 + 0.5);
  }
}

static int share(int whole, int weight) {
  return (int)floor(whole * weight / 256.0 + 0.5);
}

/* The guide's sum of weighted texels, with weights of 8 bits. As the guide does not say how products of
 * weights are rounded, this is what an H200 was seen to do: x and z first, then y. */
static double value_at(const image *m, const float x[3], const int layer[3], int c) {
  int pair[3][2] = {{layer[0], layer[0]}, {layer[1], layer[1]}, {layer[2], layer[2]}};
  int weight[3] = {0};
  double sum = 0;
  find_pairs(m, x, pair, weight);
  const int xz = share(weight[0], weight[2]);
  for (int at = 0; at < 4; at++) {
    const int right = at & 1, far = at >> 1;
    const int column = right && far ? xz
                       : right      ? weight[0] - xz
                       : far        ? weight[2] - xz
                                    : 256 - weight[0] - weight[2] + xz;
    const int high = right ? share(column, weight[1]) : column - share(column, 256 - weight[1]);
    const int low_texel[] = {pair[0][right], pair[1][0], pair[2][far]};
    const int high_texel[] = {pair[0][right], pair[1][1], pair[2][far]};
    sum +=
        (column - high) / 256.0 * texel(m, low_texel, c) + high / 256.0 * texel(m, high_texel, c);
  }
  return sum;
}

static double expected(const image *m, const float x[3], int c) {
  int at[3] = {0};
  if (m->rank < 3 && m->dims[2] > 1) { /* the layer, clamped */
    at[2] = x[2] < 0 ? m->dims[2] - 1 : (int)fminf(x[2], (float)m->dims[2] - 1);
  }
  return value_at(m, x, at, c);
}

/* ---- every dimension, address mode and filter ---- */

enum { W = 8, H = 4, D = 4, PLACES = 192, TEXELS = W * H * D };

static void fill(bed *b, float4 *texels, int n) {
  for (int i = 0; i < n; i++) {
    for (int c = 0; c < 4; c++) {
      texels[i].v[c] = (float)((int)random_below(&b->random, 1024) - 512);
    }
  }
}

/* Places far around the texture, in 512ths of a texel. */
static void choose_places(bed *b, const image *m, float3 *x) {
  for (int i = 0; i < PLACES; i++) {
    for (int k = 0; k < 3; k++) {
      const int n = m->dims[k], range = 512 * 5 * n;
      const float u = (float)((int)random_below(&b->random, (uint64_t)range) - 2 * 512 * n) / 512;
      const bool layer = k == 2 && m->rank < 3;
      x[i].v[k] = layer                    ? (float)((int)random_below(&b->random, (uint64_t)n))
                  : m->t.normalized_coords ? u / (float)n
                                           : u;
    }
  }
}

static bool same(float want, float got) {
  return !memcmp(&want, &got, 4) || (want == 0 && got == 0);
}

/* Prints a line where a kernel's reads differ; returns how many do. */
static int compare(bed *b, const char *kernel, const image *m) {
  float3 x[PLACES];
  float4 y[PLACES];
  int n = 0;
  const rt_object o = texture(b, &m->t);
  choose_places(b, m, x);
  read_at(b, kernel, o, x, sizeof *x, PLACES, y);
  OK(b, b->d->ops->texture_free(b->d, o, &b->e));
  for (int i = 0; i < PLACES; i++) {
    for (int c = 0; c < 4; c++) {
      const float want = (float)expected(m, x[i].v, c);
      const bool differs = !same(want, y[i].v[c]);
      if (differs && !n) {
        print_error("%s, edges %d %d %d, linear %d, normalized %d: channel %d at %g %g %g is %a, "
                    "not %a\n",
                    kernel, m->t.edge[0], m->t.edge[1], m->t.edge[2], m->t.linear,
                    m->t.normalized_coords, c, (double)x[i].v[0], (double)x[i].v[1],
                    (double)x[i].v[2], (double)y[i].v[c], (double)want);
      }
      n += differs;
    }
  }
  if (n) {
    print_error("%s: %d of %d values differ\n", kernel, n, 4 * PLACES);
  }
  return n;
}

/* All address modes, filters and kinds of coordinates of one kernel and array. */
static int sweep(bed *b, const char *kernel, image *m) {
  int n = 0;
  for (int edge = 0; edge < 4; edge++) {
    for (int how = 0; how < 4; how++) {
      m->t.edge[0] = (rt_edge)edge;
      m->t.edge[1] = m->rank > 1 ? (rt_edge)((edge + how) % 4) : RT_EDGE_CLAMP;
      m->t.edge[2] = m->rank > 2 ? (rt_edge)((edge + 3 * how) % 4) : RT_EDGE_CLAMP;
      m->t.linear = how & 1;
      m->t.normalized_coords = how & 2;
      n += compare(b, kernel, m);
    }
  }
  return n;
}

BED_TEST(test_dimensions) {
  static const struct {
    const char *kernel;
    int rank;
    rt_array_shape shape;
  } all[] = {{"at_1d", 1, {DTYPE_f32, 4, {W, 0, 0}, 0, 0, 0}},
             {"at_2d", 2, {DTYPE_f32, 4, {W, H, 0}, 0, 0, 0}},
             {"at_3d", 3, {DTYPE_f32, 4, {W, H, D}, 0, 0, 0}},
             {"at_a1d", 1, {DTYPE_f32, 4, {W, 0, D}, true, 0, 0}},
             {"at_a2d", 2, {DTYPE_f32, 4, {W, H, D}, true, 0, 0}},
             {"lod_2d", 2, {DTYPE_f32, 4, {W, H, 0}, 0, 0, 0}}};
  float4 texels[TEXELS];
  int n = 0, deep = 0;
  fill(b, texels, TEXELS);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    rt_array *a = array_of(b, &all[i].shape, texels);
    image m = {.t.array = a, .rank = all[i].rank, .texels = texels};
    for (int k = 0; k < 3; k++) {
      m.dims[k] = all[i].shape.dims[k] ? (int)all[i].shape.dims[k] : 1;
    }
    *(m.rank == 3 ? &deep : &n) += sweep(b, all[i].kernel, &m);
    b->d->ops->array_free(b->d, a);
  }
  assert_int_equal(n, 0);
  /* Of 1,524 interpolated places in three dimensions an H200 weighs three in another way. */
  assert_in_range(deep, 0, rt_emu_is(b->d) ? 0 : PLACES * 16 * 4 / 200);
}

/* What a card does with a border in a dimension that the texture lacks. */
BED_TEST(test_border_beside_a_line) {
  float4 texels[W], y[W];
  float3 x[W];
  fill(b, texels, W);
  rt_array *a =
      array_of(b, &(rt_array_shape){.type = DTYPE_f32, .channels = 4, .dims = {W}}, texels);
  const rt_object o = texture(b, &(rt_texture){.array = a,
                                               .edge = {RT_EDGE_WRAP, RT_EDGE_BORDER},
                                               .linear = true,
                                               .normalized_coords = true});
  for (int i = 0; i < W; i++) {
    x[i] = (float3){{((float)i + 0.5f) / W, 0, 0}};
  }
  read_at(b, "at_1d", o, x, sizeof *x, W, y);
  for (int i = 0; i < 4 * W; i++) {
    assert_true(y[i / 4].v[i % 4] == texels[i / 4].v[i % 4] / 2);
  }
  OK(b, b->d->ops->texture_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
}

BED_TEST(test_pitched_memory) {
  enum { PITCH = 7 * 32 };
  uint8_t rows[H * PITCH];
  float4 texels[W * H];
  fill(b, texels, W * H);
  memset(rows, 0xff, sizeof rows);
  for (int y = 0; y < H; y++) {
    memcpy(rows + y * PITCH, texels + y * W, W * sizeof *texels);
  }
  rt_ptr p = bed_put(b, rows, sizeof rows);
  image m = {
      .t = {.at = p, .type = DTYPE_f32, .channels = 4, .width = W, .height = H, .pitch = PITCH},
      .dims = {W, H, 1},
      .rank = 2,
      .texels = texels};
  assert_int_equal(sweep(b, "at_2d", &m), 0);
  bed_free(b, p);
}

/* ---- formats ---- */

/* What a read returns of a channel. */
static double channel_value(dtype t, uint64_t bits, bool normalized) {
  const double v = dtype_decode(t, bits), n = 8.0 * (double)dtype_nbytes(t);
  return !normalized          ? v
         : dtype_is_signed(t) ? fmax(v / (pow(2, n - 1) - 1), -1)
                              : v / (pow(2, n) - 1);
}

static void check_format(bed *b, dtype t, int channels, bool normalized) {
  enum { N = 64 };
  const bool numbers = normalized || dtype_is_float(t);
  const size_t one = dtype_nbytes(t);
  uint8_t bytes[N * 16];
  int32_t x[N];
  uint32_t y[N][4];
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = (uint8_t)random_below(&b->random, dtype_is_float(t) ? 0x70 : 256);
  }
  rt_ptr p = bed_put(b, bytes, N * one * (size_t)channels);
  const rt_object o = texture(
      b, &(rt_texture){
             .at = p, .type = t, .channels = channels, .width = N, .normalized = normalized});
  for (int i = 0; i < N; i++) {
    x[i] = i * 7 % (N + 8) - 4; /* some outside, which read as zeros */
  }
  read_at(b, numbers ? "fetch_f32" : "fetch_u32", o, x, sizeof *x, N, y);
  for (int i = 0; i < N; i++) {
    for (int c = 0; c < 4; c++) {
      uint64_t bits = 0;
      const bool inside = x[i] >= 0 && x[i] < N && c < channels;
      memcpy(&bits, bytes + (inside ? (size_t)x[i] * (size_t)channels + (size_t)c : 0) * one, one);
      const double want = inside ? channel_value(t, bits, normalized) : 0;
      float got;
      memcpy(&got, &y[i][c], 4);
      const bool equal = numbers ? got == (float)want : y[i][c] == (uint32_t)(int64_t)want;
      if (!equal) {
        fail_msg("%s x %d%s at %d: channel %d is 0x%x, not %g", dtype_name(t), channels,
                 normalized ? " normalized" : "", x[i], c, y[i][c], want);
      }
    }
  }
  OK(b, b->d->ops->texture_free(b->d, o, &b->e));
  bed_free(b, p);
}

BED_TEST(test_formats) {
  static const dtype types[] = {DTYPE_u8,  DTYPE_i8,  DTYPE_u16, DTYPE_i16,
                                DTYPE_u32, DTYPE_i32, DTYPE_f16, DTYPE_f32};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    for (int channels = 1; channels <= 4; channels *= 2) {
      check_format(b, types[i], channels, false);
      if (dtype_nbytes(types[i]) < 4 && !dtype_is_float(types[i])) {
        check_format(b, types[i], channels, true);
      }
    }
  }
}

/* Numbers whose sums are rounded differ from the card's by its own arithmetic: by less than one of
 * the steps of the fraction. */
BED_TEST(test_interpolated_bytes) {
  enum { N = 16, AT = 128 };
  uint8_t texels[N];
  float3 x[AT];
  float4 y[AT], as_numbers[N];
  for (int i = 0; i < N; i++) {
    texels[i] = (uint8_t)random_below(&b->random, 256);
    as_numbers[i] = (float4){{(float)texels[i] / 255, 0, 0, 0}};
  }
  rt_array *a =
      array_of(b, &(rt_array_shape){.type = DTYPE_u8, .channels = 1, .dims = {N}}, texels);
  const image m = {.t = {.array = a, .linear = true, .normalized = true, .normalized_coords = true},
                   .dims = {N, 1, 1},
                   .rank = 1,
                   .texels = as_numbers};
  for (int i = 0; i < AT; i++) {
    x[i] = (float3){{(float)i / 77 - 0.3f, 0, 0}};
  }
  const rt_object o = texture(b, &m.t);
  read_at(b, "at_1d", o, x, sizeof *x, AT, y);
  for (int i = 0; i < AT; i++) {
    assert_true(fabs((double)y[i].v[0] - expected(&m, x[i].v, 0)) < 1.0 / 256);
  }
  OK(b, b->d->ops->texture_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
}

BED_TEST(test_gather) {
  enum { AT = 4 };
  float4 texels[W * H], y[AT];
  /* the third is the guide's example: the fraction of 2.49805 - 0.5 rounds up to 2 */
  const float3 x[AT] = {{{2.5f, 1.5f, 0}}, {{2.25f, 1.75f, 0}}, {{2.49805f, 1.6f, 0}}, {{0, 0, 0}}};
  const int low[AT][2] = {{2, 1}, {1, 1}, {2, 1}, {-1, -1}};
  fill(b, texels, W * H);
  rt_array *a = array_of(
      b, &(rt_array_shape){.type = DTYPE_f32, .channels = 4, .dims = {W, H}, .gather = true},
      texels);
  image m = {.t = {.array = a, .edge = {RT_EDGE_CLAMP, RT_EDGE_CLAMP, RT_EDGE_CLAMP}},
             .dims = {W, H, 1},
             .texels = texels};
  const rt_object o = texture(b, &m.t);
  read_at(b, "gather", o, x, sizeof *x, AT, y);
  for (int i = 0; i < AT; i++) {
    const int right[] = {0, 1, 1, 0}, down[] = {1, 1, 0, 0};
    for (int c = 0; c < 4; c++) {
      const int at[] = {texel_of(&m, 0, low[i][0] + right[c]), texel_of(&m, 1, low[i][1] + down[c]),
                        0};
      assert_true((double)y[i].v[c] == texel(&m, at, 1));
    }
  }
  OK(b, b->d->ops->texture_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
}

/* Texels read as f16: whole numbers below 2048 are exact. */
BED_TEST(test_halves) {
  enum { AT = 5 };
  uint16_t texels[W * H];
  float3 x[AT];
  float4 y[AT];
  for (int i = 0; i < W * H; i++) {
    texels[i] = (uint16_t)dtype_encode(DTYPE_f16, 100 + i);
  }
  rt_array *a =
      array_of(b, &(rt_array_shape){.type = DTYPE_f16, .channels = 1, .dims = {W, H}}, texels);
  const rt_object o = texture(b, &(rt_texture){.array = a});
  for (int i = 0; i < AT; i++) {
    x[i] = (float3){{(float)i + 0.5f, (float)(i % H) + 0.5f, 0}};
  }
  read_at(b, "halves_2d", o, x, sizeof *x, AT, y);
  for (int i = 0; i < AT; i++) {
    const float4 expected = {{(float)(100 + i % H * W + i), 0, 0, 0}};
    if (memcmp(&y[i], &expected, sizeof expected) != 0) {
      fail_msg("texel %d is %g %g %g %g, not %g 0 0 0", i, (double)y[i].v[0], (double)y[i].v[1],
               (double)y[i].v[2], (double)y[i].v[3], (double)expected.v[0]);
    }
  }
  OK(b, b->d->ops->texture_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
}

/* Integers of an array, a texture chosen by each thread, and queries. */
BED_TEST(test_integers_and_handles) {
  enum { N = 32 };
  uint16_t texels[W * H];
  float first[4] = {1, 2, 3, 4}, second[4] = {10, 20, 30, 40}, out[N];
  uint32_t y[1][4];
  int size[3];
  for (int i = 0; i < W * H; i++) {
    texels[i] = (uint16_t)(1000 + i);
  }
  rt_array *a = array_of(b, &(rt_array_shape){.type = DTYPE_u16, .channels = 1, .dims = {W, H}},
                         texels),
           *p = array_of(b, &(rt_array_shape){.type = DTYPE_f32, .channels = 1, .dims = {4, 1}},
                         first),
           *q = array_of(b, &(rt_array_shape){.type = DTYPE_f32, .channels = 1, .dims = {4, 1}},
                         second);
  rt_object t = texture(b, &(rt_texture){.array = a}), u = texture(b, &(rt_texture){.array = p}),
            v = texture(b, &(rt_texture){.array = q});
  read_at(b, "whole_2d", t, &(float3){{3.5f, 2.25f, 0}}, sizeof(float3), 1, y);
  assert_int_equal(y[0][0], 1000 + 2 * W + 3);
  rt_ptr to = bed_alloc(b, sizeof out);
  int n = N;
  void *args[] = {&u, &v, &n, &to}, *query[] = {&t, &to};
  OK(b, launch(b, "either", threads(N), args));
  bed_get(b, out, to, sizeof out);
  for (int i = 0; i < N; i++) {
    assert_true(out[i] == (i % 3 ? first : second)[i % 4]);
  }
  OK(b, launch(b, "sizes", threads(1), query));
  bed_get(b, size, to, sizeof size);
  assert_true(size[0] == W && size[1] == H);
  bed_free(b, to);
  rt_object objects[] = {t, u, v};
  for (int i = 0; i < 3; i++) {
    OK(b, b->d->ops->texture_free(b->d, objects[i], &b->e));
  }
  b->d->ops->array_free(b->d, a);
  b->d->ops->array_free(b->d, p);
  b->d->ops->array_free(b->d, q);
}

int main(int argc, char **argv) {
  return texture_tests(argc, argv);
}
