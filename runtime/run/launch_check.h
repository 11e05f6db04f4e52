/* launch_check.h -- does a stage of a template fit the kernel that it launches? Private to runtime/run.
 *
 * The driver reads as many arguments as the kernel has parameters, however many a stage passes, so
 * that a mistake there would be a crash or a result that means nothing. */
#ifndef RT_LAUNCH_CHECK_H
#define RT_LAUNCH_CHECK_H

#include "device.h"
#include "gen.h"

/* launch_check_args -- compare the stage's args with the kernel's parameters, by number and size
 *   err  ERR_TEMPLATE  they differ; names both; place is the stage's line */
int launch_check_args(rt_device *d, rt_function *f, const gen_template *t, const gen_launch *l,
                      err *e);
/* launch_no_kernel -- ERR_TEMPLATE: the image, PTX or cubin, has no such kernel; suggests the nearest
 *   in  image  may be NULL: unknown */
int launch_no_kernel(const void *image, size_t nbytes, const gen_template *t, const gen_launch *l,
                     err *e);

#endif
