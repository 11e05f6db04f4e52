/* gen_plain_writer.h -- writing the Lua text that a plain CUDA file stands for, line by line. */
#ifndef GEN_PLAIN_WRITER_H
#define GEN_PLAIN_WRITER_H

#include "gen_plain.h"

typedef struct gen_plain_writer {
  const gen_plain *x;
  arena *a;
  str *out;
  gen_plain_place *places; /* per line of out */
  size_t n_places;
  err *e;
} gen_plain_writer;

/* gen_plain_start -- what follows up to the next line of out comes from there */
void gen_plain_start(gen_plain_writer *w, gen_plain_place at);
/* gen_plain_line -- a line that comes from nowhere in the file */
void gen_plain_line(gen_plain_writer *w, const char *text);
/* gen_plain_quote -- as a string of Lua */
void gen_plain_quote(str *out, const char *text);
/* gen_plain_add_fill -- the test data of an argument (gen_plain_fill.c) */
void gen_plain_add_fill(gen_plain_writer *w, const gen_plain_arg *arg);
/* gen_plain_add_expression -- a number as such, else in quotes; presets: with the parameters' defaults
 * in place of the parameters */
void gen_plain_add_expression(gen_plain_writer *w, const char *text, bool presets);
/* gen_plain_add_stages -- the contents of __constant__ variables, then the stages of the list
 *   err  ERR_TEMPLATE  of an extent or an argument, at its place */
int gen_plain_add_stages(gen_plain_writer *w, const gen_plain_stage *list, size_t n, bool presets);

#endif
