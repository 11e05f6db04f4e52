/* emu_exec_flow.c -- branches, calls, exit. */
#include <stdlib.h>
#include <string.h>

#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_fragment.h"

int exec_bra(emu_warp *w, const emu_insn *in, uint32_t mask) {
  if (mask == w->mask) {
    w->pc = in->target;
    return w->n_frags > 1 ? RUN_PICK : RUN_ON;
  }
  emu_warp_split(w, mask, in->target, w->frame);
  w->mask &= ~mask;
  return RUN_PICK;
}

int exec_brx(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const uint32_t *index = emu_src(w, in->o[1]);
  uint32_t left = mask;
  while (left) {
    uint32_t i = index[__builtin_ctz(left)], same = 0;
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      same |= (left >> lane & 1) && index[lane] == i ? 1u << lane : 0;
    }
    if (i >= (uint32_t)in->more->n) {
      return emu_finding(w, in, __builtin_ctz(left), EMU_CALL,
                         "branches with index %u into a table of %d targets", i, in->more->n);
    }
    w->mask &= ~same;
    left &= ~same;
    emu_warp_split(w, same, in->more->ops[i], w->frame);
  }
  return RUN_PICK;
}

/* ---- calls ---- */

static void copy_params(emu_warp *w, uint32_t mask, uint64_t to, uint64_t from, uint64_t nbytes) {
  uint64_t stride = w->launch->local_nbytes;
  for (int i = 0; i < EMU_LANES_N; i++) {
    if (mask >> i & 1) {
      memcpy(w->local + i * stride + to, w->local + i * stride + from, nbytes);
    }
  }
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static int call_builtin(emu_warp *w, const emu_insn *in, uint32_t mask, int builtin) {
  const int32_t *ops = in->more->ops;
  int n_args = in->more->mode[0];
  uint64_t stride = w->launch->local_nbytes;
  for (int i = 0; i < EMU_LANES_N; i++) {
    uint8_t *frame = w->local + (uint64_t)i * stride + w->frame->local;
    uint64_t args[5] = {0}, result = 0;
    if (!(mask >> i & 1)) {
      continue;
    }
    for (int a = 0; a < n_args && a < 5; a++) {
      memcpy(&args[a], frame + ops[2 * a], least((uint64_t)ops[2 * a + 1], 8));
    }
    int printed = 0, rc = RUN_ON;
    if (builtin >= BUILTIN_parameter_buffer) {
      rc = emu_device_call(w, in, i, builtin, frame, &result);
    } else if (builtin == BUILTIN_vprintf) {
      rc = emu_vprintf(w, in, i, args[0], args[1], &printed);
      result = (uint64_t)(int64_t)printed;
    } else if (builtin == BUILTIN_assertfail) {
      rc = emu_assertfail(w, in, i, args);
    } else if (builtin == BUILTIN_malloc) {
      result = emu_heap_alloc(w->launch->heap, args[0], NULL, &result, NULL) ? 0 : result;
    } else if (args[0] && !emu_heap_release(w->launch->heap, args[0])) {
      rc = emu_finding(w, in, i, EMU_FREED, "frees 0x%llx, which is not the start of an allocation",
                       (unsigned long long)args[0]);
    }
    if (rc) {
      return rc;
    }
    if (in->more->mode[1]) {
      memcpy(frame + ops[2 * n_args], &result, least((uint64_t)ops[2 * n_args + 1], 8));
    }
  }
  return RUN_ON;
}

static int enter(emu_warp *w, const emu_insn *in, uint32_t mask, int index) {
  const emu_func *caller = w->launch->module->funcs[w->frame->func];
  const emu_func *f = w->launch->module->funcs[index];
  uint64_t base = w->frame->local + (caller->frame_nbytes + 15) / 16 * 16;
  if (base + f->frame_nbytes > w->launch->local_nbytes) {
    return emu_finding(w, in, __builtin_ctz(mask), EMU_STACK,
                       "overflows its stack of %llu bytes calling %s, %d calls deep",
                       (unsigned long long)w->launch->local_nbytes, f->name, w->frame->depth + 1);
  }
  emu_frame *frame = calloc(1, sizeof *frame);
  uint8_t *regs = frame ? aligned_alloc(64, f->regs_nbytes + 64) : NULL;
  if (!regs) {
    free(frame);
    return emu_finding(w, in, __builtin_ctz(mask), EMU_STACK,
                       "cannot call a function: the host is out of memory");
  }
  memset(regs, 0, f->regs_nbytes + 64);
  *frame = (emu_frame){w->frame, index, in, w->pc, w->frame->depth + 1, mask, regs, base};
  for (int i = 0; i < f->n_params && i < in->more->mode[0]; i++) {
    copy_params(w, mask, base + f->params[i].offset,
                w->frame->local + (uint64_t)in->more->ops[2 * i],
                least(f->params[i].nbytes, (uint64_t)in->more->ops[2 * i + 1]));
  }
  w->mask &= ~mask;
  emu_warp_split(w, mask, 0, frame);
  return RUN_PICK;
}

static int call_one(emu_warp *w, const emu_insn *in, uint32_t mask, int64_t index) {
  const emu_module *m = w->launch->module;
  if (index < 0 || index >= m->n_funcs || m->funcs[index]->entry ||
      (!m->funcs[index]->defined && !m->funcs[index]->builtin)) {
    return emu_finding(w, in, __builtin_ctz(mask), EMU_CALL,
                       "calls an address that is not a function");
  }
  const emu_func *f = m->funcs[index];
  if (f->refused) { /* through a table of functions */
    return emu_finding(w, in, __builtin_ctz(mask), EMU_CALL,
                       "calls %.100s, which cannot be run: %s%s%s", f->name, f->refused,
                       *f->refused_at ? ", " : "", f->refused_at);
  }
  return f->defined ? enter(w, in, mask, (int)index) : call_builtin(w, in, mask, f->builtin);
}

int exec_call(emu_warp *w, const emu_insn *in, uint32_t mask) {
  if (in->target >= 0) {
    return call_one(w, in, mask, in->target);
  }
  const uint64_t *target = emu_src(w, in->o[1]);
  uint64_t targets[EMU_LANES_N];
  uint32_t left = mask;
  memcpy(targets, target, sizeof targets);
  while (left) {
    uint64_t to = targets[__builtin_ctz(left)];
    uint32_t same = 0;
    for (int i = 0; i < EMU_LANES_N; i++) {
      same |= (left >> i & 1) && targets[i] == to ? 1u << i : 0;
    }
    int rc = call_one(w, in, same, (int64_t)(to - EMU_CODE_WINDOW));
    if (rc == RUN_FAULT) {
      return rc;
    }
    left &= ~same;
  }
  return RUN_PICK;
}

static void leave(emu_warp *w, uint32_t lanes) {
  emu_frame *frame = w->frame, *up = frame->up;
  const emu_func *f = w->launch->module->funcs[frame->func];
  const emu_insn *call = frame->call;
  int at = 2 * call->more->mode[0];
  for (int i = 0; i < f->n_results && i < call->more->mode[1]; i++) {
    copy_params(w, lanes, up->local + (uint64_t)call->more->ops[at + 2 * i],
                frame->local + f->results[i].offset,
                least(f->results[i].nbytes, (uint64_t)call->more->ops[at + 2 * i + 1]));
  }
  emu_warp_split(w, lanes, frame->ret_pc, up);
  frame->lanes &= ~lanes;
}

/* free the frames that have no lanes left */
static void drop_frames(emu_frame *frame) {
  while (frame && frame->up && !frame->lanes) {
    emu_frame *up = frame->up;
    free(frame->regs);
    free(frame);
    frame = up;
  }
}

/* A barrier waits only for the threads that have not exited, since compute capability 7.0. */
static void note_early_exit(emu_warp *w, const emu_insn *in, uint32_t mask) {
  char other[EMU_THREAD_TEXT];
  for (int i = 0; w->launch->checks && i < w->n_frags; i++) {
    const emu_frag *f = &w->frags[i];
    if (i != w->current && f->state == FRAG_BAR &&
        w->block->barriers[f->barrier].pc[w->index] >= 0) {
      emu_note(
          w, in, __builtin_ctz(mask),
          "exits while %s of its warp waits at a barrier: is the barrier in a divergent branch?",
          emu_thread_text(w, emu_thread(w, __builtin_ctz(f->mask)), other));
      return;
    }
  }
}

int exec_exit(emu_warp *w, const emu_insn *in, uint32_t mask) {
  note_early_exit(w, in, mask);
  if ((w->bulk_reads & mask) && w->launch->checks) {
    return emu_finding(
        w, in, __builtin_ctz(w->bulk_reads & mask), EMU_ASYNC,
        "exits while a bulk copy may still read shared memory; execute cp.async.bulk.wait_group.read 0 first");
  }
  w->live &= ~mask;
  w->mask &= ~mask;
  emu_frame *frame = w->frame;
  for (emu_frame *f = frame; f; f = f->up) {
    f->lanes &= ~mask;
  }
  if (!w->mask) {
    w->frags[w->current].mask = 0;
    w->frags[w->current].frame = &w->kernel;
    w->frame = &w->kernel;
  }
  drop_frames(frame);
  return RUN_PICK;
}

int exec_ret(emu_warp *w, const emu_insn *in, uint32_t mask) {
  if (!w->frame->up) {
    return exec_exit(w, in, mask);
  }
  emu_frame *frame = w->frame;
  leave(w, mask);
  w->mask &= ~mask;
  if (!w->mask) {
    w->frame = &w->kernel; /* an empty fragment must not refer to a freed frame */
  }
  drop_frames(frame);
  return RUN_PICK;
}

int exec_trap(emu_warp *w, const emu_insn *in, uint32_t mask) {
  return emu_finding(w, in, __builtin_ctz(mask), EMU_TRAP, "executes trap");
}

/* ---- alloca ---- */

int exec_alloca(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const uint64_t *size = emu_src(w, in->o[1]), *used = emu_src(w, in->o[2]);
  const uint64_t top = w->frame->local + (uint64_t)in->imm, align = (uint64_t)in->more->mode[0],
                 room = (uint64_t)in->more->mode[1];
  uint64_t d[EMU_LANES_N], now[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    const uint64_t left = used[i] < room ? room - used[i] : 0;
    const uint64_t at = size[i] > left ? 0 : (top - used[i] - size[i]) / align * align;
    if ((mask >> i & 1) && (size[i] > left || at < top - room)) {
      return emu_finding(w, in, i, EMU_STACK,
                         "overflows its stack: alloca of %llu bytes, with %llu of %llu in use",
                         (unsigned long long)size[i], (unsigned long long)used[i],
                         (unsigned long long)room);
    }
    d[i] = at;
    now[i] = top - at;
  }
  emu_store(emu_reg(w, in->o[0]), d, 8, mask);
  emu_store(emu_reg(w, in->o[3]), now, 8, mask);
  return RUN_ON;
}

/* An address that is not one of stacksave leaves no memory to allocate. */
int exec_stackrestore(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const uint64_t *a = emu_src(w, in->o[1]), top = w->frame->local + (uint64_t)in->imm;
  uint64_t used[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    used[i] = top - a[i];
  }
  emu_store(emu_reg(w, in->o[0]), used, 8, mask);
  return RUN_ON;
}
