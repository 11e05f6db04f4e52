/* recorded_table.h -- between the readers of files and recorded.c, which makes a space of their
 * rows. */
#ifndef TUNE_RECORDED_TABLE_H
#define TUNE_RECORDED_TABLE_H

#include "recorded.h"

typedef struct table {
  arena *memory; /* of all texts */
  const char *path;
  const char *params[GEN_MAX_PARAMS];
  size_t n_params;
  const char **cells; /* n * n_params */
  double *sec;        /* INFINITY: it failed */
  size_t n, capacity;
} table;

/* table_row -- room for one more row; its cells are filled in by the caller */
int table_row(table *t, double sec, const char ***cells, err *e);
int table_param(table *t, const char *name, err *e);
void table_clear(table *t);

/* The readers. `text` ends with a NUL and may be changed. */
int table_read_csv(table *t, char *text, err *e);
int table_read_json(table *t, const char *text, size_t n, err *e);
/* table_unzip -- append the file, decompressed when it is gzip */
int table_read_file(const char *path, str *out, err *e);

#endif
