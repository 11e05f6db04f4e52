/* test_typed_calls.c -- what libtuned's typed calls compute, on streams, from many threads, and
 * with nothing to compute. Runs on any device: test_typed_calls [--device NAME]. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>

#include "serve_fixture.h"

CONTEXT_TEST(saxpy_computes) {
  for (size_t n = 0; n < 70; n += 3) {
    assert_true(saxpy_is_right(f, n));
  }
  assert_true(saxpy_is_right(f, 10000));
}

static float host_product(const float *a, const float *b, int m, int n, int k, int i, int j) {
  double sum = 0; /* A' is k x m, B' is n x k */
  for (int l = 0; l < k; l++) {
    sum += (double)a[l + i * k] * b[j + l * n];
  }
  (void)m;
  return (float)sum;
}

CONTEXT_TEST(sgemm_computes) {
  enum { M = 21, N = 17, K = 9, LDC = 23 };
  float a[M * K], b[N * K], c[N * LDC];
  fill(a, M * K, -1, 0.02f);
  fill(b, N * K, 2, -0.03f);
  fill(c, N * LDC, 7, 0);
  float *da = vector_new(f, a, M * K), *db_ = vector_new(f, b, N * K),
        *dc = vector_new(f, c, N * LDC);
  OK(f, tuned_sgemm(f->ctx, NULL, 'C', 'T', M, N, K, 1, da, K, db_, N, 0, dc, LDC, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, c, dc, sizeof c, &f->err));
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < LDC; i++) {
      const float expected = i < M ? host_product(a, b, M, N, K, i, j) : 7;
      assert_true(fabsf(c[i + j * LDC] - expected) < 1e-4f);
    }
  }
}

/* With values, and without them, when their addresses are ignored. */
CONTEXT_TEST(radix_sort_sorts) {
  enum { N = 500 };
  float keys[N], sorted[N];
  uint32_t order[N];
  for (uint32_t i = 0; i < N; i++) {
    keys[i] = (float)(i * 7919 % N) - 250;
    order[i] = i;
  }
  float *in = vector_new(f, keys, N), *out = vector_new(f, keys, N);
  void *values = vector_new(f, (void *)order, N), *moved = vector_new(f, keys, N);
  OK(f, tuned_radix_sort(f->ctx, NULL, "f32", "descending", 0, 32, 4, N, in, out, values, moved,
                         &f->err));
  OK(f, tuned_copy_to_host(f->ctx, sorted, out, sizeof sorted, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, order, moved, sizeof order, &f->err));
  for (int i = 0; i < N; i++) {
    assert_true(sorted[i] == (float)(N - 1 - i) - 250 && keys[order[i]] == sorted[i]);
  }
  OK(f,
     tuned_radix_sort(f->ctx, NULL, "f32", "ascending", 0, 32, 0, N, in, out, NULL, NULL, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, sorted, out, sizeof sorted, &f->err));
  for (int i = 0; i < N; i++) {
    assert_true(sorted[i] == (float)i - 250);
  }
  REFUSED(f, TUNED_E_USAGE, "aligned to 8",
          tuned_radix_sort(f->ctx, NULL, "f32", "ascending", 0, 32, 8, N / 4, in, out,
                           (uint32_t *)values + 1, moved, &f->err));
}

