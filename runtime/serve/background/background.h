/* background.h -- what calls do not wait for: threads of the context compile the better kernel of a
 * problem that is served by another meanwhile, and put it into its place.
 *
 * A form that several problems want is compiled once. The one that serves most launches goes first.
 * The better kernel takes over between two launches: at the first launch after it is loaded that is
 * not captured into a graph. The threads start when the first form is wanted, run at low priority
 * and have all signals blocked. */
#ifndef SERVE_BACKGROUND_H
#define SERVE_BACKGROUND_H

#include "serve_build.h"

typedef struct background background;

typedef struct background_want { /* a form that is not at hand, and what would be served with it */
  bool is_wanted;
  str source;
  size_t body;
  char text[HASH_TEXT]; /* the hash of the source */
  serve_pick pick;      /* its texts are in the arena */
  arena memory;
} background_want;

/* background_want_of -- after serve_build_load with SERVE_AT_HAND did not find it: takes b's source.
 * background_want_clear, after an error too */
int background_want_of(background_want *want, serve_build *b, err *e);
void background_want_clear(background_want *want);

enum { BACKGROUND_THREADS_MOST = 64 };
/* background_new -- NULL: out of memory */
background *background_new(serve *s, int n_threads);
/* background_close -- waits 50 ms for the threads at most: one that compiles longer ends by itself */
void background_close(background *b);

/* background_add -- under the context's lock. If memory is out, or there is no NVRTC, nothing
 * better will come.
 *   in  k  is served meanwhile; NULL: only compile, into the image cache */
void background_add(background *b, tuned_kernel *k, background_want *want);
/* background_is_pending -- is a better kernel for it on its way? */
bool background_is_pending(const tuned_kernel *k);
/* background_wait -- until everything that is wanted was compiled */
void background_wait(background *b);

#endif
