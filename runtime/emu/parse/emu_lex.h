/* emu_lex.h -- PTX text to tokens.
 *
 * A word is everything that starts like a name: `fma.rn.f32`, `.reg`, `%r12`, `%tid.x`,
 * `$L__BB0_1`, including the `::` of `.L2::128B`. The text need not end with a NUL. */
#ifndef EMU_LEX_H
#define EMU_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_token_kind {
  TOKEN_END,
  TOKEN_WORD,
  TOKEN_INTEGER,
  TOKEN_F32,    /* 0f3F800000, bits in `value` */
  TOKEN_F64,    /* 0d3FF0000000000000 or 1.5e3 */
  TOKEN_STRING, /* without its quotes */
  TOKEN_MARK,   /* one character */
  TOKEN_BAD
} emu_token_kind;

typedef struct emu_token {
  emu_token_kind kind;
  const char *p;
  size_t n;
  uint64_t value;
  int line; /* from 1 */
} emu_token;

typedef struct emu_lexer {
  const char *p, *end;
  int line;
  emu_token token; /* the current one */
} emu_lexer;

/* emu_lex_start -- move to the first token */
void emu_lex_start(emu_lexer *l, const char *text, size_t n);
/* emu_lex_next -- move to the next token */
void emu_lex_next(emu_lexer *l);
/* emu_lex_is -- is the current token this mark? */
static inline bool emu_lex_is(const emu_lexer *l, char mark) {
  return l->token.kind == TOKEN_MARK && *l->token.p == mark;
}
bool emu_token_is(const emu_token *t, const char *word);

#endif
