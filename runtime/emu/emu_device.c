/* emu_device.c -- the emulated device's rt_device_ops, and its settings (emu.h). */
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu_device_state.h"
#include "emu_kernel.h"
#include "emu_tensor.h"
#include "emu_textures.h"

static const uint64_t step_limit = UINT64_C(1) << 28;

static emu_device *self(rt_device *d) {
  return (emu_device *)d;
}

/* Modelled time of a fill, which the driver starts as a command of its own. src: reductions on an
 * H200 that first set their result to zero */
static const double command_sec = 1.8e-6;

/* ---- memory ---- */

static int emu_alloc_op(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  return emu_heap_alloc(&self(d)->heap, nbytes, NULL, p, e);
}

static void emu_release_op(rt_device *d, rt_ptr p) {
  if (p) {
    emu_heap_release(&self(d)->heap, p);
  }
}

static int emu_give_back_op(rt_device *d, rt_ptr p, err *e) {
  if (!p || emu_heap_release(&self(d)->heap, p)) {
    return 0;
  }
  str text = {0};
  emu_heap_describe(&self(d)->heap, p, &text);
  const int rc =
      err_set(e, ERR_DEVICE, "freeing an address that is not allocated: %s", str_text(&text));
  str_clear(&text);
  return rc;
}

static int emu_memory_free_op(rt_device *d, int64_t *nbytes, err *e) {
  (void)e;
  *nbytes = (int64_t)(self(d)->heap.bound - self(d)->heap.used);
  return 0;
}

static int outside(emu_device *d, rt_ptr p, size_t nbytes, err *e) {
  str text = {0};
  emu_heap_describe(&d->heap, p, &text);
  int rc = err_set(e, ERR_DEVICE, "a copy of %zu bytes is not inside one allocation: %s", nbytes,
                   str_text(&text));
  str_clear(&text);
  return rc;
}

static int emu_copy_in_op(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s,
                          err *e) {
  emu_device *self_ = self(d);
  uint8_t *host = nbytes ? emu_heap_host(&self_->heap, to, nbytes) : NULL;
  (void)s;
  if (nbytes && !host) {
    return outside(self_, to, nbytes, e);
  }
  if (nbytes) {
    memcpy(host, from, nbytes);
    emu_heap_mark_written(&self_->heap, to, nbytes);
  }
  return 0;
}

static int emu_copy_out_op(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s,
                           err *e) {
  const uint8_t *host = nbytes ? emu_heap_host(&self(d)->heap, from, nbytes) : NULL;
  (void)s;
  if (nbytes && !host) {
    return outside(self(d), from, nbytes, e);
  }
  if (nbytes) {
    memcpy(to, host, nbytes);
  }
  return 0;
}

/* Copies and fills of memory beside other streams' commands. */
static int note_memory(emu_device *d, rt_stream s, const char *what, rt_ptr to, rt_ptr from,
                       size_t nbytes, err *e) {
  emu_command *c = d->checks ? emu_command_begin(&d->streams, &d->heap, s, what) : NULL;
  if (c) {
    emu_touch(&c->touched, to, to ? nbytes : 0, ACCESS_WRITE);
    emu_touch(&c->touched, from, from ? nbytes : 0, ACCESS_READ);
  }
  return emu_command_end(&d->streams, &d->heap, c, &d->finding, e);
}

static int emu_copy_op(rt_device *d, rt_ptr to, rt_ptr from, size_t nbytes, rt_stream s, err *e) {
  emu_heap *h = &self(d)->heap;
  if (!nbytes) {
    return 0;
  }
  uint8_t *target = emu_heap_host(h, to, nbytes);
  const uint8_t *source = emu_heap_host(h, from, nbytes);
  if (!target || !source) {
    return outside(self(d), target ? from : to, nbytes, e);
  }
  TRY(note_memory(self(d), s, "a copy", to, from, nbytes, e));
  memmove(target, source, nbytes);
  emu_heap_move_states(h->state + (to - EMU_GLOBAL_BASE), h->state + (from - EMU_GLOBAL_BASE),
                       nbytes);
  self(d)->now += (double)nbytes * 2 / emu_bandwidth(self(d));
  return 0;
}

