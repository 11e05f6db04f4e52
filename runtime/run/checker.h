/* checker.h -- launching the kernels of fill_check.cu. Private to runtime/run.
 *
 * Launches are asynchronous, on the default stream, in order. Kernels that compare ADD to a finding
 * on the device, so that a check copies all findings back at once.
 */
#ifndef RT_CHECKER_H
#define RT_CHECKER_H

#include "run.h"

extern const gen_file rt_fill_check[]; /* the kernels' text; ends with a NULL name */

typedef struct rt_finding { /* as in fill_check.cu */
  uint64_t n;
  uint64_t first, last; /* UINT64_MAX and 0 when n is 0 */
  uint64_t worst;       /* bits of a double */
} rt_finding;

#define RT_FINDING_NONE ((rt_finding){0, UINT64_MAX, 0, 0})

typedef struct rt_zone { /* as in fill_check.cu */
  rt_ptr at;
  uint64_t nbytes;
} rt_zone;

/* rt_checker_fill -- datum->count elements of its type, at p; the same seed gives the same bytes */
int rt_checker_fill(rt_checker *k, const gen_datum *datum, uint64_t seed, rt_ptr p, err *e);

typedef struct rt_comparison {
  rt_ptr x, ref;
  uint64_t count;
  dtype type;
  double tolerance_abs, tolerance_rel;
  rt_ptr bound;     /* per element: tolerance_rel is a multiple of it, not of |ref|; 0: none */
  dtype bound_type; /* f32 or f64 */
  bool poisoned;    /* both started as `poison`: what the reference left, x must leave */
  uint64_t poison;  /* one element's bits */
} rt_comparison;

/* rt_checker_compare -- which elements of x are wrong, and the largest error in units of the
 * tolerance. An element of a finite reference is wrong if its bound is negative or not finite */
int rt_checker_compare(rt_checker *k, const rt_comparison *c, rt_ptr finding, err *e);
/* rt_checker_sum -- of all elements: in the finding, n and first are of those that are not numbers
 * where the reference is one, or the reverse; `last` and `worst` are bits of doubles, the sums of squares
 * of the other errors and of the reference */
int rt_checker_sum(rt_checker *k, const rt_comparison *c, rt_ptr finding, err *e);
/* rt_sums_error -- of such a finding, in units of the tolerance */
double rt_sums_error(const rt_finding *f, gen_error_kind kind, uint64_t count, double abs,
                     double rel);
/* rt_checker_records -- are the records of `nbytes` the same ones, in any order? In the finding, `last`
 * and `worst` are 0 if so; otherwise all but surely not */
int rt_checker_records(rt_checker *k, const rt_comparison *c, uint64_t nbytes, rt_ptr finding,
                       err *e);
/* rt_checker_differ -- which bytes differ */
int rt_checker_differ(rt_checker *k, rt_ptr a, rt_ptr b, uint64_t nbytes, rt_ptr finding, err *e);
/* rt_checker_canaries -- which bytes of each zone are not `canary`.
 *   in  zones, findings  arrays of n on the device */
int rt_checker_canaries(rt_checker *k, rt_ptr zones, size_t n, uint8_t canary, rt_ptr findings,
                        err *e);

/* rt_checker_compile -- the image of a source in the device's format. The last eight are kept: the
 * references of a family's sizes often have the same source.
 *   out  **bytes  borrowed until eight others have been compiled
 *   err  ERR_COMPILE */
int rt_checker_compile(rt_checker *k, rt_compiler *c, const rt_source *s, const str **bytes,
                       err *e);

#endif
