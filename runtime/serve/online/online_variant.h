/* online_variant.h -- another configuration of a problem, compiled and loaded. */
#ifndef ONLINE_VARIANT_H
#define ONLINE_VARIANT_H

#include "online_chooser.h"

typedef struct online_variant { /* all zero: none */
  gen_config config;
  size_t place; /* the chooser's number */
  tuned_kernel *kernel;
  str source, image; /* to be stored */
  char key[HASH_TEXT];
  int regs;
  int64_t spill, smem;
} online_variant;

/* online_variant_make -- the next one, without any lock while it is compiled
 *   in   g    of the problem and the context's template; used under the context's lock
 *   out  *v   online_variant_clear, after an error too; its kernel belongs to the context
 *   err  ERR_NOTFOUND  none is left; else it can't be built, v->place is set */
int online_variant_make(online_chooser *c, gen_instance *g, rt_compiler *compiler,
                        online_variant *v);
void online_variant_clear(online_variant *v);

#endif
