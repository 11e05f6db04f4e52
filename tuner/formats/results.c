#include "results.h"

#include <string.h>

/* Skip configurations that the template no longer accepts. */
static bool values_of(const results *r, const db_result *row, gen_config *c) {
  return !gen_config_parse(r->t, row->t.config, c, NULL) &&
         (row->t.status != DB_OK || db_result_sec(row) > 0);
}

static const gen_value *value_of(const results *r, const gen_config *c, size_t param) {
  return &r->t->params[param].values[c->index[param]];
}

static bool modelled(const results *r) {
  for (size_t i = 0; i < r->n; i++) {
    if (r->rows[i].t.status == DB_OK) {
      return r->rows[i].median <= 0;
    }
  }
  return false;
}

static void add_value(str *s, const gen_value *v) {
  if (v->s) {
    str_add_json(s, v->s);
  } else {
    gen_add_value(v, s);
  }
}

/* "BM": 128, "BN": 64 */
static void add_members(const results *r, const gen_config *c, str *s) {
  for (size_t i = 0; i < r->t->n_params; i++) {
    str_add(s, i ? ", " : "");
    str_add_json(s, r->t->params[i].name);
    str_add(s, ": ");
    add_value(s, value_of(r, c, i));
  }
}

static void add_origin(const results *r, str *s) {
  str_add(s, "\"device_name\": ");
  str_add_json(s, r->device.name);
  str_add(s, ",\n\"autotune_problem\": ");
  str_add_json(s, r->problem);
  str_add(s, ",\n\"autotune_device\": {\"key\": ");
  str_add_json(s, r->device.key);
  str_addf(s, ", \"cc\": %d, \"sms\": %d},\n\"autotune_modelled\": %s", r->device.cc, r->device.sms,
           modelled(r) ? "true" : "false");
}

/* Members that the formats do not define. */
static void add_failure(const db_result *row, str *s) {
  if (row->t.status != DB_OK) {
    str_addf(s,
             ", \"autotune_status\": \"%s\", \"autotune_reason\": ", db_status_name(row->t.status));
    str_add_json(s, row->t.reason ? row->t.reason : "");
  }
}

/* ---- T4 ---------------- */

static const char *invalidity(db_status s) {
  static const char *const words[DB_STATUSES] = {
      [DB_OK] = "correct",     [DB_INVALID] = "constraints", [DB_COMPILE] = "compile",
      [DB_LAUNCH] = "runtime", [DB_WRONG] = "correctness",   [DB_TIMEOUT] = "timeout",
      [DB_CRASHED] = "runtime"};
  return words[s];
}

static void add_t4_row(const results *r, const db_result *row, const gen_config *c, str *s) {
  bool ok = row->t.status == DB_OK;
  str_add(s, "  {\"configuration\": {");
  add_members(r, c, s);
  str_add(s, "},\n   \"times\": {\"runtimes\": [");
  if (ok) {
    str_addf(s, "%.12g", 1e3 * db_result_sec(row));
  }
  str_addf(s, "]},\n   \"invalidity\": \"%s\", \"correctness\": %d, \"measurements\": [",
           invalidity(row->t.status), ok);
  if (ok) {
    str_addf(s, "{\"name\": \"time\", \"value\": %.12g, \"unit\": \"milliseconds\"}",
             1e3 * db_result_sec(row));
  }
  str_add(s, "], \"objectives\": [\"time\"]");
  add_failure(row, s);
  str_add(s, "}");
}

static void write_t4(const results *r, str *s) {
  gen_config c;
  const char *between = "\n";
  str_add(s, "{\"schema_version\": \"1.0.0\",\n\"metadata\": {\"timeunit\": \"milliseconds\",\n");
  add_origin(r, s);
  str_add(s, "},\n\"results\": [");
  for (size_t i = 0; i < r->n; i++) {
    if (values_of(r, &r->rows[i], &c)) {
      str_add(s, between);
      add_t4_row(r, &r->rows[i], &c, s);
      between = ",\n";
    }
  }
  str_add(s, "\n]}\n");
}