/* Copies of the host's memory that follow the stream's order: they are checked against other streams'
 * commands, and take as long as over PCI Express 5.0 with 16 lanes. */
static const double host_bytes_sec = 55e9;

static int emu_upload_op(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s,
                         err *e) {
  TRY(nbytes ? note_memory(self(d), s, "a copy", to, 0, nbytes, e) : 0);
  TRY(emu_copy_in_op(d, to, from, nbytes, s, e));
  self(d)->now += (double)nbytes / host_bytes_sec;
  return 0;
}

static int emu_download_op(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s,
                           err *e) {
  TRY(emu_copy_out_op(d, to, from, nbytes, s, e));
  self(d)->now += (double)nbytes / host_bytes_sec;
  return nbytes ? note_memory(self(d), s, "a copy", 0, from, nbytes, e) : 0;
}

static int emu_set_op(rt_device *d, rt_ptr to, uint8_t byte, size_t nbytes, rt_stream s, err *e) {
  if (!nbytes) {
    return 0;
  }
  uint8_t *host = emu_heap_host(&self(d)->heap, to, nbytes);
  if (!host) {
    return outside(self(d), to, nbytes, e);
  }
  TRY(note_memory(self(d), s, "a memset", to, 0, nbytes, e));
  memset(host, byte, nbytes);
  emu_heap_mark_written(&self(d)->heap, to, nbytes);
  self(d)->now += command_sec + (double)nbytes / emu_bandwidth(self(d));
  return 0;
}

/* ---- streams and events: everything is in order and done when the call returns ---- */

static int emu_stream_new_op(rt_device *d, rt_stream *s, err *e) {
  (void)d;
  *s = malloc(1); /* only an identity */
  return *s ? 0 : err_nomem(e);
}

static int emu_stream_beside_op(rt_device *d, rt_stream *s, err *e) {
  *s = emu_stream_open(&self(d)->streams);
  return *s ? 0 : err_set(e, ERR_LIMIT, "at most %d streams run beside others", EMU_STREAMS - 1);
}

static void emu_stream_free_op(rt_device *d, rt_stream s) {
  if (!emu_stream_close(&self(d)->streams, s)) {
    free(s);
  }
}

static int emu_stream_wait_op(rt_device *d, rt_stream s, rt_event *ev, err *e) {
  (void)e;
  emu_stream_wait(&self(d)->streams, s, &ev->clocks);
  return 0;
}

static int emu_stream_sync_op(rt_device *d, rt_stream s, err *e) {
  (void)d, (void)s, (void)e;
  return 0;
}

static int emu_event_new_op(rt_device *d, rt_event **ev, err *e) {
  (void)d;
  *ev = calloc(1, sizeof **ev);
  return *ev ? 0 : err_nomem(e);
}

static void emu_event_free_op(rt_device *d, rt_event *ev) {
  (void)d;
  free(ev);
}

static int emu_event_record_op(rt_device *d, rt_event *ev, rt_stream s, err *e) {
  (void)e;
  emu_stream_record(&self(d)->streams, s, &ev->clocks);
  ev->sec = self(d)->now;
  return 0;
}

static int emu_elapsed_op(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e) {
  (void)d, (void)e;
  *sec = to->sec - from->sec;
  return 0;
}

/* The handle of a conditional node is the address of a word. */
static int emu_while_add_op(rt_device *d, rt_stream s,
                            int (*record)(void *, rt_stream, uint64_t, bool, err *), void *who,
                            err *e) {
  rt_ptr handle;
  uint32_t word = 0;
  TRY(emu_alloc_op(d, sizeof word, &handle, e));
  int rc = emu_copy_in_op(d, handle, &word, sizeof word, s, e);
  for (bool body = false; !rc; body = true) {
    rc = record(who, s, handle, body, e);
    rc = rc ? rc : emu_copy_out_op(d, &word, handle, sizeof word, s, e);
    if (!rc && !word) {
      break;
    }
  }
  emu_release_op(d, handle);
  return rc;
}