/* Rows apart, at any address; weights that are the default's or not. */
CONTEXT_TEST(rgb_to_grey_computes) {
  enum { WIDTH = 21, HEIGHT = 3, PITCH = 70 };
  uint8_t from[HEIGHT * PITCH], to[HEIGHT * PITCH], *src, *dst;
  for (int i = 0; i < HEIGHT * PITCH; i++) {
    from[i] = (uint8_t)(i * 37);
    to[i] = 1;
  }
  OK(f, tuned_alloc(f->ctx, sizeof from, (void **)&src, &f->err));
  OK(f, tuned_alloc(f->ctx, sizeof to, (void **)&dst, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, src, from, sizeof from, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, dst, to, sizeof to, &f->err));
  OK(f, tuned_rgb_to_grey(f->ctx, NULL, 3, WIDTH, HEIGHT, 0.21, 0.72, 0.07, "truncate", src + 1,
                          PITCH - 1, dst, WIDTH + 2, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, to, dst, sizeof to, &f->err));
  for (int i = 0; i < HEIGHT * (WIDTH + 2); i++) {
    const uint8_t *p = from + 1 + i / (WIDTH + 2) * (PITCH - 1) + i % (WIDTH + 2) * 3;
    const int level = (21 * p[0] + 72 * p[1] + 7 * p[2]) / 100;
    assert_int_equal(to[i], i % (WIDTH + 2) < WIDTH ? level : 1);
  }
  OK(f, tuned_rgb_to_grey(f->ctx, NULL, 3, WIDTH, HEIGHT, 1, 1, 1, "nearest", src, PITCH, dst,
                          WIDTH, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, to, dst, sizeof to, &f->err));
  assert_int_equal(to[1], from[3] + from[4] + from[5] > 255 ? 255 : from[3] + from[4] + from[5]);
  OK(f, tuned_rgb_to_grey(f->ctx, NULL, 3, 0, 5, 1, 1, 1, "nearest", NULL, 0, NULL, 0, &f->err));
  REFUSED(f, TUNED_E_USAGE, "src_pitch is less",
          tuned_rgb_to_grey(f->ctx, NULL, 3, WIDTH, HEIGHT, 1, 1, 1, "nearest", src, 62, dst, WIDTH,
                            &f->err));
}

static int mean_of(const uint8_t *image, int width, int height, int pitch, int radius, int x,
                   int y) {
  int sum = 0, n = 0;
  for (int j = y - radius; j <= y + radius; j++) {
    for (int i = x - radius; i <= x + radius; i++) {
      if (i >= 0 && i < width && j >= 0 && j < height) {
        sum += image[j * pitch + i];
        n++;
      }
    }
  }
  return sum / n;
}

/* Windows smaller and larger than the image, aligned or not. */
CONTEXT_TEST(box_blur_computes) {
  enum { WIDTH = 29, HEIGHT = 7, PITCH = 32 };
  static const int radii[] = {0, 1, 5, 40};
  uint8_t from[HEIGHT * PITCH + 1], to[HEIGHT * PITCH], *src, *dst;
  for (int i = 0; i < HEIGHT * PITCH + 1; i++) {
    from[i] = (uint8_t)(i * 91);
  }
  OK(f, tuned_alloc(f->ctx, sizeof from, (void **)&src, &f->err));
  OK(f, tuned_alloc(f->ctx, sizeof to, (void **)&dst, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, src, from, sizeof from, &f->err));
  for (int k = 0; k < 8; k++) {
    const int radius = radii[k / 2], shift = k % 2;
    OK(f, tuned_box_blur(f->ctx, NULL, "u8", WIDTH, HEIGHT, radius, "shrink", src + shift, PITCH,
                         dst, PITCH, &f->err));
    OK(f, tuned_copy_to_host(f->ctx, to, dst, sizeof to, &f->err));
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
      const int x = i % WIDTH, y = i / WIDTH;
      assert_int_equal(to[y * PITCH + x],
                       mean_of(from + shift, WIDTH, HEIGHT, PITCH, radius, x, y));
    }
  }
  REFUSED(f, TUNED_E_USAGE, "border must be one of",
          tuned_box_blur(f->ctx, NULL, "u8", WIDTH, HEIGHT, 1, "wrap", src, PITCH, dst, PITCH,
                         &f->err));
}

/* A number that is none is in the means of its windows, and in no others. */
CONTEXT_TEST(box_blur_keeps_nans_in_their_windows) {
  enum { WIDTH = 40, HEIGHT = 36, X = 20, Y = 9, R = 3 };
  float from[HEIGHT * WIDTH], to[HEIGHT * WIDTH];
  fill(from, HEIGHT * WIDTH, 1, 0);
  from[Y * WIDTH + X] = NAN;
  float *src = vector_new(f, from, HEIGHT * WIDTH), *dst = vector_new(f, from, HEIGHT * WIDTH);
  OK(f, tuned_box_blur(f->ctx, NULL, "f32", WIDTH, HEIGHT, R, "replicate", src, WIDTH, dst, WIDTH,
                       &f->err));
  OK(f, tuned_copy_to_host(f->ctx, to, dst, sizeof to, &f->err));
  for (int i = 0; i < HEIGHT * WIDTH; i++) {
    const bool has = abs(i % WIDTH - X) <= R && abs(i / WIDTH - Y) <= R;
    assert_true(has ? isnan(to[i]) : fabsf(to[i] - 1) < 1e-6f);
  }
}

