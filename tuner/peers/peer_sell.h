/* peer_sell.h -- a matrix of compressed rows in slices of equal height, each padded to its longest row,
 * column by column, as cuSPARSE's sliced ELL has it. */
#ifndef TUNE_PEER_SELL_H
#define TUNE_PEER_SELL_H

#include "device.h"

typedef struct peer_csr { /* on the device */
  int64_t rows, nnz;
  rt_ptr ptr, idx, val;
  size_t ptr_nbytes, val_nbytes; /* of an element: 4 or 8 */
} peer_csr;

typedef struct peer_sell {
  rt_ptr offsets, columns, values; /* on the device; columns of padding are -1 */
  size_t n_offsets, padded, val_nbytes;
} peer_sell;

/* peer_sell_new -- converts on the host; free it whether or not it failed.
 *   err ERR_USAGE  too large, or padding takes more than three times the entries */
int peer_sell_new(rt_device *d, const peer_csr *m, int64_t height, peer_sell *out, err *e);
/* peer_sell_copy -- on the device */
int peer_sell_copy(rt_device *d, const peer_sell *from, peer_sell *out, err *e);
void peer_sell_free(rt_device *d, peer_sell *s);

#endif
