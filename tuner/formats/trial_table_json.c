/* trial_table_json.c -- Kernel Tuner's cache and T4, the result files of the auto-tuning community.
 *
 *   {"tune_params_keys": [...], "objective": "time",
 *    "cache": {"32,1": {"x": 32, "y": 1, "time": 1.5, ...}, ...}}
 *
 *   {"results": [{"configuration": {"x": 32, "y": 1}, "invalidity": "correct",
 *                 "measurements": [{"name": "time", "value": 1.5, "unit": "ms"}], ...}, ...]}
 *
 * In a cache, a failed configuration has the name of its failure under "__error__"; in older files
 * in place of the time, or the time 1e20. Kernel Tuner appends to the file while it runs and closes
 * it at the end; an unclosed file is closed here. In T4 a time without a unit is in the unit of the
 * metadata, else in milliseconds. Members named autotune_... are additions of autotune that these
 * formats do not define. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trial_table.h"

static const double FAILED_MS = 1e19; /* and above: a failure of Kernel Tuner's older caches */

static int bad(const trial_table *t, err *e, const char *what, const char *word) {
  return err_at(e, ERR_USAGE, t->path, what, word);
}

static bool ends_with(const str *s, char c) {
  return s->n && s->p[s->n - 1] == c;
}

/* The text without its last comma, and with the two open braces closed. */
static json_t *parse_unclosed(const char *text, size_t n) {
  auto_str closed = {0};
  str_add_n(&closed, text, n);
  while (closed.n && strchr(" \t\r\n", closed.p[closed.n - 1])) {
    closed.n--;
  }
  closed.n -= ends_with(&closed, ',');
  str_add(&closed, "}}");
  return closed.failed ? NULL : json_loadb(closed.p, closed.n, 0, NULL);
}

static int parse(const trial_table *t, const char *text, size_t n, json_t **root, err *e) {
  json_error_t why;
  char place[200];
  *root = json_loadb(text, n, 0, &why);
  if (!*root && !(*root = parse_unclosed(text, n))) {
    snprintf(place, sizeof place, "%s:%d", t->path, why.line);
    why.text[strcspn(why.text, "\n")] = 0;
    return err_at(e, ERR_USAGE, place, "not JSON: %s", why.text);
  }
  return 0;
}

/* A copy without control characters, which a terminal would obey. */
static const char *plain_text(trial_table *t, const char *text) {
  char *copy = text ? arena_format(t->memory, "%s", text) : NULL;
  for (char *p = copy; p && *p; p++) {
    *p = iscntrl((unsigned char)*p) ? ' ' : *p;
  }
  return copy;
}

/* A value as text: 32, 0.5, true, or a name without its quotes. */
static const char *cell_text(trial_table *t, const json_t *value) {
  if (json_is_string(value)) {
    return plain_text(t, json_string_value(value));
  }
  if (json_is_integer(value)) {
    return arena_format(t->memory, "%lld", (long long)json_integer_value(value));
  }
  if (json_is_real(value)) {
    return arena_format(t->memory, "%.17g", json_real_value(value));
  }
  return json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : NULL;
}

