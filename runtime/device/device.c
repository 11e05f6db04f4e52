#define _GNU_SOURCE
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"

/* ---- opening by name ----------------------------------------------------------------------- */

static int no_such_name(const char *name, err *e) {
  return err_set(e, ERR_DEVICE,
                 "no device is called \"%.60s\"; say 0 (or cuda:0) for the first GPU, emu or "
                 "emu:PROFILE for the emulated one",
                 name);
}

/* "cuda:1", "cuda" and "1"; -1 for anything else. */
static int parse_ordinal(const char *name) {
  if (!strcmp(name, "cuda")) {
    return 0;
  }
  const char *digits = strncmp(name, "cuda:", 5) ? name : name + 5;
  size_t n = strspn(digits, "0123456789");
  return n > 0 && n < 5 && !digits[n] ? atoi(digits) : -1;
}

static int open_gpu(int ordinal, rt_device **d, err *e) {
  err why = {0};
  int rc = rt_cuda_open(ordinal, d, &why);
  if (rc == ERR_DEVICE) {
    int n = 0;
    bool none = rt_cuda_count(&n, NULL) != 0 || n == 0;
    return none
               ? err_set(e, rc, "no GPU here: %.600s; `--device emu` runs without one", why.message)
               : err_set(e, rc, "%s", why.message);
  }
  return rc ? err_set(e, rc, "%s", why.message) : 0;
}

int rt_device_open(const char *name, rt_device **d, err *e) {
  *d = NULL;
  if (!strcmp(name, "emu") || !strncmp(name, "emu:", 4)) {
    return rt_emu_open(name[3] ? name + 4 : NULL, d, e);
  }
  int ordinal = parse_ordinal(name);
  return ordinal < 0 ? no_such_name(name, e) : open_gpu(ordinal, d, e);
}

/* ---- what a device is worth ---------------------------------------------------------------- */

void rt_device_key(const rt_info *info, str *out) {
  if (!strcmp(info->kind, "emu")) {
    bool prefixed = !strncmp(info->name, "emu:", 4);
    str_addf(out, "%s%s", prefixed ? "" : "emu:", info->name);
    return;
  }
  str_addf(out, "%s|sm_%d|%d|%d|%.0f|%.0f", info->name, info->cc, info->sms, info->memory_bus_bits,
           info->clock_hz / 1e6, info->memory_clock_hz / 1e6);
}

/* FP32 lanes of a multiprocessor: CUDA C++ Programming Guide, "Arithmetic Instructions", the row of
 * 32-bit floating-point add, multiply, multiply-add. Newer parts than the table have 128. */
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
