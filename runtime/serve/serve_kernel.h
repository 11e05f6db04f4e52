/* serve_kernel.h -- a problem's kernel: what a launch reads of it, and what is told of it. */
#ifndef SERVE_KERNEL_H
#define SERVE_KERNEL_H

#include "run.h"
#include "serve_args.h"
#include "serve_hook.h"
#include "serve_pick.h"

struct tuned_kernel { /* a launch reads the first line of the cache */
  struct serve *owner;
  rt_loaded *loaded;
  _Atomic(serve_detour *) detour; /* takes some launches over; NULL: none */
  _Atomic(tuned_kernel *) better; /* takes its place; NULL: none does */
  bool is_empty;                  /* an empty problem, nothing to do */
  bool has_workspace;
  serve_addresses addresses;

  tuned_kernel *next; /* older, of the same context */
  const gen_template *t;
  const serve_need *needs; /* per argument of the template */
  const char *name;        /* of its family, as the program calls it; the context's */
  void *record;            /* of the context's hook that sees launches */
  tuned_kernel_info info;
  arena memory; /* the texts above, needs and record */
};

/* serve_kernel_new -- of a problem in canonical form; nothing is loaded yet. `name` is borrowed */
int serve_kernel_new(struct serve *owner, const gen_template *t, const char *name,
                     const char *problem, tuned_kernel **out, err *e);
void serve_kernel_free(tuned_kernel *k);
/* serve_kernel_describe -- fill in what remains, once k->loaded is there
 *   in  g, plan  of the problem and of the configuration picked
 *       spill    bytes a thread */
int serve_kernel_describe(tuned_kernel *k, gen_instance *g, const gen_plan *plan,
                          const serve_pick *pick, int64_t spill, err *e);

typedef struct serve_variant_image {
  const void *bytes;
  size_t nbytes;
  int64_t spill;
} serve_variant_image;
/* serve_kernel_variant -- the same problem with another configuration, loaded from this image; in
 * the device's turn. out  *out  serve_kernel_free */
int serve_kernel_variant(const tuned_kernel *k, rt_device *d, gen_instance *g,
                         const serve_pick *pick, const serve_variant_image *image,
                         tuned_kernel **out, err *e);
/* serve_kernel_unload -- of a variant that is not launched any more: what remains is a struct */
void serve_kernel_unload(tuned_kernel *k);

#endif
