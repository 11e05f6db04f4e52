/* gen_counts.h -- the counts that a preparation reads back, as expressions read them. Inside
 * gen_box_run, after gen_bind. */
#ifndef GEN_COUNTS_H
#define GEN_COUNTS_H

#include "gen_tmpl.h"

/* gen_counts_bind -- the values of those that are known; others have their bounds if their bit is in
 * `bounded`, else no value. counts NULL: none is known */
void gen_counts_bind(gen_instance *g, const gen_counts *counts, uint32_t bounded);
/* gen_prepared_nbytes -- of a buffer of the preparation, with the counts bound */
uint64_t gen_prepared_nbytes(gen_instance *g, size_t i);

#endif
