/* serve_table.h -- from a problem's key to its kernel, read without a lock.
 *
 * Read at every typed call by any number of threads; written once per problem ever met. So entries
 * and slot arrays never change once published: a writer (one at a time, under the context's lock)
 * fills a new one and publishes it with a release store, readers follow with acquire loads. Slots
 * outgrown are kept until the table is cleared, because a reader may still be walking them;
 * together they are smaller than the current ones.
 */
#ifndef SERVE_TABLE_H
#define SERVE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>

struct serve_slots;

typedef struct serve_table { /* all zero: empty */
  _Atomic(struct serve_slots *) now;
  size_t n;
} serve_table;

/* serve_table_get -- NULL when the key isn't there; safe beside serve_table_put */
void *serve_table_get(serve_table *t, const void *key, size_t nbytes);
/* serve_table_put -- the key is copied, and must not be there yet; one writer at a time.
 *   err  the only failure is being out of memory: false */
_Bool serve_table_put(serve_table *t, const void *key, size_t nbytes, void *value);
/* serve_table_each -- in no particular order; nobody else may use the table */
void serve_table_each(serve_table *t, void (*f)(void *value, void *ud), void *ud);
/* serve_table_clear -- frees keys and slots; values are the caller's */
void serve_table_clear(serve_table *t);

#endif
