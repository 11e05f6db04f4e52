#define _GNU_SOURCE
#include "serve_notes.h"

#include <string.h>

#include "chooser_digest.h"
#include "image_cache.h"
#include "run.h"
#include "serve_presets.h"

typedef struct new_notes {
  struct new_notes *next;
  char maker[HASH_TEXT];
  const cached_note *notes;
  size_t n;
} new_notes;

typedef struct new_choice {
  struct new_choice *next;
  cached_note note;
} new_choice;

void serve_notes_clear(serve_notes *notes) {
  arena_clear(&notes->memory);
  *notes = (serve_notes){0};
}

void serve_notes_open(serve *s) {
  if (!s->ready) {
    s->ready = ready_images_open();
  }
}

static image_cache *cache_of(serve *s) {
  serve_notes_open(s);
  return s->ready ? ready_images_cache(s->ready) : NULL;
}

static void *copy(arena *a, const void *bytes, size_t n) {
  void *own = arena_new(a, n);
  return own ? memcpy(own, bytes, n) : NULL;
}

static bool copy_note(const cached_note *from, arena *a, cached_note *to) {
  *to = (cached_note){.name = arena_text(a, from->name),
                      .value = copy(a, from->value, from->nbytes),
                      .nbytes = from->nbytes};
  return to->name && to->value;
}

/* ---- texts ---------------------------------------------------------------------------------- */

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
  image_cache *cache = cache_of(s);
  gen_source_maker(t, maker);
  if (cache && !image_cache_get_notes(cache, maker, &a, &list, &n, NULL)) {
    add_rows(t, list, n);
  }
}

static bool note_of(const gen_source_row *row, arena *a, cached_note *out) {
  char name[HASH_TEXT];
  gen_source_row_name(row, name);
  const cached_note note = {.name = name, .value = row, .nbytes = sizeof *row};
  return copy_note(&note, a, out);
}

/* ---- choices -------------------------------------------------------------------------------- */

/* What a note says, without padding; the texts follow, those that there are. */
typedef struct choice {
  double sec, loss;
  int32_t origin, changed, measured;
  uint16_t has_problem, has_device;
  uint16_t index[GEN_MAX_PARAMS];
} choice;
_Static_assert(sizeof(choice) == 2 * 8 + 3 * 4 + (2 + GEN_MAX_PARAMS) * 2, "notes hold no padding");

enum { CHOICES_MOST = 1024 }; /* that wait to be written */

/* Results of a database change, and no digest says how. */
static bool may_note(const serve *s) {
  return !s->sources.db && s->sources.presets == serve_presets &&
         s->sources.portfolios == serve_portfolios;
}

static void find_chooser(const serve *s, const gen_template *t, serve_notes *notes) {
  auto_str all = {0};
  char maker[HASH_TEXT];
  gen_number limits[RT_NUMBERS];
  gen_source_maker(t, maker);
  rt_numbers(s->sources.device, limits);
  str_addf(&all, "%s %s %s", maker, CHOOSER_DIGEST, s->sources.device_key);
  for (size_t i = 0; i < RT_NUMBERS; i++) {
    str_addf(&all, " %lld", (long long)limits[i].value);
  }
  if (!all.failed) {
    hash_bytes(all.p, all.n, notes->chooser);
  }
}

/* The text at *at, which ends before `end`, and moves on behind it; NULL: there is none. */
static const char *next_text(const char **at, const char *end) {
  const char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
  *at = nul ? nul + 1 : end;
  return nul ? text : NULL;
}

