/* peer.h -- what is timed beside our kernels: vendors' libraries, opened at run time, never linked,
 * and textbooks' configurations.
 *
 * A peer is called with the template's own arguments, on the same buffers and stream. To add one: a
 * file peer_NAME.c with a peer_kind, and a line in peer.c. */
#ifndef TUNE_PEER_H
#define TUNE_PEER_H

#include "run.h"

typedef struct peer {
  /* called with the template's arguments; err ERR_USAGE: it does not support these. It must support
   * the template's first case, which is timed */
  rt_contender contender;
  char version[128]; /* "cuBLAS 13.1.0" */
  /* the largest error, in units of the template's tolerance, that its arithmetic explains (an f32
   * sum accumulated in f32, say); a larger one is reported */
  double loosest;
  void *self;
  void (*close)(void *self);
  /* switch to another problem of the same family and device; NULL: it must be reopened. err
   * ERR_USAGE  it does not support this problem; later ones may work */
  int (*turn)(void *self, const gen_template *t, const gen_problem *p, err *e);
} peer;

typedef struct peer_kind {
  const char *name, *brief;
  const char *const *families; /* families that it supports; ends with NULL */
  /* configurations of the template instead of a library, on any device, of which the first that is
   * valid for a problem is the peer; false: it has at most i. The members below are NULL then, and so
   * is `families` */
  bool (*config)(const gen_template *t, size_t i, gen_config *c);
  /* prepare -- called before the first open with all problems of a run; may be NULL. Without
   * problems and device: is the peer available on this machine? */
  int (*prepare)(const gen_template *t, const gen_problem *p, size_t n, const rt_info *info,
                 err *e);
  /* open -- err ERR_USAGE: it does not support this problem; says which part of it */
  int (*open)(const gen_template *t, const gen_problem *p, rt_device *d, peer *out, err *e);
} peer_kind;

/* peer_find -- by name, for a family.
 *   err ERR_USAGE  no such peer, or it does not support the family; lists the peers */
int peer_find(const char *name, const gen_template *t, const peer_kind **out, err *e);
/* peer_prepare -- for these problems on this device. A failure that concerns one problem is
 * reported again when that problem is opened.
 *   err ERR_USAGE     the device is no GPU
 *       ERR_NOTFOUND  the peer, or the compiler it needs, is not on this machine */
int peer_prepare(const peer_kind *k, const gen_template *t, const gen_problem *p, size_t n,
                 rt_device *d, err *e);
/* peer_open -- for one problem; close it whether or not it failed.
 *   err ERR_USAGE     it does not support this problem
 *       ERR_NOTFOUND  it is not on this machine */
int peer_open(const peer_kind *k, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *out, err *e);
/* peer_turn -- switch to another problem of the same family, keeping what was slow to open where
 * possible. The peer is open, or all zero; close it whether or not it failed. err as peer_open */
int peer_turn(const peer_kind *k, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *x, err *e);
void peer_close(peer *p);

/* ---- for the peers --------------------------------------------------------------------------- */

/* `names` holds alternatives separated by blanks: "dtype type". */

/* peer_number -- value of the first field that exists; `other` when none does */
int64_t peer_number(const gen_template *t, const gen_problem *p, const char *names, int64_t other);
/* peer_word -- the same for an enumeration; NULL when none exists */
const char *peer_word(const gen_template *t, const gen_problem *p, const char *names);
/* peer_argument -- position of the first argument that exists.
 *   err ERR_USAGE  none does */
int peer_argument(const gen_template *t, const char *names, size_t *out, err *e);
/* peer_symbols -- look up symbols of an opened library, into consecutive pointers to functions.
 *   err ERR_NOTFOUND  a symbol is missing */
typedef struct peer_symbol {
  const char *name;
  void *to;
} peer_symbol;
int peer_symbols(void *library, const char *what, const peer_symbol *s, size_t n, err *e);
/* peer_driver_symbol -- of the loaded driver; NULL when it has none */
void *peer_driver_symbol(const char *name);

extern const peer_kind peer_cublas, peer_cublas_tf32, peer_cub, peer_driver, peer_textbook,
    peer_npp, peer_npp_advanced, peer_cudnn, peer_cudnn_tf32, peer_cusparse;

#endif
