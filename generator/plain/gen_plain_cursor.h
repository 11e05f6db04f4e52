/* gen_plain_cursor.h -- reading the words of one line of a plain CUDA file or of the command line. */
#ifndef GEN_PLAIN_CURSOR_H
#define GEN_PLAIN_CURSOR_H

#include "gen_plain.h"

typedef struct plain_cursor { /* in the text of one line */
  const char *p;
  gen_plain_place at; /* of p */
} plain_cursor;

typedef struct plain_parser {
  gen_plain *x;
  arena *a;
  err *e;
  gen_plain_stage *stage; /* that grid, block, ... belong to */
  gen_plain_stage first;  /* what comes before a kernel is named */
  bool in_reference;
} plain_parser;

#define FAIL(k, where, ...) gen_plain_fail((k)->x, (where), (k)->e, __VA_ARGS__)

#define ROOM(k, c, list, count)                                                                    \
  TRY((count) < GEN_PLAIN_MAX ? 0 : FAIL((k), (c)->at, "more than %d such lines", GEN_PLAIN_MAX))

void plain_move(plain_cursor *c, size_t n);
void plain_skip_blanks(plain_cursor *c);

/* plain_skip -- past the mark and the blanks around it; false: it is not there */
bool plain_skip(plain_cursor *c, char mark);

/* plain_take -- the next n characters without the blanks at their end; the cursor moves behind them */
int plain_take(plain_parser *k, plain_cursor *c, size_t n, gen_plain_text *out);
int plain_take_name(plain_parser *k, plain_cursor *c, const char *what, gen_plain_text *out);
int plain_take_rest(plain_parser *k, plain_cursor *c, const char *what, gen_plain_text *out);

/* plain_take_end -- err: something is left in the line */
int plain_take_end(plain_parser *k, plain_cursor *c);

/* plain_length_to -- up to one of the marks outside of parentheses and quotes, or the end */
size_t plain_length_to(const char *p, const char *marks);

/* plain_length_to_word -- up to the word, which stands between blanks, or the end */
size_t plain_length_to_word(const char *p, const char *word);

/* The statements about data; each reads what follows its keyword. */
int plain_read_arg(plain_parser *k, plain_cursor *c);
int plain_read_constant(plain_parser *k, plain_cursor *c);
int plain_read_expected(plain_parser *k, plain_cursor *c);
int plain_read_scratch(plain_parser *k, plain_cursor *c);

#endif
