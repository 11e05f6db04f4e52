#define _GNU_SOURCE
#include "gen_directives.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_name.h"

enum { MAX_MACROS = 512, MAX_DEPTH = 8 };

typedef struct word {
  const char *p;
  size_t n; /* 0: there is none */
} word;

typedef struct macro {
  word name;
  const char *body, *end;
} macro;

typedef struct walk {
  gen_describe_word *describe;
  const void *ud;
  err *e;
  char path[160]; /* of the template's line, by #line */
  int line;
  word directive;
  macro macros[MAX_MACROS]; /* beyond them, tests through macros are not seen */
  size_t n_macros;
} walk;

/* ---- words ----------------------------------------------------------------------------------- */

static bool starts(const char *p, const char *end, const char *with) {
  size_t n = strlen(with);
  return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

static const char *find(const char *p, const char *end, const char *what) {
  return memmem(p, (size_t)(end - p), what, strlen(what));
}

/* After the comment or the string that starts at p; p itself when none does. */
static const char *skip(const char *p, const char *end) {
  const char *close = NULL;
  if (starts(p, end, "//")) {
    return end;
  }
  if (starts(p, end, "/*")) {
    close = find(p + 2, end, "*/");
    return close ? close + 2 : end;
  }
  if (*p == '"') {
    for (p++; p < end && *p != '"' && *p != '\n'; p++) {
      p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
  }
  return p;
}

/* The next identifier, *p after it. */
static word next_word(const char **p, const char *end) {
  while (*p < end) {
    const char *from = *p, *after = skip(from, end);
    while (after == from && *p < end && c_name_has(**p)) {
      ++*p;
    }
    if (*p > from && !isdigit((unsigned char)*from)) {
      return (word){from, (size_t)(*p - from)};
    }
    *p = after > from ? after : *p > from ? *p : from + 1;
  }
  return (word){end, 0};
}

static bool is(word w, const char *text) {
  return w.n == strlen(text) && !memcmp(w.p, text, w.n);
}

/* ---- what directives say --------------------------------------------------------------------- */

static const macro *find_macro(const walk *w, word name) {
  for (size_t i = w->n_macros; i-- > 0;) {
    if (w->macros[i].name.n == name.n && !memcmp(w->macros[i].name.p, name.p, name.n)) {
      return &w->macros[i];
    }
  }
  return NULL;
}

static int refuse(const walk *w, word name, const char *what, const char *why) {
  char place[200];
  snprintf(place, sizeof place, "%s:%d", w->path, w->line);
  return err_at(w->e, ERR_TEMPLATE, place, "#%.*s %.*s: this is %s and not a macro; %s",
                (int)w->directive.n, w->directive.p, (int)name.n, name.p, what, why);
}

static int test_name(const walk *w, word name) {
  bool constant = false;
  const char *what = w->describe(w->ud, name.p, name.n, &constant);
  return what ? refuse(w, name, what,
                       "for the preprocessor it is 0; write @ if, or if constexpr for a constant")
              : 0;
}

static int test_words(const walk *w, const char *p, const char *end, int depth) {
  word before = {0};
  for (word x = next_word(&p, end); x.n; x = next_word(&p, end)) {
    const macro *m = find_macro(w, x);
    if (!m) {
      TRY(test_name(w, x));
    } else if (depth < MAX_DEPTH && !(before.n && is(before, "defined"))) {
      TRY(test_words(w, m->body, m->end, depth + 1));
    }
    before = x;
  }
  return 0;
}

static int define(walk *w, const char *p, const char *end) {
  word name = next_word(&p, end);
  bool constant = false;
  const char *what = name.n ? w->describe(w->ud, name.p, name.n, &constant) : NULL;
  if (what && constant) {
    return refuse(w, name, what, "its value would be replaced; give the macro another name");
  }
  if (name.n && is(w->directive, "define") && w->n_macros < MAX_MACROS) {
    w->macros[w->n_macros++] = (macro){name, p, end};
  }
  return 0;
}

/* #line 12 "path", of the line that follows. */
static void set_line(walk *w, const char *p) {
  char *after;
  size_t n = 0;
  w->line = (int)strtol(p, &after, 10);
  if (*after != ' ' || after[1] != '"') {
    return;
  }
  for (p = after + 2; *p && *p != '"' && n + 1 < sizeof w->path; p++) {
    p += *p == '\\' && p[1];
    w->path[n++] = *p;
  }
  w->path[n] = 0;
}

static int directive(walk *w, const char *p, const char *end) {
  w->directive = next_word(&p, end);
  if (is(w->directive, "if") || is(w->directive, "elif")) {
    return test_words(w, p, end, 0);
  }
  if (is(w->directive, "ifdef") || is(w->directive, "ifndef")) {
    word name = next_word(&p, end);
    return name.n && !find_macro(w, name) ? test_name(w, name) : 0;
  }
  if (is(w->directive, "define") || is(w->directive, "undef")) {
    return define(w, p, end);
  }
  return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The end of the line, and of those that a backslash at its end continues. */
static const char *line_end(const char *p, const char *end, int *lines) {
  for (*lines = 1;; ++*lines) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop || stop == p || stop[-1] != '\\') {
      return stop ? stop + 1 : end;
    }
    p = stop + 1;
  }
}

/* Does a comment go on after the line? `open`: one does before it. */
static bool in_comment_after(const char *p, const char *end, bool open) {
  const char *close = open ? find(p, end, "*/") : NULL;
  if (open && !close) {
    return true;
  }
  p = open ? close + 2 : p;
  if (!find(p, end, "/*")) {
    return false;
  }
  while (p < end) {
    if (starts(p, end, "/*") && !find(p + 2, end, "*/")) {
      return true;
    }
    const char *after = skip(p, end);
    p = after > p ? after : p + 1;
  }
  return false;
}

int gen_directives_check(const char *text, size_t n, gen_describe_word *describe, const void *ud,
                         err *e) {
  walk w = {.describe = describe, .ud = ud, .e = e};
  bool comment = false;
  int lines;
  for (const char *p = text, *end = text + n, *next; p < end; p = next) {
    next = line_end(p, end, &lines);
    const char *from = p + strspn(p, " \t");
    if (!comment && *from == '#' && starts(from, next, "#line ")) {
      set_line(&w, from + 6);
      continue;
    }
    if (!comment && *from == '#') {
      TRY(directive(&w, from + 1, next));
    }
    comment = in_comment_after(p, next, comment);
    w.line += lines;
  }
  return 0;
}
