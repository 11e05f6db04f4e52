/* peer.h -- vendors' libraries to be timed beside our kernels; opened at run time, never linked. */
#ifndef TUNE_PEER_H
#define TUNE_PEER_H

#include "run.h"

typedef struct peer {
  rt_contender contender; /* takes the template's arguments */
  char version[64];       /* "cuBLAS 13.1.0" */
  void *self;
  void (*close)(void *self);
} peer;

/* peer_open -- by name, for one problem of one family on one device.
 *   err ERR_USAGE     no such peer, or it has nothing like this family
 *       ERR_NOTFOUND  its library is not on this machine */
int peer_open(const char *name, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *out, err *e);
void peer_close(peer *p);

#endif