/* ---- Kernel Tuner ---------------- */

static void add_params(const results *r, str *s) {
  str_add(s, "\"tune_params_keys\": [");
  for (size_t i = 0; i < r->t->n_params; i++) {
    str_add(s, i ? ", " : "");
    str_add_json(s, r->t->params[i].name);
  }
  str_add(s, "],\n\"tune_params\": {");
  for (size_t i = 0; i < r->t->n_params; i++) {
    const gen_param *p = &r->t->params[i];
    str_add(s, i ? ",\n  " : "\n  ");
    str_add_json(s, p->name);
    for (size_t j = 0; j < p->n; j++) {
      str_add(s, j ? ", " : ": [");
      add_value(s, &p->values[j]);
    }
    str_add(s, "]");
  }
  str_add(s, "},\n");
}

static const char *failure_name(db_status s) {
  return s == DB_INVALID   ? "InvalidConfig"
         : s == DB_COMPILE ? "CompilationFailedConfig"
                           : "RuntimeFailedConfig";
}

static void add_cache_row(const results *r, const db_result *row, const gen_config *c, str *s) {
  auto_str key = {0};
  for (size_t i = 0; i < r->t->n_params; i++) {
    str_add(&key, i ? "," : "");
    gen_add_value(value_of(r, c, i), &key);
  }
  str_add_json(s, str_text(&key));
  str_add(s, ": {");
  add_members(r, c, s);
  if (row->t.status == DB_OK) {
    str_addf(s, ", \"time\": %.12g, \"times\": [%.12g]", 1e3 * db_result_sec(row),
             1e3 * db_result_sec(row));
  } else {
    const char *name = failure_name(row->t.status);
    str_addf(s, ", \"time\": \"%s\", \"__error__\": \"%s\"", name, name);
  }
  add_failure(row, s);
  str_add(s, ", \"compile_time\": 0, \"verification_time\": 0, \"benchmark_time\": 0, "
             "\"strategy_time\": 0, \"framework_time\": 0, \"timestamp\": \"\"}");
}

/* Kernel Tuner recognises a closed file by its end: two lines with a brace each. */
static void write_cache(const results *r, str *s) {
  gen_config c;
  const char *between = "\n";
  str_add(s, "{\n");
  add_origin(r, s);
  str_add(s, ",\n\"kernel_name\": ");
  str_add_json(s, r->t->name);
  str_add(s, ",\n");
  add_params(r, s);
  str_add(s, "\"objective\": \"time\",\n\"cache\": {");
  for (size_t i = 0; i < r->n; i++) {
    if (values_of(r, &r->rows[i], &c)) {
      str_add(s, between);
      add_cache_row(r, &r->rows[i], &c, s);
      between = ",\n";
    }
  }
  str_add(s, "}\n}");
}

/* ---- CSV ---------------- */

static void write_csv(const results *r, str *s) {
  gen_config c;
  for (size_t i = 0; i < r->t->n_params; i++) {
    str_addf(s, "%s,", r->t->params[i].name);
  }
  str_add(s, "status,time_ms\n");
  for (size_t i = 0; i < r->n; i++) {
    const db_result *row = &r->rows[i];
    if (!values_of(r, row, &c)) {
      continue;
    }
    for (size_t k = 0; k < r->t->n_params; k++) {
      gen_add_value(value_of(r, &c, k), s);
      str_add(s, ",");
    }
    str_addf(s, "%s,", db_status_name(row->t.status));
    if (row->t.status == DB_OK) {
      str_addf(s, "%.12g", 1e3 * db_result_sec(row));
    }
    str_add(s, "\n");
  }
}

int results_format(const char *name, results_writer **out, err *e) {
  static const char *const names[] = {"t4", "kernel-tuner", "csv"};
  static results_writer *const writers[] = {write_t4, write_cache, write_csv};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!strcmp(name, names[i])) {
      *out = writers[i];
      return 0;
    }
  }
  return err_unknown(e, "no format", name, names, sizeof names / sizeof *names);
}
