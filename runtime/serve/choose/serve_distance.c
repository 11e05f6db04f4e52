#include "serve_distance.h"

#include <math.h>

/* Of neighbouring values of a class. */
static const double CLASS_OCTAVES = 0.25;
/* Of a value and the one that it is like. */
static const double LIKE_OCTAVES = 0.125;

static double octaves_of(int64_t value) {
  const double x = log2(1 + fabs((double)value));
  return value < 0 ? -x : x;
}

static double place_of_name(const gen_field *f, int64_t value) {
  const int64_t like = f->like ? f->like[value] : value;
  return (double)like + (like == value ? 0 : LIKE_OCTAVES);
}

void serve_problem_octaves(const gen_template *t, const int64_t *values, double *octaves) {
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    octaves[i] = f->is_class                   ? CLASS_OCTAVES * (double)values[i]
                 : f->names                    ? place_of_name(f, values[i])
                 : f->feature && values[i] < 0 ? NAN
                                               : octaves_of(values[i]);
  }
}

bool serve_names_differ(const gen_field *f, double a, double b) {
  return f->names && !f->is_class && floor(a) != floor(b);
}

double serve_distance_squared(const gen_template *t, const double *a, const double *b,
                              double most) {
  double sum = 0;
  for (size_t i = 0; i < t->n_fields && sum < most; i++) {
    const gen_field *f = &t->fields[i];
    const bool apart = f->is_promise ? b[i] > a[i] : serve_names_differ(f, a[i], b[i]);
    const double d = f->feature && (isnan(a[i]) || isnan(b[i])) ? 0 : a[i] - b[i];
    sum += apart ? INFINITY : d * d;
  }
  return sum < most ? sum : INFINITY;
}

double serve_problem_distance(const gen_template *t, const gen_problem *p, const int64_t *values) {
  double a[GEN_MAX_FIELDS], b[GEN_MAX_FIELDS];
  int64_t here[GEN_MAX_FIELDS];
  for (size_t i = 0; i < t->n_fields; i++) {
    here[i] = p->values[i].i;
  }
  serve_problem_octaves(t, here, a);
  serve_problem_octaves(t, values, b);
  return sqrt(serve_distance_squared(t, a, b, INFINITY));
}
