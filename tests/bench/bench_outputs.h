/* bench_outputs.h -- what a launch writes, for benchmarks that compare bytes. */
#ifndef BENCH_OUTPUTS_H
#define BENCH_OUTPUTS_H

#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* bench_outputs -- launch a case of the harness on fresh inputs; all its outputs, concatenated */
static inline int bench_outputs(rt_harness *h, rt_loaded *l, harness_case *c, str *out, err *e) {
  TRY(harness_start(h, c, e));
  TRY(rt_loaded_launch(l, NULL, c->args, e));
  out->n = 0;
  for (size_t arg = 0; arg < h->t->n_args; arg++) {
    if (!harness_is_output(h, arg)) {
      continue;
    }
    const size_t nbytes = harness_nbytes(c, arg);
    char *bytes = malloc(nbytes + 1);
    int rc = bytes ? h->d->ops->copy_out(h->d, bytes, c->at[arg], nbytes, NULL, e) : err_nomem(e);
    if (!rc) {
      str_add_n(out, bytes, nbytes);
    }
    free(bytes);
    TRY(rc);
  }
  return out->failed ? err_nomem(e) : 0;
}

static inline bool bench_outputs_equal(const str *a, const str *b) {
  return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

#endif
