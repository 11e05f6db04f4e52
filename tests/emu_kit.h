/* emu_kit.h -- what the tests of the emulated device share: CUDA text to a loaded module, a buffer,
 * a launch. Everything is compiled with NVRTC when the test runs. */
#ifndef EMU_KIT_H
#define EMU_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile.h"
#include "device.h"
#include "dtype.h"
#include "emu.h"
#include "file.h"

typedef struct kit {
  rt_device *d;
  rt_module *m;
  err e;
} kit;

/* print why and fail the test */
static inline void kit_ok(kit *k, int rc) {
  if (rc) {
    print_error("%s %s\n", k->e.place, k->e.message);
  }
  assert_int_equal(rc, 0);
}

static inline void kit_open(kit *k, const char *profile) {
  *k = (kit){0};
  kit_ok(k, rt_emu_open(profile, &k->d, &k->e));
}

static inline void kit_close(kit *k) {
  k->d->ops->close(k->d);
}

static inline void kit_ptx(kit *k, const char *text) {
  kit_ok(k, k->d->ops->module_load(k->d, text, strlen(text), &k->m, &k->e));
}

/* compile and load; `file` is what #line calls the text */
static inline void kit_cuda(kit *k, const char *text, const char *file) {
  rt_compiler *c;
  rt_image image;
  arena a = {0};
  str whole = {0};
  str_addf(&whole, "#line 1 \"%s\"\n%s", file, text);
  rt_source source = {str_text(&whole), 0, k->d->info.arch, 1};
  rt_image_init(&image);
  kit_ok(k, rt_compiler_open(&c, &k->e));
  int rc = rt_compile(c, &source, &a, &image, &k->e);
  if (rc) {
    print_error("%s\n", str_text(&image.log));
  }
  kit_ok(k, rc);
  const str *chosen = k->d->info.format == RT_CUBIN ? &image.cubin : &image.ptx;
  kit_ok(k, k->d->ops->module_load(k->d, chosen->p, chosen->n, &k->m, &k->e));
  rt_image_clear(&image);
  arena_clear(&a);
  str_clear(&whole);
  rt_compiler_close(c);
}

/* the text of a file beside the tests; freed by the caller */
static inline str kit_file(const char *path) {
  str text = {0};
  err e = {0};
  if (file_read(path, 1 << 20, &text, &e)) {
    print_error("%s\n", e.message);
    fail();
  }
  return text;
}

static inline rt_ptr kit_alloc(kit *k, size_t nbytes) {
  rt_ptr p;
  kit_ok(k, k->d->ops->alloc(k->d, nbytes, &p, &k->e));
  return p;
}

static inline rt_ptr kit_copy(kit *k, const void *from, size_t nbytes) {
  rt_ptr p = kit_alloc(k, nbytes);
  kit_ok(k, k->d->ops->copy_in(k->d, p, from, nbytes, NULL, &k->e));
  return p;
}

static inline void kit_read(kit *k, void *to, rt_ptr from, size_t nbytes) {
  kit_ok(k, k->d->ops->copy_out(k->d, to, from, nbytes, NULL, &k->e));
}

static inline int kit_launch(kit *k, const char *kernel, uint32_t grid, uint32_t block,
                             uint32_t smem, void **args) {
  rt_function *f;
  uint32_t g[3] = {grid, 1, 1}, b[3] = {block, 1, 1};
  err_clear(&k->e);
  kit_ok(k, k->d->ops->function(k->d, k->m, kernel, &f, &k->e));
  if (smem > 49152) {
    kit_ok(k, k->d->ops->function_smem(k->d, f, smem, &k->e));
  }
  return k->d->ops->launch(k->d, f, g, b, smem, NULL, args, &k->e);
}

#endif
