/* claims.h -- orderings of kernels that textbooks claim, as data, and their verdicts.
 *
 * The built-in list is tuner/peers/claims.txt. A line is a claim:
 *
 *   FAMILY PROBLEM | THIS > THAT | COMMON | what the text says, and where
 *   reduce n=2^20 | FOLD=convergent > FOLD=simple | BLOCK=1024,COARSE=1 | ch. 10.4: ...
 *
 * THIS and THAT are the parts in which two configurations differ, NAME=VALUE,...; COMMON is their
 * common part. Other parameters take the template's default. The claim is that THIS is faster; with
 * > 20, that it is at least 20 times as fast; with ~ in place of >, that it is no faster. */
#ifndef TUNE_CLAIMS_H
#define TUNE_CLAIMS_H

#include "arena.h"
#include "err.h"
#include "str.h"

typedef struct claim {
  const char *family, *problem; /* its fields; "": the defaults */
  const char *one, *other;      /* whole configurations, with the common part */
  const char *one_part, *other_part;
  const char *text;
  bool even;    /* no faster */
  double least; /* how many times faster; 0: any */
  int line;
} claim;

/* claims_read -- parse a text; strings in the arena.
 *   err ERR_TEMPLATE  a line is wrong, place is PATH:LINE */
int claims_read(const char *text, const char *path, arena *a, claim **out, size_t *n, err *e);
/* claims_open -- read a file; NULL: the built-in list */
int claims_open(const char *path, arena *a, claim **out, size_t *n, err *e);

typedef enum claim_verdict {
  CLAIM_HOLDS,
  CLAIM_EVEN, /* claimed to be faster; makes no difference */
  CLAIM_FAILS,
  CLAIM_VERDICTS
} claim_verdict;

typedef struct claim_times {
  double one, other; /* seconds */
  bool modelled;
} claim_times;

/* claim_verdict_of -- ratios within 2 % make no difference; what is claimed no faster may be 5 %
 * faster */
claim_verdict claim_verdict_of(const claim *c, const claim_times *t);
void claim_line(const claim *c, const claim_times *t, str *out);
void claim_json(const claim *c, const claim_times *t, const char *device, str *out);

#endif
