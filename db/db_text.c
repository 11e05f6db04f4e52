#include "db_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum {
  COLUMN_MOST = 8 << 20
}; /* bytes: the bound of a portfolio (DB_MAX_TEXT); configurations
                                 * have hundreds */

static const char *const kinds[DB_KINDS] = {"final", "screen", "model", "portfolio"};

static const char *const columns[] = {
    "device",  "name",   "cc",   "sms",     "family", "version",  "hash",     "path",
    "problem", "config", "kind", "seconds", "spread", "launches", "versions", "when"};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* ---- writing -------------------------------------------------------------------------------- */

void db_text_head(str *out) {
  str_add(out, DB_TEXT_HEAD "\n#");
  for (size_t i = 0; i < N_COLUMNS; i++) {
    str_addf(out, "%s%s", i ? "\t" : "", columns[i]);
  }
  str_add(out, "\n");
}

static void add_text(str *out, const char *text) {
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < ' ' || c == 127 || c == '%') {
      str_addf(out, "%%%02X", c);
    } else {
      str_add_n(out, text, 1);
    }
  }
  str_add(out, "\t");
}

void db_text_write(const db_line *l, str *out) {
  add_text(out, l->device.key);
  add_text(out, l->device.name);
  str_addf(out, "%d\t%d\t", l->device.cc, l->device.sms);
  add_text(out, l->template.family);
  str_addf(out, "%lld\t%s\t", (long long)l->template.version, l->template.hash);
  add_text(out, l->template.path);
  add_text(out, l->problem);
  add_text(out, l->config);
  str_addf(out, "%s\t%.9g\t%.3g\t%lld\tdriver %d nvrtc %d\t", kinds[l->kind], l->sec, l->spread,
           (long long)l->launches, l->driver, l->nvrtc);
  str_addf(out, "%s\n", l->when);
}

/* ---- the end -------------------------------------------------------------------------------- */

static bool is_comment(const char *line, size_t n) {
  return n == 0 || *line == '#' || (n == 1 && *line == '\r');
}

typedef struct tally { /* of the results since the last closing line */
  uint64_t n, digest;
  bool any; /* a closing line, with only comments behind it */
} tally;

static void add_result(tally *t, const char *line, size_t n) {
  t->n++;
  t->digest += hash_more(0, line, n);
  t->any = false;
}

enum { END_MOST = 100 };

static void end_line(const tally *t, char out[END_MOST]) {
  snprintf(out, END_MOST, DB_TEXT_END "%llu results, digest %016llx", (unsigned long long)t->n,
           (unsigned long long)t->digest);
}

static int refuse_end(const tally *t, const char *line, size_t n, err *e) {
  static const char remedy[] = "copy the file again, or delete this line if that was on purpose";
  char claim[END_MOST];
  snprintf(claim, sizeof claim, "%.*s", n < END_MOST ? (int)n : END_MOST, line);
  const uint64_t n_claimed = strtoull(claim + strlen(DB_TEXT_END), NULL, 10);
  return n_claimed == t->n
             ? err_set(e, ERR_USAGE, "the %llu results before it were changed; %s",
                       (unsigned long long)t->n, remedy)
             : err_set(e, ERR_USAGE, "it closes %llu results, but %llu are here; %s",
                       (unsigned long long)n_claimed, (unsigned long long)t->n, remedy);
}

static int close_tally(tally *t, const char *line, size_t n, err *e) {
  char expected[END_MOST];
  end_line(t, expected);
  n -= line[n - 1] == '\r';
  if (n != strlen(expected) || memcmp(line, expected, n)) {
    return refuse_end(t, line, n, e);
  }
  *t = (tally){.any = true};
  return 0;
}

static int add_line(tally *t, const char *line, size_t n, err *e) {
  const size_t n_end = strlen(DB_TEXT_END);
  if (n > n_end && !memcmp(line, DB_TEXT_END, n_end)) {
    return close_tally(t, line, n, e);
  }
  if (!is_comment(line, n)) {
    add_result(t, line, n);
  }
  return 0;
}

static int add_lines(tally *t, const char *text, size_t n, size_t *number, err *e) {
  *number = 0;
  for (const char *at = text, *end = text + n; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    ++*number;
    TRY(add_line(t, at, (size_t)(stop - at), e));
    at = stop + 1;
  }
  return 0;
}

int db_text_check(const char *text, size_t n, bool *closed, size_t *number, err *e) {
  tally t = {0};
  const int rc = add_lines(&t, text, n, number, e);
  *closed = !rc && t.any;
  return rc;
}

