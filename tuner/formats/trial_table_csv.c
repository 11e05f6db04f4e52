/* trial_table_csv.c -- one line for each configuration: a column for each parameter, then `status`
 * and `time_ms`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial_table.h"

typedef struct csv {
  trial_table *t;
  size_t line, time_column; /* status is the column n_params */
} csv;

static int bad(const csv *x, err *e, const char *what, const char *word) {
  char place[200];
  snprintf(place, sizeof place, "%s:%zu", x->t->path, x->line);
  return err_at(e, ERR_USAGE, place, what, word);
}

/* The next cell, whose separator is overwritten; NULL at the end of the line. */
static char *next_cell(char **rest) {
  char *cell = *rest;
  if (cell) {
    char *comma = strchr(cell, ',');
    *rest = comma ? comma + 1 : NULL;
    if (comma) {
      *comma = 0;
    }
  }
  return cell;
}

/* The line at *rest without its end, which is overwritten; NULL after the last. */
static char *next_line(char **rest) {
  char *line = *rest;
  if (!*line) {
    return NULL;
  }
  size_t n = strcspn(line, "\n");
  *rest = line + n + (line[n] == '\n');
  line[n] = 0;
  if (n && line[n - 1] == '\r') {
    line[n - 1] = 0;
  }
  return line;
}

static int read_head(csv *x, char *line, err *e) {
  char *name;
  while ((name = next_cell(&line)) && strcmp(name, "status")) {
    TRY(trial_table_param(x->t, name, e));
  }
  if (!name) {
    return bad(
        x, e,
        "no column '%s': a recording has a column for each parameter, then status and time_ms",
        "status");
  }
  x->time_column = x->t->n_params + 1;
  while ((name = next_cell(&line)) && strcmp(name, "time_ms")) {
    x->time_column++;
  }
  return name ? 0 : bad(x, e, "no column '%s' after status", "time_ms");
}

static int read_time(const csv *x, const char *status, const char *text, double *sec, err *e) {
  char *end;
  *sec = INFINITY;
  if (trial_table_status(status) != DB_OK) {
    return 0;
  }
  double ms = strtod(text, &end);
  if (end == text || *end || !trial_table_is_time(ms * 1e-3)) {
    return bad(x, e, "the status is ok, but '%.60s' is not a time in milliseconds", text);
  }
  *sec = ms * 1e-3;
  return 0;
}

static int read_row(csv *x, char *line, err *e) {
  const char **cells, *status = NULL, *time = NULL, *cell;
  TRY(trial_table_row(x->t, DB_LAUNCH, INFINITY, &cells, e));
  size_t row = x->t->n - 1;
  for (size_t i = 0; i <= x->time_column; i++) {
    if (!(cell = next_cell(&line))) {
      return bad(x, e, "%s", "the line has fewer columns than the first");
    }
    if (i < x->t->n_params) {
      cells[i] = cell;
    }
    status = i == x->t->n_params ? cell : status;
    time = cell;
  }
  x->t->status[row] = (uint8_t)trial_table_status(status);
  x->t->reason[row] = x->t->status[row] == DB_OK ? NULL : status;
  return read_time(x, status, time, &x->t->sec[row], e);
}

int trial_table_read_csv(trial_table *t, char *text, err *e) {
  csv x = {.t = t, .line = 1};
  for (const char *p = text; (p = text_control(p)); p++) {
    if (*p != '\r') {
      return err_at(e, ERR_USAGE, t->path, "the file has control characters");
    }
  }
  char *line = next_line(&text);
  TRY(read_head(&x, line ? line : text, e));
  while ((line = next_line(&text))) {
    x.line++;
    if (*line) {
      TRY(read_row(&x, line, e));
    }
  }
  return 0;
}
