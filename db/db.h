/* db.h -- the database: devices, templates, trials, their times, and the best of each problem.
 *
 * Facts are only added: devices, templates, images, trials, samples; schema.sql, step 5, says by
 * what they are known. `best` is a view. One process writes, any number read (WAL). A put is
 * committed when it returns: kill -9 loses at most the row in flight. Only this folder knows SQLite.
 *
 * A trial is one candidate (template hash, device, problem, configuration) and its outcome; a
 * sample is one measured set of times of a trial. An edited template has another hash: its old
 * trials are kept and not served.
 *
 * A handle belongs to one thread at a time and does not cross a fork. Names, keys, problems,
 * configurations and reasons hold at most 64 KiB; a source, log or image 64 MiB: ERR_LIMIT when
 * put, ERR_DB when another program wrote more. */
#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"

typedef struct db db;
struct str;

typedef enum db_mode { DB_READ, DB_WRITE } db_mode;

/* db_open -- DB_WRITE creates the file and its folders, and migrates an older file; DB_READ
 * opens older files as they are, and returns ERR_NOTFOUND for a missing one. ":memory:" works
 * for tests.
 *   err  ERR_DB  locked, read-only, corrupt, not a database of autotune, or written by a newer
 *        version; the message says which and what to do */
int db_open(const char *path, db_mode mode, db **out, err *e);
void db_close(db *d);
static inline void db_leave(db **d) {
  db_close(*d);
}
/* auto_db -- a pointer, NULL at first, closed at the end of its block */
#define auto_db __attribute__((cleanup(db_leave))) db
/* db_note -- one line about how the file is open that the user should know ("this file system
 * cannot keep a write-ahead log ..."); NULL: nothing. Lives as long as d */
const char *db_note(const db *d);
/* db_path -- the path given to db_open; borrowed */
const char *db_path(const db *d);
/* db_default_path -- $TUNED_DB, else the XDG data folder + "/tuned.db", in the arena */
int db_default_path(arena *a, const char **path, err *e);

typedef struct db_former { /* a digest that a template had before, and the present one */
  const char *family, *digest, *present;
} db_former;
/* A configuration or a problem in its present words, appended; not 0: it stays as it is. */
typedef int db_rename(void *self, const char *family, const char *text, struct str *out);
typedef struct db_formers {
  const db_former *list;
  size_t n;
  db_rename *rename_config, *rename_problem;
  void *self;
} db_formers;
/* db_follow -- after db_open: what the file has under former digests is that of the present ones.
 * Moved there where it is open for writing, in one transaction, as a merge would join them; else
 * only shown so. */
int db_follow(db *d, const db_formers *f, err *e);
/* db_is_former -- is what is shown under this digest another one's in the file? */
int db_is_former(db *d, const char *digest, bool *yes, err *e);

typedef struct db_device {
  const char *key;  /* rt_device_key */
  const char *name; /* for people */
  int cc, sms;
} db_device;

typedef struct db_template {
  const char *family, *hash, *path;
  int64_t version;
} db_template;

typedef struct db_image {
  const char *key, *arch, *source, *log;
  int nvrtc;           /* version */
  int regs;            /* largest of its kernels */
  int64_t spill, smem; /* bytes, likewise */
  const void *cubin, *ptx;
  size_t n_cubin, n_ptx; /* 0: none */
  double sec;            /* compile time */
} db_image;

/* A trial's outcome. */
typedef enum db_status {
  DB_OK,
  DB_INVALID, /* a requirement or a device limit */
  DB_COMPILE, /* NVRTC refused it */
  DB_LAUNCH,  /* could not be launched, or died */
  DB_WRONG,   /* results differ from the reference, or it wrote outside its buffers */
  DB_TIMEOUT, /* compiling or running took too long */
  DB_CRASHED, /* the worker process died */
  DB_STATUSES /* their number */
} db_status;
const char *db_status_name(db_status s);

typedef struct db_trial {
  const char *problem, *config; /* canonical texts */
  db_status status;
  const char *reason; /* NULL when ok */
  const char *image;  /* key; NULL when there is none */
  double error;       /* largest |x - ref| / (abs + rel * |ref|): at most 1 is within tolerance */
} db_trial;

