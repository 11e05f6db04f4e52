/* gen_data.h -- the arguments that tests and timing pass: contents of buffers, and how large an error
 * of a result may be.
 */
#ifndef GEN_DATA_H
#define GEN_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "dtype.h"
#include "err.h"
#include "matrix_input.h"

typedef struct gen_instance gen_instance;

typedef enum gen_fill_kind {
  GEN_FILL_UNIFORM,
  GEN_FILL_NORMAL,
  GEN_FILL_CONSTANT,
  GEN_FILL_BITS,
  GEN_FILL_RAMP,
  GEN_FILL_SORTED,
  GEN_FILL_FILE, /* the host reads or computes these two */
  GEN_FILL_LUA,
  GEN_FILL_PATTERN,
  GEN_FILL_MATRIX /* by the host, too */
} gen_fill_kind;

/* Inputs with a structure: { "image", "noise", ... }. Images come first. */
#define GEN_PATTERN_LIST(X)                                                                        \
  X(IMAGE_NOISE, image, noise)                                                                     \
  X(IMAGE_RAMP, image, ramp)                                                                       \
  X(IMAGE_CHECKER, image, checker)                                                                 \
  X(IMAGE_BRIGHT_PIXEL, image, bright_pixel)                                                       \
  X(IMAGE_PHANTOM, image, phantom)                                                                 \
  X(POINTS_UNIFORM, points, uniform)                                                               \
  X(POINTS_CLUSTER, points, cluster)                                                               \
  X(POINTS_EQUAL, points, equal)                                                                   \
  X(ATOMS_WATER, atoms, water)                                                                     \
  X(KSPACE_RADIAL, kspace, radial)                                                                 \
  X(KSPACE_SPIRAL, kspace, spiral)                                                                 \
  X(KSPACE_RANDOM, kspace, random)

typedef enum gen_pattern {
#define GEN_PATTERN_ENUM(name, generator, kind) GEN_##name,
  GEN_PATTERN_LIST(GEN_PATTERN_ENUM)
#undef GEN_PATTERN_ENUM
      GEN_PATTERNS
} gen_pattern;

/* Places of numbers in a gen_generator: those of images, then those of the others. */
#define GEN_PATTERN_NUMBERS(X)                                                                     \
  X(IMAGE_WIDTH, 0)                                                                                \
  X(IMAGE_HEIGHT, 1)                                                                               \
  X(IMAGE_DEPTH, 2)                                                                                \
  X(IMAGE_CHANNELS, 3)                                                                             \
  X(IMAGE_PITCH, 4)                                                                                \
  X(IMAGE_LEAST, 5)                                                                                \
  X(IMAGE_MOST, 6)                                                                                 \
  X(IMAGE_CELL, 7)                                                                                 \
  X(PLACE_SIZE, 0) /* and 1, 2: of the box that points are in, or k-space is cut to */             \
  X(PLACE_DIMS, 3)                                                                                 \
  X(PLACE_CLUSTERS, 4)                                                                             \
  X(PLACE_SPREAD, 5) /* of a cluster: its standard deviation in shares of the size */              \
  X(PLACE_LINES, 4)                                                                                \
  X(PLACE_TURNS, 5) /* of a spiral */                                                              \
  X(PLACE_CELLS, 4) /* and 5, 6: of a lattice of molecules */

enum {
#define GEN_PATTERN_NUMBER(name, at) GEN_##name = (at),
  GEN_PATTERN_NUMBERS(GEN_PATTERN_NUMBER)
#undef GEN_PATTERN_NUMBER
      GEN_GENERATOR_NUMBERS = 8
};

typedef struct gen_generator { /* without gaps: it is compared as bytes */
  double numbers[GEN_GENERATOR_NUMBERS];
  int64_t pattern, seed; /* a gen_pattern; seed -1: each argument has its own */
  char parts
      [8]; /* of places: "xyz" where elements are x, y and z in turn; of atoms also q, a charge;
                            of k-space r and i, the phantom's transform */
} gen_generator;

/* How an output's error is measured.
 *   ELEMENT  |x - ref| <= abs + rel * |ref|, for each element
 *   BOUND    |x - ref| <= abs + rel * bound, for each element; the reference computes the bounds
 *   NORM2    the 2-norm of x - ref is at most rel times that of ref
 *   PSNR     20 log10(peak / root of the mean square of x - ref), in dB, is at least rel; the peak is
 *            abs, or the largest |ref| where that is 0 */
typedef enum gen_error_kind {
  GEN_ERROR_ELEMENT,
  GEN_ERROR_BOUND,
  GEN_ERROR_NORM2,
  GEN_ERROR_PSNR
} gen_error_kind;

/* gen_error_is_sum -- is the error that of all elements together? */
static inline bool gen_error_is_sum(gen_error_kind kind) {
  return kind == GEN_ERROR_NORM2 || kind == GEN_ERROR_PSNR;
}

typedef struct gen_datum { /* one argument as tests and timing pass it */
  dtype type;
  uint64_t count;   /* buffers: elements, padding included; 0 if, of ld * max(0, lines - 1) + line,
                       lines or line is 0 */
  bool overwritten; /* buffers: contents before the launch do not matter, so they are poisoned */
  bool optional;    /* buffers: the address may be NULL */
  bool host;        /* buffers: it is one of the host's memory */
  gen_fill_kind fill;
  double a, b;      /* uniform, sorted: range [a, b]; normal: mean, standard deviation; constant: a;
                    bits: the bitwise and of a random words; ramp: a + b * index */
  const char *file; /* GEN_FILL_FILE: its path */
  matrix_part part; /* likewise, of a matrix; GEN_FILL_MATRIX */
  const char *input;                   /* GEN_FILL_MATRIX: the matrix's text */
  gen_generator generator;             /* GEN_FILL_PATTERN, else zeros */
  double tolerance_abs, tolerance_rel; /* of outputs: their own, or those of gen_data */
  gen_error_kind error;                /* likewise */
  size_t bound;                        /* GEN_ERROR_BOUND: workspace of the reference */
  dtype bound_type;                    /* f32 or f64 */
  bool partial, unordered;        /* outputs: not all elements count; records may be in any order */
  size_t valid_of;                /* partial: the argument that says how many, */
  uint64_t valid_at, valid_times; /* in this element, in units of this */
  uint64_t each;                  /* unordered: elements of a record */
  uint64_t bits;                  /* scalars */
  uint64_t shift; /* buffers: bytes from an aligned address at which tests place it */
} gen_datum;

typedef struct gen_data {
  const gen_datum *args; /* n_args of the template, in order */
  double tolerance_abs, tolerance_rel;
  gen_error_kind error;
} gen_data;

/* gen_data_make -- the arguments of case i, i < n_cases */
int gen_data_make(gen_instance *g, size_t i, arena *a, const gen_data **out, err *e);

/* gen_data_compute -- the contents of a buffer that a Lua function of the template gives, GEN_FILL_LUA.
 *   in   datum   of that argument, by gen_data_make
 *   out  bytes   datum->count elements
 *   err  ERR_TEMPLATE  the function failed, or gave no number that the type has; ERR_LIMIT */
int gen_data_compute(gen_instance *g, size_t arg, const gen_datum *datum, void *bytes, err *e);

/* gen_input_check -- has the problem these counts of its matrix? err ERR_USAGE */
int gen_input_check(const gen_instance *g, int64_t rows, int64_t columns, int64_t entries, err *e);

/* gen_data_given -- the same for a call: scalars that the caller gives have these bits, per
 * argument */
int gen_data_given(gen_instance *g, const uint64_t *bits, arena *a, const gen_data **out, err *e);

#endif
