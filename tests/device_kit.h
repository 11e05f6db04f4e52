/* device_kit.h -- the device a test program runs on, with its limits and a compiler. */
#ifndef TESTS_DEVICE_KIT_H
#define TESTS_DEVICE_KIT_H

#include <stdio.h>

#include "run.h"

/* kit_open -- without NVRTC *c stays NULL, and that is said: what needs one is skipped */
static inline int kit_open(const char *name, rt_device **d, gen_number limits[RT_NUMBERS],
                           rt_compiler **c, err *e) {
  TRY(rt_device_open(name, d, e));
  rt_numbers(&(*d)->info, limits);
  if (rt_compiler_open(c, e)) {
    printf("no compiler: %s\n", e->message);
    err_clear(e);
  }
  return 0;
}

#endif
