#include "trial_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_ROWS = (size_t)1 << 26;

bool trial_table_is_time(double sec) {
  return sec > 0 && sec < 1e16;
}

int trial_table_param(trial_table *t, const char *name, err *e) {
  if (t->n_params == GEN_MAX_PARAMS) {
    return err_at(e, ERR_LIMIT, t->path, "more than %d parameters", GEN_MAX_PARAMS);
  }
  for (size_t i = 0; i < t->n_params; i++) {
    if (!strcmp(t->params[i], name)) {
      return err_at(e, ERR_USAGE, t->path, "two parameters are called '%.60s'", name);
    }
  }
  t->params[t->n_params++] = name;
  return name ? 0 : err_nomem(e);
}

static int grow(trial_table *t, err *e) {
  size_t capacity = t->capacity ? 2 * t->capacity : 1024;
  const char **cells = realloc(t->cells, capacity * (t->n_params + 1) * sizeof *cells);
  t->cells = cells ? cells : t->cells;
  double *sec = realloc(t->sec, capacity * sizeof *sec);
  t->sec = sec ? sec : t->sec;
  uint8_t *status = realloc(t->status, capacity);
  t->status = status ? status : t->status;
  const char **reason = realloc(t->reason, capacity * sizeof *reason);
  t->reason = reason ? reason : t->reason;
  TRY(cells && sec && status && reason ? 0 : err_nomem(e));
  t->capacity = capacity;
  return 0;
}

int trial_table_row(trial_table *t, db_status status, double sec, const char ***cells, err *e) {
  if (t->n == MAX_ROWS) {
    return err_at(e, ERR_LIMIT, t->path, "more than %zu configurations", MAX_ROWS);
  }
  if (t->n == t->capacity) {
    TRY(grow(t, e));
  }
  *cells = t->cells + t->n * t->n_params;
  t->sec[t->n] = status == DB_OK ? sec : INFINITY;
  t->status[t->n] = (uint8_t)status;
  t->reason[t->n++] = NULL;
  return 0;
}

db_status trial_table_status(const char *word) {
  static const struct {
    const char *word;
    db_status status;
  } words[] = {{"correct", DB_OK},
               {"constraints", DB_INVALID},
               {"InvalidConfig", DB_INVALID},
               {"CompilationFailedConfig", DB_COMPILE},
               {"runtime", DB_LAUNCH},
               {"correctness", DB_WRONG}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!strcmp(word, words[i].word)) {
      return words[i].status;
    }
  }
  for (int s = 0; s < DB_STATUSES; s++) {
    if (!strcmp(word, db_status_name((db_status)s))) {
      return (db_status)s;
    }
  }
  return DB_LAUNCH;
}

void trial_table_clear(trial_table *t) {
  free(t->cells);
  free(t->sec);
  free(t->status);
  free(t->reason);
}

int trial_table_read(trial_table *t, char *text, size_t n, err *e) {
  if (strlen(text) != n) {
    return err_at(e, ERR_USAGE, t->path, "not a text file");
  }
  char first = text[strspn(text, " \t\r\n")];
  return first == '{' ? trial_table_read_json(t, text, n, e) : trial_table_read_csv(t, text, e);
}