static bool read_choice(const gen_template *t, const cached_note *note, serve_pick *pick) {
  choice x;
  if (note->nbytes < sizeof x) {
    return false;
  }
  memcpy(&x, note->value, sizeof x);
  const char *at = (const char *)note->value + sizeof x,
             *end = (const char *)note->value + note->nbytes;
  *pick = (serve_pick){.origin = (tuned_origin)x.origin,
                       .sec = x.sec,
                       .loss = x.loss,
                       .measured = x.measured,
                       .changed = x.changed,
                       .problem = x.has_problem ? next_text(&at, end) : NULL,
                       .device_key = x.has_device ? next_text(&at, end) : NULL};
  memcpy(pick->config.index, x.index, sizeof x.index);
  bool in_range = true;
  for (size_t i = 0; i < t->n_params; i++) {
    in_range = in_range && x.index[i] < t->params[i].n;
  }
  return in_range;
}

bool serve_notes_choice(serve *s, gen_template *t, serve_notes *notes, const char *problem,
                        arena *a, serve_pick *pick) {
  cached_note note;
  image_cache *cache = may_note(s) ? cache_of(s) : NULL;
  if (cache && !*notes->chooser) {
    find_chooser(s, t, notes);
  }
  return cache && !image_cache_get_note(cache, notes->chooser, problem, a, &note, NULL) &&
         read_choice(t, &note, pick);
}

static void write_choice(const serve_pick *pick, str *out) {
  choice x = {.sec = pick->sec,
              .loss = pick->loss,
              .origin = (int32_t)pick->origin,
              .changed = pick->changed,
              .measured = pick->measured,
              .has_problem = pick->problem != NULL,
              .has_device = pick->device_key != NULL};
  memcpy(x.index, pick->config.index, sizeof x.index);
  str_add_n(out, &x, sizeof x);
  if (pick->problem) {
    str_add_n(out, pick->problem, strlen(pick->problem) + 1);
  }
  if (pick->device_key) {
    str_add_n(out, pick->device_key, strlen(pick->device_key) + 1);
  }
}

void serve_notes_chose(const serve *s, serve_notes *notes, const char *problem,
                       const serve_pick *pick) {
  auto_str value = {0};
  if (!may_note(s) || !*notes->chooser || pick->image || notes->n_choices == CHOICES_MOST) {
    return;
  }
  write_choice(pick, &value);
  new_choice *x = value.failed ? NULL : ARENA_ARRAY(&notes->memory, new_choice, 1);
  if (x) {
    x->next = notes->choices;
    x->note = (cached_note){.name = arena_text(&notes->memory, problem),
                            .value = copy(&notes->memory, value.p, value.n),
                            .nbytes = value.n};
    if (x->note.name && x->note.value) {
      notes->choices = x;
      notes->n_choices++;
    }
  }
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Room for n notes of a maker; NULL: there are none, or memory is out. */
static cached_note *add_maker(serve_news *news, const char *maker, size_t n) {
  new_notes *x = n ? ARENA_ARRAY(&news->memory, new_notes, 1) : NULL;
  cached_note *notes = x ? ARENA_ARRAY(&news->memory, cached_note, n) : NULL;
  if (notes) {
    *x = (new_notes){.next = news->first, .notes = notes};
    memcpy(x->maker, maker, sizeof x->maker);
    news->first = x;
  }
  return notes;
}

static void take_texts(gen_template *t, serve_news *news) {
  char maker[HASH_TEXT];
  const gen_source_row *rows;
  const size_t n = gen_source_rows_new(t, &rows);
  gen_source_maker(t, maker);
  cached_note *to = add_maker(news, maker, n);
  while (to && news->first->n < n &&
         note_of(&rows[news->first->n], &news->memory, &to[news->first->n])) {
    news->first->n++;
  }
}

static void take_choices(serve_notes *notes, serve_news *news) {
  cached_note *to = add_maker(news, notes->chooser, notes->n_choices);
  for (const new_choice *x = notes->choices; to && x; x = x->next) {
    news->first->n += copy_note(&x->note, &news->memory, &to[news->first->n]);
  }
  notes->choices = NULL;
  notes->n_choices = 0;
  arena_clear(&notes->memory);
}

void serve_news_take(gen_template *t, serve_notes *notes, serve_news *news) {
  take_texts(t, news);
  take_choices(notes, news);
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
