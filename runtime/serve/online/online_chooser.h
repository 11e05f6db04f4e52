/* online_chooser.h -- which variants of a problem's kernel are tried, in which order: first the
 * configurations of near problems, then what the search proposes (online_search.h). */
#ifndef ONLINE_CHOOSER_H
#define ONLINE_CHOOSER_H

#include "online_search.h"
#include "serve_context.h"

enum { ONLINE_NEAR_MOST = 6 };

typedef struct online_chooser {
  const serve *s;
  const tuned_kernel *k;
  gen_problem p;
  gen_config near[ONLINE_NEAR_MOST]; /* the best guess last */
  size_t n_near;
  /* A proposal takes long, and callers need the context's template and lock to find kernels: so the
   * chooser has its own, opened when the first variant is wanted. */
  pthread_mutex_t lock;
  gen_template *t;
  gen_instance *g;
  online_search search;
  atomic_bool exhausted; /* nothing is left to try */
} online_chooser;

/* online_chooser_init -- for a kernel that was found; under the context's lock
 *   in   p, g  its problem, g borrowed for this call */
void online_chooser_init(online_chooser *c, serve *s, const tuned_kernel *k, const gen_problem *p,
                         gen_instance *g);
/* online_chooser_close -- frees the search's memory, megabytes; _clear is still needed */
void online_chooser_close(online_chooser *c);
void online_chooser_clear(online_chooser *c);

/* online_chooser_next -- another configuration and its source, in `text`; from any thread
 *   out  *place  its number, for _tell; the kernel as it was found has 0
 *   err  ERR_NOTFOUND  none is left; ERR_TEMPLATE  it has no source */
int online_chooser_next(online_chooser *c, gen_config *config, size_t *place, str *text,
                        rt_source *source);
/* online_chooser_tell -- the time it took; INFINITY: it failed; from any thread */
void online_chooser_tell(online_chooser *c, size_t place, double sec);
/* online_chooser_has_more -- false when `most` were given out, or none is left */
bool online_chooser_has_more(const online_chooser *c, size_t most);

#endif
