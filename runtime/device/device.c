#include "device.h"

#include <string.h>

#include "str.h"

void rt_device_key(const rt_info *info, str *out) {
  if (info->modelled) {
    str_add(out, info->name);
    return;
  }
  str_addf(out, "%s|sm_%d|%d|%d|%.0f|%.0f", info->name, info->cc, info->sms, info->memory_bus_bits,
           info->clock_hz / 1e6, info->memory_clock_hz / 1e6);
}

bool rt_key_is_modelled(const char *key) {
  return !strncmp(key, "emu:", 4);
}

/* FP32 lanes of a multiprocessor: CUDA C++ Programming Guide, "Arithmetic Instructions", 32-bit
 * floating-point add, multiply, multiply-add. Parts newer than the table have 128. */
static int fp32_lanes(int cc) {
  static const struct {
    int cc, lanes;
  } table[] = {{50, 128}, {52, 128}, {53, 128}, {60, 64}, {61, 128},
               {62, 128}, {70, 64},  {72, 64},  {75, 64}, {80, 64}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (table[i].cc == cc) {
      return table[i].lanes;
    }
  }
  return 128;
}

double rt_peak_flops(const rt_info *info) {
  return 2.0 * fp32_lanes(info->cc) * info->sms * info->clock_hz;
}

double rt_peak_bandwidth(const rt_info *info) {
  return 2.0 * info->memory_clock_hz * info->memory_bus_bits / 8; /* double data rate */
}
