/* break_even.h -- times of configurations that prepare: of the preparation, of a run, and after how many
 * runs one pays off against another: t_convert / (t_old - t_new). Text and arithmetic only. */
#ifndef PRINT_BREAK_EVEN_H
#define PRINT_BREAK_EVEN_H

#include <stddef.h>

#include "str.h"

typedef struct prepared_time {
  const char *name;
  double sec;         /* of a run and its share of the preparation; 0: it has no time */
  double prepare_sec; /* 0: it prepares nothing */
} prepared_time;

/* run_sec -- of a run alone; uses 0: so many that the preparation does not count */
double run_sec(const prepared_time *t, double uses);
/* break_even_runs -- after which `one` has taken less time than `other`, each with its preparation; 0: at
 * once; INFINITY: never */
double break_even_runs(const prepared_time *one, const prepared_time *other, double uses);
/* break_even_text -- a line for each, against the one that takes the least to prepare; nothing where none
 * prepares */
void break_even_text(const prepared_time *list, size_t n, double uses, str *out);

#endif
