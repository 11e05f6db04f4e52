/* db.h -- the database: what was tried, what it gave, and what is best.
 *
 * Facts are only ever added: devices, templates, images, trials, samples. `best` is a view. One
 * process writes, any number read (WAL). Every put is committed when it returns: kill -9 loses at
 * most the row in flight. Only this folder knows SQLite.
 *
 * A trial is one candidate (template hash, device, problem, configuration) with what became of it;
 * a sample is one measured set of times of a trial. A template whose text changed has another
 * hash: its old trials stay and are not served.
 *
 * A handle belongs to one thread at a time and does not cross a fork. Names, keys, problems,
 * configurations and reasons hold at most 64 KiB, a source, log or image 64 MiB: ERR_LIMIT when
 * put, ERR_DB when a foreign hand wrote more.
 */
#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"

typedef struct db db;

typedef enum db_mode { DB_READ, DB_WRITE } db_mode;

/* db_open -- DB_WRITE creates the file and the folders above it, and brings an older one up to
 * date; DB_READ takes older ones as they are, and of a missing file is ERR_NOTFOUND. ":memory:"
 * works for tests. err  ERR_DB  locked, read-only, corrupt, not a database of ours, or written by a
 * newer version; says which and what to do */
int db_open(const char *path, db_mode mode, db **out, err *e);
void db_close(db *d);
/* db_note -- what the user should know about how the file is open ("this file system has no
 * write-ahead log ..."), one line; NULL when there is nothing to say. Lives as long as d. */
const char *db_note(const db *d);
/* db_path -- as it was opened; borrowed */
const char *db_path(const db *d);
/* db_default_path -- $TUNED_DB, else the XDG data folder + "/tuned.db", in the arena */
int db_default_path(arena *a, const char **path, err *e);

