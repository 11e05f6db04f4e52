/* known.h -- what the database knows of a problem: the score of each stored trial, and of each
 * point of the space. */
#ifndef TUNE_KNOWN_H
#define TUNE_KNOWN_H

#include "arena.h"
#include "db.h"
#include "gen.h"
#include "objective.h"

typedef struct scored {
  const db_result *row;
  double score;                  /* INFINITY: it failed, or was never timed */
  double values[OBJECTIVE_MOST]; /* of the objectives, where there is a score */
} scored;

/* known_score -- a score for each row, with the energy of its latest sample
 *   in  t  of which the rows are
 *       d  not read unless the objective reads energy */
int known_score(const gen_template *t, db *d, scorer *s, const db_result *rows, size_t n, arena *a,
                scored **out, err *e);

typedef struct known_point {
  size_t point;
  double score; /* INFINITY: it failed */
} known_point;

typedef struct known_points {
  known_point *p; /* sorted by point; in the arena */
  size_t n;
} known_points;

/* known_load -- leaves out rows whose configuration is no longer in the space */
int known_load(const gen_template *t, const gen_space *space, const scored *rows, size_t n,
               arena *a, known_points *out, err *e);
const known_point *known_find(const known_points *k, size_t point); /* NULL: not known */

#endif
