/* trial_table.h -- the trials in a file of another tool, one a row. recorded.c makes a space of
 * them, cmd_import.c stores them in the database. */
#ifndef FORMATS_TRIAL_TABLE_H
#define FORMATS_TRIAL_TABLE_H

#include "arena.h"
#include "db.h"
#include "gen.h"

/* What files written by autotune also hold; NULL or 0 where the file has nothing. */
typedef struct trial_table_origin {
  const char *problem; /* canonical text */
  const char *device;  /* its name */
  const char *key;     /* rt_device_key */
  int cc, sms;
  bool modelled; /* times are a model's */
} trial_table_origin;

typedef struct trial_table {
  arena *memory; /* of all texts */
  const char *path;
  const char *params[GEN_MAX_PARAMS];
  size_t n_params;
  const char **cells;  /* n * n_params */
  double *sec;         /* INFINITY: it failed */
  uint8_t *status;     /* db_status */
  const char **reason; /* of a failure; may be NULL */
  size_t n, capacity;
  trial_table_origin origin;
} trial_table;

/* trial_table_row -- append a row, whose cells the caller fills in. sec counts only with DB_OK */
int trial_table_row(trial_table *t, db_status status, double sec, const char ***cells, err *e);
/* trial_table_status -- from the word of any of the formats; an unknown one is a failed launch */
db_status trial_table_status(const char *word);
/* trial_table_is_time -- a positive number of seconds, and below 3e8 years */
bool trial_table_is_time(double sec);
int trial_table_param(trial_table *t, const char *name, err *e);
void trial_table_clear(trial_table *t);

/* The readers. `text` ends with a NUL and may be changed. */
int trial_table_read_csv(trial_table *t, char *text, err *e);
int trial_table_read_json(trial_table *t, const char *text, size_t n, err *e);
/* trial_table_read -- any of the formats. err ERR_USAGE: none of them */
int trial_table_read(trial_table *t, char *text, size_t n, err *e);
/* trial_table_read_file -- append the file, decompressed when it is gzip */
int trial_table_read_file(const char *path, str *out, err *e);

#endif