/* Two steps of a mean along the rows of an image: three points decide each step. */
CONTEXT_TEST(stencil_computes) {
  enum { NX = 7, NY = 5 };
  float u[NX * NY] = {0}, v[NX * NY];
  u[2 * NX + 3] = 16;
  float *from = vector_new(f, u, NX * NY), *to = vector_new(f, u, NX * NY);
  OK(f, tuned_stencil(f->ctx, NULL, "star", 1, 2, "f32", NX, NY, 1, 2, "zero", 0.5, 0.25, 0, 0, 0,
                      from, to, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, v, to, sizeof v, &f->err));
  assert_true(v[2 * NX + 3] == 8 && v[2 * NX + 4] == 4 && v[2 * NX + 5] == 1 && v[3 * NX + 4] == 2);
  REFUSED(f, TUNED_E_USAGE, "box",
          tuned_stencil(f->ctx, NULL, "ball", 1, 2, "f32", NX, NY, 1, 2, "zero", 0.5, 0.25, 0, 0, 0,
                        from, to, &f->err));
}

/* A filter of one tap, in either memory, of rows that are aligned or not, and taps along each axis. */
CONTEXT_TEST(conv3d_computes) {
  enum { N = 6, LD = 9, COUNT = N * N * LD };
  static const float three[3] = {0, 3, 0};
  float cube[27] = {0}, x[COUNT + 1], y[COUNT];
  cube[13] = 27;
  for (int i = 0; i <= COUNT; i++) {
    x[i] = (float)i;
  }
  float *from = vector_new(f, x, COUNT + 1), *to = vector_new(f, x, COUNT);
  float *f1 = vector_new(f, three, 3), *f3 = vector_new(f, cube, 27);
  for (int way = 0; way < 6; way++) {
    const int shift = way % 2, host = way / 2 == 1, product = way / 2 == 2;
    const float *taps = product ? f1 : host ? cube : f3, *axis = product ? f1 : NULL;
    OK(f,
       tuned_conv3d(f->ctx, NULL, N, N, N, 1, 1, 1, "mirror", "f32", product ? "separable" : "full",
                    host ? "host" : "device", from + shift, LD, taps, axis, axis, to, LD, &f->err));
    OK(f, tuned_copy_to_host(f->ctx, y, to, sizeof y, &f->err));
    for (int i = 0; i < N * N * N; i++) {
      const int at = i / N * LD + i % N;
      assert_true(y[at] == 27 * x[at + shift]);
    }
  }
  REFUSED(f, TUNED_E_USAGE, "ldx is less than the columns of x",
          tuned_conv3d(f->ctx, NULL, N, N, N, 1, 1, 1, "zero", "f32", "full", "device", from, N - 1,
                       f3, NULL, NULL, to, LD, &f->err));
}

/* Two charges on a line, whose energies are added to what is there. */
CONTEXT_TEST(coulomb_computes) {
  static const float atoms[] = {0, 0, 0, 2, 9, 0, 0, 6};
  float energy[4] = {1, 1, 1, 1};
  float *from = vector_new(f, atoms, 8), *to = vector_new(f, energy, 4);
  OK(f, tuned_coulomb(f->ctx, NULL, 4, 1, 1, 1.5f, 1, 0, 0, 2, from, 0, 0, to, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, energy, to, sizeof energy, &f->err));
  assert_true(fabsf(energy[0] - 3.75f) < 1e-5f && fabsf(energy[2] - 2.7f) < 1e-5f);
  OK(f, tuned_coulomb(f->ctx, NULL, 4, 1, 1, 1.5f, 1, 0, 0, 2, from, 3, 0, to, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, energy, to, sizeof energy, &f->err));
  assert_true(fabsf(energy[0] - 5.75f) < 1e-5f && fabsf(energy[2] - 2.7f) < 1e-5f);
  REFUSED(f, TUNED_E_USAGE, "spacing is above 0",
          tuned_coulomb(f->ctx, NULL, 4, 1, 1, 0, 1, 0, 0, 2, from, 3, 0, to, &f->err));
}

