/* cudart_counts.h -- what a program under autotune run-program counts in memory that both share, and how it
 * gets there: CUDART_VARIABLE is "FD CHECKS". */
#ifndef CUDART_COUNTS_H
#define CUDART_COUNTS_H

#include <stdatomic.h>

#define CUDART_VARIABLE "TUNED_EMU_PROGRAM"

enum { CUDART_CANNOT_RUN = 98, CUDART_FINDINGS = 99 }; /* exit statuses */

typedef struct cudart_counts {
  atomic_ullong launches, findings, programs; /* programs: that used CUDA */
} cudart_counts;

#endif
