/* serve_kernel.h -- a problem's kernel: what a launch reads, and what tuned_info reports. */
#ifndef SERVE_KERNEL_H
#define SERVE_KERNEL_H

#include <string.h>

#include "run.h"
#include "serve_args.h"
#include "serve_hook.h"
#include "serve_pick.h"

struct tuned_kernel { /* a launch reads the first line of the cache */
  struct serve *owner;
  rt_loaded *loaded;
  _Atomic(serve_detour *) detour; /* performs some of its launches; NULL: none */
  _Atomic(tuned_kernel *) better; /* replaces it; NULL: none */
  bool is_empty;                  /* an empty problem: nothing is launched */
  bool has_workspace;
  bool prepares;           /* plans launch it: serve_plan.h */
  bool is_from_background; /* it replaces a kernel that served while it was compiled */
  serve_addresses addresses;

  tuned_kernel *next; /* older, of the same context */
  const gen_template *t;
  const serve_need *needs; /* per argument of the template */
  struct serve_family *family;
  const char *name; /* of its family, as the program calls it; the context's */
  void *record;     /* of the context's hook that sees launches */
  tuned_kernel_info info;
  arena memory; /* of the texts, needs and record */
};

/* serve_newest -- its replacement's replacement, and so on; itself, if nothing is better */
static inline tuned_kernel *serve_newest(const tuned_kernel *k) {
  const tuned_kernel *better;
  while ((better = atomic_load_explicit(&k->better, memory_order_acquire))) {
    k = better;
  }
  return (tuned_kernel *)k;
}

typedef struct serve_parts { /* what a kernel is made of; borrowed, but for `loaded` */
  struct serve *owner;
  struct serve_family *family;
  const gen_template *t;
  const char *name, *problem; /* as in the kernel */
  gen_instance *g;            /* of the problem */
  const serve_pick *pick;
  const gen_plan *plan; /* of the configuration picked */
  rt_loaded *loaded;    /* becomes the kernel's; freed after an error */
  int64_t spill;        /* bytes a thread */
} serve_parts;

/* serve_kernel_new -- in the device's turn, as is serve_kernel_free */
int serve_kernel_new(const serve_parts *parts, tuned_kernel **out, err *e);
void serve_kernel_free(tuned_kernel *k);
/* serve_kernel_unload -- of a variant that is not launched any more; the struct remains */
void serve_kernel_unload(tuned_kernel *k);

/* serve_keeps_kernel -- must the problem's kernel not be exchanged for another later? It may add up in
 * another order, and reproducible=run is equal bits in every launch. */
static inline bool serve_keeps_kernel(const char *problem) {
  return strstr(problem, " reproducible=run") != NULL;
}

#endif
