/* emu_report.h -- the counters of the emulated device, as text and as JSON. */
#ifndef REPORT_EMU_H
#define REPORT_EMU_H

#include "emu.h"
#include "str.h"

/* emu_report_text -- a few lines: instructions by unit, memory, occupancy, the modelled time and
 * its bound */
void emu_report_text(str *s, const char *kernel, const rt_emu_stats *x);
/* emu_report_json -- one object, one line */
void emu_report_json(str *s, const char *kernel, const rt_emu_stats *x);

#endif
