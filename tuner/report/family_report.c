#include "family_report.h"

#include <string.h>

#include "json_writer.h"

/* A whole number of a range: neither an enumeration nor a short list. */
static bool is_range(const gen_field *f) {
  return !f->n_names && !f->n_choices;
}

static void add_choices(const gen_field *f, str *s) {
  gen_field_choices(f, "|", s);
  if (is_range(f)) {
    str_addf(s, "%lld..%lld", (long long)f->min, (long long)f->max);
  }
}

void family_fields(const gen_template *t, str *s) {
  for (size_t i = 0; i < t->n_fields; i++) {
    str_addf(s, " %s%s", t->fields[i].name, is_range(&t->fields[i]) ? "" : "=");
    gen_field_choices(&t->fields[i], "|", s);
  }
}

/* 'n' as n: an enumeration's default is mostly a name in quotes. */
static void add_preset(const gen_field *f, str *s) {
  const size_t n = strlen(f->preset);
  const bool quoted =
      n >= 2 && f->preset[0] == '\'' && strchr(f->preset + 1, '\'') == f->preset + n - 1;
  str_add_n(s, f->preset + quoted, n - 2 * quoted);
}

static void add_brief(const char *brief, str *s) {
  str_addf(s, "%s%s\n", brief && brief[0] ? ": " : "", brief ? brief : "");
}

static void add_values(const gen_param *p, const char *between, str *s) {
  for (size_t i = 0; i < p->n; i++) {
    str_add(s, i ? between : "");
    gen_add_value(&p->values[i], s);
  }
}

static void add_params(const gen_template *t, str *s) {
  gen_config def;
  gen_config_default(t, &def);
  str_add(s, "parameters, which autotune chooses (--config sets them)\n");
  for (size_t i = 0; i < t->n_params; i++) {
    const gen_param *p = &t->params[i];
    auto_str values = {0}, preset = {0};
    add_values(p, "|", &values);
    gen_add_value(&p->values[def.index[i]], &preset);
    str_addf(s, "  %-13s %s, default %s", p->name, str_text(&values), str_text(&preset));
    add_brief(p->brief, s);
  }
}

void family_text(const gen_template *t, str *s) {
  str_addf(s, "%s: %s\n", t->name, t->brief);
  str_add(s, "fields\n");
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    auto_str values = {0};
    add_choices(f, &values);
    str_addf(s, "  %-13s %s, default ", f->name, str_text(&values));
    add_preset(f, s);
    add_brief(f->brief, s);
  }
  if (t->has_algorithms) {
    str_addf(s, "algorithms\n  %s=", t->params[0].name);
    add_values(&t->params[0], "|", s);
    str_add(s, "\n");
  }
  add_params(t, s);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_fields_json(const gen_template *t, str *s) {
  jw_open_list(s, "fields");
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    auto_str values = {0}, preset = {0};
    add_choices(f, &values);
    add_preset(f, &preset);
    jw_open(s, NULL);
    jw_text(s, "name", f->name);
    jw_text(s, "values", str_text(&values));
    jw_text(s, "default", str_text(&preset));
    jw_text(s, "brief", f->brief ? f->brief : "");
    jw_close(s);
  }
  jw_close_list(s);
}

static void add_params_json(const gen_template *t, str *s) {
  gen_config def;
  gen_config_default(t, &def);
  jw_open_list(s, "parameters");
  for (size_t i = 0; i < t->n_params; i++) {
    const gen_param *p = &t->params[i];
    auto_str values = {0}, preset = {0};
    add_values(p, "|", &values);
    gen_add_value(&p->values[def.index[i]], &preset);
    jw_open(s, NULL);
    jw_text(s, "name", p->name);
    jw_text(s, "values", str_text(&values));
    jw_text(s, "default", str_text(&preset));
    jw_text(s, "brief", p->brief ? p->brief : "");
    jw_close(s);
  }
  jw_close_list(s);
}

void family_json(const gen_template *t, str *s) {
  jw_event(s, "family");
  jw_text(s, "family", t->name);
  jw_text(s, "brief", t->brief);
  jw_text(s, "algorithms", t->has_algorithms ? t->params[0].name : "");
  add_fields_json(t, s);
  add_params_json(t, s);
  jw_end_line(s);
}
