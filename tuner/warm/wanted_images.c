#include "wanted_images.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

static wanted_image *find(const wanted_images *w, const char hash[HASH_TEXT]) {
  for (size_t i = 0; i < w->n; i++) {
    if (!memcmp(w->items[i].hash, hash, HASH_TEXT)) {
      return &w->items[i];
    }
  }
  return NULL;
}

static void want_again(wanted_image *i, wanted_by by) {
  i->n_problems = by == i->by ? i->n_problems + 1 : by < i->by ? 1 : i->n_problems;
  i->by = by < i->by ? by : i->by;
}

static int append(wanted_images *w, const wanted_image *image, const str *text, err *e) {
  if (!array_reserve(&w->items, w->n + 1, &w->most, sizeof *w->items)) {
    return err_nomem(e);
  }
  wanted_image *i = &w->items[w->n];
  *i = *image;
  i->text = arena_text_n(&w->memory, text->p, text->n);
  i->problem = arena_text(&w->memory, image->problem);
  i->number = w->n++;
  return i->text && i->problem ? 0 : err_nomem(e);
}

int wanted_add(wanted_images *w, gen_instance *g, const gen_config *c, wanted_by by,
               const char *problem, err *e) {
  auto_str text = {0};
  wanted_image x = {.by = by, .n_problems = 1, .problem = problem};
  wanted_image *same = gen_source_hash(g, c, x.hash) ? find(w, x.hash) : NULL;
  if (!same) {
    TRY(gen_source_make(g, c, &text, &x.body, e));
    hash_bytes(text.p + x.body, text.n - x.body, x.hash);
    gen_source_remember(g, c, x.hash);
    same = find(w, x.hash);
  }
  if (same) {
    want_again(same, by);
    return 0;
  }
  return append(w, &x, &text, e);
}

static int by_want(const void *a, const void *b) {
  const wanted_image *x = a, *y = b;
  if (x->by != y->by) {
    return x->by < y->by ? -1 : 1;
  }
  if (x->n_problems != y->n_problems) {
    return x->n_problems > y->n_problems ? -1 : 1;
  }
  return x->number < y->number ? -1 : 1;
}

void wanted_sort(wanted_images *w) {
  if (w->n) {
    qsort(w->items, w->n, sizeof *w->items, by_want);
  }
}

void wanted_clear(wanted_images *w) {
  arena_clear(&w->memory);
  free(w->items);
  *w = (wanted_images){0};
}
