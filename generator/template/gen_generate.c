/* The numbers of generators that fill buffers with structured test data. */
#include <math.h>
#include <string.h>

#include "gen_numbers.h"

static double number(gen_instance *g, const gen_expr *x, double preset, double least, double most,
                     const gen_generator_rule *rule, const char *what) {
  const double v = x ? gen_real(g, x) : preset;
  if (!(v >= least && v <= most)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, rule->at, "%s is %g; it can be %g to %g", what, v, least,
             most);
  }
  return v;
}

static double whole(gen_instance *g, const gen_expr *x, double preset, double least,
                    const gen_generator_rule *rule, const char *what) {
  const double v = number(g, x, preset, least, 0x1p40, rule, what);
  if (v != floor(v)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, rule->at, "%s is %g, not a whole number", what, v);
  }
  return v;
}

/* What 8 or 16 bits hold at most, of larger integers too; 1 of floats. */
static double brightest(dtype t) {
  const int bits = dtype_nbytes(t) == 1 ? 8 : 16;
  return dtype_is_float(t) ? 1 : ldexp(1, bits - dtype_is_signed(t)) - 1;
}

/* The range of elements; of integers, 32 bits of it. */
static double highest(dtype t) {
  const int bits = dtype_nbytes(t) < 4 ? 8 * (int)dtype_nbytes(t) : 32;
  return dtype_is_float(t) ? 0x1p100 : ldexp(1, bits - dtype_is_signed(t)) - 1;
}

static double lowest(dtype t) {
  return dtype_is_float(t) ? -0x1p100 : dtype_is_signed(t) ? -highest(t) - 1 : 0;
}

static void image(gen_instance *g, const gen_generator_rule *x, gen_datum *d) {
  double *n = d->generator.numbers;
  const double most = highest(d->type);
  const gen_expr *const *from = x->numbers;
  n[GEN_IMAGE_WIDTH] = whole(g, from[GEN_IMAGE_WIDTH], 0, 0, x, "the width");
  n[GEN_IMAGE_HEIGHT] = whole(g, from[GEN_IMAGE_HEIGHT], 0, 0, x, "the height");
  n[GEN_IMAGE_DEPTH] = whole(g, from[GEN_IMAGE_DEPTH], 1, 0, x, "the depth");
  n[GEN_IMAGE_CHANNELS] = whole(g, from[GEN_IMAGE_CHANNELS], 1, 1, x, "the number of channels");
  const double row = n[GEN_IMAGE_WIDTH] * n[GEN_IMAGE_CHANNELS];
  n[GEN_IMAGE_PITCH] = whole(g, from[GEN_IMAGE_PITCH], row, row, x, "the pitch in elements");
  n[GEN_IMAGE_CELL] = whole(g, from[GEN_IMAGE_CELL], 8, 1, x, "the side of a cell");
  n[GEN_IMAGE_LEAST] = number(g, from[GEN_IMAGE_LEAST], 0, lowest(d->type), most, x, "least");
  n[GEN_IMAGE_MOST] =
      number(g, from[GEN_IMAGE_MOST], brightest(d->type), n[GEN_IMAGE_LEAST], most, x, "most");
}

/* As few cells as hold the molecules, about as long in each direction. */
static void lattice(double molecules, double n[GEN_GENERATOR_NUMBERS]) {
  const double *size = &n[GEN_PLACE_SIZE];
  double *cells = &n[GEN_PLACE_CELLS], side = cbrt(size[0] * size[1] * size[2] / molecules);
  do {
    for (int i = 0; i < 3; i++) {
      cells[i] = fmax(1, ceil(size[i] / side));
    }
    side *= 0.999;
  } while (cells[0] * cells[1] * cells[2] < molecules);
}

static void sizes(gen_instance *g, const gen_generator_rule *x, double preset, double *n) {
  for (size_t i = 0; i < 3; i++) {
    n[GEN_PLACE_SIZE + i] = number(g, x->size[i], preset, 0x1p-60, 0x1p60, x, "the size");
  }
  n[GEN_PLACE_DIMS] = x->n_size == 2 ? 2 : 3;
}

static void place(gen_instance *g, const gen_generator_rule *x, gen_datum *d) {
  double *n = d->generator.numbers;
  const gen_expr *const *from = x->numbers;
  const double records = fmax(1, (double)(d->count / strlen(x->parts)));
  const double density = number(g, x->density, 0.1, 0x1p-60, 0x1p60, x, "the density");
  const bool points = x->pattern <= GEN_POINTS_EQUAL;
  sizes(g, x, x->pattern == GEN_ATOMS_WATER ? cbrt(records / density) : 1, n);
  if (x->pattern == GEN_ATOMS_WATER) {
    lattice(ceil(records / 3), n);
  } else if (points) {
    n[GEN_PLACE_CLUSTERS] = whole(g, from[GEN_PLACE_CLUSTERS], 16, 1, x, "the number of clusters");
    n[GEN_PLACE_SPREAD] = number(g, from[GEN_PLACE_SPREAD], 0.02, 0, 1, x, "the spread");
  } else {
    n[GEN_PLACE_LINES] =
        whole(g, from[GEN_PLACE_LINES], ceil(sqrt(records)), 1, x, "the number of lines");
    n[GEN_PLACE_TURNS] = number(g, from[GEN_PLACE_TURNS], 16, 0, 0x1p20, x, "turns");
  }
}

void gen_generate(gen_instance *g, const gen_generator_rule *x, gen_datum *d) {
  d->generator = (gen_generator){.pattern = x->pattern, .seed = x->parts ? 0 : -1};
  if (x->seed) {
    d->generator.seed = (int64_t)whole(g, x->seed, 0, 0, x, "the seed");
  }
  if (!x->parts) {
    image(g, x, d);
    return;
  }
  const size_t n = strlen(x->parts);
  memcpy(d->generator.parts, x->parts, n);
  if (d->count % n) {
    gen_fail(&g->t->box, ERR_TEMPLATE, x->at, "%llu elements are not a multiple of the %zu parts",
             (unsigned long long)d->count, n);
  }
  if (!dtype_is_float(d->type)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, x->at,
             "places are floating-point numbers; the buffer is of %s", dtype_name(d->type));
  }
  if (x->n_size == 2 && strpbrk(x->parts, "ri")) {
    gen_fail(&g->t->box, ERR_TEMPLATE, x->at,
             "parts r and i are of a phantom in three dimensions: give three sizes");
  }
  place(g, x, d);
}
