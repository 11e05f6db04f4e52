/* gen_plan_check.h -- does each launch take device memory by address, and host memory by value or copy?
 */
#ifndef GEN_PLAN_CHECK_H
#define GEN_PLAN_CHECK_H

#include "gen_tmpl.h"

/* src: CUDA C++ Programming Guide, __global__ function parameters, since 7.0 and CUDA 12.1; PTX ISA
 * 9.0, 7.1: all parameters together */
enum { GEN_PARAMETERS_NBYTES = 32764 };

/* gen_is_on_host -- is it an argument whose buffer the problem has in the host's memory? Inside
 * gen_box_run, as the next */
bool gen_is_on_host(gen_instance *g, const gen_stage_operand *o);
/* gen_plan_check -- of the kernel's plan, not the reference's; fails with ERR_TEMPLATE */
void gen_plan_check(gen_instance *g, const gen_stage *s, const gen_launch *l);

#endif
