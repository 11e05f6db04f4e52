#include "json_writer.h"

#include <math.h>
#include <string.h>

void jw_member(str *s, const char *name) {
  if (s->n && !strchr("{[:\n", s->p[s->n - 1])) {
    str_add(s, ",");
  }
  if (name) {
    str_add_json(s, name);
    str_add(s, ":");
  }
}

void jw_open(str *s, const char *name) {
  jw_member(s, name);
  str_add(s, "{");
}

void jw_event(str *s, const char *event) {
  jw_open(s, NULL);
  jw_text(s, "event", event);
}

void jw_close(str *s) {
  str_add(s, "}");
}

void jw_end_line(str *s) {
  str_add(s, "}\n");
}

void jw_open_list(str *s, const char *name) {
  jw_member(s, name);
  str_add(s, "[");
}

void jw_close_list(str *s) {
  str_add(s, "]");
}

void jw_text(str *s, const char *name, const char *text) {
  jw_member(s, name);
  str_add_json(s, text);
}

void jw_bool(str *s, const char *name, bool v) {
  jw_member(s, name);
  str_add(s, v ? "true" : "false");
}

void jw_integer(str *s, const char *name, int64_t v) {
  jw_member(s, name);
  str_addf(s, "%lld", (long long)v);
}

void jw_real(str *s, const char *name, int digits, double v) {
  jw_member(s, name);
  if (isfinite(v)) {
    str_addf(s, "%.*g", digits, v);
  } else {
    str_add(s, "null");
  }
}

void jw_fixed(str *s, const char *name, int decimals, double v) {
  jw_member(s, name);
  if (isfinite(v)) {
    str_addf(s, "%.*f", decimals, v);
  } else {
    str_add(s, "null");
  }
}

void jw_seconds(str *s, bool modelled, double sec) {
  jw_real(s, modelled ? "modelled_seconds" : "seconds", 9, sec);
}
