#include "err.h"

#include <stdarg.h>
#include <stdio.h>

#include "str.h"

/* Texts of files are quoted in messages: one line, and nothing that a terminal obeys. */
static void make_plain(char *text) {
  for (char *p = text; *p; p++) {
    if (*p == '\n' || *p == '\t') {
      *p = ' ';
    }
  }
  for (char *p = text; (p = (char *)text_control(p));) {
    *p = '?';
  }
}

static int set(err *e, int code, const char *place, const char *format, va_list ap) {
  if (!e || e->code) {
    return code;
  }
  e->code = code;
  snprintf(e->place, sizeof e->place, "%s", place);
  vsnprintf(e->message, sizeof e->message, format, ap);
  make_plain(e->place);
  make_plain(e->message);
  return code;
}

int err_set(err *e, int code, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  set(e, code, "", format, ap);
  va_end(ap);
  return code;
}

int err_at(err *e, int code, const char *place, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  set(e, code, place, format, ap);
  va_end(ap);
  return code;
}

int err_nomem(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

int err_copy(err *e, int rc, const err *why) {
  return rc ? err_at(e, rc, why->place, "%s", why->message) : 0;
}

int err_unknown(err *e, const char *what, const char *name, const char *const *names, size_t n) {
  const char *near = name ? text_nearest(name, names, n) : NULL;
  str list = {0};
  for (size_t i = 0; i < n; i++) {
    str_addf(&list, "%s%s", i ? ", " : "", names[i]);
  }
  const int rc = name ? err_set(e, ERR_USAGE, "%s '%.100s'%s%s%s; there are: %s", what, name,
                                near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
                                str_text(&list))
                      : err_set(e, ERR_USAGE, "%s one of: %s", what, str_text(&list));
  str_clear(&list);
  return rc;
}

const char *err_name(int code) {
  static const char *const names[] = {"ok",        "usage",   "template",   "io",    "database",
                                      "device",    "compile", "launch",     "wrong", "memory",
                                      "not found", "limit",   "interrupted"};
  int i = -code;
  return i >= 0 && i < (int)(sizeof names / sizeof *names) ? names[i] : "unknown";
}
