/* gen_controls.c -- files of advanced controls: options of ptxas that name one.
 *
 * --ptxas-options=--apply-controls=fast.acf names a file beside the template. Where the value is an
 * expression, its names are those of files without their ending, and "none" leaves the option out.
 * All files that an option may name are read with the template, whose digest covers them. */
#include <string.h>

#include "compiler_option.h"
#include "gen_read.h"

#define NONE "none"
#define ENDING ".acf"

enum { MAX_NBYTES = 1 << 20 };

static void check(gen_reader *r, const char *name) {
  const gen_included *f = gen_find_included(r->t, name);
  if (f && f->n > MAX_NBYTES) {
    gen_bad(r, "%s has %zu bytes; a file of advanced controls has at most %d", name, f->n,
            MAX_NBYTES);
  }
}

static void read_named(gen_reader *r, const char *name, bool needed) {
  err e = {0};
  const int rc = gen_include_bytes(r->t, name, &e);
  if (rc == ERR_NOTFOUND && !needed) {
    return;
  }
  if (rc == ERR_NOTFOUND) {
    gen_bad(r, "there is no file of advanced controls %s beside the template", name);
  } else if (rc) {
    gen_bad(r, "%s", e.message);
  }
  check(r, name);
}

/* Those of the parameter's values that are files, as all are of one that is the whole value. */
static void read_values(gen_reader *r, const gen_param *p, bool only) {
  for (size_t i = 0; p->values[0].s && i < p->n; i++) {
    const char *name = arena_format(r->a, "%s" ENDING, p->values[i].s);
    if (name && strcmp(p->values[i].s, NONE) != 0) {
      read_named(r, name, only);
    }
  }
}

void gen_read_controls(gen_reader *r, const gen_flag *f) {
  const char *name = compiler_option_controls(f->text);
  if (!name) {
    return;
  }
  if (!f->value) {
    read_named(r, name, true);
  }
  const uint64_t params = f->value ? f->value->reads.params : 0;
  for (size_t i = 0; params >> i && i < r->t->pub.n_params; i++) {
    if (params >> i & 1) {
      read_values(r, &r->t->pub.params[i], !(params & (params - 1)));
    }
  }
}

void gen_write_controls(gen_box *b, const tmpl *t, const gen_flag *f, size_t from, str *flags,
                        str *controls) {
  const char *name = compiler_option_controls(str_text(flags) + from);
  if (!name) {
    return;
  }
  if (f->value && !strcmp(name, NONE)) {
    flags->n = from;
    flags->p[from] = 0;
    return;
  }
  const size_t at = (size_t)(name - str_text(flags));
  str_add(flags, f->value ? ENDING : "");
  name = str_text(flags) + at;
  const gen_included *file = flags->failed ? NULL : gen_find_included(t, name);
  if (!file) {
    gen_fail(b, ERR_TEMPLATE, f->at,
             "the advanced controls %s were not read: their names are values of a parameter, or "
             "stand in the option",
             name);
  }
  compiler_controls_add(name, file->text, file->n, controls);
}
