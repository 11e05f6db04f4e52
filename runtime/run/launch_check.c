#define _GNU_SOURCE
#include "launch_check.h"

#include <stdio.h>
#include <string.h>

#include "c_name.h"
#include "str.h"

static int stage_err(const gen_template *t, const gen_launch *l, err *e, const str *message) {
  char place[200] = "";
  if (t->path) {
    snprintf(place, sizeof place, l->line ? "%.180s:%d" : "%.180s", t->path, l->line);
  }
  return err_at(e, ERR_TEMPLATE, place, "%s", str_text(message));
}

/* ---- parameters ----------------------------------------------------------------------------- */

enum { MOST = 128 };

static bool agree(const gen_launch *l, const uint32_t *nbytes, int n) {
  bool same = l->n_operands == (size_t)n;
  for (int i = 0; i < n && same; i++) {
    same = !l->operands[i].nbytes || l->operands[i].nbytes == nbytes[i];
  }
  return same;
}

int launch_check_args(rt_device *d, rt_function *f, const gen_template *t, const gen_launch *l,
                      err *e) {
  uint32_t nbytes[MOST];
  const int n = d->ops->function_params ? d->ops->function_params(d, f, nbytes, MOST) : -1;
  if (n < 0 || n > MOST || agree(l, nbytes, n)) {
    return 0;
  }
  auto_str s = {0};
  str_addf(&s, "kernel %s has %d parameter%s", l->kernel, n, n == 1 ? "" : "s");
  for (int i = 0; i < n; i++) {
    str_addf(&s, "%s%u", i ? ", " : " of ", nbytes[i]);
  }
  str_addf(&s, "%s, but the stage's args are %zu%s", n ? " bytes" : "", l->n_operands,
           l->n_operands ? ":" : "");
  for (size_t i = 0; i < l->n_operands; i++) {
    const gen_operand *o = &l->operands[i];
    str_addf(&s, "%s %s (%u)", i ? "," : "", o->text ? o->text : "?", o->nbytes);
  }
  return stage_err(t, l, e, &s);
}

/* ---- names ---------------------------------------------------------------------------------- */

enum { KERNELS = 32, NAME = 64 };

/* A name follows ".entry " in PTX and ".text." in the section names of a cubin. */
static size_t kernel_names(const char *image, size_t nbytes, char names[][NAME], size_t most) {
  static const char *const marks[] = {".entry ", ".text."};
  size_t n = 0;
  for (size_t k = 0; image && k < sizeof marks / sizeof *marks; k++) {
    const size_t length = strlen(marks[k]);
    const char *at = image, *end = image + nbytes;
    while (n < most && (at = memmem(at, (size_t)(end - at), marks[k], length))) {
      at += length;
      size_t i = 0;
      while (at + i < end && i < NAME - 1 && c_name_has(at[i])) {
        names[n][i] = at[i];
        i++;
      }
      names[n][i] = 0;
      n += i > 0;
    }
  }
  return n;
}

int launch_no_kernel(const void *image, size_t nbytes, const gen_template *t, const gen_launch *l,
                     err *e) {
  char names[KERNELS][NAME];
  const char *list[KERNELS] = {0};
  auto_str s = {0};
  const size_t n = kernel_names(image, nbytes, names, KERNELS);
  for (size_t i = 0; i < n; i++) {
    list[i] = names[i];
  }
  const char *near = text_nearest(l->kernel, list, n);
  str_addf(&s, "the source has no kernel '%s'", l->kernel);
  if (near) {
    str_addf(&s, "; did you mean '%s'?", near);
  } else {
    str_addf(&s, "; is it declared extern \"C\" __global__?");
    for (size_t i = 0; i < n; i++) {
      str_addf(&s, "%s%s", i ? ", " : " The source has: ", names[i]);
    }
  }
  return stage_err(t, l, e, &s);
}
