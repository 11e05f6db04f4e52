/* bench_case.h -- one problem's contenders: checked against the template's reference, then timed
 * interleaved on the same buffers. */
#ifndef TUNE_BENCH_CASE_H
#define TUNE_BENCH_CASE_H

#include "compile.h"
#include "peer.h"
#include "run_candidate.h"

typedef struct bench_place { /* shared by all cases; borrowed */
  gen_template *t;
  rt_compiler *compiler;
  rt_device *device;
  rt_checker *checker;
} bench_place;

/* bench_place_open -- compiler, device and checker; close it whether or not it failed */
int bench_place_open(bench_place *place, const char *device, err *e);
/* bench_place_close -- close whatever was opened */
void bench_place_close(bench_place *place);

typedef struct bench_entrant {
  gen_config config;
  rt_candidate candidate;
  peer peer;
  bool is_peer;
  const char *name; /* in messages */
  rt_contender contender;
  rt_times times;
  double error; /* of its results, in units of the tolerance; NAN: not checked */
  /* of a peer: where its result differs more than the rounding of its arithmetic explains; NULL: it
   * does not */
  const char *differs;
} bench_entrant;

enum { BENCH_ENTRANTS = 64 };

typedef struct bench_case {
  const bench_place *place;
  arena memory;
  gen_problem problem;
  gen_instance *g;
  rt_harness *buffers;
  bench_entrant e[BENCH_ENTRANTS];
  size_t n;
  double flops, bytes; /* of the problem */
} bench_case;

/* bench_case_open -- close it with bench_case_close whether or not it failed */
int bench_case_open(bench_case *x, const bench_place *place, const gen_problem *p, err *e);
/* bench_case_open_on -- the same with other data than the template's for the case that is timed;
 * they must outlive it */
int bench_case_open_on(bench_case *x, const bench_place *place, const gen_problem *p,
                       const struct rt_captured *data, err *e);
void bench_case_close(bench_case *x);
/* bench_case_add -- compile and load a configuration of the template as the next entrant */
int bench_case_add(bench_case *x, const gen_config *config, const char *name, err *e);
/* bench_case_add_launch -- anything that is launched with the template's arguments */
int bench_case_add_launch(bench_case *x, rt_contender contender, const char *name, err *e);
/* bench_case_add_peer -- err ERR_USAGE  the peer does not support this problem; no entrant is
 * added */
int bench_case_add_peer(bench_case *x, const peer_kind *k, err *e);
/* bench_case_check -- compare the results of every entrant with the reference. A peer that is less
 * exact than it should be is timed nevertheless: its `error` and `differs` say so.
 *   err ERR_WRONG  which entrant's results differ, and where; of a peer only what no rounding
 *                  explains: a stray write, a changed input, an element that is no number */
int bench_case_check(bench_case *x, err *e);
/* bench_case_check_one -- of one entrant */
int bench_case_check_one(bench_case *x, bench_entrant *n, err *e);
/* bench_case_race -- time all entrants interleaved; modelled on the emulated device.
 *   in  how  hot and replay are used
 *   err ERR_USAGE  this device has no graphs */
int bench_case_race(bench_case *x, int64_t rounds, const rt_timing *how, err *e);

#endif
