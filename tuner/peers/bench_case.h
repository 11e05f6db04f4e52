/* bench_case.h -- one problem's contenders: checked against the template's reference, then timed
 * interleaved on the same buffers. */
#ifndef TUNE_BENCH_CASE_H
#define TUNE_BENCH_CASE_H

#include "compile.h"
#include "peer.h"

typedef struct bench_place { /* where cases are run; borrowed by all of them */
  gen_template *t;
  rt_compiler *compiler;
  rt_device *device;
  rt_tools *tools;
} bench_place;

/* bench_place_close -- whatever of it was opened */
void bench_place_close(bench_place *place);

typedef struct bench_entrant {
  gen_config config;
  rt_loaded *loaded;
  peer peer;
  bool is_peer;
  const char *name; /* in messages */
  rt_contender contender;
  rt_times times;
  double error; /* of its results, in units of the tolerance; NAN: not checked */
} bench_entrant;

enum { BENCH_ENTRANTS = 64 };

typedef struct bench_case {
  const bench_place *place;
  arena memory;
  gen_problem problem;
  gen_instance *g;
  rt_bench *buffers;
  bench_entrant e[BENCH_ENTRANTS];
  size_t n;
  double flops, bytes; /* of the problem */
} bench_case;

/* bench_case_open -- clear it with bench_case_close whether or not it failed */
int bench_case_open(bench_case *x, const bench_place *place, const gen_problem *p, err *e);
void bench_case_close(bench_case *x);
/* bench_case_add -- a configuration of the template: compiled and loaded; the next entrant */
int bench_case_add(bench_case *x, const gen_config *config, const char *name, err *e);
/* bench_case_add_peer -- err ERR_USAGE  it has nothing like this problem; no entrant then */
int bench_case_add_peer(bench_case *x, const peer_kind *k, err *e);
/* bench_case_check -- is every entrant right? A fast kernel with wrong results wins nothing, and
 * a peer that computes something else is no peer.
 *   err ERR_WRONG  whose results are, and which of them */
int bench_case_check(bench_case *x, err *e);
/* bench_case_race -- fills in the times; on the emulated device they are modelled
 *   in  how  hot and replay count
 *   err ERR_USAGE  this device has no graphs */
int bench_case_race(bench_case *x, int64_t rounds, const rt_timing *how, err *e);

#endif
