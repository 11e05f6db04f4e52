/* data_file.h -- test data in a file: the bytes as they are, an array of NumPy (.npy), or where the datum
 * says which part a matrix (matrix_market.h). */
#ifndef RT_DATA_FILE_H
#define RT_DATA_FILE_H

#include "gen.h"

/* data_file_read -- datum->count elements of its type, from datum->file.
 *   in   arg  the argument's name, for messages
 *   err  ERR_NOTFOUND, ERR_IO
 *        ERR_USAGE  it holds other elements, or not as many; place is the file */
int data_file_read(const gen_datum *datum, const char *arg, void *bytes, err *e);
/* data_file_write -- the bytes as they are, or where the path ends in .npy an array of NumPy, which has no
 * bf16: u16 in its place */
int data_file_write(const char *path, dtype t, uint64_t count, const void *bytes, err *e);

#endif
