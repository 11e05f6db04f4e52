/* python_lex.h -- the tokens of Python's expressions. */
#ifndef TUNE_PYTHON_LEX_H
#define TUNE_PYTHON_LEX_H

#include <stdbool.h>

enum { PYTHON_MAX_TOKEN = 120 };

typedef enum python_kind {
  PYTHON_END,
  PYTHON_NAME, /* with dots: math.floor */
  PYTHON_NUMBER,
  PYTHON_STRING, /* quotes included */
  PYTHON_OPERATOR,
  PYTHON_BAD /* no token, or one that is too long */
} python_kind;

typedef struct python_lexer {
  const char *p;                /* what follows the token */
  char token[PYTHON_MAX_TOKEN]; /* of PYTHON_BAD: the character */
  python_kind kind;
} python_lexer;

void python_next(python_lexer *x);
/* python_is -- is the token this name or operator? */
bool python_is(const python_lexer *x, const char *word);

#endif
