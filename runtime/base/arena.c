#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
  struct arena_block *next;
  size_t used, capacity;
  _Alignas(16) char bytes[];
};

enum { FIRST_NBYTES = 2048, BLOCK_NBYTES = 16384, LARGE_NBYTES = 2048 };

static struct arena_block *block_new(size_t capacity) {
  struct arena_block *b = malloc(sizeof *b + capacity);
  if (b) {
    *b = (struct arena_block){.capacity = capacity};
  }
  return b;
}

/* A large object gets a block of its own; the block that has room left stays the first. */
static struct arena_block *add_large(arena *a, size_t nbytes) {
  struct arena_block *b = block_new(nbytes);
  if (b && a->blocks) {
    b->next = a->blocks->next;
    a->blocks->next = b;
  } else if (b) {
    a->blocks = b;
  }
  return b;
}

/* Twice as large as the last, within bounds: most arenas stay small. */
static struct arena_block *grow(arena *a) {
  const size_t last = a->blocks ? a->blocks->capacity : 0;
  const size_t twice = 2 * last > FIRST_NBYTES ? 2 * last : FIRST_NBYTES;
  struct arena_block *b = block_new(twice < BLOCK_NBYTES ? twice : BLOCK_NBYTES);
  if (b) {
    b->next = a->blocks;
    a->blocks = b;
  }
  return b;
}

void *arena_new(arena *a, size_t nbytes) {
  nbytes = (nbytes + 15) & ~(size_t)15;
  struct arena_block *b = a->blocks;
  if (!b || b->capacity - b->used < nbytes) {
    b = nbytes >= LARGE_NBYTES ? add_large(a, nbytes) : grow(a);
    if (!b) {
      return NULL;
    }
  }
  void *p = b->bytes + b->used;
  b->used += nbytes;
  return memset(p, 0, nbytes);
}

char *arena_text_n(arena *a, const char *text, size_t n) {
  char *p = arena_new(a, n + 1);
  return p ? memcpy(p, text, n) : NULL;
}

char *arena_text(arena *a, const char *text) {
  return arena_text_n(a, text, strlen(text));
}

char *arena_format(arena *a, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(NULL, 0, format, ap);
  va_end(ap);
  char *p = n < 0 ? NULL : arena_new(a, (size_t)n + 1);
  if (p) {
    va_start(ap, format);
    vsnprintf(p, (size_t)n + 1, format, ap);
    va_end(ap);
  }
  return p;
}

/* The blocks go behind the one that is being filled. */
void arena_take(arena *a, arena *from) {
  struct arena_block **behind = a->blocks ? &a->blocks->next : &a->blocks;
  struct arena_block **last = &from->blocks;
  while (*last) {
    last = &(*last)->next;
  }
  *last = *behind;
  *behind = from->blocks;
  from->blocks = NULL;
}

void arena_clear(arena *a) {
  while (a->blocks) {
    struct arena_block *next = a->blocks->next;
    free(a->blocks);
    a->blocks = next;
  }
}