/* An arch of five points, a curve that is one point, and one that is too short for its curvature. */
CONTEXT_TEST(bezier_computes) {
  static const float control[] = {0, 0, 1, 2, 2, 0, 3, 3, 3, 3, 3, 3, 1, 1, 9, 9, 1, 1};
  static const float arch[] = {0, 0, 0.5f, 0.75f, 1, 1, 1.5f, 0.75f, 2, 0};
  float points[30] = {0}, room[8] = {0};
  int64_t starts[4];
  float *from = vector_new(f, control, 18), *to = vector_new(f, points, 30);
  int64_t *begin = (int64_t *)vector_new(f, room, 8);
  OK(f, tuned_bezier(f->ctx, NULL, 3, from, 5, to, begin, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, points, to, sizeof points, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, starts, begin, sizeof starts, &f->err));
  assert_true(starts[0] == 0 && starts[1] == 5 && starts[2] == 9 && starts[3] == 14);
  for (int i = 0; i < 28; i++) {
    const float exact = i < 10 ? arch[i] : i < 18 ? 3 : i / 2 == 9 || i / 2 == 13 ? 1 : points[i];
    assert_true(fabsf(points[i] - exact) < 1e-6f);
  }
}

/* Points on the lines between quadrants belong to the right and the upper one; a NaN is refused. */
CONTEXT_TEST(quadtree_computes) {
  static const int32_t expected[5][3] = {{1, 0, 4}, {4, 0, 1}, {5, 1, 0}, {6, 1, 1}, {7, 2, 2}};
  float xs[] = {0.5f, 0.25f, 0.75f, 0}, ys[] = {0.5f, 0.25f, 2, 0.5f}, room[20] = {0};
  int32_t nodes[20], count, order[4];
  float *x = vector_new(f, xs, 4), *y = vector_new(f, ys, 4);
  int32_t *tree = (int32_t *)vector_new(f, room, 20), *n = (int32_t *)vector_new(f, room, 1),
          *who = (int32_t *)vector_new(f, room, 4);
  OK(f, tuned_quadtree(f->ctx, NULL, 4, x, y, 2, 1, 0, 0, 1, 1, tree, n, who, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, nodes, tree, sizeof nodes, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &count, n, sizeof count, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, order, who, sizeof order, &f->err));
  assert_true(count == 5 && nodes[3] == 1 && order[0] == 1 && order[1] == 3);
  assert_true(order[2] + order[3] == 2);
  for (int i = 0; i < 5; i++) {
    assert_memory_equal(&nodes[4 * i], expected[i], sizeof expected[i]);
  }
  xs[2] = NAN;
  OK(f, tuned_copy_to_device(f->ctx, x, xs, sizeof xs, &f->err));
  OK(f, tuned_quadtree(f->ctx, NULL, 4, x, y, 2, 1, 0, 0, 1, 1, tree, n, who, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &count, n, sizeof count, &f->err));
  assert_int_equal(count, -1);
}

/* Values of 4 and 8 bytes are read whole. */
CONTEXT_TEST(values_of_merges_are_aligned) {
  enum { N = 64 };
  float x[4 * N] = {0};
  uint8_t *p = (uint8_t *)vector_new(f, x, 4 * N), *q = (uint8_t *)vector_new(f, x, 4 * N);
  OK(f, tuned_merge_sort(f->ctx, NULL, "f32", 4, N, p, p + 4, q, q + 4 * N, &f->err));
  REFUSED(f, TUNED_E_USAGE, "aligned to their size",
          tuned_merge_sort(f->ctx, NULL, "f32", 4, N, p, p + 2, q, q + 4 * N, &f->err));
  REFUSED(f, TUNED_E_USAGE, "aligned to their size",
          tuned_merge_sort(f->ctx, NULL, "u8", 8, N, p, p + 4 * N, q, q + 4, &f->err));
  REFUSED(f, TUNED_E_USAGE, "aligned to their size",
          tuned_merge(f->ctx, NULL, "i32", 4, 8, 8, p, p + 1, p, p + 4, q, q + 4 * N, &f->err));
  OK(f, tuned_merge(f->ctx, NULL, "i32", 0, 8, 8, p, p + 1, p, NULL, q, NULL, &f->err));
}

