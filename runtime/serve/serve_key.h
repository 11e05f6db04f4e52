/* serve_key.h -- how the typed calls, and the program that writes them, encode a key's choices
 * and tell templates apart. */
#ifndef SERVE_KEY_H
#define SERVE_KEY_H

#include <stdint.h>

struct gen_template;

/* A choice in a key is a word: one letter stands for itself, longer ones are hashed (FNV-1a).
 * serve_key_letter folds the letter to the case that the template uses; `real` says that
 * conjugation means nothing, so 'c' is 't'. */
int64_t serve_key_word(const char *text);
static inline int64_t serve_key_letter(char letter, int upper, int real) {
  enum { CASE = 'a' - 'A' }; /* one bit: other characters do not become letters */
  const int low = (unsigned char)letter | CASE;
  const int word = real && low == 'c' ? 't' : low;
  return upper ? word & ~CASE : word;
}

/* serve_key_uses -- the word for the nearest number, by the logarithm, of "1 10 100 many"; many where uses
 * is 0 or less, or beyond these */
int64_t serve_key_uses(int64_t uses, const char *names);

/* serve_signature -- a digest of all that a typed call is made from: fields, arguments, their types
 * and order, what is computed and checked. A user's template may take the place of a
 * built-in one; the typed call serves it when the signatures agree. */
void serve_signature(const struct gen_template *t, char out[33]); /* HASH_TEXT */

#endif
