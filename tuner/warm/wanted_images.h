/* wanted_images.h -- the sources that serving may compile on a device, each once, the most wanted
 * first. */
#ifndef TUNE_WANTED_IMAGES_H
#define TUNE_WANTED_IMAGES_H

#include "gen.h"

/* In the order of compilation. */
typedef enum wanted_by {
  WANTED_SERVED,    /* the configuration that a problem gets */
  WANTED_UNTUNED,   /* what the template suggests for a problem, or its default */
  WANTED_PORTFOLIO, /* a configuration of the portfolio, whether or not a sampled size gets it */
  WANTED_KINDS
} wanted_by;

typedef struct wanted_image {
  char hash[HASH_TEXT]; /* of the source's body */
  const char *text;
  size_t body;
  const char *problem; /* the first that wants it */
  wanted_by by;
  size_t n_problems, number;
} wanted_image;

typedef struct wanted_images { /* all zero: empty; texts are in the arena */
  arena memory;
  wanted_image *items;
  size_t n, most;
} wanted_images;

/* wanted_add -- what this configuration of a problem is compiled from
 *   err  ERR_TEMPLATE  no source can be made of it */
int wanted_add(wanted_images *w, gen_instance *g, const gen_config *c, wanted_by by,
               const char *problem, err *e);
void wanted_sort(wanted_images *w);
void wanted_clear(wanted_images *w);

#endif
