/* gen_script.h -- CUDA text with Lua in it, as a compiled script.
 *
 * A line that starts with @ is Lua, @{...} is the value of an expression, the rest is text. The line
 * #include "name" becomes the text of that file, of which #pragma once is left out, unless it is
 * there already; @include "name" does so in any case, and what the file's Lua lines define is known
 * behind it. The script is one Lua function with exactly one line per template line, included files spliced in, so
 * that a place in the one is a place in the other: an array from line to file and line serves
 * errors and #line alike.
 */
#ifndef GEN_SCRIPT_H
#define GEN_SCRIPT_H

#include "gen_sandbox.h"

typedef struct gen_piece { /* text between substitutions */
  const char *p;
  size_t n;
} gen_piece;

/* The text of an included file, which ends with a newline, and what to call the file; fails with
 * gen_fail at b->at, or of a plain source returns NULL. */
typedef const char *gen_include(gen_box *b, void *ud, const char *name, size_t *n,
                                const char **path);

typedef struct gen_script_source {
  const char *text; /* ends with a newline, or is empty */
  size_t n;
  gen_line at; /* of its first line */
  gen_include *include;
  void *ud;
  bool plain; /* no line is Lua; includes that are not found are the compiler's */
} gen_script_source;

typedef struct gen_script {
  gen_script_source source;
  int ref; /* of the Lua function in the registry: f(line, value, piece); 0: not compiled yet */
  const gen_line *lines;
  size_t n_lines;
  const gen_piece *pieces;
  const uint32_t *first; /* piece that a line starts with; UINT32_MAX: the line is Lua */
  char *lua;             /* its text, for whoever reads it next to free */
} gen_script;

/* Inside gen_box_run: */

/* gen_script_new -- everything it points to is in the arena, or is the source's. When the box is
 * lazy, only the files are there that the source includes. */
void gen_script_new(gen_box *b, arena *a, const gen_script_source *source, gen_script *out);
/* gen_script_compile -- if it isn't yet */
void gen_script_compile(gen_box *b, arena *a, gen_script *s);
/* gen_script_run -- append its output; it is compiled. The names it may read are in the table on
 * top, which is popped. err  ERR_LIMIT  more than max_nbytes */
void gen_script_run(gen_box *b, const gen_script *s, size_t max_nbytes, str *out);

#endif
