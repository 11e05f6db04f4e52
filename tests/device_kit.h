/* device_kit.h -- the device a test program runs on, with its limits and a compiler, and kernels
 * that are loaded there. */
#ifndef TESTS_DEVICE_KIT_H
#define TESTS_DEVICE_KIT_H

#include <stdio.h>

#include "open_device.h"
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

/* kit_load -- a configuration's kernels; the plan lies in *a */
static inline int kit_load(rt_device *d, rt_compiler *c, gen_template *t, gen_instance *g,
                           const gen_config *config, arena *a, rt_loaded **l, err *e) {
  str text = {0};
  rt_image image;
  const gen_plan *plan;
  rt_source source = {.arch = d->info.arch, .lineinfo = 1};
  rt_image_init(&image);
  int rc = gen_source_make(g, config, &text, &source.body, e);
  source.text = str_text(&text);
  rc = rc ? rc : rt_compile(c, &source, a, &image, e);
  const str *code = d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  rc = rc ? rc : gen_plan_make(g, config, a, &plan, e);
  rc = rc ? rc : rt_loaded_new(d, code->p, code->n, t, plan, l, e);
  rt_image_clear(&image);
  str_clear(&text);
  return rc;
}

#endif
