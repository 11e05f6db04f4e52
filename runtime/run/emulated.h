/* emulated.h -- how far the emulated device goes. It computes a small problem whole: that is
 * checked, and modelled from all of its blocks. A large one would take it minutes: that is modelled
 * from a few of its blocks and not checked. On a GPU nothing of this does anything. */
#ifndef TUNE_EMULATED_H
#define TUNE_EMULATED_H

#include <stdbool.h>

#include "device.h"

/* emulated_too_large -- to be checked; never on a GPU */
bool emulated_too_large(const rt_device *d, double flops);
/* emulated_model_begin, _end -- around launches whose time is wanted, not their results */
void emulated_model_begin(rt_device *d, double flops);
void emulated_model_end(rt_device *d);

#endif
