/* emu_module.h -- operations on a whole module. */
#ifndef EMU_MODULE_H
#define EMU_MODULE_H

#include "emu_code.h"
#include "err.h"

/* emu_module_layout -- lay out shared memory, measure stacks, find built-in functions, estimate
 * registers
 *   err  ERR_COMPILE  a called function is missing;  ERR_LIMIT;  ERR_NOMEM */
int emu_module_layout(emu_module *m, err *e);
/* emu_live -- mark where basic blocks begin and estimate f->regs; false: out of memory */
bool emu_live(emu_func *f);
/* emu_read_ptxas_report -- read ptxas's report of each kernel from comments of the PTX */
void emu_read_ptxas_report(emu_module *m);
/* emu_module_link -- write addresses into code and initialisers, after global variables got theirs
 */
void emu_module_link(emu_module *m);
/* emu_module_kernel -- NULL: no such kernel */
emu_func *emu_module_kernel(const emu_module *m, const char *name);
/* emu_module_refused -- a function that f reaches by calls and that cannot be run, itself included;
 * NULL: none */
const emu_func *emu_module_refused(const emu_module *m, const emu_func *f);
/* emu_module_usable -- fails if no kernel of the module can be run
 *   err  ERR_COMPILE  why the first one cannot */
int emu_module_usable(const emu_module *m, err *e);
void emu_module_free(emu_module *m);

#endif
