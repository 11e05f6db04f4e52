/* recorded_table.h -- results as other programs write them, row by row: between the readers of
 * files and recorded.c, which makes a space of the rows, or cmd_results.c, which stores them. */
#ifndef TUNE_RECORDED_TABLE_H
#define TUNE_RECORDED_TABLE_H

#include "db.h"
#include "recorded.h"

/* What our own files tell beyond the rows; NULL, 0: the file doesn't. */
typedef struct table_origin {
  const char *problem; /* canonical text */
  const char *device;  /* its name */
  const char *key;     /* rt_device_key */
  int cc, sms;
  bool modelled; /* times are a model's */
} table_origin;

typedef struct table {
  arena *memory; /* of all texts */
  const char *path;
  const char *params[GEN_MAX_PARAMS];
  size_t n_params;
  const char **cells;  /* n * n_params */
  double *sec;         /* INFINITY: it failed */
  uint8_t *status;     /* db_status */
  const char **reason; /* of a failure; may be NULL */
  size_t n, capacity;
  table_origin origin;
} table;

/* table_row -- room for one more row; its cells are filled in by the caller. sec counts only when
 * the status is DB_OK */
int table_row(table *t, db_status status, double sec, const char ***cells, err *e);
/* table_status -- from any of the words that the formats have; unknown ones are failed launches */
db_status table_status(const char *word);
int table_param(table *t, const char *name, err *e);
void table_clear(table *t);

/* The readers. `text` ends with a NUL and may be changed. */
int table_read_csv(table *t, char *text, err *e);
int table_read_json(table *t, const char *text, size_t n, err *e);
/* table_read -- whichever it is. err ERR_USAGE: it is none of them */
int table_read(table *t, char *text, size_t n, err *e);
/* table_read_file -- append the file, decompressed when it is gzip */
int table_read_file(const char *path, str *out, err *e);

#endif
