/* Test data of an argument of a plain CUDA file, "uniform(-1,1)", as a template has them. */
#include <string.h>

#include "gen_plain_value.h"
#include "gen_plain_writer.h"

static size_t trimmed_length(const char *p, size_t n) {
  while (n && p[n - 1] == ' ') {
    n--;
  }
  return n;
}

/* The n bytes at p without blanks around them; NULL: out of memory. */
static const char *trimmed(gen_plain_writer *w, const char *p, size_t n) {
  const size_t blanks = strspn(p, " ") < n ? strspn(p, " ") : n;
  return arena_text_n(w->a, p + blanks, trimmed_length(p + blanks, n - blanks));
}

/* A number, or an expression. */
static void add_value(gen_plain_writer *w, const char *part) {
  part += strspn(part, " ");
  if (*part && strspn(part, " -0123456789.e") == strlen(part)) {
    str_add(w->out, part);
  } else {
    gen_plain_add_expression(w, part, false);
  }
}

/* "noise", which names a kind, "parts=xyz", which quotes letters, or "width=w" */
static void add_named(gen_plain_writer *w, const char *part) {
  const size_t n = strcspn(part, "=");
  if (!part[n] || !strncmp(part, "parts=", 6)) {
    str_addf(w->out, "%s", part[n] ? "parts = " : "");
    gen_plain_quote(w->out, part[n] ? part + 6 : part);
  } else {
    str_addf(w->out, "%.*s = ", (int)trimmed_length(part, n), part);
    add_value(w, part + n + 1);
  }
}

/* "image(noise,width=w,height=h)" has names but for the first. */
static bool has_names(const char *fill, size_t n) {
  static const char *const generators[] = {"image", "points", "atoms", "kspace"};
  bool has = false;
  for (size_t i = 0; i < sizeof generators / sizeof *generators; i++) {
    has |= strlen(generators[i]) == n && !memcmp(generators[i], fill, n);
  }
  return has;
}

void gen_plain_add_fill(gen_plain_writer *w, const gen_plain_arg *arg) {
  const char *p = arg->fill.p;
  if (!p) {
    str_add(w->out, dtype_is_float(arg->type) ? ", fill = { \"uniform\", -1, 1 }"
                                              : ", fill = { \"uniform\", 0, 100 }");
    return;
  }
  const size_t n = strcspn(p, "(");
  const int inside = (int)strlen(p + n) - 2; /* between the parentheses */
  if (!strncmp(p, "lua(", 4)) {
    str_addf(w->out, ", fill = { \"lua\", function(index, count, fields) return %.*s end }", inside,
             p + n + 1);
    return;
  }
  str_addf(w->out, ", fill = { \"%.*s\"", (int)n, p);
  if (n == 4 && !strncmp(p, "file", n)) { /* a name, whose / is none of numbers */
    const char *name = arena_text_n(w->a, p + n + 1, strlen(p + n + 1) - 1);
    str_add(w->out, ", ");
    gen_plain_quote(w->out, name ? name : "");
    str_add(w->out, " }");
    return;
  }
  const bool names = has_names(p, n);
  for (p += n + 1; *p && *p != ')';) {
    const size_t length = gen_plain_part_length(p);
    const bool last = !p[length];
    const char *part = trimmed(w, p, length - last);
    str_add(w->out, ", ");
    if (part) {
      (names ? add_named : add_value)(w, part);
    }
    p += length + !last;
  }
  str_add(w->out, " }");
}
