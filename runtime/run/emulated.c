#include "emulated.h"

#include "emu.h"

static const double CHECKED_FLOPS = 1 << 26;
enum { SAMPLED_BLOCKS = 8 };

bool emulated_too_large(const rt_device *d, double flops) {
  return rt_emu_is(d) && flops > CHECKED_FLOPS;
}

/* Only large problems are sampled: blocks that wait for others, as in a radix sort, may wait for
 * ever for a block outside the sample. */
void emulated_model_begin(rt_device *d, double flops) {
  if (rt_emu_is(d)) {
    rt_emu_set_checks(d, false);
    rt_emu_set_sample(d, emulated_too_large(d, flops) ? SAMPLED_BLOCKS : 0);
  }
}

void emulated_model_end(rt_device *d) {
  if (rt_emu_is(d)) {
    rt_emu_set_checks(d, true);
    rt_emu_set_sample(d, 0);
  }
}
