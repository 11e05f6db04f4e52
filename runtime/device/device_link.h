/* device_link.h -- nvJitLink, opened at run time: relocatable code, whose kernels launch kernels, becomes an
 * image with the device runtime (libcudadevrt.a) in it. */
#ifndef RT_LINK_H
#define RT_LINK_H

#include <stdbool.h>

#include "err.h"
#include "str.h"

/* rt_link_is_here -- are the library and the device runtime installed? Looks for files only. */
bool rt_link_is_here(void);
/* rt_link_check -- err ERR_DEVICE  one of the two is missing; says how to get it */
int rt_link_check(err *e);
/* rt_link -- replaces a relocatable cubin of `arch`, "sm_90a", with the linked one
 *   err  ERR_DEVICE   see rt_link_check
 *        ERR_COMPILE  the linker's first error */
int rt_link(const char *arch, str *cubin, err *e);

#endif