typedef enum db_stage { DB_SCREEN, DB_FINAL } db_stage; /* first look; interleaved finals */

typedef struct db_sample {
  db_stage stage;
  double median, spread; /* seconds; spread is (p75 - p25) / median */
  int64_t launches;      /* timed */
  bool cold;             /* buffers rotated past the L2 cache */
  int driver;
  const char *uuid;
  double clock_mhz, power_w, temperature_c; /* 0: not known */
  double memory_mhz, energy_j;              /* likewise; joules per launch */
  int64_t held, retaken;                    /* nvml.h; times it was taken again */
  const char *ended, *replay, *batches;     /* schema.sql; NULL: not known */
} db_sample;

int db_device_put(db *d, const db_device *row, int64_t *id, err *e);
int db_template_put(db *d, const db_template *row, int64_t *id, err *e);
/* db_device_find, db_template_find -- the id of a stored row. err ERR_NOTFOUND */
int db_device_find(db *d, const char *key, int64_t *id, err *e);
int db_template_find(db *d, const char *hash, int64_t *id, err *e);
/* db_image_put -- what is known of an image, and its bytes. Without a source, the bytes are left out:
 * they are stored when it is put again with one */
int db_image_put(db *d, const db_image *row, err *e);
/* db_image_get -- strings and blobs in the arena. err ERR_NOTFOUND, also where its bytes were left out */
int db_image_get(db *d, const char *key, arena *a, db_image *row, err *e);
/* db_trial_put -- an existing trial (same template, device, problem, config) is replaced only when
 * its outcome differs; its samples keep the id */
int db_trial_put(db *d, int64_t template_id, int64_t device_id, const db_trial *row, int64_t *id,
                 err *e);
int db_sample_put(db *d, int64_t trial_id, const db_sample *row, err *e);
/* db_sample_get -- the sample that represents a trial: its latest final one, else its latest
 * screening. In a file of schema 1, fields that it lacks are not known. Strings in the arena.
 *   err  ERR_NOTFOUND  never measured */
int db_sample_get(db *d, int64_t trial_id, arena *a, db_sample *row, err *e);
/* db_estimate_put -- a model's time in seconds, with the model's name and version ("emu:h200 1");
 * kept apart from samples */
int db_estimate_put(db *d, int64_t trial_id, const char *model, double sec, err *e);

/* db_preparation_put -- the seconds of a trial's preparation, before the sample or estimate whose times
 * have their share of it; the last counts, of one second the largest. db_preparation_get -- 0: there is none */
int db_preparation_put(db *d, int64_t trial_id, double sec, err *e);
int db_preparation_get(db *d, int64_t trial_id, double *sec, err *e);

/* db_effort_add -- add to the seconds spent searching for this problem (no effect before its first
 * trial is stored). db_effort_get -- their sum, 0 without any: an interrupted search resumes with
 * the rest of its budget */
int db_effort_add(db *d, int64_t template_id, int64_t device_id, const char *problem, double sec,
                  err *e);
int db_effort_get(db *d, int64_t template_id, int64_t device_id, const char *problem, double *sec,
                  err *e);

typedef struct db_result { /* a trial and its times */
  int64_t trial;
  db_trial t;
  double median, spread; /* of the latest FINAL sample, else of the latest SCREEN; 0: none */
  bool final;
  double modelled; /* the latest estimate, seconds; 0: none */
  int regs;
  int64_t spill, smem;
} db_result;

/* db_result_sec -- the measured time, else the modelled one; 0: neither is known */
static inline double db_result_sec(const db_result *r) {
  return r->median > 0 ? r->median : r->modelled;
}

/* db_results -- every trial of a problem in the order of `best`: finals, screened, modelled, each
 * fastest first; then trials without times, then failures. Strings in the arena */
int db_results(db *d, int64_t template_id, int64_t device_id, const char *problem, arena *a,
               db_result **rows, size_t *n, err *e);
/* db_results_top -- the same, but at most `top` of the right ones and as many failures
 *   cost the rows of the result, and a look at the status of every trial */
int db_results_top(db *d, int64_t template_id, int64_t device_id, const char *problem, size_t top,
                   arena *a, db_result **rows, size_t *n, err *e);
