/* cudart_counts.h -- what a program under autotune run-program counts in memory that both share, and how it
 * gets there: CUDART_VARIABLE is "FD CHECKS". */
#ifndef CUDART_COUNTS_H
#define CUDART_COUNTS_H

#include <stdatomic.h>

#define CUDART_VARIABLE "TUNED_EMU_PROGRAM"

enum { CUDART_CANNOT_RUN = 98, CUDART_FINDINGS = 99 }; /* exit statuses */
enum { CUDART_REPORTS = 64 };

typedef struct cudart_report {
  char place[200], message[720]; /* of an err */
  char what[400];                /* the launch or call; empty: the host's own access */
} cudart_report;

typedef struct cudart_counts {
  atomic_ullong launches, findings, programs; /* programs: that used CUDA */
  cudart_report reports[CUDART_REPORTS];      /* of the first findings */
} cudart_counts;

#endif
