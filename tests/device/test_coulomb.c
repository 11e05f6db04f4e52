/* test_coulomb.c -- what energies of point charges keep, whatever the algorithm:
 *   build/tests/test_coulomb [--device NAME] */
#define _GNU_SOURCE
#include <math.h>

#include "family_fixture.h"

enum { NX = 9, NY = 8, NZ = 8, N = NX * NY * NZ, ATOMS = 70 };
#define GRID "nx=9 ny=8 nz=8 n=70 "
#define DIRECT "ALG=coarse,POINTS=4,AXIS=z,UNROLL=4,ATOMS=shared,CHUNK=64,MAP=flat,FILL=1"
#define BINS "ALG=bins,POINTS=4,AXIS=z,UNROLL=4,LANES_X=8,SIDE=4,SKIP=1"
#define SLOTS "ALG=bins,POINTS=2,AXIS=y,UNROLL=2,LANES_X=16,SIDE=4,BINS=slots,CAPACITY=4"

typedef struct atom {
  float x, y, z, q;
} atom;

typedef struct setting {
  const char *problem, *config;
  float origin, cutoff, soften;
} setting;

/* Energies at the points of a grid with a step of a half. */
static void add_energies(bed *b, const setting *s, const atom *from, float *energy) {
  const float spacing = 0.5f, zero = 0;
  bed_kernel k = bed_problem_open(b, NULL, "coulomb", s->problem);
  const gen_config chosen = bed_config(b, &k, s->config);
  assert_ok(bed_load(b, k.t, k.g, &chosen, &k.l), &b->e);
  rt_ptr atoms = bed_alloc(b, ATOMS * sizeof *from), to = bed_alloc(b, N * sizeof *energy);
  assert_ok(b->d->ops->copy_in(b->d, atoms, from, ATOMS * sizeof *from, NULL, &b->e), &b->e);
  assert_ok(b->d->ops->copy_in(b->d, to, energy, N * sizeof *energy, NULL, &b->e), &b->e);
  const void *args[] = {NULL,  NULL, NULL,   &spacing,   &s->origin, &zero,
                        &zero, NULL, &atoms, &s->cutoff, &s->soften, &to};
  assert_ok(rt_loaded_launch(k.l, NULL, args, &b->e), &b->e);
  assert_ok(b->d->ops->stream_sync(b->d, NULL, &b->e), &b->e);
  bed_get(b, energy, to, N * sizeof *energy);
  bed_free(b, atoms);
  bed_free(b, to);
  bed_kernel_close(&k);
}

/* Coordinates are exact, and no atom is at a point of the grid. */
static void draw_atoms(bed *b, atom *a) {
  for (size_t i = 0; i < ATOMS; i++) {
    a[i] = (atom){(float)random_below(&b->random, 512) / 128 + 1.0f / 512,
                  (float)random_below(&b->random, 512) / 128,
                  (float)random_below(&b->random, 512) / 128,
                  (float)random_below(&b->random, 1000) / 500 - 1};
  }
}

static const setting settings[] = {
    {GRID, DIRECT, 0, 0, 0},
    {GRID, DIRECT ",MIXED=3", 0, 0, 0},
    {GRID "reach=4", BINS, 0, 2, 0},
    {GRID "reach=4", SLOTS, 0, 2, 0},
};
#define FOR_EACH_SETTING(s) for (const setting *s = settings; s < settings + 4; s++)

/* Twice the charges are twice the energies, which are added to those that are there. */
BED_TEST(energies_are_linear) {
  static atom a[ATOMS], other[ATOMS];
  draw_atoms(b, a);
  FOR_EACH_SETTING(s) {
    float once[N] = {0}, twice[N] = {0};
    memcpy(other, a, sizeof a);
    for (size_t i = 0; i < ATOMS; i++) {
      other[i].q = 2 * a[i].q;
    }
    add_energies(b, s, a, once);
    add_energies(b, s, other, twice);
    add_energies(b, s, a, once); /* energies are added to */
    for (size_t i = 0; i < N; i++) {
      assert_true(fabsf(once[i] - twice[i]) <= 1e-4f);
    }
  }
}

