/* export_plan.h -- what the launches of a plan use, for C that is written from it. */
#ifndef EXPORT_PLAN_H
#define EXPORT_PLAN_H

#include "gen.h"

/* plan_has -- does a launch take an operand of this kind? */
bool plan_has(const gen_plan *plan, gen_from from);
bool plan_overlaps(const gen_plan *plan);
/* plan_uses_module -- has it a kernel, or a __constant__ variable that it fills? */
/* plan_has_while -- a loop until a word is 0, or a kernel that takes the handle of one */
bool plan_has_while(const gen_plan *plan);
bool plan_uses_module(const gen_plan *plan);

/* plan_workspace_number -- empty workspaces are left out; the others are numbered anew */
size_t plan_workspace_number(const gen_plan *plan, size_t i);
size_t plan_count_workspaces(const gen_plan *plan);

/* plan_is_first_kernel -- is stage i the first launch of its kernel? */
bool plan_is_first_kernel(const gen_plan *plan, size_t i);
/* plan_most_smem -- the most dynamic shared memory that any launch of this kernel takes */
uint32_t plan_most_smem(const gen_plan *plan, const gen_launch *l);

/* plan_is_first_symbol -- is stage i the first that fills its __constant__ variable? */
bool plan_is_first_symbol(const gen_plan *plan, size_t i);
/* plan_most_nbytes -- the most bytes that any stage copies there */
uint64_t plan_most_nbytes(const gen_plan *plan, const char *symbol);

#endif
