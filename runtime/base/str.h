/* str.h -- a growing byte string, and text helpers that several modules need.
 *
 * A str is the caller's struct: {0}, str_clear. It is always NUL-terminated. When
 * memory runs out the string keeps its contents and `failed` is set, so a chain of appends is
 * checked once, at its end.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct str {
  char *p; /* NULL until the first append; use str_text */
  size_t n, capacity;
  bool failed;
} str;

void str_clear(str *s);
/* auto_str -- cleared at the end of its block */
#define auto_str __attribute__((cleanup(str_clear))) str
/* str_reset -- empty the string, keep its memory */
void str_reset(str *s);
/* str_text -- never NULL; borrowed until the next append */
const char *str_text(const str *s);
void str_add(str *s, const char *text);
void str_add_n(str *s, const void *bytes, size_t n);
void str_addf(str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* str_add_visible -- the text with control characters, but for newlines and tabs, as \x1b: a terminal
 * obeys them */
void str_add_visible(str *s, const char *text);
/* text_control -- the first such character; NULL: there is none */
const char *text_control(const char *text);
/* str_add_json -- the text as a JSON string, quotes included */
void str_add_json(str *s, const char *text);

/* text_integer -- a whole number: decimal, 0x hexadecimal, 2^40 or 2^31+5; k, M, G are not accepted
 * because they mean 1000 to some readers and 1024 to others. False when the text is anything else
 * or does not fit. */
bool text_integer(const char *text, int64_t *value);
/* text_is_path -- does it have a / or end in .txt? */
bool text_is_path(const char *text);
/* text_nearest -- the name of n that is closest to `word`; NULL when none has a Levenshtein
 * distance of at most a third of the longer of the two */
const char *text_nearest(const char *word, const char *const *names, size_t n);

#endif
