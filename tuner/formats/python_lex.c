#include "python_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t number_length(const char *p) {
  char *end;
  strtod(p, &end);
  return (size_t)(end - p);
}

static size_t string_length(const char *p) {
  const char *end = strchr(p + 1, *p);
  return end ? (size_t)(end + 1 - p) : 0;
}

static size_t operator_length(const char *p) {
  static const char *const two[] = {"**", "//", "<=", ">=", "==", "!=", "<<", ">>"};
  for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
    if (!strncmp(p, two[i], 2)) {
      return 2;
    }
  }
  return strchr("+-*/%<>&|^~()[],", *p) ? 1 : 0;
}

static size_t name_length(const char *p) {
  size_t n = 0;
  while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.') {
    n++;
  }
  return n;
}

static size_t measure(python_lexer *x, const char *p) {
  if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
    x->kind = PYTHON_NUMBER;
    return number_length(p);
  }
  if (*p == '\'' || *p == '"') {
    x->kind = PYTHON_STRING;
    return string_length(p);
  }
  if (isalpha((unsigned char)*p) || *p == '_') {
    x->kind = PYTHON_NAME;
    return name_length(p);
  }
  x->kind = PYTHON_OPERATOR;
  return operator_length(p);
}

void python_next(python_lexer *x) {
  const char *p = x->p + strspn(x->p, " \t\r\n");
  size_t n = *p ? measure(x, p) : 0;
  x->kind = *p ? x->kind : PYTHON_END;
  if (*p && (!n || n >= PYTHON_MAX_TOKEN)) {
    x->kind = PYTHON_BAD;
    n = 1;
  }
  memcpy(x->token, p, n);
  x->token[n] = 0;
  x->p = p + n;
  if (x->kind == PYTHON_BAD && !isprint((unsigned char)*p)) {
    x->token[0] = '?';
  }
}

bool python_is(const python_lexer *x, const char *word) {
  return (x->kind == PYTHON_OPERATOR || x->kind == PYTHON_NAME) && !strcmp(x->token, word);
}
