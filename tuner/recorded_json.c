/* recorded_json.c -- Kernel Tuner's cache: {"tune_params_keys": [...], "objective": "time",
 * "cache": {"32,1": {"x": 32, "y": 1, "time": 1.5, ...}, ...}}.
 *
 * A failed configuration has the name of its failure where the time would be, or in older files
 * 1e20. Kernel Tuner appends to the file while it runs and closes it at the end; one that was never
 * closed is closed here.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recorded_table.h"

static const double FAILED_MS = 1e19;

static int bad(const table *t, err *e, const char *what, const char *word) {
  return err_at(e, ERR_USAGE, t->path, what, word);
}

static bool ends_with(const str *s, char c) {
  return s->n && s->p[s->n - 1] == c;
}

/* The text with its last comma taken off and the two open braces closed. */
static json_t *parse_unclosed(const char *text, size_t n) {
  str closed = {0};
  str_add_n(&closed, text, n);
  while (closed.n && strchr(" \t\r\n", closed.p[closed.n - 1])) {
    closed.n--;
  }
  closed.n -= ends_with(&closed, ',');
  str_add(&closed, "}}");
  json_t *root = closed.failed ? NULL : json_loadb(closed.p, closed.n, 0, NULL);
  str_clear(&closed);
  return root;
}

static int parse(const table *t, const char *text, size_t n, json_t **root, err *e) {
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

/* A value as text: 32, 0.5, true, or a name without its quotes. */
static const char *cell_text(table *t, const json_t *value) {
  if (json_is_string(value)) {
    return arena_text(t->memory, json_string_value(value));
  }
  if (json_is_integer(value)) {
    return arena_format(t->memory, "%lld", (long long)json_integer_value(value));
  }
  if (json_is_real(value)) {
    return arena_format(t->memory, "%.17g", json_real_value(value));
  }
  return json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : NULL;
}

static double time_sec(const json_t *value) {
  double ms = json_is_number(value) ? json_number_value(value) : INFINITY;
  return ms > 0 && ms < FAILED_MS ? ms * 1e-3 : INFINITY;
}

static int read_params(table *t, const json_t *keys, err *e) {
  for (size_t i = 0; i < json_array_size(keys); i++) {
    const char *name = json_string_value(json_array_get(keys, i));
    if (!name) {
      return bad(t, e, "%s", "tune_params_keys holds something that is not a name");
    }
    TRY(table_param(t, arena_text(t->memory, name), e));
  }
  return 0;
}

static int read_row(table *t, const char *key, const json_t *row, const char *objective, err *e) {
  const char **cells;
  const json_t *time = json_object_get(row, objective);
  if (!time) {
    return bad(t, e, "cache entry '%.100s' has no result", key);
  }
  TRY(table_row(t, time_sec(time), &cells, e));
  for (size_t i = 0; i < t->n_params; i++) {
    if (!(cells[i] = cell_text(t, json_object_get(row, t->params[i])))) {
      return bad(t, e, "cache entry '%.100s' lacks a parameter", key);
    }
  }
  return 0;
}

static int read_cache(table *t, json_t *root, err *e) {
  json_t *cache = json_object_get(root, "cache"), *row;
  const json_t *keys = json_object_get(root, "tune_params_keys");
  const char *objective = json_string_value(json_object_get(root, "objective")), *key;
  if (!json_is_object(cache) || !json_is_array(keys)) {
    return bad(t, e, "%s", "no cache file of Kernel Tuner: it has no tune_params_keys or no cache");
  }
  TRY(read_params(t, keys, e));
  json_object_foreach(cache, key, row) {
    TRY(read_row(t, key, row, objective ? objective : "time", e));
  }
  return 0;
}

int table_read_json(table *t, const char *text, size_t n, err *e) {
  json_t *root;
  TRY(parse(t, text, n, &root, e));
  int rc = read_cache(t, root, e);
  json_decref(root);
  return rc;
}
