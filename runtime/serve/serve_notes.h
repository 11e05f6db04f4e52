/* serve_notes.h -- what a process has found out about the texts of a template and leaves to the next
 * one in the cache of images (image_cache.h): which text a configuration makes, so that its image is
 * found without making the text.
 *
 * A note counts for the very template, with its paths, and the very generator (gen_source_maker). That
 * the image is one of this text, for this device and these options, its form says as ever. */
#ifndef SERVE_NOTES_H
#define SERVE_NOTES_H

#include "serve_context.h"

typedef struct serve_notes { /* of a template in use */
  bool is_read;
} serve_notes;

/* serve_notes_read -- once for each template; under the context's lock */
void serve_notes_read(serve *s, gen_template *t, serve_notes *notes);

typedef struct serve_news { /* notes that are to be written */
  struct new_notes *first;  /* by template */
  arena memory;
} serve_news;

/* serve_news_take -- adds what came since the last call; under the context's lock, and quick */
void serve_news_take(gen_template *t, serve_news *news);
/* serve_news_write -- and clears them. If they cannot be written, the next process finds out again. */
void serve_news_write(serve_news *news);

#endif
