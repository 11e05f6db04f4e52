/* serve_distance.h -- how far apart two problems of a family are: in octaves (an octave is a factor
 * of two), the root of the summed squares over the integer fields. Fields that are names, a
 * transposition or a type, must be equal or alike (gen_field): an eighth of an octave apart; the values
 * of a class are a quarter apart. Features that one of the two does not know count for nothing. */
#ifndef SERVE_DISTANCE_H
#define SERVE_DISTANCE_H

#include "gen.h"

/* serve_problem_octaves -- field values on the scale of distances: the base-2 logarithm of one plus
 * the magnitude, with the sign; names in order, like ones beside each other, those of a class spaced; unknown features NAN */
void serve_problem_octaves(const gen_template *t, const int64_t *values, double *octaves);
/* serve_names_differ -- are these two, of a field on that scale, names that are not alike? */
bool serve_names_differ(const gen_field *f, double a, double b);
/* serve_distance_squared -- infinite when a name differs, when the other one promises more (gen_field),
 * or when it is no less than `most` */
double serve_distance_squared(const gen_template *t, const double *octaves, const double *other,
                              double most);
/* serve_problem_distance -- from a problem to one with these field values; infinite when a name
 * differs */
double serve_problem_distance(const gen_template *t, const gen_problem *p, const int64_t *values);

#endif
