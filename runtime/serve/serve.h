/* serve.h -- what the command line needs of libtuned beyond tuned.h: a tuned kernel as files. */
#ifndef SERVE_H
#define SERVE_H

#include "gen.h"

typedef struct serve_export {   /* what the files are about, and where they come from */
  const char *problem, *config; /* canonical texts */
  const char *command;          /* the command line that makes the files again */
  const char *arch;             /* that the image is for: "sm_90" */
  const char *device;           /* where it was tuned, as shown; NULL: nowhere */
  double sec;                   /* of one launch there; 0: not known */
  bool measured;                /* or modelled */
  int nvrtc;                    /* the compiler's version, 13000; 0: not known */
  const char *name;             /* prefix of the header's names; NULL: the family's */
} serve_export;

/* serve_export_header -- append a self-contained C header over the driver API: the problem's
 * constants, the kernels' geometry, a function to find the kernels in a loaded image and one to
 * launch them. Equal inputs give equal bytes: no dates.
 *   in   plan  of x->problem and x->config
 *   err  ERR_USAGE  the name is no C identifier */
int serve_export_header(const gen_template *t, const gen_plan *plan, const serve_export *x,
                        str *out, err *e);
/* serve_export_source -- append the provenance and the CUDA text as generated */
int serve_export_source(const gen_template *t, const char *source, const serve_export *x, str *out,
                        err *e);

#endif
