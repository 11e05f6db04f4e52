/* c_name.h -- identifiers of C: a template's name as one, and those in a text. */
#ifndef BASE_C_NAME_H
#define BASE_C_NAME_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* c_name_has -- may this character stand in an identifier? */
static inline bool c_name_has(char c) {
  return isalnum((unsigned char)c) || c == '_';
}
/* c_name_length -- of the identifier, or number, that starts at p; 0: neither does */
static inline size_t c_name_length(const char *p) {
  size_t n = 0;
  while (c_name_has(p[n])) {
    n++;
  }
  return n;
}
/* c_name_is -- are the n characters at p this word? */
static inline bool c_name_is(const char *p, size_t n, const char *word) {
  return strlen(word) == n && !memcmp(p, word, n);
}

enum { C_NAME = 72 };
/* c_name -- words that C or C++ reserves, or that generated functions use, get an underscore */
void c_name(const char *name, char out[C_NAME]);

#endif