/* The last segment ends at n, and one is empty. */
CONTEXT_TEST(segments_are_served) {
  enum { N = 100, SEGMENTS = 4 };
  static const int starts[SEGMENTS] = {0, 30, 30, 65}, ends[SEGMENTS] = {30, 30, 65, N};
  float x[N], y[N], sums[SEGMENTS];
  fill(x, N, 1, 0);
  float *dx = vector_new(f, x, N), *dy = vector_new(f, x, N);
  void *at = vector_new(f, (const void *)starts, SEGMENTS);
  OK(f, tuned_segmented_reduce(f->ctx, NULL, "sum", "f32", N, SEGMENTS, at, dx, dy, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, sums, dy, sizeof sums, &f->err));
  OK(f, tuned_segmented_scan(f->ctx, NULL, "exclusive", "sum", "f32", N, SEGMENTS, at, dx, dy,
                             &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, dy, sizeof y, &f->err));
  for (int s = 0; s < SEGMENTS; s++) {
    assert_true(sums[s] == (float)(ends[s] - starts[s]));
    for (int i = starts[s]; i < ends[s]; i++) {
      assert_true(y[i] == (float)(i - starts[s]));
    }
  }
}

CONTEXT_TEST(sgemm_of_nothing_scales) {
  float host[6] = {1, 2, 3, 4, 5, 6};
  float *p = vector_new(f, host, 6), *c = vector_new(f, host, 6);
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 'n', 3, 2, 0, 1, p, 3, p, 1, 2, c, 3, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, host, c, sizeof host, &f->err));
  for (int i = 0; i < 6; i++) {
    assert_true(host[i] == 2 * (float)(i + 1));
  }
}

/* Whole numbers from -5 to 5, so that sums are exact. */
static void fill_whole(float *x, size_t n, int first) {
  for (size_t i = 0; i < n; i++) {
    x[i] = (float)((int)((size_t)first + 7 * i) % 11 - 5);
  }
}

CONTEXT_TEST(gemv_computes) {
  enum { M = 21, N = 13, LDA = 24 };
  float a[N * LDA], x[2 * M], y[N], out[N];
  fill_whole(a, N * LDA, 1);
  fill_whole(x, 2 * M, 2);
  fill_whole(y, N, 3);
  float *da = vector_new(f, a, N * LDA), *dx = vector_new(f, x, 2 * M), *dy = vector_new(f, y, N);
  OK(f, tuned_gemv(f->ctx, NULL, 'T', "f32", M, N, 2, da, LDA, dx, -2, -1, dy, 1, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, out, dy, sizeof out, &f->err));
  for (int j = 0; j < N; j++) {
    float expected = -y[j];
    for (int i = 0; i < M; i++) {
      expected += 2 * a[i + j * LDA] * x[2 * (M - 1 - i)];
    }
    assert_true(out[j] == expected);
  }
  REFUSED(f, TUNED_E_USAGE, "incx is 0",
          tuned_gemv(f->ctx, NULL, 'n', "f32", M, N, 1, da, LDA, dx, 0, 0, dy, 1, &f->err));
}

/* Whether element i of C = A B is right; the matrices are 2 x 3 and 3 x 4, one after the other. */
static bool is_product(const float *a, const float *b, const float *c, int i) {
  const int matrix = i / 8, row = i % 2, column = i / 2 % 4;
  float expected = 0;
  for (int p = 0; p < 3; p++) {
    expected += a[6 * matrix + row + 2 * p] * b[12 * matrix + p + 3 * column];
  }
  return c[i] == expected;
}

