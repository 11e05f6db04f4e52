/* arena.h -- memory that is freed all at once, for one candidate, one template or one query.
 *
 * arena_new zeroes what it returns and aligns it to 16 bytes. It returns NULL only when the host is
 * out of memory. arena_clear frees everything; the struct may then be used again.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

typedef struct arena {
  struct arena_block *blocks; /* the first one is being filled */
} arena;

void *arena_new(arena *a, size_t nbytes);
char *arena_text(arena *a, const char *text);
char *arena_text_n(arena *a, const char *text, size_t n);
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* arena_take -- move all memory of `from` to `a`; `from` is empty then */
void arena_take(arena *a, arena *from);

void arena_clear(arena *a);
/* auto_arena -- cleared at the end of its block */
#define auto_arena __attribute__((cleanup(arena_clear))) arena

#define ARENA_ARRAY(a, type, n) ((type *)arena_new((a), sizeof(type) * (n)))

#endif
