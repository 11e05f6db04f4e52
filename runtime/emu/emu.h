/* emu.h -- the emulated device: opening it, its checks, statistics and modelled time.
 *
 * It is used through rt_device_ops like any device; the functions below take it too. A launch
 * returns when the kernel has ended. A failed check ends the launch: it returns ERR_LAUNCH, with
 * the finding as message and the source line as place. Memory keeps its contents and the device
 * remains usable. */
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
/* rt_emu_last_stats -- of the last launch without a finding */
void rt_emu_last_stats(const rt_device *d, rt_emu_stats *stats);
/* rt_emu_is -- is this the emulated device? The functions below require it. */
bool rt_emu_is(const rt_device *d);
/* rt_emu_set_checks -- initially on. When off, which is several times faster, only accesses outside
 * the device's memory are found. */
void rt_emu_set_checks(rt_device *d, bool on);
/* rt_emu_set_steps -- most instructions of one warp; 0: the initial 2^28 */
void rt_emu_set_steps(rt_device *d, uint64_t n);
/* rt_emu_set_cluster -- the size of clusters in later launches of kernels without .reqnctapercluster;
 * NULL: no clusters */
void rt_emu_set_cluster(rt_device *d, const uint32_t blocks[3]);
/* rt_emu_set_stop -- launches end with ERR_INTERRUPTED soon after *stop becomes nonzero; NULL:
 * never */
void rt_emu_set_stop(rt_device *d, const volatile int *stop);
/* rt_emu_set_threads -- host threads that run blocks; 0: one for each processor */
void rt_emu_set_threads(rt_device *d, int n);
/* rt_emu_set_sample -- run only about n blocks of each launch, spread over the grid, and model the
 * whole launch from them; results are incomplete. 0: run all blocks */
void rt_emu_set_sample(rt_device *d, int64_t n);
/* rt_emu_sample -- the number set last */
int64_t rt_emu_sample(const rt_device *d);
/* rt_emu_set_print -- receives the output of the kernels' printf; NULL, initially: discard it */
void rt_emu_set_print(rt_device *d, void (*print)(void *context, const char *text), void *context);
/* rt_emu_n_params, rt_emu_param_nbytes -- of a kernel of an emulated device */
size_t rt_emu_n_params(const rt_function *f);
size_t rt_emu_param_nbytes(const rt_function *f, size_t i);
/* rt_emu_alloc_shared -- memory that the host may read and write at the same address, as managed and pinned
 * memory; release frees it. Its bytes count as written.
 *   err  ERR_NOMEM; ERR_DEVICE: the host uses this address otherwise */
int rt_emu_alloc_shared(rt_device *d, size_t nbytes, rt_ptr *p, err *e);
typedef struct rt_emu_range {
  rt_ptr at;
  size_t nbytes;
  bool shared, alive;
} rt_emu_range;
/* rt_emu_protect -- kernels that write these bytes, which are inside an allocation, are reported from now
 * on; or not any more */
void rt_emu_protect(rt_device *d, rt_ptr p, size_t nbytes, bool on);
/* rt_emu_range_at -- the allocation, alive or freed, that contains an address; false: none */
bool rt_emu_range_at(rt_device *d, rt_ptr p, rt_emu_range *out);
/* rt_emu_is_address -- is the address in the device's range? Of the host's addresses only those of
 * rt_emu_alloc_shared are */
bool rt_emu_is_address(rt_device *d, rt_ptr p);
/* rt_emu_last_finding -- of the last launch; valid until the next one */
const rt_emu_finding *rt_emu_last_finding(const rt_device *d);

#endif
