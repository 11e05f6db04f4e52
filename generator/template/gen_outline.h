/* gen_outline.h -- at which line of a template file each of its keys stands.
 *
 * Lua keeps no lines for data. So the table constructor that the file returns is walked once, token
 * by token, into a tree of keys; an error then finds its line by the key's path. A template that
 * builds its tables by other means gets the line of the nearest enclosing key that is written out.
 */
#ifndef GEN_OUTLINE_H
#define GEN_OUTLINE_H

#include <stdint.h>

#include "arena.h"

typedef struct gen_mark {
  const struct gen_mark *parent, *child, *next;
  const char *key; /* NULL: a place in a list */
  int64_t index;   /* from 1 */
  int line;
  const char *path; /* NULL: the template's */
} gen_mark;

/* gen_outline_new -- out: the root, with line 0 when the file does not end in `return { ... }` or
 * `return NAME`; in the arena; NULL when memory ran out */
const gen_mark *gen_outline_new(arena *a, const char *text, size_t n);
/* the child of that name or place; `m` itself when it is not written out */
const gen_mark *gen_mark_key(const gen_mark *m, const char *key);
const gen_mark *gen_mark_at(const gen_mark *m, int64_t index);

#endif
