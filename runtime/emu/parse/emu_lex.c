/* emu_lex.c -- see emu_lex.h. src: PTX ISA 9.0, 4.3 to 4.5. */
#include "emu_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "emu_float.h"

static void skip_comment(emu_lexer *l) {
  if (l->p[1] == '/') {
    while (l->p < l->end && *l->p != '\n') {
      l->p++;
    }
    return;
  }
  for (l->p += 2; l->p < l->end; l->p++) {
    l->line += *l->p == '\n';
    if (*l->p == '*' && l->p + 1 < l->end && l->p[1] == '/') {
      l->p += 2;
      return;
    }
  }
}

static void skip_space(emu_lexer *l) {
  while (l->p < l->end) {
    if (*l->p == '\n' || isspace((unsigned char)*l->p)) {
      l->line += *l->p++ == '\n';
    } else if (*l->p == '/' && l->p + 1 < l->end && (l->p[1] == '/' || l->p[1] == '*')) {
      skip_comment(l);
    } else {
      return;
    }
  }
}

static bool starts_word(char c) {
  return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void lex_word(emu_lexer *l) {
  l->token.kind = TOKEN_WORD;
  for (; l->p < l->end; l->p++) {
    if (*l->p == ':' && l->p + 2 < l->end && l->p[1] == ':' && isalnum((unsigned char)l->p[2])) {
      l->p++;
    } else if (!starts_word(*l->p) && !isdigit((unsigned char)*l->p)) {
      return;
    }
  }
}

static int digit_value(char c) {
  return isdigit((unsigned char)c)    ? c - '0'
         : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
                                      : 99;
}

static void lex_digits(emu_lexer *l, int base) {
  uint64_t value = 0;
  const char *first = l->p;
  for (; l->p < l->end && digit_value(*l->p) < base; l->p++) {
    value = value * (uint64_t)base + (uint64_t)digit_value(*l->p);
  }
  l->token.value = value;
  if (l->p == first) {
    l->token.kind = TOKEN_BAD;
  }
}

/* a decimal floating-point literal; at most 63 characters count */
static void lex_decimal(emu_lexer *l, const char *first) {
  char text[64], *stop;
  size_t n =
      (size_t)(l->end - first) < sizeof text - 1 ? (size_t)(l->end - first) : sizeof text - 1;
  memcpy(text, first, n);
  text[n] = 0;
  l->token.kind = TOKEN_F64;
  l->token.value = emu_f64_bits(strtod(text, &stop));
  l->p = first + (stop - text);
}

static void lex_number(emu_lexer *l) {
  const char *first = l->p;
  char kind = *l->p == '0' && l->p + 1 < l->end ? (char)(l->p[1] | 32) : 0;
  l->token.kind = kind == 'f' ? TOKEN_F32 : kind == 'd' ? TOKEN_F64 : TOKEN_INTEGER;
  if (kind == 'x' || kind == 'f' || kind == 'd' || kind == 'b') {
    l->p += 2;
    lex_digits(l, kind == 'b' ? 2 : 16);
  } else {
    bool octal = *l->p == '0' && l->p + 1 < l->end && isdigit((unsigned char)l->p[1]);
    lex_digits(l, octal ? 8 : 10);
    if (l->p < l->end && (*l->p == '.' || *l->p == 'e' || *l->p == 'E')) {
      lex_decimal(l, first);
    }
  }
  if (l->p < l->end && (*l->p == 'U' || *l->p == 'u')) {
    l->p++;
  }
}

static void lex_string(emu_lexer *l) {
  l->token.kind = TOKEN_STRING;
  l->token.p = ++l->p;
  while (l->p < l->end && *l->p != '"' && *l->p != '\n') {
    l->p++;
  }
  l->token.n = (size_t)(l->p - l->token.p);
  if (l->p == l->end || *l->p == '\n') {
    l->token.kind = TOKEN_BAD;
    return;
  }
  l->p++;
}

void emu_lex_next(emu_lexer *l) {
  skip_space(l);
  l->token = (emu_token){TOKEN_END, l->p, 0, 0, l->line};
  if (l->p >= l->end) {
    return;
  }
  if (*l->p == '"') {
    lex_string(l);
    return;
  }
  if (starts_word(*l->p)) {
    lex_word(l);
  } else if (isdigit((unsigned char)*l->p)) {
    lex_number(l);
  } else {
    l->token.kind = TOKEN_MARK;
    l->p++;
  }
  l->token.n = (size_t)(l->p - l->token.p);
}

void emu_lex_start(emu_lexer *l, const char *text, size_t n) {
  *l = (emu_lexer){text, text + n, 1, {0}};
  emu_lex_next(l);
}

bool emu_token_is(const emu_token *t, const char *word) {
  size_t n = strlen(word);
  return t->kind == TOKEN_WORD && t->n == n && memcmp(t->p, word, n) == 0;
}
