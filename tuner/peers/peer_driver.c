/* peer_driver.c -- the driver: copies within the device, and fills. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

typedef struct driver {
  rt_device *d;
  bool fills;
  uint64_t count, size; /* elements, and bytes of one */
  size_t value, x, y;   /* positions among the template's arguments */
  int (*set16)(rt_ptr, unsigned short, size_t, void *);
  int (*set32)(rt_ptr, unsigned, size_t, void *);
} driver;

static int fill(driver *x, rt_stream s, rt_ptr to, uint64_t value, err *e) {
  if (x->size == 1) {
    return x->d->ops->set(x->d, to, (uint8_t)value, x->count, s, e);
  }
  int rc = x->size == 2 ? x->set16(to, (unsigned short)value, x->count, s)
                        : x->set32(to, (unsigned)value, x->count, s);
  return rc ? err_set(e, ERR_LAUNCH, "the driver's memset failed with %d", rc) : 0;
}

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  driver *x = self;
  const rt_ptr to = *(const rt_ptr *)args[x->y];
  if (x->fills) {
    return fill(x, s, to, *(const uint64_t *)args[x->value], e);
  }
  return x->d->ops->copy(x->d, to, *(const rt_ptr *)args[x->x], x->count * x->size, s, e);
}

static int open_driver(const gen_template *t, const gen_problem *p, rt_device *d, peer *out,
                       err *e) {
  driver *x = calloc(1, sizeof *x);
  const char *op = peer_word(t, p, "op");
  TRY(x ? 0 : err_nomem(e));
  *x = (driver){.d = d,
                .fills = op && !strcmp(op, "fill"),
                .count = (uint64_t)peer_number(t, p, "n", 0),
                .size = (uint64_t)peer_number(t, p, "size", 4)};
  *out = (peer){.self = x, .close = free, .loosest = 1, .contender = {launch, x}};
  snprintf(out->version, sizeof out->version, "driver %d.%d", d->info.driver / 1000,
           d->info.driver % 1000 / 10);
  TRY(peer_argument(t, "value", &x->value, e));
  TRY(peer_argument(t, "x", &x->x, e));
  TRY(peer_argument(t, "y", &x->y, e));
  *(void **)&x->set16 = peer_driver_symbol("cuMemsetD16Async");
  *(void **)&x->set32 = peer_driver_symbol("cuMemsetD32Async");
  if (x->fills && (x->size > 4 || !x->set16 || !x->set32)) {
    return err_set(e, ERR_USAGE, "the driver fills elements of 1, 2 or 4 bytes, not of %llu",
                   (unsigned long long)x->size);
  }
  return 0;
}

static const char *const families[] = {"copy", NULL};
const peer_kind peer_driver = {.name = "driver",
                               .brief = "cuMemcpyDtoDAsync and cuMemsetD*Async",
                               .families = families,
                               .open = open_driver};
