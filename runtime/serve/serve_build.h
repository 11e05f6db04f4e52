/* serve_build.h -- from a configuration to a loaded image: one that another size has loaded, one
 * that is at hand in a file, or one that NVRTC compiles now.
 *
 * An exact result's image is known by its key. For any other configuration the source decides: a
 * loaded image of the same source, the one stored with the neighbour, one stored with the same
 * configuration of another size, one that ready_images.h finds, one stored under the key of this
 * source. The source is made only where its digest is not known from another size, or from another
 * process (serve_notes.h), and where it must be compiled. What is compiled goes into the image cache; serving only reads the database, tuning writes
 * it. */
#ifndef SERVE_BUILD_H
#define SERVE_BUILD_H

#include "run.h"
#include "serve_context.h"
#include "serve_notes.h"
#include "serve_pick.h"

typedef enum serve_effort {
  SERVE_LOADED,  /* only what is loaded, known without making the source */
  SERVE_AT_HAND, /* also what is in a file */
  SERVE_COMPILE  /* also what must be compiled */
} serve_effort;

typedef struct serve_given { /* an image from elsewhere: of this source, and no other */
  char text[HASH_TEXT];
  const void *bytes;
  size_t nbytes;
  int64_t spill;
} serve_given;

typedef struct
    serve_build { /* state while a kernel is made, under the lock; all zero but s, t and notes */
  serve *s;
  gen_template *t;
  gen_instance *g;
  serve_notes *notes;       /* of t; NULL: none are read */
  serve_pick pick;          /* whose image is wanted */
  const serve_given *given; /* comes before what is stored; NULL: none */
  const gen_plan *plan;
  int64_t spill; /* out: bytes a thread */
  arena memory;

  char key[HASH_TEXT];  /* of the image; empty: the plan launches no kernel */
  char text[HASH_TEXT]; /* the hash of its source */
  tuned_kernel *same;   /* has loaded that image already */
  const void *image;    /* else: its bytes */
  size_t nbytes;
  bool stored; /* they come from a file */
  rt_image built;
  str source; /* where nothing was at hand: what must be compiled */
  size_t body;
} serve_build;

/* serve_build_source -- a text as a source to compile for the context's device; the text is borrowed */
rt_source serve_build_source(const serve *s, const char *text, size_t body);
void serve_build_clear(serve_build *b);
/* serve_build_load -- the plan and the image of b->pick, replacing those of an earlier pick; in the
 * device's turn.
 *   out  *loaded  rt_loaded_free
 *   err  ERR_NOTFOUND  this effort does not find it, no message; after SERVE_AT_HAND b->source is
 *        what would have to be compiled */
int serve_build_load(serve_build *b, serve_effort effort, rt_loaded **loaded, err *e);
/* serve_build_is_final -- after this error no other configuration would do either */
bool serve_build_is_final(const serve_build *b, int rc);
/* serve_build_share -- let other sizes use the image through the kernel that loaded it: k, or an
 * earlier one */
int serve_build_share(const serve_build *b, tuned_kernel *k, err *e);

#endif
