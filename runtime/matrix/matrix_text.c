/* matrix_text.c -- see matrix_text.h. */
#define _GNU_SOURCE
#include "matrix_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix_kind.h"

enum { MOST_WORD = 64 };

static const struct {
  const char *name;
  double least, most;
  bool whole;
} numbers[] = {
#define NUMBER(name, least, most, whole) {#name, least, most, whole},
    MATRIX_NUMBER_LIST(NUMBER)
#undef NUMBER
};

static const char file_word[] = "file:";

bool matrix_is_file(const char *text) {
  return !strncmp(text, file_word, sizeof file_word - 1);
}

static const matrix_kind *find_kind(const char *name, size_t n) {
  const matrix_kind *k = matrix_kinds;
  while (k->name && (strlen(k->name) != n || memcmp(k->name, name, n))) {
    k++;
  }
  return k->name ? k : NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* What stands for a parameter among the words of a generator, "=8", "" or NULL: it has none. */
static const char *find_word(const char *words, const char *name) {
  const size_t n = strlen(name);
  for (const char *p = words; *p; p += strspn(p, " ")) {
    const size_t length = strcspn(p, " ");
    if (length >= n && !memcmp(p, name, n) && (length == n || p[n] == '=')) {
      return p + n;
    }
    p += length;
  }
  return NULL;
}

static bool is_common(matrix_number n) {
  return n == MATRIX_seed || n == MATRIX_symmetric || n == MATRIX_shuffle || n == MATRIX_spd;
}

static bool kind_takes(const matrix_kind *k, matrix_number n) {
  return is_common(n) || (n == MATRIX_laplace && k->dims && k->diagonal) ||
         find_word(k->takes, numbers[n].name);
}

static double preset(const matrix_kind *k, matrix_number n) {
  const char *word = find_word(k->takes, numbers[n].name);
  return !word ? 0 : *word == '=' ? strtod(word + 1, NULL) : NAN;
}

static matrix_number find_number(const char *name) {
  size_t n = 0;
  while (n < MATRIX_NUMBERS && strcmp(numbers[n].name, name) != 0) {
    n++;
  }
  return (matrix_number)n;
}

bool matrix_takes(const char *generator, const char *parameter) {
  const matrix_kind *k = find_kind(generator, strlen(generator));
  const matrix_number n = find_number(parameter);
  return k && n < MATRIX_NUMBERS && kind_takes(k, n);
}

void matrix_add_parameters(const char *text, str *out) {
  const matrix_kind *k = find_kind(text, strcspn(text, " "));
  const char *between = " takes ";
  str_add(out, k ? "matrix=" : "");
  str_add(out, k ? k->name : "");
  for (size_t i = 0; k && i < MATRIX_NUMBERS; i++) {
    if (kind_takes(k, (matrix_number)i)) {
      str_addf(out, "%s%s", between, numbers[i].name);
      between = ", ";
    }
  }
}

static int fail_number(const matrix_kind *k, const char *name, err *e) {
  const char *names[MATRIX_NUMBERS];
  size_t n_names = 0;
  char what[80];
  for (size_t i = 0; i < MATRIX_NUMBERS; i++) {
    if (kind_takes(k, (matrix_number)i)) {
      names[n_names++] = numbers[i].name;
    }
  }
  snprintf(what, sizeof what, "matrix=%s has no parameter", k->name);
  return err_unknown(e, what, name, names, n_names);
}

static int parse_number(const char *name, const char *text, matrix_number n, double *out, err *e) {
  char *end;
  int64_t i;
  *out = text_integer(text, &i) ? (double)i : strtod(text, &end);
  if (!text_integer(text, &i) && (end == text || *end || !isfinite(*out))) {
    return err_set(e, ERR_USAGE, "%s=%s is not a number", name, text);
  }
  if (numbers[n].whole && *out != floor(*out)) {
    return err_set(e, ERR_USAGE, "%s=%s is not a whole number, such as 4096 or 2^12", name, text);
  }
  return *out >= numbers[n].least && *out <= numbers[n].most
             ? 0
             : err_set(e, ERR_USAGE, "%s=%s is out of range: %s is %.15g to %.15g", name, text,
                       name, numbers[n].least, numbers[n].most);
}

/* "rows=2^20" */
static int parse_word(const char *word, size_t n, matrix_spec *s, err *e) {
  char text[MOST_WORD];
  if (n >= sizeof text || !memchr(word, '=', n)) {
    return err_set(e, ERR_USAGE, "'%.*s' is not of the form PARAMETER=VALUE",
                   (int)(n < 60 ? n : 60), word);
  }
  memcpy(text, word, n);
  text[n] = 0;
  char *value = strchr(text, '=');
  *value++ = 0;
  const matrix_number number = find_number(text);
  if (number == MATRIX_NUMBERS || !kind_takes(s->kind, number)) {
    return fail_number(s->kind, text, e);
  }
  if (s->given & 1u << number) {
    return err_set(e, ERR_USAGE, "%s of matrix=%s is given twice", text, s->kind->name);
  }
  s->given |= 1u << number;
  return parse_number(text, value, number, &s->v[number], e);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int fail_kind(const char *name, err *e) {
  const char *names[64];
  size_t n = 0;
  for (const matrix_kind *k = matrix_kinds; k->name; k++) {
    names[n++] = k->name;
  }
  return err_unknown(e, "no generator of matrices is named", name, names, n);
}

int matrix_check_name(const char *generator, err *e) {
  return find_kind(generator, strlen(generator)) ? 0 : fail_kind(generator, e);
}

static int parse_file(const char *text, matrix_spec *s, err *e) {
  const char *path = text + sizeof file_word - 1;
  const size_t n = strlen(path); /* it may have blanks */
  if (!n || n >= sizeof s->path) {
    return err_set(e, ERR_USAGE, "matrix=file: names a file, such as file:a.mtx");
  }
  memcpy(s->path, path, n);
  s->entries = -1;
  return 0;
}

static int check(matrix_spec *s, err *e) {
  const bool square =
      matrix_is(s, MATRIX_symmetric) || matrix_is(s, MATRIX_spd) || matrix_is(s, MATRIX_shuffle);
  TRY(s->kind->size(s, e));
  if (square && s->rows != s->columns) {
    return err_set(
        e, ERR_USAGE,
        "matrix=%s has %lld rows and %lld columns: symmetric, spd and shuffle need as many",
        s->kind->name, (long long)s->rows, (long long)s->columns);
  }
  if (matrix_is(s, MATRIX_symmetric) || matrix_is(s, MATRIX_spd)) {
    const bool diagonal = s->kind->diagonal || !matrix_is(s, MATRIX_spd);
    s->entries = s->kind->symmetric && diagonal ? s->entries : -1;
  }
  return (double)s->entries > MATRIX_MOST_ENTRIES
             ? err_set(e, ERR_LIMIT, "matrix=%s would have %lld entries; 2^32 are the most",
                       s->kind->name, (long long)s->entries)
             : 0;
}

int matrix_spec_parse(const char *text, matrix_spec *s, err *e) {
  char name[MOST_WORD];
  *s = (matrix_spec){0};
  text += strspn(text, " \t\n");
  if (matrix_is_file(text)) {
    return parse_file(text, s, e);
  }
  const size_t n = strcspn(text, " \t\n");
  s->kind = find_kind(text, n);
  if (!s->kind) {
    snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), text);
    return fail_kind(name, e);
  }
  for (size_t i = 0; i < MATRIX_NUMBERS; i++) {
    s->v[i] = kind_takes(s->kind, (matrix_number)i) ? preset(s->kind, (matrix_number)i) : NAN;
  }
  for (const char *p = text + n; *(p += strspn(p, " \t\n"));) {
    const size_t length = strcspn(p, " \t\n");
    TRY(parse_word(p, length, s, e));
    p += length;
  }
  return check(s, e);
}

static void add_number(double v, str *out) {
  char text[40];
  snprintf(text, sizeof text, "%.15g", v);
  str_addf(out, strtod(text, NULL) == v ? "%.15g" : "%.17g", v);
}

void matrix_spec_text(const matrix_spec *s, str *out) {
  str_add(out, s->kind ? s->kind->name : file_word);
  str_add(out, s->path);
  for (size_t i = 0; s->kind && i < MATRIX_NUMBERS; i++) {
    const bool told = !isnan(s->v[i]) && (!is_common((matrix_number)i) || s->v[i] != 0);
    if (told && (i != MATRIX_laplace || s->v[i] != 0)) {
      str_addf(out, " %s=", numbers[i].name);
      add_number(s->v[i], out);
    }
  }
}
