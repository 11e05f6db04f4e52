#include "warm_notes.h"

#include "image_cache.h"

static int write_rows(const char *maker, const gen_source_row *rows, size_t n, err *e) {
  auto_arena a = {0};
  const char *path;
  image_cache *cache;
  cached_note *notes = ARENA_ARRAY(&a, cached_note, n);
  char(*names)[HASH_TEXT] = arena_new(&a, n * sizeof *names);
  for (size_t i = 0; notes && names && i < n; i++) {
    gen_source_row_name(&rows[i], names[i]);
    notes[i] = (cached_note){.name = names[i], .value = &rows[i], .nbytes = sizeof rows[i]};
  }
  TRY(notes && names ? image_cache_path(&a, &path, e) : err_nomem(e));
  TRY(image_cache_open(path, 0, &cache, e));
  const int rc = image_cache_put_notes(cache, maker, notes, n, e);
  image_cache_close(cache);
  return rc;
}

int warm_notes_write(gen_template *t, err *e) {
  char maker[HASH_TEXT];
  const gen_source_row *rows;
  const size_t n = gen_source_rows_new(t, &rows);
  gen_source_maker(t, maker);
  return n ? write_rows(maker, rows, n, e) : 0;
}
