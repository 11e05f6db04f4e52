/* fat_container.h -- the container of device code that nvcc puts into a program: entries of PTX and of machine
 * code for several architectures, plain or compressed (LZ4, since CUDA 12.8 also Zstandard).
 *
 * NVIDIA does not document the layout; it is what fatbinary of CUDA 12 and 13 writes. */
#ifndef FAT_CONTAINER_H
#define FAT_CONTAINER_H

#include "err.h"
#include "str.h"

/* fat_find_ptx -- append the PTX for the highest architecture that a device of this compute capability runs
 *   err  ERR_NOTFOUND  it has none: says which machine code it has instead, and what to do
 *        ERR_USAGE     it is no such container, or is damaged */
int fat_find_ptx(const void *container, int cc, str *ptx, err *e);
/* fat_expand_lz4 -- a block of LZ4; false: it is damaged, or expands to another size than n */
bool fat_expand_lz4(const unsigned char *from, size_t from_n, unsigned char *to, size_t n);

#endif
