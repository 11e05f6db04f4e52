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

static const emu_profile profiles[] = {
    {.name = "h200",
     .card = "NVIDIA H200",
     .cc = 90,
     .sms = 132,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .regs_sm = 65536,
     .smem_sm_kib = 228,
     .smem_block_bytes = 232448,
     .l2_nbytes = 60 * MIB,
     .memory_nbytes = 141 * GIB,
     .bus_bits = 6144,
     .clock_hz = 1.98e9,
     .memory_clock_hz = 3.201e9,
     .fma = 128,
     .alu = 64,
     .fp64 = 64,
     .half = 128,
     .mufu = 16,
     .imad = 64,
     .cvt = 64,
     .tensor_f16 = 2048,
     .l2_bytes_clock = 5120},
    {.name = "h100",
     .card = "NVIDIA H100 SXM",
     .cc = 90,
     .sms = 132,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .regs_sm = 65536,
     .smem_sm_kib = 228,
     .smem_block_bytes = 232448,
     .l2_nbytes = 50 * MIB,
     .memory_nbytes = 80 * GIB,
     .bus_bits = 5120,
     .clock_hz = 1.98e9,
     .memory_clock_hz = 2.619e9,
     .fma = 128,
     .alu = 64,
     .fp64 = 64,
     .half = 128,
     .mufu = 16,
     .imad = 64,
     .cvt = 64,
     .tensor_f16 = 2048,
     .l2_bytes_clock = 5120},
    {.name = "a100",
     .card = "NVIDIA A100 SXM",
     .cc = 80,
     .sms = 108,
     .threads_sm = 2048,
     .blocks_sm = 32,
     .regs_sm = 65536,
     .smem_sm_kib = 164,
     .smem_block_bytes = 166912,
     .l2_nbytes = 40 * MIB,
     .memory_nbytes = 80 * GIB,
     .bus_bits = 5120,
     .clock_hz = 1.41e9,
     .memory_clock_hz = 1.593e9,
     .fma = 64,
     .alu = 64,
     .fp64 = 32,
     .half = 128,
     .mufu = 16,
     .imad = 64,
     .cvt = 16,
     .tensor_f16 = 1024,
     .l2_bytes_clock = 5120},
    {.name = "l40s",
     .card = "NVIDIA L40S",
     .cc = 89,
     .sms = 142,
     .threads_sm = 1536,
     .blocks_sm = 24,
     .regs_sm = 65536,
     .smem_sm_kib = 100,
     .smem_block_bytes = 101376,
     .l2_nbytes = 96 * MIB,
     .memory_nbytes = 48 * GIB,
     .bus_bits = 384,
     .clock_hz = 2.52e9,
     .memory_clock_hz = 9.001e9,
     .fma = 128,
     .alu = 64,
     .fp64 = 2,
     .half = 64,
     .mufu = 16,
     .imad = 64,
     .cvt = 64,
     .tensor_f16 = 512,
     .l2_bytes_clock = 4096},
    {.name = "rtx4090",
     .card = "NVIDIA GeForce RTX 4090",
     .cc = 89,
     .sms = 128,
     .threads_sm = 1536,
     .blocks_sm = 24,
     .regs_sm = 65536,
     .smem_sm_kib = 100,
     .smem_block_bytes = 101376,
     .l2_nbytes = 72 * MIB,
     .memory_nbytes = 24 * GIB,
     .bus_bits = 384,
     .clock_hz = 2.52e9,
     .memory_clock_hz = 10.501e9,
     .fma = 128,
     .alu = 64,
     .fp64 = 2,
     .half = 64,
     .mufu = 16,
     .imad = 64,
     .cvt = 64,
     .tensor_f16 = 512,
     .l2_bytes_clock = 4096},
    {.name = "rtx3090",
     .card = "NVIDIA GeForce RTX 3090",
     .cc = 86,
     .sms = 82,
     .threads_sm = 1536,
     .blocks_sm = 16,
     .regs_sm = 65536,
     .smem_sm_kib = 100,
     .smem_block_bytes = 101376,
     .l2_nbytes = 6 * MIB,
     .memory_nbytes = 24 * GIB,
     .bus_bits = 384,
     .clock_hz = 1.695e9,
     .memory_clock_hz = 9.751e9,
     .fma = 128,
     .alu = 64,
     .fp64 = 2,
     .half = 128,
     .mufu = 16,
     .imad = 64,
     .cvt = 64,
     .tensor_f16 = 512,
     .l2_bytes_clock = 2048},
    {.name = "t4",
     .card = "NVIDIA T4",
     .cc = 75,
     .sms = 40,
     .threads_sm = 1024,
     .blocks_sm = 16,
     .regs_sm = 65536,
     .smem_sm_kib = 64,
     .smem_block_bytes = 65536,
     .l2_nbytes = 4 * MIB,
     .memory_nbytes = 16 * GIB,
     .bus_bits = 256,
     .clock_hz = 1.59e9,
     .memory_clock_hz = 5.001e9,
     .fma = 64,
     .alu = 64,
     .fp64 = 2,
     .half = 128,
     .mufu = 16,
     .imad = 64,
     .cvt = 16,
     .tensor_f16 = 512,
     .l2_bytes_clock = 1280},
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