CONTEXT_TEST(gemm_batched_computes) {
  enum { BATCH = 19 };
  float a[6 * BATCH], b[12 * BATCH], c[8 * BATCH] = {0}, again[8 * BATCH] = {0};
  int64_t at[3][BATCH];
  fill_whole(a, 6 * BATCH, 1);
  fill_whole(b, 12 * BATCH, 2);
  float *da = vector_new(f, a, 6 * BATCH), *db_ = vector_new(f, b, 12 * BATCH),
        *dc = vector_new(f, c, 8 * BATCH);
  OK(f, tuned_gemm_batched(f->ctx, NULL, 'n', 'n', "f32", 2, 4, 3, 1, da, 2, 6, db_, 3, 12, 0, dc,
                           2, 8, BATCH, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, c, dc, sizeof c, &f->err));
  for (int i = 0; i < 8 * BATCH; i++) {
    assert_true(is_product(a, b, c, i));
  }
  /* the same by arrays of pointers */
  dc = vector_new(f, again, 8 * BATCH);
  for (int i = 0; i < BATCH; i++) {
    at[0][i] = (int64_t)(intptr_t)(da + 6 * i);
    at[1][i] = (int64_t)(intptr_t)(db_ + 12 * i);
    at[2][i] = (int64_t)(intptr_t)(dc + 8 * i);
  }
  void *lists;
  OK(f, tuned_alloc(f->ctx, sizeof at, &lists, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, lists, at, sizeof at, &f->err));
  const int64_t *list = lists, *list_b = list + BATCH, *list_c = list_b + BATCH;
  const int64_t two = 2, three = 3, unused = 0;
  const double one = 1, zero = 0;
  const void *none = NULL;
  const void *const args[] = {NULL,  NULL,   NULL,    &one,    &none, &two, &unused,
                              &none, &three, &unused, &zero,   &none, &two, &unused,
                              NULL,  &list,  &list_b, &list_c, &none, &none};
  tuned_kernel *k;
  OK(f,
     tuned_find(f->ctx, "gemm_batched m=2 n=4 k=3 batch=19 layout=pointers align=1", &k, &f->err));
  OK(f, tuned_launch(k, NULL, args, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, again, dc, sizeof again, &f->err));
  assert_memory_equal(again, c, sizeof c);
}

CONTEXT_TEST(gemm_computes) {
  enum { N = 24 };
  float a[N * N], c[N * N];
  uint16_t bits[N * N];
  void *da, *dc;
  fill_whole(a, N * N, 4);
  for (int i = 0; i < N * N; i++) { /* a bfloat16 is the upper half of a float */
    uint32_t word;
    memcpy(&word, &a[i], sizeof word);
    bits[i] = (uint16_t)(word >> 16);
  }
  OK(f, tuned_alloc(f->ctx, sizeof bits, &da, &f->err));
  OK(f, tuned_alloc(f->ctx, sizeof c, &dc, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, da, bits, sizeof bits, &f->err));
  OK(f, tuned_gemm(f->ctx, NULL, 'n', 't', "bf16", "f32", N, N, N, 1, da, N, da, N, 0, dc, N,
                   &f->err));
  OK(f, tuned_copy_to_host(f->ctx, c, dc, sizeof c, &f->err));
  for (int i = 0; i < N * N; i++) {
    float expected = 0;
    for (int p = 0; p < N; p++) {
      expected += a[i % N + p * N] * a[i / N + p * N];
    }
    assert_true(c[i] == expected);
  }
  REFUSED(f, TUNED_E_USAGE, "ctype is neither dtype",
          tuned_gemm(f->ctx, NULL, 'n', 't', "bf16", "f16", N, N, N, 1, da, N, da, N, 0, dc, N,
                     &f->err));
}

/* a[i] = i, b[i] = 2i: whole numbers below 2^53, whose sum in f64 is exact. */
CONTEXT_TEST(dot_computes) {
  enum { N = 33 * 1024 };
  static float a[N], b[2 * N];
  for (int i = 0; i < N; i++) {
    a[i] = (float)i;
    b[2 * (N - 1 - i)] = 2 * (float)i;
    b[2 * (N - 1 - i) + 1] = NAN; /* between the elements */
  }
  const double n = N, exact = 2 * ((n - 1) * n * (2 * n - 1) / 6);
  float *x = vector_new(f, a, N), *y = vector_new(f, b, 2 * N), rounded;
  void *r = vector_new(f, a, 2);
  double all;
  OK(f, tuned_dot(f->ctx, NULL, "f32", N, x, 1, y, -2, r, "f64", &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &all, r, sizeof all, &f->err));
  assert_true(all == exact);
  OK(f, tuned_dot(f->ctx, NULL, "f32", N, x, 1, y, -2, r, "f32", &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &rounded, r, sizeof rounded, &f->err));
  assert_true(fabs(rounded - exact) < exact * 0x1p-20);
  OK(f, tuned_dot(f->ctx, NULL, "f32", N, x, -1, x, -1, r, "f64", &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &all, r, sizeof all, &f->err));
  assert_true(all == exact / 2);
}

