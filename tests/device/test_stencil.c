/* test_stencil.c -- what steps of a stencil keep, whatever the algorithm:
 *   build/tests/test_stencil [--device NAME] */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "family_fixture.h"

enum { NX = 44, NY = 21, NZ = 12, N = NX * NY * NZ };
#define FIELD "nx=44 ny=21 nz=12 "
#define ONE_STEP "ALG=temporal,TSTEPS=1,VEC=4,ITEMS=2,WARPS=8,PREFETCH=2,Z_DEPTH=8"
#define THREE_STEPS "ALG=temporal,TSTEPS=3,VEC=4,ITEMS=2,WARPS=8,PREFETCH=1,Z_DEPTH=8"

static size_t at(size_t x, size_t y, size_t z) {
  return (z * NY + y) * NX + x;
}

/* Steps of a field, with weights whose sum is 1 and whose products are exact. */
static void make_steps(bed *b, const char *problem, const char *config, const float *from,
                       float *to) {
  const double c[5] = {0.25, 0.125};
  bed_kernel k = bed_problem_open(b, NULL, "stencil", problem);
  const gen_config chosen = bed_config(b, &k, config);
  assert_ok(bed_load(b, k.t, k.g, &chosen, &k.l), &b->e);
  rt_ptr u = bed_alloc(b, N * sizeof *from), v = bed_alloc(b, N * sizeof *to);
  assert_ok(b->d->ops->copy_in(b->d, u, from, N * sizeof *from, NULL, &b->e), &b->e);
  const void *args[] = {NULL, NULL, NULL, &c[0], &c[1], &c[2], &c[3], &c[4], &u, &v};
  assert_ok(rt_loaded_launch(k.l, NULL, args, &b->e), &b->e);
  assert_ok(b->d->ops->stream_sync(b->d, NULL, &b->e), &b->e);
  bed_get(b, to, v, N * sizeof *to);
  bed_free(b, u);
  bed_free(b, v);
  bed_kernel_close(&k);
}

/* Planes in x, y and z with whole numbers: each point is the mean of its neighbours. */
BED_TEST(linear_fields_stay) {
  static float u[N], v[N];
  bed_needs(b, 80);
  for (size_t i = 0; i < N; i++) {
    u[i] = (float)(i % NX) + 2 * (float)(i / NX % NY) - 3 * (float)(i / NX / NY);
  }
  make_steps(b, FIELD "steps=3", THREE_STEPS, u, v);
  assert_memory_equal(u, v, sizeof u);
}

/* A field of one value keeps it where the weights' sum is 1. */
BED_TEST(constant_fields_stay) {
  static float u[N], v[N];
  bed_needs(b, 90);
  for (size_t i = 0; i < N; i++) {
    u[i] = 1.5f;
  }
  make_steps(b, FIELD "steps=2",
             "ALG=tma,TSTEPS=2,VEC=4,ITEMS=2,WARPS=8,PREFETCH=8,Z_DEPTH=4,MARCH=meet", u, v);
  assert_memory_equal(u, v, sizeof u);
}

/* One call of three steps is three calls of one, bit for bit, and what is at the border stays. */
BED_TEST(steps_add_up) {
  static float u[N], v[N], w[N];
  bed_needs(b, 80);
  for (size_t i = 0; i < N; i++) {
    u[i] = (float)random_below(&b->random, 1000) / 999 - 0.5f;
  }
  u[at(1, 0, 3)] = -0.0f;
  memset(&u[at(0, 0, 5)], 0xff, sizeof *u); /* a NaN that no inner point reads */
  make_steps(b, FIELD "steps=3", THREE_STEPS, u, v);
  assert_memory_equal(&v[at(0, 0, 5)], &u[at(0, 0, 5)], sizeof *u);
  assert_true(signbit(v[at(1, 0, 3)]));
  make_steps(b, FIELD, ONE_STEP, u, w);
  make_steps(b, FIELD, ONE_STEP, w, u);
  make_steps(b, FIELD, ONE_STEP, u, w);
  assert_memory_equal(v, w, sizeof v);
}

/* A periodic field that is shifted becomes the shifted result. A NaN reaches its neighbours only. */
BED_TEST(periodic_fields_shift) {
  static float u[N], shifted[N], v[N], w[N];
  bed_needs(b, 80);
  for (size_t i = 0; i < N; i++) {
    u[i] = (float)random_below(&b->random, 1000) / 999 - 0.5f;
  }
  u[at(43, 7, 0)] = NAN;
  for (size_t i = 0; i < N; i++) {
    shifted[at((i % NX + 5) % NX, (i / NX % NY + 2) % NY, (i / NX / NY + 3) % NZ)] = u[i];
  }
  make_steps(b, FIELD "border=periodic", ONE_STEP, u, v);
  make_steps(b, FIELD "border=periodic", ONE_STEP, shifted, w);
  size_t n_nan = 0;
  for (size_t i = 0; i < N; i++) {
    const float *to = &w[at((i % NX + 5) % NX, (i / NX % NY + 2) % NY, (i / NX / NY + 3) % NZ)];
    n_nan += isnan(v[i]) != 0;
    assert_memory_equal(to, &v[i], sizeof *v);
  }
  assert_int_equal(n_nan, 7);
}

/* Steps that are left over, a barrier of the grid, planes in shared memory and in registers. */
BED_TEST(algorithms_are_right) {
  static const part parts[] = {
      {"nx=132 ny=37 nz=2 dims=2 steps=6 border=zero",
       "ALG=temporal,TSTEPS=4,VEC=4,WARPS=2,PREFETCH=3,Z_DEPTH=16", 0},
      {FIELD "steps=4 border=periodic shape=box",
       "ALG=persistent,TSTEPS=2,VEC=4,ITEMS=2,WARPS=8,PREFETCH=1,Z_DEPTH=8", 0},
      {FIELD "order=2 steps=2", "ALG=march_mixed,TILE_X=16,TILE_Y=16,PLANES=2,Z_DEPTH=4", 0},
      {"nx=3 ny=2 nz=1 order=4 border=periodic steps=2", "ALG=march,TILE_X=16,TILE_Y=16", 0},
      {FIELD "dtype=bf16 steps=2", "ALG=temporal,TSTEPS=2,VEC=4,ITEMS=2,WARPS=4,PREFETCH=2", 0},
      {"nx=1 ny=1 nz=1 border=zero", "ALG=temporal,VEC=1,ITEMS=1,WARPS=4", 0},
      {FIELD "steps=4 border=zero",
       "ALG=tma,TSTEPS=2,VEC=4,ITEMS=2,WARPS=8,PREFETCH=8,Z_DEPTH=4,MARCH=meet", 0},
      {"nx=132 ny=37 nz=2 dims=2 order=4 dtype=f64",
       "ALG=tma,VEC=2,WARPS=2,PREFETCH=3,CHUNK=4,MARCH=meet", 0},
      {FIELD "steps=3", "ALG=tma,TSTEPS=3,VEC=1,ITEMS=2,WARPS=8,PREFETCH=1", 0},
      {FIELD "order=2 steps=2",
       "ALG=temporal,TSTEPS=2,VEC=2,ITEMS=1,WARPS=16,PREFETCH=1,Z_DEPTH=8,COPY=cg16,MARCH=meet", 0},
  };
  bed_needs(b, 80);
  CHECK_PARTS(b, "stencil", 0, parts);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