void db_text_end(str *out) {
  tally t = {0};
  size_t number;
  char line[END_MOST];
  add_lines(&t, str_text(out), out->n, &number, NULL);
  end_line(&t, line);
  str_addf(out, "%s\n", line);
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reading { /* the columns of one line; the first error sticks */
  char *at;              /* the rest; NULL at the end */
  arena *a;
  size_t i; /* columns read */
  int code;
  err *e;
} reading;

static void refuse(reading *r, const char *what) {
  if (!r->code) {
    const char *name = columns[r->i ? r->i - 1 : 0];
    r->code = err_set(r->e, ERR_USAGE, "column %s %s", name, what);
  }
}

static int hex(char c) {
  return isdigit((unsigned char)c) ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place. Only characters that must be escaped may be, so that a line has one spelling. */
static bool unescape(char *text) {
  char *to = text;
  for (; *text; text++, to++) {
    *to = *text;
    if (*text == '%') {
      const int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);
      const int value = low < 0 ? 0 : 16 * high + low;
      if (!value || (value >= ' ' && value != 127 && value != '%')) {
        return false;
      }
      *to = (char)value;
      text += 2;
    } else if ((unsigned char)*text < ' ' || *text == 127) {
      return false;
    }
  }
  *to = 0;
  return true;
}

static const char *column(reading *r) {
  r->i++;
  if (!r->at) {
    refuse(r, "is missing: a line has sixteen, separated by tabs");
    return "";
  }
  char *text = r->at, *end = strchr(text, '\t');
  r->at = end ? end + 1 : NULL;
  if (end) {
    *end = 0;
  }
  if (strlen(text) > COLUMN_MOST) {
    refuse(r, "is too long");
  } else if (!unescape(text)) {
    refuse(r, "has a control character or a wrong %XX");
  }
  return text;
}

static const char *text_column(reading *r) {
  const char *text = column(r);
  if (!*text) {
    refuse(r, "is empty");
  }
  return text;
}

/* Only portfolios have lines. */
static void refuse_controls(reading *r, const char *text) {
  if (text_control(text) || strpbrk(text, "\n\t")) {
    refuse(r, "has a control character");
  }
}

static const char *name_column(reading *r) {
  const char *text = text_column(r);
  refuse_controls(r, text);
  return text;
}

static int64_t whole(reading *r, int64_t least, int64_t most) {
  const char *text = column(r);
  int64_t value = 0;
  if (!isdigit((unsigned char)*text) || !text_integer(text, &value) || value < least ||
      value > most) {
    refuse(r, "is no whole number, or out of range");
  }
  return value;
}

static double real(reading *r, double most) {
  const char *text = column(r);
  char *end;
  const double value = strtod(text, &end);
  if (!isdigit((unsigned char)*text) || *end || !(value >= 0 && value <= most)) {
    refuse(r, "is no number, or out of range");
  }
  return value;
}

static const char *hash_column(reading *r) {
  const char *text = column(r);
  if (strlen(text) != HASH_TEXT - 1 || strspn(text, "0123456789abcdef") != HASH_TEXT - 1) {
    refuse(r, "is no hash of 32 hexadecimal digits");
  }
  return text;
}

static db_kind kind_column(reading *r) {
  const char *text = column(r);
  for (int i = 0; i < DB_KINDS; i++) {
    if (!strcmp(text, kinds[i])) {
      return (db_kind)i;
    }
  }
  refuse(r, "is none of final, screen, model, portfolio");
  return DB_KIND_MODEL;
}

static bool version_after(const char **text, const char *word, int *value) {
  const size_t n = strlen(word);
  char *end;
  if (strncmp(*text, word, n) || !isdigit((unsigned char)(*text)[n])) {
    return false;
  }
  const long v = strtol(*text + n, &end, 10);
  *value = (int)v;
  *text = end;
  return v >= 0 && v < 10000000;
}

static void versions(reading *r, db_line *l) {
  const char *text = column(r);
  if (!version_after(&text, "driver ", &l->driver) || !version_after(&text, " nvrtc ", &l->nvrtc) ||
      *text) {
    refuse(r, "is not \"driver N nvrtc N\"");
  }
}

/* "2025-01-31T12:00:00Z" */
static const char *when(reading *r) {
  const char *text = column(r), *form = "dddd-dd-ddTdd:dd:ddZ";
  bool same = strlen(text) == strlen(form);
  for (size_t i = 0; same && form[i]; i++) {
    same = form[i] == 'd' ? isdigit((unsigned char)text[i]) : text[i] == form[i];
  }
  if (!same) {
    refuse(r, "is not a time like 2025-01-31T12:00:00Z");
  }
  return text;
}

static void read_columns(reading *r, db_line *l) {
  l->device.key = name_column(r);
  l->device.name = name_column(r);
  l->device.cc = (int)whole(r, 10, 9999);
  l->device.sms = (int)whole(r, 1, 100000);
  l->template.family = name_column(r);
  l->template.version = whole(r, 0, INT32_MAX);
  l->template.hash = hash_column(r);
  l->template.path = name_column(r);
  l->problem = name_column(r);
  l->config = column(r);
  l->kind = kind_column(r);
  if (l->kind != DB_KIND_PORTFOLIO) {
    refuse_controls(r, l->config);
  }
  l->sec = real(r, 1e6);
  l->spread = real(r, 1e6);
  l->launches = whole(r, 0, INT64_C(1) << 50);
  versions(r, l);
  l->when = when(r);
}

/* The problem's text begins with the family. */
static bool is_of_family(const db_line *l) {
  const size_t n = strlen(l->template.family);
  return !strncmp(l->problem, l->template.family, n) && (!l->problem[n] || l->problem[n] == ' ');
}

int db_text_read(const char *line, size_t n, arena *a, db_line *l, bool *none, err *e) {
  *none = is_comment(line, n);
  if (*none) {
    return 0;
  }
  if (memchr(line, 0, n)) {
    return err_set(e, ERR_USAGE, "a line holds a NUL byte");
  }
  reading r = {.at = arena_text_n(a, line, n), .a = a, .e = e};
  if (!r.at) {
    return err_nomem(e);
  }
  *l = (db_line){0};
  read_columns(&r, l);
  if (!r.code && r.at) {
    r.code = err_set(e, ERR_USAGE, "the line has more than sixteen columns");
  }
  if (!r.code && !is_of_family(l)) {
    r.code = err_set(e, ERR_USAGE, "the problem is not one of the line's family");
  }
  if (!r.code && !(l->sec > 0)) {
    r.code = err_set(e, ERR_USAGE, "column seconds is not above zero");
  }
  return r.code;
}
