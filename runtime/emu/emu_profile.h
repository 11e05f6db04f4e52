/* emu_profile.h -- real cards as data: limits, rates, latencies. */
#ifndef EMU_PROFILE_H
#define EMU_PROFILE_H

#include "emu.h"

typedef struct emu_profile {
  const char *name, *card;
  int cc, sms;
  int threads_sm, blocks_sm, regs_sm;
  int smem_sm_kib, smem_block_bytes;
  int64_t l2_nbytes, memory_nbytes;
  int bus_bits;
  double clock_hz, memory_clock_hz; /* the latter: data rate is twice it */
  /* lanes a clock and multiprocessor, 4 schedulers together */
  int fma, alu, fp64, half, mufu, imad, cvt;
  double tensor_f16;     /* dense f16 FMA a clock and multiprocessor */
  double l2_bytes_clock; /* whole device, bytes a clock */
} emu_profile;

/* emu_profile_find -- NULL: no such profile; NULL or "" gives the first */
const emu_profile *emu_profile_find(const char *name);
void emu_profile_info(const emu_profile *p, rt_info *info);

#endif