/* Into memory of its own, or of either summand; the vectors are not aligned. */
CONTEXT_TEST(vector_add_computes_in_place) {
  enum { N = 1003 };
  float a[N], b[N], c[N];
  fill(a, N, -3, 0.25f);
  fill(b, N, 1, 0.5f);
  for (int place = 0; place < 3; place++) {
    float *of[3] = {vector_new(f, a, N), vector_new(f, b, N), vector_new(f, a, N)};
    float *to = of[place];
    OK(f, tuned_vector_add(f->ctx, NULL, "f32", N - 1, of[0] + 1, of[1] + 1, to + 1, &f->err));
    OK(f, tuned_copy_to_host(f->ctx, c, to, sizeof c, &f->err));
    for (int i = 1; i < N; i++) {
      assert_true(c[i] == a[i] + b[i]);
    }
  }
}

/* Rows that lie apart: what is between them is kept. */
CONTEXT_TEST(vector_add_adds_rows) {
  enum { N = 37, ROWS = 5, LD = 41, ALL = LD * ROWS };
  float a[ALL], b[ALL], c[ALL];
  tuned_kernel *k;
  fill(a, ALL, -3, 0.25f);
  fill(b, ALL, 1, 0.5f);
  int64_t n = N, rows = ROWS, ld = LD;
  float *da = vector_new(f, a, ALL), *db_ = vector_new(f, b, ALL), *dc = vector_new(f, b, ALL);
  const void *args[] = {&n, &rows, &ld, &da, &db_, &dc};
  OK(f, tuned_find(f->ctx, "vector_add n=37 rows=5 ld=41 align=1", &k, &f->err));
  OK(f, tuned_launch(k, NULL, args, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, c, dc, sizeof c, &f->err));
  for (int i = 0; i < ALL; i++) {
    assert_true(c[i] == (i % LD < N ? a[i] + b[i] : b[i]));
  }
}

CONTEXT_TEST(too_much_memory_is_refused) {
  void *p = f;
  REFUSED(f, TUNED_E_NOMEM, "1152921504606846976",
          tuned_alloc(f->ctx, (size_t)1 << 60, &p, &f->err));
  assert_null(p);
  assert_true(saxpy_is_right(f, 50)); /* other calls still work */
}

CONTEXT_TEST(reduce_computes_on_streams) {
  enum { N = 5000, STREAMS = 3 };
  static float x[N];
  const float poison = -1;
  float y = 0;
  double sum = 0;
  serve *s = inside(f);
  fill(x, N, -3, 0.25f);
  for (int i = 0; i < N; i++) {
    sum += x[i];
  }
  float *dx = vector_new(f, x, N), *dy = vector_new(f, &y, 1);
  for (int i = 0; i < 2 * STREAMS; i++) {
    rt_stream stream;
    assert_int_equal(s->device->ops->stream_new(s->device, &stream, NULL), 0);
    for (int again = 0; again < 2; again++) { /* the second launch finds the workspace as clean */
      OK(f, tuned_copy_to_device(f->ctx, dy, &poison, sizeof y, &f->err));
      OK(f, tuned_reduce(f->ctx, stream, "sum", "f32", N, dx, dy, &f->err));
      OK(f, tuned_sync(f->ctx, stream, &f->err));
      OK(f, tuned_copy_to_host(f->ctx, &y, dy, sizeof y, &f->err));
      assert_true(fabs(y - sum) < 1e-3 * fabs(sum));
    }
    s->device->ops->stream_free(s->device, stream);
  }
  OK(f, tuned_reduce(f->ctx, NULL, "max", "f32", N, dx, dy, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &y, dy, sizeof y, &f->err));
  assert_true(y == 21);
}

typedef struct caller {
  fixture *f;
  int number, n_bad;
} caller;

static void *call_often(void *ud) {
  caller *c = ud;
  for (int i = 0; i < 12; i++) {
    c->n_bad +=
        !saxpy_is_right(c->f, (size_t)(100 + (i * 7 + c->number) % 5)); /* shared problems */
  }
  return NULL;
}

