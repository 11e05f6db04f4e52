/* device_key.h -- the database's key of a device, for the times that the tuner takes. */
#ifndef TUNE_DEVICE_KEY_H
#define TUNE_DEVICE_KEY_H

#include "run.h"

/* tune_device_key -- append rt_device_key, and a suffix for times taken in graphs: they must not
 * compete with those of single launches */
void tune_device_key(const rt_info *info, rt_replay replay, str *key);

#endif
