/* export.h -- a tuned kernel, or a portfolio, as C files that need only the CUDA driver API. */
#ifndef EXPORT_H
#define EXPORT_H

#include "gen.h"
#include "portfolio.h"

typedef struct export_info {    /* what the files are about, and where they come from */
  const char *problem, *config; /* canonical texts */
  const char *command;          /* the command line that makes the files again */
  const char *arch;             /* that the image is for: "sm_90" */
  const char *device;           /* where it was tuned, as shown; NULL: nowhere */
  double sec;                   /* of one launch there; 0: not known */
  bool measured;                /* or modelled */
  int nvrtc;                    /* the compiler's version, 13000; 0: not known */
  const char *name;             /* prefix of the header's names; NULL: the family's */
  const char *options;          /* of the compiler, that the kernel asks for; NULL: none */
  bool embedded;                /* the header declares what export_embed defines */
} export_info;

/* export_header -- append a self-contained C header over the driver API: the problem's
 * constants, the kernels' geometry, a function to find the kernels in a loaded image and one to
 * launch them. Equal inputs give equal bytes: no dates.
 *   in   plan  of x->problem and x->config
 *   err  ERR_USAGE  the name is no C identifier */
int export_header(const gen_template *t, const gen_plan *plan, const export_info *x, str *out,
                  err *e);
/* export_source -- append the provenance and the CUDA text as generated */
int export_source(const gen_template *t, const char *source, const export_info *x, str *out,
                  err *e);

typedef struct export_image { /* of one source for one architecture */
  const char *arch;           /* "sm_90": machine code; "compute_90": PTX */
  const void *bytes;
  size_t nbytes;
} export_image;

/* export_embed -- append a C source with the images and a function that loads the one that
 * suits a device: of its architecture with the highest minor version it can run, else PTX.
 *   in  header  to be included, as its file is named */
int export_embed(const gen_template *t, const export_info *x, const export_image *images, size_t n,
                 const char *header, str *out, err *e);

typedef struct exported_variant { /* a configuration as it fits some sizes */
  gen_config config;
  int64_t choices[GEN_MAX_FIELDS];  /* the fields that are names have these values */
  int64_t derived[GEN_MAX_DERIVED]; /* those that its text depends on have these; INT64_MIN: any */
  size_t base;                      /* in the portfolio; n_configs: the template's default */
  size_t source;                    /* its images are images[source * n_archs + i] */
} exported_variant;

typedef struct exported_portfolio { /* a portfolio as C */
  const export_info *x;             /* problem: the family; config is not used */
  const portfolio *portfolio;
  const exported_variant *variants; /* by base; those of a base in the order to be tried */
  uint64_t derived; /* values that texts depend on, besides fields that are names: bits */
  size_t n_variants;
  const export_image *images;
  size_t n_sources, n_archs;
  bool by_models;            /* they choose, as in libtuned; else the tree */
  const chooser_node *nodes; /* the portfolio's tree, whose orders name configurations */
  size_t n_nodes;
  bool by_variants; /* a tree of its own, whose orders name variants */
} exported_portfolio;

/* export_portfolio_header, export_portfolio_source -- append a C header, and the source that goes
 * with it: the tree, every requirement as a condition on the problem, geometry and arguments as
 * expressions, the images. They need the driver API and nothing else. err  ERR_USAGE     something
 * of the template that C can't say; which ERR_TEMPLATE  likewise an expression */
int export_portfolio_header(const gen_template *t, const exported_portfolio *c, str *out, err *e);
int export_portfolio_source(const gen_template *t, const exported_portfolio *c, const char *header,
                            str *out, err *e);

#endif
