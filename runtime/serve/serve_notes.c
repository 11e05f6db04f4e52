#define _GNU_SOURCE
#include "serve_notes.h"

#include <inttypes.h>
#include <string.h>

#include "image_cache.h"

typedef struct new_notes {
  struct new_notes *next;
  char maker[HASH_TEXT];
  const cached_note *notes;
  size_t n;
} new_notes;

/* ---- reading -------------------------------------------------------------------------------- */

static void add_rows(gen_template *t, const cached_note *notes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    gen_source_row row;
    if (notes[i].nbytes == sizeof row) {
      memcpy(&row, notes[i].value, sizeof row);
      gen_source_rows_add(t, &row, 1);
    }
  }
}

void serve_notes_read(serve *s, gen_template *t, serve_notes *notes) {
  auto_arena a = {0};
  char maker[HASH_TEXT];
  const cached_note *list;
  size_t n;
  if (notes->is_read) {
    return;
  }
  notes->is_read = true;
  image_cache *cache = s->ready ? ready_images_cache(s->ready) : NULL;
  gen_source_maker(t, maker);
  if (cache && !image_cache_get_notes(cache, maker, &a, &list, &n, NULL)) {
    add_rows(t, list, n);
  }
}

/* ---- writing -------------------------------------------------------------------------------- */

static bool note_of(const gen_source_row *row, arena *a, cached_note *out) {
  gen_source_row *own = ARENA_ARRAY(a, gen_source_row, 1);
  out->name = arena_format(a, "%016" PRIx64 "%016" PRIx64, row->by_reads, row->by_constants);
  out->value = own;
  out->nbytes = sizeof *own;
  if (own) {
    *own = *row;
  }
  return own && out->name;
}

void serve_news_take(gen_template *t, serve_news *news) {
  const gen_source_row *rows;
  const size_t n = gen_source_rows_new(t, &rows);
  new_notes *x = n ? ARENA_ARRAY(&news->memory, new_notes, 1) : NULL;
  cached_note *notes = n ? ARENA_ARRAY(&news->memory, cached_note, n) : NULL;
  if (!x || !notes) {
    return;
  }
  *x = (new_notes){.next = news->first, .notes = notes};
  gen_source_maker(t, x->maker);
  while (x->n < n && note_of(&rows[x->n], &news->memory, &notes[x->n])) {
    x->n++;
  }
  news->first = x;
}

void serve_news_write(serve_news *news) {
  const char *path;
  image_cache *cache = NULL;
  if (news->first && !image_cache_path(&news->memory, &path, NULL) &&
      !image_cache_open(path, 0, &cache, NULL)) {
    for (const new_notes *x = news->first; x; x = x->next) {
      image_cache_put_notes(cache, x->maker, x->notes, x->n, NULL);
    }
  }
  image_cache_close(cache);
  arena_clear(&news->memory);
  *news = (serve_news){0};
}
