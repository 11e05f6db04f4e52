/* emu_finding.c -- see emu_finding.h. */
#define _GNU_SOURCE
#include "emu_finding.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(rt_emu_check check) {
  static const char *const names[] = {"global memory out of bounds",
                                      "use after free",
                                      "shared memory out of bounds",
                                      "local memory out of bounds",
                                      "misaligned access",
                                      "uninitialised shared memory",
                                      "uninitialised global memory",
                                      "shared-memory race",
                                      "global race between blocks",
                                      "divergent barrier",
                                      "shuffle from an inactive lane",
                                      "missing wait for an asynchronous operation",
                                      "step limit",
                                      "trap",
                                      "assertion",
                                      "stack",
                                      "write to constant memory",
                                      "bad call",
                                      "missing proxy fence",
                                      "misused mbarrier",
                                      "grid is not co-resident",
                                      "bad texture or surface",
                                      "stale texture or surface",
                                      "surface out of bounds",
                                      "race between streams",
                                      "published without a fence",
                                      "no finding"};
  return names[check < EMU_NO_FINDING ? check : EMU_NO_FINDING];
}

/* NVRTC puts the current folder in front of the names given by #line. */
static const char *relative(const char *file) {
  char folder[PATH_MAX];
  size_t n = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
  return n && !strncmp(file, folder, n) && file[n] == '/' ? file + n + 1 : file;
}

void emu_place_text(const emu_warp *w, const emu_insn *in, char *place, size_t n) {
  const emu_module *m = w->launch->module;
  const char *file =
      in->file < EMU_FILES && m->files[in->file] ? relative(m->files[in->file]) : NULL;
  if (file && in->source_line) {
    snprintf(place, n, "%s:%u", file, in->source_line);
  } else {
    snprintf(place, n, "PTX line %u", in->line);
  }
}

static bool same_line(emu_line a, emu_line b) {
  return a.file == b.file && a.line == b.line;
}

/* ", inlined from cuda_fp16.hpp:2630, called from a.cu:9": the lines that the place leaves out */
static void inlining_of(const emu_warp *w, const emu_insn *in, char *out, size_t n) {
  const emu_module *m = w->launch->module;
  const emu_inlined *x = in->inlined ? &m->inlined[in->inlined - 1] : NULL;
  const char *inner = x ? m->files[x->inner.file] : NULL,
             *outer = x ? m->files[x->outer.file] : NULL;
  int at = 0;
  *out = 0;
  if (inner && !same_line(x->inner, x->user)) {
    const char *base = strrchr(inner, '/');
    at = snprintf(out, n, ", inlined from %.60s:%u", base ? base + 1 : inner, x->inner.line);
  }
  if (outer && !same_line(x->outer, x->user)) {
    snprintf(out + at, n - (size_t)at, ", called from %.60s:%u", relative(outer), x->outer.line);
  }
}

const char *emu_thread_text(const emu_warp *w, int thread, char out[EMU_THREAD_TEXT]) {
  const emu_warp *of = &w->block->warps[thread / EMU_LANES_N];
  int lane = thread % EMU_LANES_N;
  snprintf(out, EMU_THREAD_TEXT, "thread (%u,%u,%u)", of->tid[0][lane], of->tid[1][lane],
           of->tid[2][lane]);
  return out;
}

static void fill(emu_warp *w, const emu_insn *in, int lane, rt_emu_check check, rt_emu_finding *f,
                 const char *what) {
  f->check = check;
  f->ptx_line = (int)in->line;
  memcpy(f->block, w->block->ctaid, sizeof f->block);
  for (int i = 0; i < 3; i++) {
    f->thread[i] = w->tid[i][lane];
  }
  snprintf(f->kernel, sizeof f->kernel, "%s", w->launch->func->name);
  char inlining[180];
  emu_place_text(w, in, f->place, sizeof f->place);
  inlining_of(w, in, inlining, sizeof inlining);
  snprintf(f->message, sizeof f->message,
           "%s: thread (%u,%u,%u) of block (%u,%u,%u) %s [kernel %.80s, PTX line %d%s]",
           name_of(check), f->thread[0], f->thread[1], f->thread[2], f->block[0], f->block[1],
           f->block[2], what, f->kernel, f->ptx_line, inlining);
}

/* The first block in the grid's order determines the finding that is kept. */
int emu_finding(emu_warp *w, const emu_insn *in, int lane, rt_emu_check check, const char *format,
                ...) {
  emu_launch *l = w->launch;
  char what[380];
  va_list ap;
  va_start(ap, format);
  vsnprintf(what, sizeof what, format, ap);
  va_end(ap);
  pthread_mutex_lock(&l->lock);
  if (!l->found || w->block->linear < l->finding_block) {
    fill(w, in, lane & 31, check, l->finding, what);
    l->finding_block = w->block->linear;
    l->found = true;
  }
  atomic_store(&l->stop, true);
  pthread_mutex_unlock(&l->lock);
  return RUN_FAULT;
}

/* As with findings, the first block determines the note. */
void emu_note(emu_warp *w, const emu_insn *in, int lane, const char *format, ...) {
  emu_launch *l = w->launch;
  rt_emu_finding *f = l->finding;
  char what[200], place[140];
  va_list ap;
  va_start(ap, format);
  vsnprintf(what, sizeof what, format, ap);
  va_end(ap);
  emu_place_text(w, in, place, sizeof place);
  pthread_mutex_lock(&l->lock);
  if (!f->note[0] || w->block->linear < l->note_block) {
    snprintf(f->note, sizeof f->note, "%s: thread (%u,%u,%u) of block (%u,%u,%u) %s", place,
             w->tid[0][lane], w->tid[1][lane], w->tid[2][lane], w->block->ctaid[0],
             w->block->ctaid[1], w->block->ctaid[2], what);
    l->note_block = w->block->linear;
  }
  pthread_mutex_unlock(&l->lock);
}
