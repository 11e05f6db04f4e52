/* claims.h -- what textbooks say is faster than what, as data, and what a measurement makes of it.
 *
 * The list is tuner/peers/claims.txt, which is built in. A line is a claim:
 *
 *   FAMILY PROBLEM | THIS > THAT | COMMON | what the text says, and where
 *   reduce n=2^20 | FOLD=convergent > FOLD=simple | BLOCK=1024,COARSE=1 | ch. 10.4: ...
 *
 * THIS and THAT are parts of two configurations, NAME=VALUE,...; COMMON is what both have, and what
 * nobody names has the template's default. THIS is to be faster; with ~ in place of >, no faster.
 */
#ifndef TUNE_CLAIMS_H
#define TUNE_CLAIMS_H

#include "arena.h"
#include "err.h"
#include "str.h"

typedef struct claim {
  const char *family, *problem; /* its fields; "": the defaults */
  const char *one, *other;      /* configurations, whole: common part included */
  const char *one_part, *other_part;
  const char *text;
  bool even; /* no faster */
  int line;
} claim;

/* claims_read -- all of a text; strings in the arena
 *   err ERR_TEMPLATE  a line is wrong, place is PATH:LINE */
int claims_read(const char *text, const char *path, arena *a, claim **out, size_t *n, err *e);
/* claims_open -- of a file; NULL: those that are built in */
int claims_open(const char *path, arena *a, claim **out, size_t *n, err *e);

typedef enum claim_verdict {
  CLAIM_HOLDS,
  CLAIM_EVEN, /* was to be faster, and there is no difference */
  CLAIM_FAILS,
  CLAIM_VERDICTS
} claim_verdict;
const char *claim_verdict_name(claim_verdict v);

typedef struct claim_times {
  double one, other; /* seconds */
  bool modelled;
} claim_times;

/* claim_verdict_of -- ratios within 2 % are no difference; of what is to be no faster, within 5 % */
claim_verdict claim_verdict_of(const claim *c, const claim_times *t);
void claim_line(const claim *c, const claim_times *t, str *out);
void claim_json(const claim *c, const claim_times *t, const char *device, str *out);

#endif
