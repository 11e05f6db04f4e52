/* open_device.h -- open a device by the name users give it. */
#ifndef RT_OPEN_DEVICE_H
#define RT_OPEN_DEVICE_H

#include "device.h"

/* rt_device_open -- "0", "1" or "cuda:1" for a GPU, "emu" or "emu:PROFILE" for the emulated device.
 *   out  *d   close with d->ops->close(d)
 *   err  ERR_DEVICE  no driver, no such device, no such profile; the message lists what there is */
int rt_device_open(const char *name, rt_device **d, err *e);
/* rt_names_emulator -- does rt_device_open open the emulated device for this name? */
bool rt_names_emulator(const char *name);

#endif
