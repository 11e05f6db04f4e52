/* gen_feature.h -- fields that hold features of the data: whole numbers rounded to quarters of an octave. */
#ifndef GEN_FEATURE_H
#define GEN_FEATURE_H

#include "gen_tmpl.h"

/* gen_feature_round -- 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16, 19, 23, 27, 32, ... within the field's
 * range; a negative number is an unknown one, GEN_UNKNOWN */
int64_t gen_feature_round(const gen_field *f, int64_t v);

#endif
