#define _GNU_SOURCE
#include "serve_family.h"

#include <stdlib.h>
#include <string.h>

typedef struct serve_family {
  struct serve_family *next;
  char *name; /* as asked for: "sgemm" or a path */
  gen_template *t;
  serve_known known;
} family;

static int family_new(serve *s, const char *name, gen_template *t, err *e) {
  family *f = calloc(1, sizeof *f);
  char *copy = strdup(name);
  if (!f || !copy) {
    free(f);
    free(copy);
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  *f = (family){.next = s->families, .name = copy, .t = t};
  s->families = f;
  return 0;
}

int serve_family_get(serve *s, const char *name, gen_template **t, err *e) {
  for (const family *f = s->families; f; f = f->next) {
    if (!strcmp(f->name, name)) {
      *t = f->t;
      return 0;
    }
  }
  TRY(gen_open(&s->options, name, t, e));
  const int rc = family_new(s, name, *t, e);
  if (rc) {
    gen_close(*t);
  }
  return rc;
}

static family *family_of(const serve *s, const gen_template *t) {
  family *f = s->families;
  while (f->t != t) {
    f = f->next;
  }
  return f;
}

const char *serve_family_name(const serve *s, const gen_template *t) {
  return family_of(s, t)->name;
}

serve_known *serve_known_of(serve *s, const gen_template *t) {
  return &family_of(s, t)->known;
}

void serve_families_free(serve *s) {
  for (family *f = s->families, *next; f; f = next) {
    next = f->next;
    serve_known_clear(&f->known);
    gen_close(f->t);
    free(f->name);
    free(f);
  }
}
