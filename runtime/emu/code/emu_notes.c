/* emu_notes.c -- what ptxas made of the kernels, where whoever compiled the PTX noted it.
 *
 * PTX has no bound on registers; how many a kernel takes on the card, and how many it had to spill
 * to local memory, only ptxas knows. The compiler object appends it as comments, a line a kernel:
 *   // ptxas: sgemm registers 128 spill stores 16 spill loads 24
 * stores and loads in bytes. A PTX without them is estimated (emu_live.c).
 */
#include <stdio.h>
#include <string.h>

#include "emu_module.h"

static const char mark[] = "\n// ptxas: ";

static void take_note(emu_module *m, const char *line) {
  char name[256];
  int regs;
  long long stores, loads;
  if (sscanf(line, "%255s registers %d spill stores %lld spill loads %lld", name, &regs, &stores,
             &loads) != 4 ||
      regs < 1 || regs > 255 || stores < 0 || loads < 0) {
    return;
  }
  emu_func *f = emu_module_kernel(m, name);
  if (f) {
    f->noted = true;
    f->regs = regs;
    f->spill_stores = (double)stores / 4;
    f->spill_loads = (double)loads / 4;
  }
}

void emu_notes(emu_module *m) {
  for (const char *p = m->text; (p = strstr(p, mark)) != NULL;) {
    p += sizeof mark - 1;
    take_note(m, p);
  }
}
