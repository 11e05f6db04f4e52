/* serve_table.h -- a hash table from a problem's key to its kernel, read without a lock.
 *
 * It is read at every typed call by any number of threads, and written once per problem. So entries
 * and slot arrays never change once published: a writer (one at a time, under the context's lock)
 * fills a new one and publishes it with a release store; readers use acquire loads. Outgrown slot
 * arrays are kept until the table is cleared, because a reader may still be in them; together they
 * are smaller than the current one. */
#ifndef SERVE_TABLE_H
#define SERVE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "key_hash.h"

typedef struct serve_entry {
  uint64_t hash;
  void *value;
  size_t nbytes;
  unsigned char key[];
} serve_entry;

struct serve_slots {
  struct serve_slots *older; /* outgrown, freed at the end */
  size_t mask;               /* a power of two less one; at most half the slots are taken */
  _Atomic(serve_entry *) slot[];
};

typedef struct serve_table { /* all zero: empty */
  _Atomic(struct serve_slots *) now;
  size_t n;
} serve_table;

static inline bool serve_same_key(const unsigned char *a, const unsigned char *b, size_t nbytes) {
  uint64_t x, y;
#pragma GCC unroll 32
  for (; nbytes >= sizeof x; nbytes -= sizeof x, a += sizeof x, b += sizeof x) {
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x != y) {
      return false;
    }
  }
  return !nbytes || !memcmp(a, b, nbytes);
}

static inline bool serve_entry_is(const serve_entry *e, uint64_t hash, const void *key,
                                  size_t nbytes) {
  return e->hash == hash && e->nbytes == nbytes && serve_same_key(e->key, key, nbytes);
}

/* serve_table_get -- NULL when the key isn't there; safe beside serve_table_put. Inlined, because
 * the size of a typed call's key is a constant, and no loop over it is left then */
static inline __attribute__((always_inline)) void *serve_table_get(serve_table *t, const void *key,
                                                                   size_t nbytes) {
  struct serve_slots *now = atomic_load_explicit(&t->now, memory_order_acquire);
  if (!now) {
    return NULL;
  }
  const uint64_t hash = key_hash(key, nbytes);
  for (size_t i = hash & now->mask;; i = (i + 1) & now->mask) {
    const serve_entry *e = atomic_load_explicit(&now->slot[i], memory_order_acquire);
    if (!e || serve_entry_is(e, hash, key, nbytes)) {
      return e ? e->value : NULL;
    }
  }
}

/* serve_table_put -- the key is copied, and must not be there yet; one writer at a time.
 *   err  the only failure is being out of memory: false */
_Bool serve_table_put(serve_table *t, const void *key, size_t nbytes, void *value);
/* serve_table_each -- in no particular order; no other thread may write the table meanwhile */
void serve_table_each(serve_table *t, void (*f)(void *value, void *ud), void *ud);
/* serve_table_clear -- frees keys and slots; values are the caller's */
void serve_table_clear(serve_table *t);

#endif