static int emu_tensor_map_op(rt_device *d, const rt_tensor *t, rt_tensor_map *map, err *e) {
  (void)d;
  return emu_tensor_map_make(t, map, e);
}

static void emu_close_op(rt_device *d) {
  while (self(d)->modules) {
    emu_module_unload_op(d, self(d)->modules);
  }
  emu_arrays_close(d);
  emu_streams_clear(&self(d)->streams);
  emu_heap_close(&self(d)->heap);
  free(d);
}

static const rt_device_ops ops = {.close = emu_close_op,
                                  .alloc = emu_alloc_op,
                                  .release = emu_release_op,
                                  .give_back = emu_give_back_op,
                                  .memory_free = emu_memory_free_op,
                                  .copy_in = emu_copy_in_op,
                                  .copy_out = emu_copy_out_op,
                                  .copy = emu_copy_op,
                                  .upload = emu_upload_op,
                                  .download = emu_download_op,
                                  .set = emu_set_op,
                                  .module_load = emu_module_load_op,
                                  .module_unload = emu_module_unload_op,
                                  .function = emu_function_op,
                                  .variable = emu_variable_op,
                                  .function_info = emu_function_info_op,
                                  .function_params = emu_function_params_op,
                                  .function_smem = emu_function_smem_op,
                                  .occupancy = emu_occupancy_op,
                                  .launch = emu_launch_op,
                                  .launch_cooperative = emu_launch_cooperative_op,
                                  .pending_launches = emu_pending_launches_op,
                                  .stream_new = emu_stream_new_op,
                                  .stream_free = emu_stream_free_op,
                                  .stream_sync = emu_stream_sync_op,
                                  .stream_beside = emu_stream_beside_op,
                                  .stream_wait = emu_stream_wait_op,
                                  .event_new = emu_event_new_op,
                                  .event_free = emu_event_free_op,
                                  .event_record = emu_event_record_op,
                                  .elapsed = emu_elapsed_op,
                                  .while_add = emu_while_add_op,
                                  .tensor_map = emu_tensor_map_op,
                                  .array_new = emu_array_new_op,
                                  .array_free = emu_array_free_op,
                                  .array_copy = emu_array_copy_op,
                                  .texture_new = emu_texture_new_op,
                                  .texture_free = emu_texture_free_op,
                                  .surface_new = emu_surface_new_op,
                                  .surface_free = emu_surface_free_op};

static int64_t default_bound(const emu_profile *p) {
  int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  int64_t half = pages > 0 && size > 0 ? pages * size / 2 : INT64_C(1) << 30;
  return half < p->memory_nbytes ? half : p->memory_nbytes;
}

static int no_profile(const char *name, err *e) {
  str text = {0};
  for (const char *const *p = rt_emu_profiles(); *p; p++) {
    str_addf(&text, " %s", *p);
  }
  int rc = err_set(e, ERR_DEVICE, "the emulated device has no profile '%s'; profiles are:%s", name,
                   str_text(&text));
  str_clear(&text);
  return rc;
}

/* "h200,memory=1000000": parses what follows the profile's name */
static int take_options(const char *text, uint64_t *bound, err *e) {
  char *end = NULL;
  if (!*text) {
    return 0;
  }
  *bound = strncmp(text, ",memory=", 8) || text[8] < '1' || text[8] > '9'
               ? 0
               : strtoull(text + 8, &end, 10);
  return *bound && *bound <= INT64_MAX && !*end
             ? 0
             : err_set(
                   e, ERR_DEVICE,
                   "'%.80s' is not an option of the emulated device; the only one is ,memory=BYTES",
                   text);
}

