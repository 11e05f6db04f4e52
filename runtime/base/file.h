/* file.h -- whole files, folders, and the places the XDG base directory specification names. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/stat.h>

#include "err.h"
#include "str.h"

/* file_read -- append the whole file to *out.
 *   err  ERR_NOTFOUND  no such file;  ERR_IO  anything else;  ERR_LIMIT  over max_nbytes */
int file_read(const char *path, size_t max_nbytes, str *out, err *e);
/* file_write -- replace the file by renaming a temporary: after a full disk or a kill the old file
 * is intact. A link is followed; a device or a pipe is written to. */
int file_write(const char *path, const void *bytes, size_t n, err *e);
typedef struct file_part {
  const void *bytes;
  size_t nbytes;
} file_part;
/* file_write_private -- the same with n parts in sequence and mode 0600; a link is replaced */
int file_write_private(const char *path, const file_part *parts, size_t n, err *e);
/* file_is_safe -- can only this user and root write to it? */
typedef enum file_safety { FILE_SAFE, FILE_SHARED, FILE_FOREIGN } file_safety;
file_safety file_is_safe(const struct stat *st);
/* file_distrust -- why anybody could have written the file: "anybody can write to it", ...; NULL: only its
 * owner and root, or the owner's group. What is no file passes */
const char *file_distrust(const char *path);
/* file_name_leaves -- is it absolute, or has it a part ".."? */
bool file_name_leaves(const char *name);
/* file_make_parents -- create the folders above `path` */
int file_make_parents(const char *path, err *e);
/* file_data_home -- append $XDG_DATA_HOME/autotune, or ~/.local/share/autotune */
int file_data_home(str *out, err *e);
/* file_cache_home -- append $XDG_CACHE_HOME/autotune, or ~/.cache/autotune */
int file_cache_home(str *out, err *e);
/* now_sec -- a monotonic clock, seconds */
double now_sec(void);

#endif
