/* gen_lex.h -- the tokens of Lua text.
 *
 * Expressions are parsed from them (expr.h). They also tell at which line a key of a template
 * stands, where the expression of a @{...} ends and which names a script reads; Lua itself compiles
 * and runs templates and scripts.
 */
#ifndef GEN_LEX_H
#define GEN_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef enum gen_token_kind {
  GEN_TOKEN_END,
  GEN_TOKEN_NAME,
  GEN_TOKEN_KEYWORD,
  GEN_TOKEN_NUMBER,
  GEN_TOKEN_STRING, /* quoted or in long brackets, delimiters included */
  GEN_TOKEN_OPERATOR,
  GEN_TOKEN_BAD /* a character that Lua has no use for, or a string without an end */
} gen_token_kind;

typedef struct gen_token {
  gen_token_kind kind;
  const char *p; /* into the text */
  size_t n;
  int line; /* of its first character */
} gen_token;

typedef struct gen_lexer {
  const char *p, *end;
  int line;
} gen_lexer;

gen_lexer gen_lex(const char *text, size_t n, int line);
/* gen_lex_next -- comments and blanks are skipped; GEN_TOKEN_END for ever at the end */
gen_token gen_lex_next(gen_lexer *l);
static inline bool gen_token_is(const gen_token *t, const char *text) {
  return t->n == strlen(text) && !memcmp(t->p, text, t->n);
}

/* gen_word_is_name -- letters, digits and underscores, not starting with a digit */
bool gen_word_is_name(const char *word);
/* gen_word_is_lua -- one of Lua's 22 keywords */
bool gen_word_is_lua(const char *word, size_t n);

#endif