int rt_emu_open(const char *text, rt_device **out, err *e) {
  char profile[64];
  size_t n = text ? strcspn(text, ",") : 0;
  snprintf(profile, sizeof profile, "%.*s", (int)(n < 63 ? n : 63), text ? text : "");
  const emu_profile *p = emu_profile_find(profile);
  *out = NULL;
  if (!p) {
    return no_profile(profile, e);
  }
  uint64_t bound = (uint64_t)default_bound(p);
  TRY(take_options(text ? text + n : "", &bound, e));
  emu_device *d = calloc(1, sizeof *d);
  if (!d) {
    return err_nomem(e);
  }
  d->profile = p;
  d->checks = true;
  d->steps = step_limit;
  d->finding.check = EMU_NO_FINDING;
  int rc = emu_heap_open(&d->heap, bound, e);
  if (rc) {
    free(d);
    return rc;
  }
  d->device.ops = &ops;
  emu_profile_info(p, &d->device.info);
  d->device.info.memory_nbytes = (int64_t)d->heap.bound;
  d->device.info.links = true;
  *out = &d->device;
  return 0;
}

/* ---- emu.h ---- */

bool rt_emu_is(const rt_device *d) {
  return d->ops == &ops;
}

void rt_emu_set_checks(rt_device *d, bool on) {
  self(d)->checks = on;
}

void rt_emu_set_steps(rt_device *d, uint64_t n) {
  self(d)->steps = n ? n : step_limit;
}

void rt_emu_set_cluster(rt_device *d, const uint32_t blocks[3]) {
  for (int i = 0; i < 3; i++) {
    self(d)->cluster[i] = blocks ? (int)blocks[i] : 0;
  }
}

size_t rt_emu_n_params(const rt_function *f) {
  return (size_t)f->f->n_params;
}

size_t rt_emu_param_nbytes(const rt_function *f, size_t i) {
  return f->f->params[i].nbytes;
}

void rt_emu_set_stop(rt_device *d, const volatile int *stop) {
  self(d)->stop = stop;
}

void rt_emu_set_threads(rt_device *d, int n) {
  self(d)->threads = n;
}

void rt_emu_set_sample(rt_device *d, int64_t n) {
  self(d)->sample = n > 0 ? n : 0;
}

int64_t rt_emu_sample(const rt_device *d) {
  return ((const emu_device *)d)->sample;
}

void rt_emu_protect(rt_device *d, rt_ptr p, size_t nbytes, bool on) {
  emu_heap *h = &self(d)->heap;
  uint8_t *state = nbytes && emu_heap_host(h, p, nbytes) ? h->state + (p - EMU_GLOBAL_BASE) : NULL;
  for (size_t i = 0; state && i < nbytes; i++) {
    state[i] = (uint8_t)(on ? state[i] | BYTE_CONST : state[i] & ~BYTE_CONST);
  }
}

void rt_emu_set_print(rt_device *d, void (*print)(void *context, const char *text), void *context) {
  self(d)->print = print;
  self(d)->print_context = context;
}

const rt_emu_finding *rt_emu_last_finding(const rt_device *d) {
  return &((const emu_device *)d)->finding;
}

int rt_emu_alloc_shared(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  return emu_heap_alloc_shared(&self(d)->heap, nbytes, p, e);
}

bool rt_emu_range_at(rt_device *d, rt_ptr p, rt_emu_range *out) {
  emu_alloc a;
  if (!emu_heap_at(&self(d)->heap, p, &a)) {
    return false;
  }
  *out = (rt_emu_range){EMU_GLOBAL_BASE + a.offset, a.nbytes, a.shared, a.alive};
  return true;
}

bool rt_emu_is_address(rt_device *d, rt_ptr p) {
  return p - EMU_GLOBAL_BASE < self(d)->heap.reserved;
}

void rt_emu_last_stats(const rt_device *d, rt_emu_stats *stats) {
  *stats = ((const emu_device *)d)->stats;
}
