#define _GNU_SOURCE
#include "serve_family.h"

#include <stdlib.h>
#include <string.h>

static int family_new(const serve *s, const char *name, serve_family **out, err *e) {
  serve_family *f = calloc(1, sizeof *f);
  if (!f || !(f->name = strdup(name))) {
    free(f);
    return err_nomem(e);
  }
  const int rc = gen_open(&s->options, name, &f->t, e);
  if (rc) {
    free(f->name);
    free(f);
    return rc;
  }
  *out = f;
  return 0;
}

int serve_family_get(serve *s, const char *name, serve_family **family, err *e) {
  for (*family = s->families; *family; *family = (*family)->next) {
    if (!strcmp((*family)->name, name)) {
      return 0;
    }
  }
  TRY(family_new(s, name, family, e));
  (*family)->next = s->families;
  s->families = *family;
  return 0;
}

void serve_families_free(serve *s) {
  for (serve_family *f = s->families, *next; f; f = next) {
    next = f->next;
    serve_known_clear(&f->known);
    gen_close(f->t);
    free(f->name);
    free(f);
  }
}
