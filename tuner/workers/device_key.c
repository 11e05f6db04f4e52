#include "device_key.h"

void tune_device_key(const rt_info *info, rt_replay replay, str *key) {
  rt_device_key(info, key);
  str_add(key, replay == RT_GRAPH ? "|graphs" : "");
}
