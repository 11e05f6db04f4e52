/* peer.h -- vendors' libraries to be timed beside our kernels; opened at run time, never linked.
 *
 * A peer is called with the template's own arguments, on the same buffers and stream. Adding one: a
 * file peer_NAME.c with a peer_kind, and a line in peer.c.
 */
#ifndef TUNE_PEER_H
#define TUNE_PEER_H

#include "run.h"

typedef struct peer {
  /* takes the template's arguments; err ERR_USAGE: nothing like these of them. The first case of
   * the template, which is timed, it must know. */
  rt_contender contender;
  char version[64]; /* "cuBLAS 13.1.0" */
  /* the largest error, in units of the template's tolerance, that its arithmetic explains (a sum of
   * f32 that is kept in f32, say); what is farther off computes something else */
  double loosest;
  void *self;
  void (*close)(void *self);
  /* turn to another problem of the same family and device; NULL: it can't, it must be opened anew.
   *   err ERR_USAGE  nothing like this problem; it may be turned to the next */
  int (*turn)(void *self, const gen_template *t, const gen_problem *p, err *e);
} peer;

typedef struct peer_kind {
  const char *name, *brief;
  const char *const *families; /* that it has something like; ends with NULL */
  /* prepare -- ahead of the first open, for all of a run's problems; may be NULL. Of no problems
   * and no device: can it be had on this machine at all? */
  int (*prepare)(const gen_template *t, const gen_problem *p, size_t n, const rt_info *info,
                 err *e);
  /* open -- err ERR_USAGE: nothing like this problem of the family; says which part of it */
  int (*open)(const gen_template *t, const gen_problem *p, rt_device *d, peer *out, err *e);
} peer_kind;

/* peer_find -- by name, for a family.
 *   err ERR_USAGE  no such peer, or it has nothing like this family; lists what there is */
int peer_find(const char *name, const gen_template *t, const peer_kind **out, err *e);
/* peer_prepare -- for these problems on this device; what fails here fails again, with its reason,
 * for the problem it concerns
 *   err ERR_USAGE     the device is no GPU
 *       ERR_NOTFOUND  the peer is not on this machine, or nothing to build it with */
int peer_prepare(const peer_kind *k, const gen_template *t, const gen_problem *p, size_t n,
                 rt_device *d, err *e);
/* peer_open -- for one problem; close it whether or not it failed
 *   err ERR_USAGE     it has nothing like this problem
 *       ERR_NOTFOUND  it is not on this machine */
int peer_open(const peer_kind *k, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *out, err *e);
/* peer_turn -- to another problem of the same family, keeping what took long to open where it can;
 * the peer is open, or all zero; close it whether or not it failed. err as peer_open */
int peer_turn(const peer_kind *k, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *x, err *e);
void peer_close(peer *p);

/* ---- for the peers --------------------------------------------------------------------------- */

/* The names are alternatives, a space between two: "dtype type". */

/* peer_number -- of the first field that there is; `other` when there is none */
int64_t peer_number(const gen_template *t, const gen_problem *p, const char *names, int64_t other);
/* peer_word -- of an enumeration; NULL when there is none of these */
const char *peer_word(const gen_template *t, const gen_problem *p, const char *names);
/* peer_argument -- the position of the first that there is
 *   err ERR_USAGE  there is none of these */
int peer_argument(const gen_template *t, const char *names, size_t *out, err *e);
/* peer_symbols -- from an opened library, one after another into pointers to functions.
 *   err ERR_NOTFOUND  it lacks one */
typedef struct peer_symbol {
  const char *name;
  void *to;
} peer_symbol;
int peer_symbols(void *library, const char *what, const peer_symbol *s, size_t n, err *e);
/* peer_driver_symbol -- from the driver, which is loaded already; NULL when it has none */
void *peer_driver_symbol(const char *name);

extern const peer_kind peer_cublas, peer_cublas_tf32, peer_cub, peer_driver;

#endif
