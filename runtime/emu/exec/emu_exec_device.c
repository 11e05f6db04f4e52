/* emu_exec_device.c -- the device runtime, whose functions the PTX only declares: launches of child
 * grids, and conditional handles of graphs.
 *
 * A launch takes two calls: one returns a buffer, which the program fills with the parameters; the
 * other launches it in a stream. Two streams are constants: fire-and-forget, which orders nothing,
 * and the one of tail launches. Streams that a kernel creates order no more than the order of the
 * launches, which is kept. src: cuda_device_runtime_api.h; CUDA Programming Guide, CUDA Dynamic
 * Parallelism. */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "emu_access.h"
#include "emu_children.h"
#include "emu_exec.h"
#include "emu_finding.h"

enum { STREAM_TAIL = 3 };

/* adds a child under the launch's lock; NULL: the host is out of memory */
static emu_child *add(emu_launch *l) {
  emu_children *c = l->children;
  if (!array_reserve(&c->p, (size_t)c->n + 1, &c->capacity, sizeof *c->p)) {
    return NULL;
  }
  emu_child *one = &c->p[c->n];
  *one = (emu_child){.order = c->n++, .depth = l->depth + 1};
  return one;
}

static int parameter_buffer(emu_warp *w, const emu_insn *in, int lane, const uint8_t *const args[],
                            uint64_t *result) {
  emu_launch *l = w->launch;
  uint64_t index;
  memcpy(&index, args[0], 8);
  index -= EMU_CODE_WINDOW;
  const emu_func *f = index < (uint64_t)l->module->n_funcs ? l->module->funcs[index] : NULL;
  if (!f || !f->entry || !f->defined || f->refused) {
    return emu_finding(w, in, lane, EMU_CALL, "launches %.100s, which %s",
                       f ? f->name : "an address",
                       f && f->refused ? f->refused : "is not a kernel of the module");
  }
  uint64_t buffer = 0;
  if (emu_heap_alloc(l->heap, f->params_nbytes + 8, NULL, &buffer, NULL)) {
    *result = 0;
    return RUN_ON;
  }
  pthread_mutex_lock(&l->lock);
  emu_child *c = add(l);
  if (c) {
    c->func = f;
    c->params = buffer;
    c->parent = w->block->linear;
    memcpy(c->grid, args[1], sizeof c->grid);
    memcpy(c->block, args[2], sizeof c->block);
    memcpy(&c->smem, args[3], sizeof c->smem);
  }
  pthread_mutex_unlock(&l->lock);
  if (!c) {
    emu_heap_release(l->heap, buffer);
  }
  *result = c ? buffer : 0;
  return RUN_ON;
}

/* notes that the child with this buffer is launched; false: there is none. *pending: how many are */
static bool launched(emu_launch *l, uint64_t buffer, uint64_t stream, const char *place,
                     int *pending) {
  emu_children *all = l->children;
  emu_child *c = NULL;
  pthread_mutex_lock(&l->lock);
  for (int i = all->n - 1; i >= 0 && !c; i--) {
    c = all->p[i].params == buffer && all->p[i].state == CHILD_BUFFER ? &all->p[i] : NULL;
  }
  if (c) {
    c->state = stream == STREAM_TAIL ? CHILD_TAIL : CHILD_LAUNCHED;
    c->depth -= stream == STREAM_TAIL; /* it takes the place of the launching grid */
    snprintf(c->place, sizeof c->place, "%s", place);
    all->pending++;
  }
  *pending = all->pending;
  pthread_mutex_unlock(&l->lock);
  return c;
}

static int launch_device(emu_warp *w, const emu_insn *in, int lane, const uint8_t *const args[],
                         uint64_t *result) {
  uint64_t buffer, stream;
  int pending;
  char place[160];
  memcpy(&buffer, args[0], 8);
  memcpy(&stream, args[1], 8);
  emu_place_text(w, in, place, sizeof place);
  *result = 0;
  if (!launched(w->launch, buffer, stream, place, &pending)) {
    return emu_finding(w, in, lane, EMU_CALL,
                       "launches a grid with a buffer of parameters that was not returned to it, "
                       "or twice with the same");
  }
  if (stream != STREAM_TAIL && w->launch->depth >= EMU_CHILDREN_DEPTH) {
    return emu_finding(w, in, lane, EMU_CALL, "launches a grid %d levels deep; %d are allowed",
                       w->launch->depth + 1, EMU_CHILDREN_DEPTH);
  }
  return pending <= w->launch->pending
             ? RUN_ON
             : emu_finding(w, in, lane, EMU_CALL,
                           "launches a grid while %d others of its grid may be pending: the pool "
                           "is full (cudaLimitDevRuntimePendingLaunchCount, or a stage's `pool`)",
                           pending - 1);
}

/* stores n bytes through a generic pointer of the program */
static int store(emu_warp *w, const emu_insn *in, int lane, const uint8_t *pointer, int n,
                 uint64_t value) {
  uint64_t address[EMU_LANES_N] = {0};
  uint8_t *host[EMU_LANES_N];
  memcpy(&address[lane], pointer, 8);
  const int rc = emu_resolve(w, in, 1u << lane, SPACE_generic, address, n, ACCESS_WRITE, host);
  if (!rc) {
    memcpy(host[lane], &value, (size_t)n);
  }
  return rc;
}

/* bytes that the arguments of each function have at least; 0: no argument */
static const uint8_t sizes[][4] = {
    [BUILTIN_parameter_buffer] = {8, 12, 12, 4},
    [BUILTIN_launch_device] = {8, 8},
    [BUILTIN_device] = {8},
    [BUILTIN_device_count] = {8},
    [BUILTIN_stream_create] = {8},
    [BUILTIN_set_conditional] = {8, 4},
};

/* the arguments in the frame; false: the PTX declares other ones */
static bool find_arguments(const emu_insn *in, int builtin, const uint8_t *frame,
                           const uint8_t *args[4]) {
  const uint8_t *need = builtin < (int)sizeof sizes / 4 ? sizes[builtin] : sizes[0];
  for (int i = 0; i < 4 && need[i]; i++) {
    if (i >= in->more->mode[0] || in->more->ops[2 * i + 1] < need[i]) {
      return false;
    }
    args[i] = frame + in->more->ops[2 * i];
  }
  return true;
}

int emu_device_call(emu_warp *w, const emu_insn *in, int lane, int builtin, const uint8_t *frame,
                    uint64_t *result) {
  const uint8_t *args[4] = {NULL};
  uint32_t value = 0;
  *result = 0; /* cudaSuccess */
  if (!find_arguments(in, builtin, frame, args)) {
    return emu_finding(w, in, lane, EMU_CALL,
                       "calls a function of the device runtime with other parameters than it has");
  }
  switch (builtin) {
  case BUILTIN_parameter_buffer: return parameter_buffer(w, in, lane, args, result);
  case BUILTIN_launch_device: return launch_device(w, in, lane, args, result);
  case BUILTIN_device: return store(w, in, lane, args[0], 4, 0);
  case BUILTIN_device_count: return store(w, in, lane, args[0], 4, 1);
  case BUILTIN_stream_create: return store(w, in, lane, args[0], 8, 0x100);
  case BUILTIN_set_conditional:
    memcpy(&value, args[1], 4);
    return store(w, in, lane, args[0], 4, value);
  default: return RUN_ON;
  }
}
