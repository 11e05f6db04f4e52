#include "str.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_clear(str *s) {
  free(s->p);
  *s = (str){0};
}

void str_reset(str *s) {
  s->n = 0;
  s->failed = false;
  if (s->p) {
    s->p[0] = 0;
  }
}

const char *str_text(const str *s) {
  return s->p ? s->p : "";
}

static bool reserve(str *s, size_t more) {
  if (s->failed || more > SIZE_MAX / 4 - s->n) {
    s->failed = true;
    return false;
  }
  size_t need = s->n + more + 1;
  if (need <= s->capacity) {
    return true;
  }
  size_t capacity = need < 64 ? 64 : need + need / 2;
  char *p = realloc(s->p, capacity);
  if (!p) {
    s->failed = true;
    return false;
  }
  s->p = p;
  s->capacity = capacity;
  return true;
}

void str_add_n(str *s, const void *bytes, size_t n) {
  if (!reserve(s, n)) {
    return;
  }
  if (n) {
    memcpy(s->p + s->n, bytes, n);
  }
  s->n += n;
  s->p[s->n] = 0;
}

void str_add(str *s, const char *text) {
  str_add_n(s, text, strlen(text));
}

void str_addf(str *s, const char *format, ...) {
  va_list ap, again;
  va_start(ap, format);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, format, ap);
  if (n > 0 && reserve(s, (size_t)n)) {
    vsnprintf(s->p + s->n, (size_t)n + 1, format, again);
    s->n += (size_t)n;
  }
  va_end(again);
  va_end(ap);
}

/* of one control character: bytes below blank, DEL, and in UTF-8 those from U+0080 to U+009F; 0: it
 * is another */
static size_t control_nbytes(const unsigned char *p) {
  if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
    return 2;
  }
  return (*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f;
}

const char *text_control(const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  while (*p && !control_nbytes(p)) {
    p++;
  }
  return *p ? (const char *)p : NULL;
}

void str_add_visible(str *s, const char *text) {
  const char *control;
  while ((control = text_control(text))) {
    str_add_n(s, text, (size_t)(control - text));
    const size_t n = control_nbytes((const unsigned char *)control);
    for (size_t i = 0; i < n; i++) {
      str_addf(s, "\\x%02x", (unsigned char)control[i]);
    }
    text = control + n;
  }
  str_add(s, text);
}

void str_add_json(str *s, const char *text) {
  str_add(s, "\"");
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p == '"' || *p == '\\') {
      str_addf(s, "\\%c", *p);
    } else if (control_nbytes(p) == 2) {
      str_addf(s, "\\u%04x", *++p);
    } else if (*p < 0x20 || *p == 0x7f) {
      str_addf(s, "\\u%04x", *p);
    } else {
      str_add_n(s, p, 1);
    }
  }
  str_add(s, "\"");
}

static bool raised(int64_t base, long exponent, int64_t *value) {
  *value = 1;
  for (long i = 0; i < exponent; i++) {
    if (*value > INT64_MAX / base) {
      return false;
    }
    *value *= base;
  }
  return true;
}

/* The summand after a power: "", "+5" or "-1". */
static bool summand(const char *text, int64_t *value) {
  char *end;
  *value = 0;
  if (!*text) {
    return true;
  }
  errno = 0;
  *value = strtoll(text, &end, 10);
  return (*text == '+' || *text == '-') && isdigit((unsigned char)text[1]) && !*end && !errno;
}

/* Is the text a power, "2^40", perhaps with a summand, "2^31+5"? */
static bool power(const char *text, int64_t *value) {
  char *end;
  int64_t more;
  long long base = strtoll(text, &end, 10);
  if (end == text || *end != '^' || base < 2 || base > 1000) {
    return false;
  }
  const char *exponent = end + 1;
  long n = strtol(exponent, &end, 10);
  if (end == exponent || n < 0 || n > 62 || !summand(end, &more) || !raised(base, n, value) ||
      (more > 0 && *value > INT64_MAX - more)) {
    return false;
  }
  *value += more;
  return true;
}

bool text_integer(const char *text, int64_t *value) {
  if (*text == ' ' || *text == '+' || !*text) {
    return false;
  }
  if (strchr(text, '^')) {
    return power(text, value);
  }
  char *end;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  errno = 0;
  long long v = strtoll(text, &end, hex ? 16 : 10);
  if (end == text || *end || errno) {
    return false;
  }
  *value = v;
  return true;
}

enum { NEAREST_MAX = 64 };

static size_t distance(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  size_t row[NEAREST_MAX + 1];
  for (size_t j = 0; j <= nb; j++) {
    row[j] = j;
  }
  for (size_t i = 1; i <= na; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      diagonal = row[j];
      row[j] = change < best ? change : best;
    }
  }
  return row[nb];
}

bool text_is_path(const char *text) {
  const size_t n = strlen(text);
  return strchr(text, '/') || (n > 4 && !strcmp(text + n - 4, ".txt"));
}

const char *text_nearest(const char *word, const char *const *names, size_t n) {
  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (size_t i = 0; i < n; i++) {
    size_t longer = strlen(word) > strlen(names[i]) ? strlen(word) : strlen(names[i]);
    if (longer > NEAREST_MAX) {
      continue;
    }
    size_t d = distance(word, names[i]);
    if (d <= (longer + 2) / 3 && d < best_distance) {
      best = names[i];
      best_distance = d;
    }
  }
  return best;
}
