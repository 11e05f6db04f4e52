/* peer_cub.h -- the interface between peer_cub.c and the device code of peer_cub.cu. C and C++. */
#ifndef TUNE_PEER_CUB_H
#define TUNE_PEER_CUB_H

enum { PEER_CUB_IN = 4, PEER_CUB_OUT = 3, PEER_CUB_BOX = 4 };

typedef struct peer_cub_call { /* from the problem and its buffers; unused parts are 0 */
  long long n, m;              /* elements; those of the first input of two, or segments */
  int exclusive, descending, begin_bit, end_bit;
  int first; /* no launch for this problem yet */
  long long bins;
  double lower, upper;
  const void *in[PEER_CUB_IN]; /* elements of the inputs, and the values of either */
  void *out
      [PEER_CUB_OUT]; /* elements, and what goes with them; of a tree: nodes, their number, points */
  int min_points, max_depth; /* of a tree */
  float box[PEER_CUB_BOX];   /* likewise: left, bottom, width, height */
} peer_cub_call;

#endif
