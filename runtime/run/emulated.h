/* emulated.h -- how much of a problem the emulated device runs. A small problem runs whole: it is
 * checked, and modelled from all of its blocks. A large one would take minutes: it is modelled from
 * a few blocks and not checked. No effect on a GPU. */
#ifndef RT_EMULATED_H
#define RT_EMULATED_H

#include <stdbool.h>

#include "device.h"

/* emulated_too_large -- to be checked; false on a GPU */
bool emulated_too_large(const rt_device *d, double flops);
/* emulated_model_begin, _end -- around launches that are timed, not checked */
void emulated_model_begin(rt_device *d, double flops);
void emulated_model_end(rt_device *d);

#endif
