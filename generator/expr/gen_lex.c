#include "gen_lex.h"

#include <string.h>

gen_lexer gen_lex(const char *text, size_t n, int line) {
  return (gen_lexer){.p = text, .end = text + n, .line = line};
}

/* A template is read character by character whenever one is opened, so these are no calls. */
static inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static inline bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool name_part(char c) {
  return name_start(c) || is_digit(c);
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
  static const char *const keywords['z' - 'a' + 1][4] = {['a' - 'a'] = {"and"},
                                                         ['b' - 'a'] = {"break"},
                                                         ['d' - 'a'] = {"do"},
                                                         ['e' - 'a'] = {"else", "elseif", "end"},
                                                         ['g' - 'a'] = {"goto"},
                                                         ['f' - 'a'] = {"false", "for", "function"},
                                                         ['i' - 'a'] = {"if", "in"},
                                                         ['l' - 'a'] = {"local"},
                                                         ['n' - 'a'] = {"nil", "not"},
                                                         ['o' - 'a'] = {"or"},
                                                         ['r' - 'a'] = {"repeat", "return"},
                                                         ['t' - 'a'] = {"then", "true"},
                                                         ['u' - 'a'] = {"until"},
                                                         ['w' - 'a'] = {"while"}};
  if (word[0] < 'a' || word[0] > 'z') {
    return false;
  }
  for (const char *const *k = keywords[word[0] - 'a']; *k; k++) {
    if (strlen(*k) == n && !memcmp(word, *k, n)) {
      return true;
    }
  }
  return false;
}

static inline char peek(const gen_lexer *l, size_t i) {
  return (size_t)(l->end - l->p) > i ? l->p[i] : 0;
}

static inline void step(gen_lexer *l) {
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

/* Past this character, to the next closing bracket. */
static void to_bracket(gen_lexer *l) {
  const char *found = memchr(l->p + 1, ']', (size_t)(l->end - l->p - 1));
  const char *to = found ? found : l->end;
  for (const char *p = l->p; (p = memchr(p, '\n', (size_t)(to - p))); p++) {
    l->line++;
  }
  l->p = to;
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
    to_bracket(l);
  }
  return false;
}

/* Past a string without a backslash, as most are; else nothing happens. */
static bool skip_plain(gen_lexer *l, char quote) {
  const char *from = l->p + 1, *to = memchr(from, quote, (size_t)(l->end - from));
  if (!to || memchr(from, '\\', (size_t)(to - from)) || memchr(from, '\n', (size_t)(to - from))) {
    return false;
  }
  l->p = to + 1;
  return true;
}

static bool skip_quoted(gen_lexer *l, char quote) {
  if (skip_plain(l, quote)) {
    return true;
  }
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
  const char *end = memchr(l->p, '\n', (size_t)(l->end - l->p));
  l->p = end ? end : l->end;
}

static void skip_blanks(gen_lexer *l) {
  while (l->p < l->end) {
    if (*l->p == ' ') { /* most are */
      l->p++;
    } else if (is_blank(*l->p)) {
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
    const char c = *l->p++;
    const bool exponent = hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
    if (exponent && (peek(l, 0) == '+' || peek(l, 0) == '-')) {
      l->p++;
    }
  }
}

/* ... .. == ~= <= >= // :: << >> and single characters */
static gen_token_kind skip_operator(gen_lexer *l) {
  const char c = peek(l, 0), next = peek(l, 1);
  const bool twice = c == next && strchr(".=/:<>", c), equals = next == '=' && strchr("~<>", c);
  if (c && (twice || equals)) {
    l->p += c == '.' && peek(l, 2) == '.' ? 3 : 2;
    return GEN_TOKEN_OPERATOR;
  }
  l->p++;
  return c && strchr("+-*/%^#&~|<>=(){}[];:,.", c) ? GEN_TOKEN_OPERATOR : GEN_TOKEN_BAD;
}

static gen_token_kind skip_token(gen_lexer *l) {
  char c = *l->p;
  if (name_start(c)) {
    const char *start = l->p, *p = start + 1;
    while (p < l->end && name_part(*p)) {
      p++;
    }
    l->p = p;
    return gen_word_is_lua(start, (size_t)(p - start)) ? GEN_TOKEN_KEYWORD : GEN_TOKEN_NAME;
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) {
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
