/* Does the text define what is tuned? */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_name.h"
#include "gen_plain.h"

enum { MAX_NESTED = 64 };

typedef struct condition { /* an #if that encloses the line */
  const char *p;
  size_t n;
} condition;

typedef struct checker {
  const char *const *names;
  size_t n_names;
  const char *other; /* defined, too; NULL: none is */
  condition stack[MAX_NESTED];
  size_t n;
  char path[160];
  int line;
  err *e;
} checker;

/* #ifndef NAME, #if !defined(NAME) */
static bool guards(const condition *c, const char *name) {
  const char *at = memmem(c->p, c->n, name, strlen(name));
  return at && !c_name_has(at[strlen(name)]) && !c_name_has(at[-1]) &&
         (!strncmp(c->p, "ifndef", 6) || memmem(c->p, c->n, "!defined", 8) ||
          memmem(c->p, c->n, "! defined", 9));
}

static int check_name(checker *k, const char *name, bool defines) {
  char place[200];
  for (size_t i = 0; i < k->n; i++) {
    if (guards(&k->stack[i], name) || (k->other && guards(&k->stack[i], k->other))) {
      return 0;
    }
  }
  snprintf(place, sizeof place, "%s:%d", k->path, k->line);
  return err_at(k->e, ERR_TEMPLATE, place,
                defines ? "this #define replaces the tuned value of %s; write #ifndef %s before it "
                          "and #endif after it"
                        : "this #undef removes the tuned value of %s (%s)",
                name, name);
}

static int check_definition(checker *k, const char *p, bool defines) {
  p += strspn(p, " \t");
  const size_t n = c_name_length(p);
  for (size_t i = 0; i < k->n_names; i++) {
    if (c_name_is(p, n, k->names[i])) {
      return check_name(k, k->names[i], defines);
    }
  }
  return 0;
}

/* #line 7 "file" */
static void note_place(checker *k, const char *p, const char *end) {
  const char *path = memchr(p, '"', (size_t)(end - p));
  k->line = atoi(p) - 1;
  if (path) {
    snprintf(k->path, sizeof k->path, "%.*s", (int)strcspn(path + 1, "\"\n"), path + 1);
  }
}

static int check_directive(checker *k, const char *p, const char *end) {
  p += strspn(p, " \t");
  const size_t n = c_name_length(p);
  if (c_name_is(p, n, "define") || c_name_is(p, n, "undef")) {
    return check_definition(k, p + n, *p == 'd');
  }
  if (c_name_is(p, n, "line")) {
    note_place(k, p + n, end);
  } else if (n >= 2 && !memcmp(p, "if", 2) && k->n < MAX_NESTED) {
    k->stack[k->n++] = (condition){p, (size_t)(end - p)};
  } else if ((c_name_is(p, n, "else") || c_name_is(p, n, "elif")) && k->n) {
    k->stack[k->n - 1].n = 0; /* where the name is defined already */
  } else if (c_name_is(p, n, "endif")) {
    k->n -= k->n > 0;
  }
  return 0;
}

int gen_plain_check_macros(const char *text, const char *const *names, size_t n, const char *other,
                           err *e) {
  checker k = {.names = names, .n_names = n, .other = other, .e = e};
  for (const char *p = text; *p; k.line++) {
    const size_t length = strcspn(p, "\n");
    const char *q = p + strspn(p, " \t");
    if (*q == '#') {
      TRY(check_directive(&k, q + 1, p + length));
    }
    p += length + (p[length] == '\n');
  }
  return 0;
}
