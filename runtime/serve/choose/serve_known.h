/* serve_known.h -- the known results of a family that are of use on a device: tuned problems and a
 * portfolio, from the database and from the presets built into the library.
 *
 * They are read once per family, and again when the database has changed, so a new size costs a
 * walk over an array. Of a large database the newest problems are taken. */
#ifndef SERVE_KNOWN_H
#define SERVE_KNOWN_H

#include "db.h"
#include "device.h"
#include "gen.h"
#include "portfolio.h"
#include "serve_presets.h"
#include "feasibility_cache.h"
#include "tuned.h"

enum { SERVE_KNOWN_MOST = 2048 }; /* rows kept of the database, and as many of the presets */

typedef struct serve_sources { /* which device is served, and where results come from */
  const rt_info *device;
  const char *device_key; /* its key in databases (rt_device_key) */
  db *db;                 /* NULL: none */
  /* of serve_presets.h, or others; NULL: none */
  const gen_file *presets;
  serve_portfolio_fn *const *portfolios;
} serve_sources;

typedef struct serve_known_text { /* ends after n bytes; no NUL */
  const char *p;
  size_t n;
} serve_known_text;

typedef struct serve_known_row {
  const double *octaves; /* of the problem's fields: serve_problem_octaves */
  serve_known_text problem, config;
  const char *device_key;
  const char *image; /* stored with it; NULL: none */
  tuned_origin origin;
  bool measured;
  double sec;            /* of one launch there; 0: not known */
  double sms, bandwidth; /* of the device it was tuned on, relative to this one */
  double floor_sec;      /* the least time that device allows; 0: not computed yet */
} serve_known_row;

typedef struct serve_known { /* all zero: nothing read yet */
  arena memory;
  serve_known_row *rows; /* reallocated as they come */
  size_t n, most;
  portfolio portfolio;          /* n_nodes 0: there is none */
  const char *portfolio_device; /* it was made on */
  feasibility_cache *cache;     /* of its configurations; NULL: not needed yet */
  bool read;
  int64_t changes; /* db_changes when it was read */
} serve_known;

/* serve_known_read -- bring it up to date
 *   err  ERR_DB  the database can't be read */
int serve_known_read(const serve_sources *s, gen_template *t, serve_known *k, err *e);
void serve_known_clear(serve_known *k);

#endif
