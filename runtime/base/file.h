/* file.h -- whole files, folders, and the places the XDG base directory specification names. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "err.h"
#include "str.h"

/* file_read -- append the whole file to *out.
 *   err  ERR_NOTFOUND  no such file;  ERR_IO  anything else;  ERR_LIMIT  over max_nbytes */
int file_read(const char *path, size_t max_nbytes, str *out, err *e);
/* file_write -- replace the file, by a temporary beside it and a rename: a full disk or a kill
 * leaves the old one as it was. A link is followed; a device or a pipe is written to. */
int file_write(const char *path, const void *bytes, size_t n, err *e);
/* file_make_parents -- create the folders above `path` */
int file_make_parents(const char *path, err *e);
/* file_data_home -- append $XDG_DATA_HOME/autotune, or ~/.local/share/autotune */
int file_data_home(str *out, err *e);
/* now_sec -- a monotonic clock, seconds */
double now_sec(void);

#endif