typedef struct db_device {
  const char *key;  /* rt_device_key */
  const char *name; /* as shown */
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

/* What became of a trial. */
typedef enum db_status {
  DB_OK,
  DB_INVALID, /* a requirement or a device limit */
  DB_COMPILE, /* NVRTC refused it */
  DB_LAUNCH,  /* could not be launched, or died */
  DB_WRONG,   /* results differ from the reference, or it wrote outside its buffers */
  DB_TIMEOUT, /* compiling or running took too long */
  DB_CRASHED, /* took its worker process with it */
  DB_STATUSES /* how many there are */
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
/* db_device_find, db_template_find -- the id of a row that is there already; err ERR_NOTFOUND */
int db_device_find(db *d, const char *key, int64_t *id, err *e);
int db_template_find(db *d, const char *hash, int64_t *id, err *e);
int db_image_put(db *d, const db_image *row, err *e);
/* db_image_get -- strings and blobs in the arena. err ERR_NOTFOUND */
int db_image_get(db *d, const char *key, arena *a, db_image *row, err *e);
/* db_trial_put -- a trial already there (same template, device, problem, config) is replaced only
 * when `row` says otherwise than it did; its samples stay with the id */
int db_trial_put(db *d, int64_t template_id, int64_t device_id, const db_trial *row, int64_t *id,
                 err *e);
int db_sample_put(db *d, int64_t trial_id, const db_sample *row, err *e);
/* db_sample_get -- the sample by which a trial stands: its latest final one, else its latest
 * screening. Of a file of schema 1 the fields that it lacks are not known. Strings in the arena.
 *   err  ERR_NOTFOUND  never measured */
int db_sample_get(db *d, int64_t trial_id, arena *a, db_sample *row, err *e);
/* db_estimate_put -- what a model says, kept apart from samples: seconds, and the model's name and
 * version ("emu:h200 1"). Never mixed with measured times. */
int db_estimate_put(db *d, int64_t trial_id, const char *model, double sec, err *e);

/* db_effort_add -- so many more seconds were spent searching for this problem (nothing happens
 * before its first trial is there); db_effort_get: all of them, 0 when there were none. What lets
 * an interrupted search go on with the rest of its budget. */
int db_effort_add(db *d, int64_t template_id, int64_t device_id, const char *problem, double sec,
                  err *e);
int db_effort_get(db *d, int64_t template_id, int64_t device_id, const char *problem, double *sec,
                  err *e);

typedef struct db_result { /* a trial with its samples summed up */
  int64_t trial;
  db_trial t;
  double median,
      spread; /* of the latest FINAL sample if there is one, else the latest SCREEN; 0 if none */
  bool final;
  double modelled; /* the latest estimate, seconds; 0: none */
  int regs;
  int64_t spill, smem;
} db_result;

/* db_result_sec -- the measured time, else the modelled one; 0: neither is known */
static inline double db_result_sec(const db_result *r) {
  return r->median > 0 ? r->median : r->modelled;
}

/* db_results -- every trial of a problem, in the order of `best`: finals, screened, modelled, each
 * fastest first; then those without times; failures last. Strings in the arena */
int db_results(db *d, int64_t template_id, int64_t device_id, const char *problem, arena *a,
               db_result **rows, size_t *n, err *e);
/* db_best -- the row of the view `best`: the fastest final, else the fastest screened, else (an
 * emulated device, where nothing is ever measured) the least modelled.
 *   err  ERR_NOTFOUND  nothing tuned for it */
int db_best(db *d, const char *template_hash, const char *device_key, const char *problem, arena *a,
            db_result *row, err *e);

typedef struct db_problem { /* one tuned problem and its best, for lists */
  const char *family, *device_key, *device_name, *problem, *template_hash;
  const char *config;      /* NULL: no trial has a time yet */
  const char *when;        /* the best was found, or the first trial stored: 2025-01-31T12:00:00Z */
  double median, modelled; /* seconds; as in db_result */
  int64_t n_trials, n_ok;
  int64_t template_id, device_id; /* for db_results and db_counts */
} db_problem;
/* db_problems -- by family and device, oldest first; family NULL: all. Strings in the arena */
int db_problems(db *d, const char *family, arena *a, db_problem **rows, size_t *n, err *e);

typedef struct db_known { /* the best of one tuned problem, as a guess for another */
  const char *device_key;
  int sms;
  const char *problem, *config;
  const char *image;       /* key; NULL when there is none */
  double median, modelled; /* seconds; as in db_result */
} db_known;
/* db_known_list -- the best of every problem of a template on the device with this key, and on
 * those of compute capability `cc`; of the `most` newest problems. In no order. Strings in the
 * arena out  rows[most], *n */
int db_known_list(db *d, const char *template_hash, const char *device_key, int cc, size_t most,
                  arena *a, db_known *rows, size_t *n, err *e);
/* db_config_images -- the images, each once, with which a configuration was tried for any problem
 * of the template on the device: at most `most` keys, in the arena out  keys[most], *n */
int db_config_images(db *d, const char *template_hash, const char *device_key, const char *config,
                     size_t most, arena *a, const char **keys, size_t *n, err *e);
/* db_changes -- a number that is another one after somebody else has written */
int db_changes(db *d, int64_t *number, err *e);

typedef struct db_portfolio { /* a few configurations for a range of sizes */
  const char *family, *template_hash, *device_key, *device_name;
  const char *text; /* portfolio.h reads and writes it; at most 64 KiB */
  const char *when; /* 2025-01-31T12:00:00Z */
} db_portfolio;
/* db_portfolio_put -- in place of an older one; now, or `when` not NULL: unless it is newer */
int db_portfolio_put(db *d, int64_t template_id, int64_t device_id, const char *text,
                     const char *when, bool *stored, err *e);
/* db_portfolio_get -- text in the arena. err  ERR_NOTFOUND  there is none, no message */
int db_portfolio_get(db *d, const char *template_hash, const char *device_key, arena *a,
                     const char **text, err *e);
/* db_portfolios -- by family and device; family NULL: all. Strings in the arena */
int db_portfolios(db *d, const char *family, arena *a, db_portfolio **rows, size_t *n, err *e);

/* db_counts -- trials of a problem, n[status]; reads an index only */
int db_counts(db *d, int64_t template_id, int64_t device_id, const char *problem,
              int64_t n[DB_STATUSES], err *e);

/* db_merge -- add every fact of another database that is not there yet, in one transaction; nothing
 * is lost, and doing it twice changes nothing. Of a configuration measured in both, the final
 * result counts before a first look, and the later one of a kind. err  ERR_DB  the other one is not
 * sound, or not one of ours */
int db_merge(db *d, const char *path, err *e);
/* db_prune -- drop the images, nearly all the bytes of the file, of all but the `keep` best
 * configurations of each problem, and give the space back. What was measured stays.
 *   out  *n  images dropped */
int db_prune(db *d, int keep, int64_t *n, err *e);

enum { DB_TABLES = 11 };
typedef struct db_stats {
  struct {
    const char *table; /* static */
    int64_t rows;
  } tables[DB_TABLES];
  int64_t nbytes; /* of the file and its write-ahead log */
  int schema;     /* version */
} db_stats;
int db_stat(db *d, db_stats *out, err *e);
/* db_verify -- reads every byte: is the file sound, are the rows consistent, are every image
 * and every time what was stored? err  ERR_DB  the first thing found */
int db_verify(db *d, err *e);

#endif
