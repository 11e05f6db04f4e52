/* cuda_tokens.h -- a CUDA text without comments and layout: texts with equal tokens have equal machine
 * code.
 */
#ifndef CUDA_TOKENS_H
#define CUDA_TOKENS_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "str.h"

static inline bool token_starts(const char *s, const char *with) {
  return !strncmp(s, with, strlen(with));
}

static inline bool token_is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* A blank counts only between two characters of words, or two that are not. */
static inline void token_add_blank(str *out, char next) {
  const char last = out->n ? out->p[out->n - 1] : '\n';
  if (last != '\n' && next != '\n' && token_is_word(last) == token_is_word(next)) {
    str_add(out, " ");
  }
}

static inline const char *token_skip_blanks(const char *p) {
  for (;;) {
    if (isspace((unsigned char)*p)) {
      p++;
    } else if (token_starts(p, "//")) {
      p += strcspn(p, "\n");
    } else if (token_starts(p, "/*")) {
      const char *end = strstr(p + 2, "*/");
      p = end ? end + 2 : p + strlen(p);
    } else {
      return p;
    }
  }
}

/* Adds a directive on a line of its own, unless it is #line. */
static inline const char *token_add_directive(const char *p, str *out) {
  const size_t n = strcspn(p, "\n");
  if (!token_starts(p, "#line")) {
    str_addf(out, "\n%.*s\n", (int)n, p);
  }
  return p + n;
}

static inline const char *token_add_quoted(const char *p, str *out) {
  const char *end = p + 1;
  while (*end && *end != *p) {
    end += *end == '\\' && end[1] ? 2 : 1;
  }
  end += *end != 0;
  str_add_n(out, p, (size_t)(end - p));
  return end;
}

/* cuda_tokens_add -- append the text that begins at p, one blank where blanks count */
static inline void cuda_tokens_add(const char *p, str *out) {
  bool fresh = true; /* the first of its line? */
  while (*p) {
    const char *next = token_skip_blanks(p);
    fresh |= memchr(p, '\n', (size_t)(next - p)) != NULL;
    if (next != p) {
      token_add_blank(out, *next);
    }
    if (!*next) {
      return;
    }
    if (*next == '#' && fresh) {
      p = token_add_directive(next, out);
    } else if (*next == '"') {
      p = token_add_quoted(next, out);
    } else {
      str_add_n(out, next, 1);
      p = next + 1;
    }
    fresh = false;
  }
}

#endif
