/* emu_poison.h -- values that derive from shared memory that was never written.
 *
 * Loading such a value is no fault: programs read one element past the end and drop it. It is a
 * fault that a branch, an address, a store to global memory or an exchange other than a shuffle
 * depends on it. The registers of the kernel are tracked, by lanes; in a device function the load itself is the fault.
 * src: Stepanov and Serebryany, "MemorySanitizer: fast detector of uninitialized memory use in
 * C++", CGO 2015. */
#ifndef EMU_POISON_H
#define EMU_POISON_H

#include "emu_state.h"

/* emu_poison_defers -- may this instruction load bytes that were never written? */
static inline bool emu_poison_defers(const emu_warp *w, const emu_insn *in) {
  return in->kind == KIND_ld && w->frame == &w->kernel;
}
/* emu_poison_bytes -- bytes i to i + n of what the lane loads from this address were never written
 */
int emu_poison_bytes(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int i, int n);
/* emu_poison_loaded -- the load is done: mark the registers that hold such bytes */
void emu_poison_loaded(emu_warp *w, const emu_insn *in);
/* emu_poison_stored -- the values are stored in shared memory: a marked one leaves it unwritten */
void emu_poison_stored(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32]);
/* emu_poison_shuffled -- lanes of `group` have taken o[1] of these lanes */
void emu_poison_shuffled(emu_warp *w, const emu_insn *in, uint32_t group, const int from[32]);
/* emu_poison_step -- before the instruction is executed, if w->poisoned: pass the marks on to its
 * results, or report what depends on them */
int emu_poison_step(emu_warp *w, const emu_insn *in, uint32_t mask);
void emu_poison_start(emu_warp *w);
void emu_poison_clear(emu_warp *w);

#endif
