#include "gen_plain_cursor.h"

#include <ctype.h>
#include <string.h>

#include "c_name.h"

void plain_move(plain_cursor *c, size_t n) {
  c->p += n;
  c->at.column += (int)n;
}

void plain_skip_blanks(plain_cursor *c) {
  plain_move(c, strspn(c->p, " \t\r"));
}

bool plain_skip(plain_cursor *c, char mark) {
  plain_skip_blanks(c);
  if (*c->p != mark) {
    return false;
  }
  plain_move(c, 1);
  plain_skip_blanks(c);
  return true;
}

int plain_take(plain_parser *k, plain_cursor *c, size_t n, gen_plain_text *out) {
  size_t length = n;
  while (length && isspace((unsigned char)c->p[length - 1])) {
    length--;
  }
  *out = (gen_plain_text){arena_text_n(k->a, c->p, length), c->at};
  plain_move(c, n);
  return out->p ? 0 : err_nomem(k->e);
}

int plain_take_name(plain_parser *k, plain_cursor *c, const char *what, gen_plain_text *out) {
  plain_skip_blanks(c);
  const size_t n = c_name_length(c->p);
  if (!n || isdigit((unsigned char)*c->p)) {
    return FAIL(k, c->at, "here belongs %s, not '%.40s'", what, *c->p ? c->p : "the end");
  }
  return plain_take(k, c, n, out);
}

size_t plain_length_to(const char *p, const char *marks) {
  size_t n = 0;
  int depth = 0;
  for (char quote = 0; p[n]; n++) {
    if (quote) {
      quote = p[n] == quote ? 0 : quote;
    } else if (!depth && strchr(marks, p[n])) {
      return n;
    } else if (p[n] == '"' || p[n] == '\'') {
      quote = p[n];
    } else {
      depth += p[n] == '(' || p[n] == '[' || p[n] == '{';
      depth -= p[n] == ')' || p[n] == ']' || p[n] == '}';
    }
  }
  return n;
}

size_t plain_length_to_word(const char *p, const char *word) {
  const size_t n = strlen(word);
  for (const char *q = p; (q = strstr(q, word)); q++) {
    if (q > p && isspace((unsigned char)q[-1]) && (isspace((unsigned char)q[n]) || !q[n])) {
      return (size_t)(q - p);
    }
  }
  return strlen(p);
}

int plain_take_rest(plain_parser *k, plain_cursor *c, const char *what, gen_plain_text *out) {
  plain_skip_blanks(c);
  if (!*c->p) {
    return FAIL(k, c->at, "%s is missing", what);
  }
  return plain_take(k, c, strlen(c->p), out);
}

int plain_take_end(plain_parser *k, plain_cursor *c) {
  plain_skip_blanks(c);
  return *c->p ? FAIL(k, c->at, "'%.40s' is left over here", c->p) : 0;
}