CONTEXT_TEST(many_threads_one_context) {
  enum { THREADS = 6 };
  pthread_t threads[THREADS];
  caller callers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (caller){f, i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
  }
  int bad = 0, kernels = 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    bad += callers[i].n_bad;
  }
  for (const tuned_kernel *k = inside(f)->newest; k; k = k->next) {
    kernels++;
  }
  assert_int_equal(bad, 0);
  assert_int_equal(kernels, 5); /* one for each problem, whatever the thread */
}

static void scale_by_nothing(fixture *f, char ta, char tb, int m, int n) {
  float host[6] = {1, 2, 3, 4, 5, 6}, *c = vector_new(f, host, 6);
  OK(f, tuned_sgemm(f->ctx, NULL, ta, tb, m, n, 0, 1, NULL, 3, NULL, 3, 2, c, m, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, host, c, sizeof host, &f->err));
  for (int i = 0; i < 6; i++) {
    assert_true(host[i] == 2 * (float)(i + 1));
  }
}

/* As in BLAS, operands that are not read need no address. */
CONTEXT_TEST(operands_of_nothing_may_be_null) {
  double host[6] = {1, 2, 3, 4, 5, 6};
  float y[3] = {1, 2, 3}, *dy = vector_new(f, y, 3);
  void *c;
  scale_by_nothing(f, 'n', 'n', 3, 2);
  scale_by_nothing(f, 't', 'n', 3, 2);
  scale_by_nothing(f, 'n', 't', 2, 3);
  scale_by_nothing(f, 't', 't', 3, 2);
  OK(f, tuned_alloc(f->ctx, sizeof host, &c, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, c, host, sizeof host, &f->err));
  OK(f, tuned_gemm(f->ctx, NULL, 'n', 't', "f64", "f64", 3, 2, 0, 1, NULL, 3, NULL, 2, -1, c, 3,
                   &f->err));
  OK(f, tuned_gemm_batched(f->ctx, NULL, 't', 'n', "f64", 3, 1, 0, 1, NULL, 1, 0, NULL, 1, 0, 2, c,
                           3, 3, 2, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, host, c, sizeof host, &f->err));
  assert_true(host[0] == -2 && host[5] == -12);
  OK(f, tuned_gemv(f->ctx, NULL, 'n', "f32", 3, 0, 1, NULL, 3, NULL, 1, 2, dy, 1, &f->err));
  OK(f, tuned_gemv(f->ctx, NULL, 't', "f32", 0, 3, 1, NULL, 1, NULL, 1, 2, dy, 1, &f->err));
  OK(f, tuned_merge(f->ctx, NULL, "f32", 0, 3, 0, dy, NULL, NULL, NULL, c, NULL, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, c, sizeof y, &f->err));
  assert_true(y[0] == 4 && y[1] == 8 && y[2] == 12);
  /* no results: nothing is launched */
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 'n', 0, 5, 5, 1, NULL, 1, NULL, 5, 0, NULL, 1, &f->err));
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 'n', 5, 0, 5, 1, NULL, 5, NULL, 5, 0, NULL, 5, &f->err));
  /* the same by a handle; operands that are read or written need an address */
  const float alpha = 1, beta = 0, *none = NULL;
  const int64_t three = 3;
  const void *const args[] = {NULL,   NULL,  NULL, &alpha, &none, &three, &none,
                              &three, &beta, &dy,  &three, &none, &none};
  tuned_kernel *k;
  OK(f, tuned_find(f->ctx, "sgemm m=3 n=1 k=0 align=1", &k, &f->err));
  OK(f, tuned_launch(k, NULL, args, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, dy, sizeof y, &f->err));
  assert_true(y[0] == 0 && y[2] == 0);
  REFUSED(f, TUNED_E_USAGE, "argument C is a NULL address",
          tuned_sgemm(f->ctx, NULL, 'n', 'n', 3, 1, 0, 1, NULL, 3, NULL, 1, 0, NULL, 3, &f->err));
  REFUSED(f, TUNED_E_USAGE, "argument B is a NULL address",
          tuned_sgemm(f->ctx, NULL, 'n', 'n', 3, 1, 1, 1, dy, 3, NULL, 1, 0, dy, 3, &f->err));
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