static const char *text_of(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

/* INFINITY: it is no number. */
static double time_sec(const json_t *value, double unit_sec) {
  return json_is_number(value) ? json_number_value(value) * unit_sec : INFINITY;
}

static int integer_of(const json_t *object, const char *key) {
  json_int_t v = json_integer_value(json_object_get(object, key));
  return v > 0 && v < 1000000 ? (int)v : 0;
}

/* Files written by autotune name their problem and device. */
static void read_origin(trial_table *t, const json_t *object) {
  const char *problem = text_of(object, "autotune_problem"),
             *device = text_of(object, "device_name");
  const json_t *own = json_object_get(object, "autotune_device");
  const char *key = text_of(own, "key");
  t->origin =
      (trial_table_origin){.problem = plain_text(t, problem),
                           .device = plain_text(t, device),
                           .key = plain_text(t, key),
                           .cc = integer_of(own, "cc"),
                           .sms = integer_of(own, "sms"),
                           .modelled = json_is_true(json_object_get(object, "autotune_modelled"))};
}

typedef struct outcome {
  const char *failure; /* the format's word; of a success too */
  const json_t *time;  /* as the file has it; NULL: it has none */
  double sec;          /* counts only for a success */
} outcome;

static int bad_time(const trial_table *t, const char *what, const json_t *time, err *e) {
  char *text = time ? json_dumps(time, JSON_ENCODE_ANY) : NULL;
  int rc =
      err_at(e, ERR_USAGE, t->path, "%s succeeded, but its time, %.60s, is not a positive number",
             what, text ? text : "which is missing");
  free(text);
  return rc;
}

/* Add a row with the cells of these members. */
static int add_row(trial_table *t, const json_t *values, const outcome *out, const json_t *own,
                   const char *what, err *e) {
  const char **cells, *status = text_of(own, "autotune_status");
  const char *reason = text_of(own, "autotune_reason");
  db_status s = trial_table_status(status ? status : out->failure);
  if (s == DB_OK && !trial_table_is_time(out->sec)) {
    return bad_time(t, what, out->time, e);
  }
  TRY(trial_table_row(t, s, out->sec, &cells, e));
  if (s != DB_OK) {
    t->reason[t->n - 1] = plain_text(t, reason ? reason : out->failure);
  }
  for (size_t i = 0; i < t->n_params; i++) {
    if (!(cells[i] = cell_text(t, json_object_get(values, t->params[i])))) {
      return bad(t, e, "%s lacks a parameter", what);
    }
  }
  return 0;
}

static int read_params(trial_table *t, const json_t *keys, err *e) {
  for (size_t i = 0; i < json_array_size(keys); i++) {
    const char *name = json_string_value(json_array_get(keys, i));
    if (!name) {
      return bad(t, e, "%s", "tune_params_keys holds something that is not a name");
    }
    TRY(trial_table_param(t, plain_text(t, name), e));
  }
  return 0;
}

/* The name of the failure: under __error__, or in place of the time. */
static const char *failure_of(const json_t *row, const json_t *time) {
  const char *name = text_of(row, "__error__");
  name = name ? name : json_string_value(time);
  return name ? name : json_number_value(time) < FAILED_MS ? "ok" : "failed";
}

static int read_row(trial_table *t, const char *key, const json_t *row, const char *objective,
                    err *e) {
  const json_t *time = json_object_get(row, objective);
  char what[140];
  snprintf(what, sizeof what, "cache entry '%.100s'", key);
  if (!time && !json_object_get(row, "__error__")) {
    return bad(t, e, "%s has no result", what);
  }
  const outcome out = {failure_of(row, time), time, time_sec(time, 1e-3)};
  return add_row(t, row, &out, row, what, e);
}

static int read_cache(trial_table *t, const json_t *root, err *e) {
  json_t *cache = json_object_get(root, "cache"), *row;
  const json_t *keys = json_object_get(root, "tune_params_keys");
  const char *objective = text_of(root, "objective"), *key;
  if (!json_is_object(cache) || !json_is_array(keys)) {
    return bad(
        t, e, "%s",
        "neither a cache file of Kernel Tuner (it has no tune_params_keys or no cache) nor T4 "
        "(it has no results)");
  }
  read_origin(t, root);
  TRY(read_params(t, keys, e));
  json_object_foreach(cache, key, row) {
    TRY(read_row(t, key, row, objective ? objective : "time", e));
  }
  return 0;
}

/* ---- T4 ---------------- */

/* Seconds of a unit; 0: it is none of time. */
static double unit_sec(const char *unit) {
  static const struct {
    const char *names[4];
    double sec;
  } units[] = {{{"s", "sec", "second", "seconds"}, 1},
               {{"ms", "msec", "milliseconds", "miliseconds"}, 1e-3}, /* early files misspell it */
               {{"us", "usec", "microsecond", "microseconds"}, 1e-6},
               {{"ns", "nsec", "nanosecond", "nanoseconds"}, 1e-9}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    for (size_t k = 0; k < 4; k++) {
      if (!strcasecmp(unit, units[i].names[k])) {
        return units[i].sec;
      }
    }
  }
  return 0;
}

static int read_unit(const trial_table *t, const json_t *object, const char *key, const char *what,
                     double *sec, err *e) {
  const char *unit = text_of(object, key);
  double is = unit && *unit ? unit_sec(unit) : *sec;
  *sec = is;
  return is > 0 ? 0
                : err_at(e, ERR_USAGE, t->path,
                         "%s: '%.40s' is not a unit of time; there are: seconds, milliseconds, "
                         "microseconds, nanoseconds",
                         what, unit);
}

/* The measurement of the first objective; NULL: there is none. */
static const json_t *objective_of(const json_t *row) {
  const json_t *measurements = json_object_get(row, "measurements");
  const char *objective = json_string_value(json_array_get(json_object_get(row, "objectives"), 0));
  for (size_t i = 0; i < json_array_size(measurements); i++) {
    const json_t *m = json_array_get(measurements, i);
    const char *name = text_of(m, "name");
    if (name && !strcmp(name, objective ? objective : "time")) {
      return m;
    }
  }
  return NULL;
}

static int read_result(trial_table *t, const json_t *row, size_t i, double unit, err *e) {
  const char *invalidity = text_of(row, "invalidity");
  const json_t *measured = objective_of(row), *time = json_object_get(measured, "value");
  char what[40];
  snprintf(what, sizeof what, "result %zu", i + 1);
  if (!invalidity || !json_is_object(json_object_get(row, "configuration"))) {
    return bad(t, e, "%s has no configuration, or no invalidity", what);
  }
  if (trial_table_status(invalidity) == DB_OK) {
    TRY(read_unit(t, measured, "unit", what, &unit, e));
  }
  const outcome out = {invalidity, time, time_sec(time, unit)};
  return add_row(t, json_object_get(row, "configuration"), &out, row, what, e);
}

/* The first result defines the parameters. */
static int read_results(trial_table *t, json_t *root, err *e) {
  json_t *results = json_object_get(root, "results"), *value;
  const json_t *metadata = json_object_get(root, "metadata");
  const char *name;
  double unit = 1e-3;
  read_origin(t, metadata);
  TRY(read_unit(t, metadata, "timeunit", "timeunit", &unit, e));
  json_object_foreach(json_object_get(json_array_get(results, 0), "configuration"), name, value) {
    TRY(trial_table_param(t, plain_text(t, name), e));
  }
  if (!t->n_params) {
    return bad(t, e, "%s", "the first of the results has no configuration, or there are none");
  }
  for (size_t i = 0; i < json_array_size(results); i++) {
    TRY(read_result(t, json_array_get(results, i), i, unit, e));
  }
  return 0;
}

int trial_table_read_json(trial_table *t, const char *text, size_t n, err *e) {
  json_t *root;
  TRY(parse(t, text, n, &root, e));
  bool t4 = json_is_array(json_object_get(root, "results"));
  int rc = t4 ? read_results(t, root, e) : read_cache(t, root, e);
  json_decref(root);
  return rc;
}
