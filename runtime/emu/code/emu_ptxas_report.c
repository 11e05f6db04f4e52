/* emu_ptxas_report.c -- ptxas's report of each kernel, from comments of the PTX.
 *
 * PTX does not bound registers. How many a kernel takes on the card, and how many it spills to
 * local memory, only ptxas knows. rt_compile appends its report as comments, one line for each
 * kernel:
 *   // ptxas: sgemm registers 128 spill stores 16 spill loads 24
 * Stores and loads are in bytes. Without such a line registers are estimated (emu_live.c). */
#include <stdio.h>
#include <string.h>

#include "emu_module.h"

static const char mark[] = "\n// ptxas: ";

static void read_line(emu_module *m, const char *line) {
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
    f->has_report = true;
    f->regs = regs;
    f->spill_stores = (double)stores / 4;
    f->spill_loads = (double)loads / 4;
  }
}

void emu_read_ptxas_report(emu_module *m) {
  for (const char *p = m->text; (p = strstr(p, mark)) != NULL;) {
    p += sizeof mark - 1;
    read_line(m, p);
  }
}
