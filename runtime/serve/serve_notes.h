/* serve_notes.h -- what a process has found out about the problems of a template and leaves to the next
 * one in the cache of images (image_cache.h): which text a configuration makes, so that its image is
 * found without making the text; and which configuration a problem gets where nothing was tuned.
 *
 * A note counts for the very template, with its paths, and the very generator (gen_source_maker); that
 * of a choice also for the very library, with its presets, and the kind of device. That an image is one
 * of this text, for this device and these options, its form says as ever. */
#ifndef SERVE_NOTES_H
#define SERVE_NOTES_H

#include "serve_context.h"
#include "serve_pick.h"

struct new_choice;
typedef struct
    serve_notes { /* of a template in use; all zero at first, serve_notes_clear at the end */
  bool is_read;
  char chooser[HASH_TEXT];    /* the maker of choices; empty: not known yet */
  struct new_choice *choices; /* that are not written yet */
  size_t n_choices;
  arena memory; /* of these */
} serve_notes;

void serve_notes_clear(serve_notes *notes);

/* All under the context's lock. */

/* serve_notes_open -- the images at hand, where notes are; s->ready is NULL when memory is out */
void serve_notes_open(serve *s);
/* serve_notes_read -- of texts, once for each template */
void serve_notes_read(serve *s, gen_template *t, serve_notes *notes);
/* serve_notes_choice -- the first candidate for a problem, by its canonical text, as serve_choose_next
 * has chosen it in an earlier process; its texts are in the arena. False: there is no note, or results
 * of a database count, too. serve_notes_chose -- to be noted */
bool serve_notes_choice(serve *s, gen_template *t, serve_notes *notes, const char *problem,
                        arena *a, serve_pick *pick);
void serve_notes_chose(const serve *s, serve_notes *notes, const char *problem,
                       const serve_pick *pick);

typedef struct serve_news { /* notes that are to be written */
  struct new_notes *first;  /* by maker */
  arena memory;
} serve_news;

/* serve_news_take -- adds what came since the last call; quick */
void serve_news_take(gen_template *t, serve_notes *notes, serve_news *news);
/* serve_news_write -- and clears them; needs no lock. If they cannot be written, the next process finds
 * out again. */
void serve_news_write(serve_news *news);

#endif
