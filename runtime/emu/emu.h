/* emu.h -- what only the emulated device has: checks, findings, statistics and the modelled cost.
 *
 * A device opened with rt_emu_open is used through rt_device_ops like any other; these functions
 * take that device too. A launch runs at once and to its end. A finding ends the launch: it returns
 * ERR_LAUNCH with the finding as its message and the source line as its place. Memory stays as it
 * was, so the device is not dead afterwards.
 */
#ifndef RT_EMU_H
#define RT_EMU_H

#include "device.h"
#include "emu_check.h"
#include "emu_stats.h"

/* rt_emu_open -- profile NULL or "": the default one. ",memory=BYTES" after it bounds the memory.
 *   out  *d   close with d->ops->close(d)
 *   err  ERR_DEVICE  no such profile, or an unknown option */
int rt_emu_open(const char *profile, rt_device **d, err *e);
/* rt_emu_profiles -- names, ends with NULL */
const char *const *rt_emu_profiles(void);
/* rt_emu_last_stats -- of the last launch that ended without a finding */
void rt_emu_last_stats(const rt_device *d, rt_emu_stats *stats);
/* rt_emu_is -- is this device the emulated one? The functions below need one that is. */
bool rt_emu_is(const rt_device *d);
/* rt_emu_set_checks -- on at first. Off: only accesses that would leave the device's memory are
 * found, and several times faster. */
void rt_emu_set_checks(rt_device *d, bool on);
/* rt_emu_set_memory -- the bound on what is allocated; half the host's memory at first.
 *   err  ERR_USAGE  memory is in use already */
int rt_emu_set_memory(rt_device *d, int64_t nbytes, err *e);
/* rt_emu_set_steps -- instructions one warp may execute; 2^28 at first, 0 gives that back */
void rt_emu_set_steps(rt_device *d, uint64_t n);
/* rt_emu_set_stop -- launches end soon, with ERR_INTERRUPTED, once *stop is not 0; NULL: nobody asks
 * them to */
void rt_emu_set_stop(rt_device *d, const volatile int *stop);
/* rt_emu_set_threads -- host threads that run blocks; 0: one per processor */
void rt_emu_set_threads(rt_device *d, int n);
/* rt_emu_set_sample -- run only about n blocks of each launch, spread over the grid, and model the
 * rest from them; results are then incomplete. 0: all. */
void rt_emu_set_sample(rt_device *d, int64_t n);
/* rt_emu_sample -- what was set last; 0: all */
int64_t rt_emu_sample(const rt_device *d);
/* rt_emu_set_regs -- what the cubin says of a kernel's registers, in place of our estimate */
void rt_emu_set_regs(rt_device *d, rt_function *f, int regs);
/* rt_emu_set_print -- where printf of kernels goes; NULL: nowhere, at first */
void rt_emu_set_print(rt_device *d, void (*print)(void *context, const char *text), void *context);
/* rt_emu_last_finding -- of the last launch; borrowed until the next one */
const rt_emu_finding *rt_emu_last_finding(const rt_device *d);

#endif
