#include "gen_lex.h"

#include <ctype.h>
#include <string.h>

gen_lexer gen_lex(const char *text, size_t n, int line) {
  return (gen_lexer){.p = text, .end = text + n, .line = line};
}

bool gen_token_is(const gen_token *t, const char *text) {
  return t->n == strlen(text) && !memcmp(t->p, text, t->n);
}

static bool name_start(char c) {
  return isalpha((unsigned char)c) || c == '_';
}
static bool name_part(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

bool gen_word_is_name(const char *word) {
  if (!name_start(*word)) {
    return false;
  }
  while (name_part(*word)) {
    word++;
  }
  return !*word;
}

bool gen_word_is_lua(const char *word, size_t n) {
  static const char *const keywords[] = {"and",   "break", "do",       "else", "elseif", "end",
                                         "false", "for",   "function", "goto", "if",     "in",
                                         "local", "nil",   "not",      "or",   "repeat", "return",
                                         "then",  "true",  "until",    "while"};
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    if (strlen(keywords[i]) == n && !memcmp(word, keywords[i], n)) {
      return true;
    }
  }
  return false;
}

static char peek(const gen_lexer *l, size_t i) {
  return (size_t)(l->end - l->p) > i ? l->p[i] : 0;
}

static void step(gen_lexer *l) {
  l->line += *l->p++ == '\n';
}

/* Level of the long bracket that starts here: 0 for [[, 2 for [==[, -1 for none. */
static int long_level(const gen_lexer *l) {
  if (peek(l, 0) != '[') {
    return -1;
  }
  size_t n = 0;
  while (peek(l, 1 + n) == '=') {
    n++;
  }
  return peek(l, 1 + n) == '[' ? (int)n : -1;
}

/* Move past the closing bracket of that level; false when there is none. */
static bool skip_long(gen_lexer *l, int level) {
  while (l->p < l->end) {
    if (*l->p == ']') {
      int n = 0;
      while (peek(l, 1 + (size_t)n) == '=') {
        n++;
      }
      if (n == level && peek(l, 1 + (size_t)n) == ']') {
        l->p += n + 2;
        return true;
      }
    }
    step(l);
  }
  return false;
}

static bool skip_quoted(gen_lexer *l, char quote) {
  step(l);
  while (l->p < l->end && *l->p != quote && *l->p != '\n') {
    if (*l->p == '\\' && l->p + 1 < l->end) {
      step(l);
    }
    step(l);
  }
  if (peek(l, 0) != quote) {
    return false;
  }
  step(l);
  return true;
}

static void skip_comment(gen_lexer *l) {
  l->p += 2;
  int level = long_level(l);
  if (level >= 0) {
    l->p += level + 2;
    skip_long(l, level);
    return;
  }
  while (l->p < l->end && *l->p != '\n') {
    l->p++;
  }
}

static void skip_blanks(gen_lexer *l) {
  while (l->p < l->end) {
    if (isspace((unsigned char)*l->p)) {
      step(l);
    } else if (*l->p == '-' && peek(l, 1) == '-') {
      skip_comment(l);
    } else {
      return;
    }
  }
}

/* A numeral as Lua reads it: everything that could belong to it; Lua checks it later. */
static void skip_number(gen_lexer *l) {
  bool hex = *l->p == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X');
  while (name_part(peek(l, 0)) || peek(l, 0) == '.') {
    char c = (char)tolower((unsigned char)*l->p++);
    bool exponent = hex ? c == 'p' : c == 'e';
    if (exponent && (peek(l, 0) == '+' || peek(l, 0) == '-')) {
      l->p++;
    }
  }
}

static gen_token_kind skip_operator(gen_lexer *l) {
  static const char *const operators[] = {
      "...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>"};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    size_t n = strlen(operators[i]);
    if ((size_t)(l->end - l->p) >= n && !memcmp(l->p, operators[i], n)) {
      l->p += n;
      return GEN_TOKEN_OPERATOR;
    }
  }
  char c = *l->p++;
  return c && strchr("+-*/%^#&~|<>=(){}[];:,.", c) ? GEN_TOKEN_OPERATOR : GEN_TOKEN_BAD;
}

static gen_token_kind skip_token(gen_lexer *l) {
  char c = *l->p;
  if (name_start(c)) {
    const char *start = l->p;
    while (name_part(peek(l, 0))) {
      l->p++;
    }
    return gen_word_is_lua(start, (size_t)(l->p - start)) ? GEN_TOKEN_KEYWORD : GEN_TOKEN_NAME;
  }
  if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(l, 1)))) {
    skip_number(l);
    return GEN_TOKEN_NUMBER;
  }
  if (c == '"' || c == '\'') {
    return skip_quoted(l, c) ? GEN_TOKEN_STRING : GEN_TOKEN_BAD;
  }
  int level = long_level(l);
  if (level >= 0) {
    l->p += level + 2;
    return skip_long(l, level) ? GEN_TOKEN_STRING : GEN_TOKEN_BAD;
  }
  return skip_operator(l);
}

gen_token gen_lex_next(gen_lexer *l) {
  skip_blanks(l);
  gen_token t = {.kind = GEN_TOKEN_END, .p = l->p, .line = l->line};
  if (l->p < l->end) {
    t.kind = skip_token(l);
    t.n = (size_t)(l->p - t.p);
  }
  return t;
}