/* A grid that begins a step later has the energies of points a step later. */
BED_TEST(energies_move_with_the_grid) {
  static atom a[ATOMS];
  draw_atoms(b, a);
  FOR_EACH_SETTING(s) {
    float here[N] = {0}, later[N] = {0};
    setting moved = *s;
    moved.origin = 0.5f;
    add_energies(b, s, a, here);
    add_energies(b, &moved, a, later);
    for (size_t i = 0; i < N; i++) {
      assert_true(i % NX == NX - 1 || fabsf(later[i] - here[i + 1]) <= 1e-4f);
    }
  }
}

/* The order of atoms makes rounding errors only. */
BED_TEST(atoms_have_no_order) {
  static atom a[ATOMS], back[ATOMS];
  draw_atoms(b, a);
  for (size_t i = 0; i < ATOMS; i++) {
    back[i] = a[ATOMS - 1 - i];
  }
  FOR_EACH_SETTING(s) {
    float one[N] = {0}, other[N] = {0};
    add_energies(b, s, a, one);
    add_energies(b, s, back, other);
    for (size_t i = 0; i < N; i++) {
      assert_true(fabsf(one[i] - other[i]) <= 1e-4f);
    }
  }
}

/* A point on an atom is infinite, on two of opposite charges not a number, and finite if softened;
 * all other atoms are at one place, in one bin. */
BED_TEST(points_on_atoms_are_infinite) {
  static atom a[ATOMS];
  for (size_t i = 0; i < ATOMS; i++) {
    a[i] = (atom){0.75f, 0.75f, 0.75f, 1};
  }
  a[5] = (atom){0.5f, 0, 1, -1};
  a[33] = a[60] = (atom){2, 1.5f, 2.5f, 1};
  a[60].q = -2;
  FOR_EACH_SETTING(s) {
    float energy[N] = {0}, softened[N] = {0};
    setting soft = *s;
    soft.soften = 0.25f;
    add_energies(b, s, a, energy);
    add_energies(b, &soft, a, softened);
    for (size_t i = 0; i < N; i++) {
      const size_t x = i % NX, y = i / NX % NY, z = i / NX / NY;
      const bool infinite = x == 1 && y == 0 && z == 2, none = x == 4 && y == 3 && z == 5;
      assert_true(infinite ? isinf(energy[i]) && energy[i] < 0 : !isnan(energy[i]) != none);
      assert_true(isfinite(softened[i]) && (isfinite(energy[i]) || infinite || none));
    }
    /* 67 atoms a distance of sqrt(3)/4 away */
    assert_true(s->cutoff == 0 ||
                fabsf(energy[NX * NY + NX + 1] - 67 * 2.3094011f + 1.1547005f) < 2);
  }
}

/* An energy has the same bits whatever the lines and blocks, and where bins are filled again. */
BED_TEST(reproducible_energies_keep_their_bits) {
  static const setting shape[] = {
      {GRID "reproducible=shape", "ALG=coarse,POINTS=4,MAP=flat,ATOMS=shared,CHUNK=64,UNROLL=4", 0,
       0, 0},
      {GRID "reproducible=shape align=1", "ALG=gather,BLOCK_X=32", 0, 0, 0},
  };
  static const setting run = {GRID "reach=4 reproducible=run", BINS, 0, 2, 0};
  static atom a[ATOMS];
  float once[N] = {0}, again[N] = {0}, bins[N] = {0}, refilled[N] = {0};
  draw_atoms(b, a);
  add_energies(b, &shape[0], a, once);
  add_energies(b, &shape[1], a, again);
  assert_memory_equal(once, again, sizeof once);
  add_energies(b, &run, a, bins);
  for (size_t i = 0; i < ATOMS / 2; i++) {
    const atom first = a[i];
    a[i] = a[ATOMS - 1 - i];
    a[ATOMS - 1 - i] = first;
  }
  add_energies(b, &run, a, refilled);
  assert_memory_equal(bins, refilled, sizeof bins);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
