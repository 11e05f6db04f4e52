/* emu_profile.h -- real cards as data: limits and rates. */
#ifndef EMU_PROFILE_H
#define EMU_PROFILE_H

#include "device.h"

typedef struct emu_profile {
  const char *name, *card;
  int cc, sms;
  int threads_sm, blocks_sm, regs_sm;
  int smem_sm_kib, smem_block_bytes;
  int64_t l2_nbytes, memory_nbytes;
  int bus_bits;
  double clock_hz, memory_clock_hz; /* half of the data rate */
  /* lanes per clock and multiprocessor, 4 schedulers together */
  int fma, alu, fp64, half, mufu, imad, cvt;
  double tensor_f16;     /* dense f16 FMAs per clock and multiprocessor */
  double l2_bytes_clock; /* of the whole device */
} emu_profile;

/* emu_profile_find -- NULL or "" selects the first profile; returns NULL for an unknown one */
const emu_profile *emu_profile_find(const char *name);
/* rt_emu_profiles -- names, ends with NULL */
const char *const *rt_emu_profiles(void);
/* emu_occupancy -- resident blocks of a kernel on one multiprocessor; 0: it does not fit */
int emu_occupancy(const emu_profile *p, int regs, int threads, int64_t smem);
/* emu_l1_sectors -- L1 sectors that a resident block has for itself */
int64_t emu_l1_sectors(const emu_profile *p, int regs, int threads, int64_t smem);
void emu_profile_info(const emu_profile *p, rt_info *info);

#endif
