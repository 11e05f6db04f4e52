/* emu_profile.c -- limits and rates of real cards.
 *
 * src: limits: CUDA C++ Programming Guide 13.0, tables "Technical Specifications per Compute
 * Capability" and "Arithmetic Instructions" (throughput of native arithmetic instructions, results
 * a clock and multiprocessor); multiprocessors, clocks, memory and tensor rates: NVIDIA's data
 * sheets and white papers of the cards (boost clocks). L2 bytes a clock: measured figures of Chips
 * and Cheese's microbenchmarks, rounded.
 */
#include "emu_profile.h"

#include <stdio.h>
#include <string.h>

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

/* The limits and rates that a compute capability determines. */
#define ARCH(cc_, threads_, blocks_, smem_kib_, smem_block_, fma_, fp64_, half_, cvt_, tensor_)    \
  .cc = cc_, .threads_sm = threads_, .blocks_sm = blocks_, .regs_sm = 65536,                       \
  .smem_sm_kib = smem_kib_, .smem_block_bytes = smem_block_, .fma = fma_, .alu = 64,               \
  .fp64 = fp64_, .half = half_, .mufu = 16, .imad = 64, .cvt = cvt_, .tensor_f16 = tensor_
#define SM_90 ARCH(90, 2048, 32, 228, 232448, 128, 64, 128, 64, 2048)
#define SM_89 ARCH(89, 1536, 24, 100, 101376, 128, 2, 64, 64, 512)
#define SM_86 ARCH(86, 1536, 16, 100, 101376, 128, 2, 128, 64, 512)
#define SM_80 ARCH(80, 2048, 32, 164, 166912, 64, 32, 128, 16, 1024)
#define SM_75 ARCH(75, 1024, 16, 64, 65536, 64, 2, 128, 16, 512)

/* L2 in MiB, memory in GiB, its bus in bits, both clocks in Hz, L2 in bytes a clock */
#define CARD(name_, card_, arch_, sms_, l2_, memory_, bus_, clock_, memory_clock_, l2_rate_)       \
  {                                                                                                \
    .name = name_, .card = card_, arch_, .sms = sms_, .l2_nbytes = l2_ * MIB,                      \
    .memory_nbytes = memory_ * GIB, .bus_bits = bus_, .clock_hz = clock_,                          \
    .memory_clock_hz = memory_clock_, .l2_bytes_clock = l2_rate_                                   \
  }

static const emu_profile profiles[] = {
    CARD("h200", "NVIDIA H200", SM_90, 132, 60, 141, 6144, 1.98e9, 3.201e9, 5120),
    CARD("h100", "NVIDIA H100 SXM", SM_90, 132, 50, 80, 5120, 1.98e9, 2.619e9, 5120),
    CARD("a100", "NVIDIA A100 SXM", SM_80, 108, 40, 80, 5120, 1.41e9, 1.593e9, 5120),
    CARD("l40s", "NVIDIA L40S", SM_89, 142, 96, 48, 384, 2.52e9, 9.001e9, 4096),
    CARD("rtx4090", "NVIDIA GeForce RTX 4090", SM_89, 128, 72, 24, 384, 2.52e9, 10.501e9, 4096),
    CARD("rtx3090", "NVIDIA GeForce RTX 3090", SM_86, 82, 6, 24, 384, 1.695e9, 9.751e9, 2048),
    CARD("t4", "NVIDIA T4", SM_75, 40, 4, 16, 256, 1.59e9, 5.001e9, 1280),
};

enum { N_PROFILES = sizeof profiles / sizeof *profiles };

const char *const *rt_emu_profiles(void) {
  static const char *const names[N_PROFILES + 1] = {"h200",    "h100",    "a100", "l40s",
                                                    "rtx4090", "rtx3090", "t4"};
  return names;
}

const emu_profile *emu_profile_find(const char *name) {
  for (int i = 0; i < N_PROFILES; i++) {
    if (!name || !*name || !strcmp(name, profiles[i].name)) {
      return &profiles[i];
    }
  }
  return NULL;
}

int emu_occupancy(const emu_profile *p, int regs, int threads, int64_t smem) {
  int warps = (threads + 31) / 32;
  if (warps < 1 || threads > 1024) {
    return 0;
  }
  int regs_warp = (regs * 32 + 255) / 256 * 256;
  int by_warps = p->threads_sm / 32 / warps, by_blocks = p->blocks_sm;
  /* registers are allocated by quarters of the multiprocessor, one for each scheduler */
  int by_regs = regs_warp ? p->regs_sm / 4 / regs_warp * 4 / warps : by_warps;
  int64_t need = (smem + (p->cc >= 80 ? 1024 : 0) + 127) / 128 * 128;
  int64_t by_smem = need ? (int64_t)p->smem_sm_kib * 1024 / need : by_blocks;
  int blocks = by_warps < by_blocks ? by_warps : by_blocks;
  blocks = by_regs < blocks ? by_regs : blocks;
  return by_smem < blocks ? (int)by_smem : blocks;
}

int64_t emu_l1_sectors(const emu_profile *p, int regs, int threads, int64_t smem) {
  int blocks = emu_occupancy(p, regs, threads, smem);
  /* L1 and shared memory have 256 KiB on cc 8.0 and 9.0, 128 elsewhere; resident blocks share the
   * rest */
  int64_t whole = (p->smem_sm_kib > 128 ? p->smem_sm_kib + 28 : 128) * INT64_C(1024);
  int64_t left = whole - blocks * (smem + 1024);
  return (left > 16384 ? left : 16384) / 32 / (blocks ? blocks : 1);
}

void emu_profile_info(const emu_profile *p, rt_info *info) {
  *info = (rt_info){.format = RT_PTX,
                    .modelled = true,
                    .serial = true,
                    .checks_bounds = true,
                    .cc = p->cc,
                    .memory_nbytes = p->memory_nbytes,
                    .l2_nbytes = p->l2_nbytes,
                    .sms = p->sms,
                    .warp = 32,
                    .threads_block = 1024,
                    .threads_sm = p->threads_sm,
                    .blocks_sm = p->blocks_sm,
                    .regs_block = p->regs_sm,
                    .regs_sm = p->regs_sm,
                    .smem_block = p->smem_block_bytes,
                    .smem_static = 49152,
                    .smem_sm = (int64_t)p->smem_sm_kib * 1024,
                    .smem_reserved = p->cc >= 80 ? 1024 : 0,
                    .grid_max = {INT32_MAX, 65535, 65535},
                    .block_max = {1024, 1024, 64},
                    .clock_hz = p->clock_hz,
                    .memory_clock_hz = p->memory_clock_hz,
                    .memory_bus_bits = p->bus_bits};
  snprintf(info->name, sizeof info->name, "emu:%s", p->name);
  snprintf(info->arch, sizeof info->arch, "compute_%d%s", p->cc, rt_arch_suffix(p->cc));
}
