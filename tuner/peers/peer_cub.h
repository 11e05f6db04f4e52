/* peer_cub.h -- what peer_cub.c hands to the device code of peer_cub.cu. C and C++. */
#ifndef TUNE_PEER_CUB_H
#define TUNE_PEER_CUB_H

enum { PEER_CUB_IN = 4, PEER_CUB_OUT = 2 };

typedef struct peer_cub_call { /* what the problem and its buffers say; unused parts are 0 */
  long long n, m;              /* elements; of the first of two inputs, or segments */
  int exclusive, descending, begin_bit, end_bit;
  int first; /* nothing was launched for this problem yet */
  long long bins;
  double lower, upper;
  const void *in[PEER_CUB_IN]; /* elements of one and of two inputs; what goes with either's */
  void *out[PEER_CUB_OUT];     /* elements, and what goes with them */
} peer_cub_call;

#endif
