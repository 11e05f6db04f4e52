#include "serve_table.h"

#include <stdlib.h>
#include <string.h>

typedef serve_entry entry;
typedef struct serve_slots slots;

enum { FIRST_SLOTS = 64 };

static void place(slots *s, entry *e) {
  size_t i = e->hash & s->mask;
  while (atomic_load_explicit(&s->slot[i], memory_order_relaxed)) {
    i = (i + 1) & s->mask;
  }
  atomic_store_explicit(&s->slot[i], e, memory_order_release);
}

/* Make room for one more entry. */
static bool grow(serve_table *t) {
  slots *old = atomic_load_explicit(&t->now, memory_order_relaxed);
  if (old && 2 * (t->n + 1) <= old->mask + 1) {
    return true;
  }
  const size_t n = old ? 2 * (old->mask + 1) : FIRST_SLOTS;
  slots *more = calloc(1, sizeof *more + n * sizeof more->slot[0]);
  if (!more) {
    return false;
  }
  more->older = old;
  more->mask = n - 1;
  for (size_t i = 0; old && i <= old->mask; i++) {
    entry *e = atomic_load_explicit(&old->slot[i], memory_order_relaxed);
    if (e) {
      place(more, e);
    }
  }
  atomic_store_explicit(&t->now, more, memory_order_release);
  return true;
}

bool serve_table_put(serve_table *t, const void *key, size_t nbytes, void *value) {
  entry *e = malloc(sizeof *e + nbytes);
  if (!e || !grow(t)) {
    free(e);
    return false;
  }
  *e = (entry){.hash = key_hash(key, nbytes), .value = value, .nbytes = nbytes};
  memcpy(e->key, key, nbytes);
  place(atomic_load_explicit(&t->now, memory_order_relaxed), e);
  t->n++;
  return true;
}

void serve_table_each(serve_table *t, void (*f)(void *value, void *ud), void *ud) {
  slots *now = atomic_load_explicit(&t->now, memory_order_relaxed);
  for (size_t i = 0; now && i <= now->mask; i++) {
    entry *e = atomic_load_explicit(&now->slot[i], memory_order_relaxed);
    if (e) {
      f(e->value, ud);
    }
  }
}

void serve_table_clear(serve_table *t) {
  slots *s = atomic_load_explicit(&t->now, memory_order_relaxed);
  for (size_t i = 0; s && i <= s->mask; i++) {
    free(atomic_load_explicit(&s->slot[i], memory_order_relaxed));
  }
  while (s) {
    slots *older = s->older;
    free(s);
    s = older;
  }
  atomic_store_explicit(&t->now, NULL, memory_order_relaxed);
  t->n = 0;
}