/* db_count -- the trials of a problem: right ones and failures */
int db_count(db *d, int64_t template_id, int64_t device_id, const char *problem, int64_t *ok,
             int64_t *failed, err *e);
/* db_best -- the row of the view `best`: the fastest final, else the fastest screened, else (on an
 * emulated device, where nothing is measured) the lowest modelled time.
 *   err  ERR_NOTFOUND  the problem is not tuned */
int db_best(db *d, const char *template_hash, const char *device_key, const char *problem, arena *a,
            db_result *row, err *e);

typedef struct db_problem { /* a tuned problem and its best */
  const char *family, *device_key, *device_name, *problem, *template_hash;
  const char *path;        /* of the template, as it was read first */
  const char *config;      /* NULL: no trial has a time yet */
  const char *when;        /* when the best was found, or the first trial stored:
                            * 2025-01-31T12:00:00Z */
  double median, modelled; /* seconds; as in db_result */
  int64_t n_trials, n_ok;
  int64_t template_id, device_id; /* for db_results */
} db_problem;
/* db_problems -- by family and device, oldest first; family NULL: all. Strings in the arena */
int db_problems(db *d, const char *family, arena *a, db_problem **rows, size_t *n, err *e);

typedef struct db_known { /* the best of a tuned problem, as a guess for another */
  const char *device_key;
  int sms;
  const char *problem, *config;
  const char *image;       /* key; NULL when there is none */
  double median, modelled; /* seconds; as in db_result */
} db_known;
/* db_known_list -- the best of the `most` newest problems of a template, on the device with this
 * key and on others of compute capability `cc`; in no order. Strings in the arena.
 *   out  rows[most], *n */
int db_known_list(db *d, const char *template_hash, const char *device_key, int cc, size_t most,
                  arena *a, db_known *rows, size_t *n, err *e);
/* db_config_images -- the keys of the distinct stored images of a configuration, over all problems
 * of the template on the device. Strings in the arena.
 *   out  keys[most], *n */
int db_config_images(db *d, const char *template_hash, const char *device_key, const char *config,
                     size_t most, arena *a, const char **keys, size_t *n, err *e);
/* db_changes -- a number that changes when another process has written */
int db_changes(db *d, int64_t *number, err *e);

typedef struct db_portfolio { /* a few configurations for a range of sizes */
  const char *family, *template_hash, *device_key, *device_name;
  const char *text; /* portfolio.h reads and writes it */
  const char *when; /* 2025-01-31T12:00:00Z */
} db_portfolio;
/* db_portfolio_put -- replace the stored portfolio; `when` NULL: now, else only if the stored one
 * is not newer */
int db_portfolio_put(db *d, int64_t template_id, int64_t device_id, const char *text,
                     const char *when, bool *stored, err *e);
/* db_portfolio_get -- text in the arena. err  ERR_NOTFOUND  none; without a message */
int db_portfolio_get(db *d, const char *template_hash, const char *device_key, arena *a,
                     const char **text, err *e);
/* db_portfolios -- by family and device; family NULL: all. Strings in the arena */
int db_portfolios(db *d, const char *family, arena *a, db_portfolio **rows, size_t *n, err *e);

/* db_merge -- add every fact of another database that is missing here, in one transaction. The
 * order, grouping and number of merges make no difference. Of a configuration measured in both, a
 * final result precedes a screening, and the later one of a kind counts.
 *   err  ERR_DB  the other file is damaged, or not a database of autotune */
int db_merge(db *d, const char *path, err *e);
/* db_prune -- delete the bytes of the images, nearly all of the file, of all but the `keep` best
 * configurations of each problem, and shrink the file. Measurements are kept.
 *   out  *n  images deleted */
int db_prune(db *d, int keep, int64_t *n, err *e);

enum { DB_TABLES = 13 };
typedef struct db_stats {
  struct {
    const char *table; /* static */
    int64_t rows;
  } tables[DB_TABLES];
  int64_t nbytes; /* of the file and its write-ahead log */
  int schema;     /* version */
} db_stats;
int db_stat(db *d, db_stats *out, err *e);
/* db_verify -- read every byte: is the file sound, are the rows consistent, and is every image and
 * every time what was stored? err  ERR_DB  the first defect found */
int db_verify(db *d, err *e);

#endif
