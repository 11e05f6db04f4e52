/* candidate.h -- one configuration on its way from source to result. */
#ifndef TUNE_CANDIDATE_H
#define TUNE_CANDIDATE_H

#include "compile_worker.h"
#include "db.h"
#include "device.h"
#include "gen.h"

typedef struct candidate {
  size_t point; /* in the space */
  gen_config config;
  str source;
  size_t body;
  char key[HASH_TEXT];
  str image; /* what the device loads; empty until built */
  int regs;  /* of the image, as the next two */
  int64_t spill, smem;
  bool ahead; /* compile only: store the image, do not measure */
  struct candidate *next;
} candidate;

void candidate_free(candidate *c);
/* candidate_new -- the configuration's source and the key of its image */
int candidate_new(gen_instance *g, const rt_compiler *compiler, const compile_setting *how,
                  size_t point, const gen_config *config, candidate **out, err *e);
/* candidate_from_db -- take the image from the database
 *   out  *found  an equal source was built before */
int candidate_from_db(candidate *c, db *d, rt_format format, bool *found, err *e);
/* candidate_built -- take a compile worker's image and store what is known of it in the database.
 *   in  whole  store its bytes too, since it may be served; otherwise the compiler's cache has them */
int candidate_built(candidate *c, db *d, const compiled *built, const char *arch, int nvrtc,
                    rt_format format, bool whole, err *e);

/* First in, first out. */
typedef struct candidate_queue {
  candidate *first, *last;
  size_t n;
} candidate_queue;
void candidate_push(candidate_queue *q, candidate *c);
candidate *candidate_pop(candidate_queue *q); /* NULL when empty */
void candidate_drop(candidate_queue *q);      /* frees all */

#endif
