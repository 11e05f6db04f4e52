/* compile_include.h -- which files a kernel's text may include. Private to compile.c and its test.
 *
 * The generator puts the files beside a template into the text, so what is left names headers of the
 * toolkit. NVRTC would open any file that the process can read, and quote its lines in the log. */
#ifndef RT_COMPILE_INCLUDE_H
#define RT_COMPILE_INCLUDE_H

#include "err.h"

/* include_check -- does each directive of the text name a file below the toolkit's folders?
 *   err  ERR_COMPILE  one has a path that is absolute or contains .., one would be found in the
 *        working folder, or one names its file by a macro */
int include_check(const char *text, err *e);

#endif
