/* program_file.h -- does a program link the CUDA runtime so that another can take its place? */
#ifndef PROGRAM_FILE_H
#define PROGRAM_FILE_H

#include "err.h"

/* program_check -- what is no ELF file, or cannot be read, passes: it may be a script
 *   err  ERR_USAGE  it has CUDA code and links the runtime statically, or another version than 12 and 13 */
int program_check(const char *path, err *e);

#endif
