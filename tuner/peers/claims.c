#define _GNU_SOURCE
#include "claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_writer.h"
#include "print.h"
#include "file.h"
#include "tuner_files.h"

enum { FILE_MOST = 1 << 20, CLAIMS_MOST = 1000, PARTS = 4 };
static const double DIFFERENCE = 1.02, GAIN = 1.05;

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
  arena *a;
  const char *path;
  int line;
} reader;

static char *trim(char *s) {
  s += strspn(s, " \t");
  for (size_t n = strlen(s); n && strchr(" \t\r", s[n - 1]); n--) {
    s[n - 1] = 0;
  }
  return s;
}

static int wrong(const reader *r, const char *why, err *e) {
  char place[300];
  snprintf(place, sizeof place, "%.250s:%d", r->path, r->line);
  return err_at(e, ERR_TEMPLATE, place,
                "%s; a claim is: FAMILY PROBLEM | THIS > THAT | COMMON | what the text says", why);
}

static const char *whole(const reader *r, const char *common, const char *part) {
  return arena_format(r->a, "%s%s%s", common, common[0] ? "," : "", part);
}

static int read_sides(const reader *r, char *sides, const char *common, claim *c, err *e) {
  char *sign = strpbrk(sides, ">~");
  if (!sign) {
    return wrong(r, "neither > nor ~ between the two configurations", e);
  }
  c->even = *sign == '~';
  *sign = 0;
  c->one_part = trim(sides);
  char *rest = sign + 1;
  c->least = c->even ? 0 : strtod(sign + 1, &rest);
  c->other_part = trim(rest);
  if (!c->one_part[0] || !c->other_part[0] || strchr(c->one_part, ' ') ||
      strchr(c->other_part, ' ')) {
    return wrong(r, "a configuration is NAME=VALUE,... without spaces", e);
  }
  c->one = whole(r, common, c->one_part);
  c->other = whole(r, common, c->other_part);
  return c->one && c->other ? 0 : err_nomem(e);
}

static int read_claim(const reader *r, char *line, claim *c, err *e) {
  char *parts[PARTS];
  for (int i = 0; i < PARTS; i++) {
    parts[i] = line ? trim(i + 1 < PARTS ? strsep(&line, "|") : line) : NULL;
  }
  if (!parts[PARTS - 1] || !parts[PARTS - 1][0]) {
    return wrong(r, "fewer than four parts between |", e);
  }
  *c = (claim){.family = parts[0], .problem = "", .text = parts[3], .line = r->line};
  char *blank = strchr(parts[0], ' ');
  if (blank) {
    *blank = 0;
    c->problem = trim(blank + 1);
  }
  return read_sides(r, parts[1], parts[2], c, e);
}

int claims_read(const char *text, const char *path, arena *a, claim **out, size_t *n, err *e) {
  reader r = {.a = a, .path = path};
  char *rest = arena_text(a, text);
  *n = 0;
  *out = ARENA_ARRAY(a, claim, CLAIMS_MOST);
  TRY(rest && *out ? 0 : err_nomem(e));
  for (char *line; (line = strsep(&rest, "\n"));) {
    r.line++;
    line = trim(line);
    if (!line[0] || line[0] == '#') {
      continue;
    }
    TRY(*n < CLAIMS_MOST ? 0 : wrong(&r, "more than a thousand claims", e));
    TRY(read_claim(&r, line, &(*out)[(*n)++], e));
  }
  return *n ? 0 : err_at(e, ERR_TEMPLATE, path, "the list has no claims");
}

int claims_open(const char *path, arena *a, claim **out, size_t *n, err *e) {
  auto_str text = {0};
  TRY(path ? file_read(path, FILE_MOST, &text, e) : 0);
  return claims_read(path ? str_text(&text) : tuner_file("claims.txt")->text,
                     path ? path : "tuner/peers/claims.txt", a, out, n, e);
}

/* ---- judging --------------------------------------------------------------------------------- */

static const char *name_of(claim_verdict v) {
  static const char *const names[] = {"holds", "no difference", "does not hold"};
  return names[v];
}

static double ratio_of(const claim_times *t) {
  return t->other / t->one;
}

claim_verdict claim_verdict_of(const claim *c, const claim_times *t) {
  const double ratio = ratio_of(t);
  if (c->even) {
    return ratio <= GAIN && ratio >= 1 / GAIN ? CLAIM_HOLDS : CLAIM_FAILS;
  }
  if (c->least > 0) {
    return ratio >= c->least ? CLAIM_HOLDS : CLAIM_FAILS;
  }
  return ratio >= DIFFERENCE ? CLAIM_HOLDS : ratio > 1 / DIFFERENCE ? CLAIM_EVEN : CLAIM_FAILS;
}

void claim_line(const claim *c, const claim_times *t, str *out) {
  auto_str one = {0}, other = {0};
  format_sec(&one, t->one);
  format_sec(&other, t->other);
  str_addf(out, "%-13s %6.2f  %s %s: %s, %s: %s%s\n", name_of(claim_verdict_of(c, t)), ratio_of(t),
           c->family, c->one_part, str_text(&one), c->other_part, str_text(&other),
           t->modelled ? " (modelled)" : "");
  str_addf(out, "%20s   %s%s%s\n", "", c->problem, c->problem[0] ? ": " : "", c->text);
}

void claim_json(const claim *c, const claim_times *t, const char *device, str *out) {
  jw_event(out, "claim");
  jw_text(out, "verdict", name_of(claim_verdict_of(c, t)));
  jw_real(out, "ratio", 6, ratio_of(t));
  jw_text(out, "claimed", c->even ? "no faster" : "faster");
  jw_text(out, "family", c->family);
  jw_text(out, "problem", c->problem);
  jw_text(out, "device", device);
  jw_text(out, "one", c->one);
  jw_real(out, t->modelled ? "one_modelled_seconds" : "one_seconds", 9, t->one);
  jw_text(out, "other", c->other);
  jw_real(out, t->modelled ? "other_modelled_seconds" : "other_seconds", 9, t->other);
  jw_text(out, "text", c->text);
  jw_end_line(out);
}
