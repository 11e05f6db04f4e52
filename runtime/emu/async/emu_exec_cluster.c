/* emu_exec_cluster.c -- clusters: addresses in other blocks' shared memory, the cluster's barrier.
 *
 * The blocks of a cluster run on one host thread, in turns. src: PTX ISA 9.0, 9.7.9.24 (mapa),
 * 9.7.13.4 (barrier.cluster). */
#include "emu_async.h"

#include "emu_clock.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_fragment.h"
#include "emu_remote.h"

enum { OFFSET_MASK = (1 << EMU_RANK_SHIFT) - 1 };

int exec_mapa(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int bytes = in->dbytes;
  const void *address = emu_src(w, in->o[1]);
  const uint32_t *rank = emu_src(w, in->o[2]);
  uint64_t d[EMU_LANES_N] = {0};
  for (int i = 0; i < EMU_LANES_N; i++) {
    if (!(mask >> i & 1)) {
      continue;
    }
    if (rank[i] >= (uint32_t)w->launch->cluster_size) {
      return emu_finding(w, in, i, EMU_SHARED_BOUNDS,
                         "maps an address to block %u of a cluster of %d blocks", rank[i],
                         w->launch->cluster_size);
    }
    uint64_t a = emu_get(address, i, bytes), high = a & ~(uint64_t)(UINT32_MAX);
    emu_put(d, i, bytes, high | (a & OFFSET_MASK) | (uint64_t)(rank[i] + 1) << EMU_RANK_SHIFT);
  }
  emu_store(emu_reg(w, in->o[0]), d, bytes, mask);
  return RUN_ON;
}

int exec_ctarank(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const void *address = emu_src(w, in->o[1]);
  uint32_t d[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    uint32_t rank = (uint32_t)emu_get(address, i, in->more->mode[0]) >> EMU_RANK_SHIFT;
    d[i] = rank ? rank - 1 : (uint32_t)w->block->rank;
  }
  emu_store(emu_reg(w, in->o[0]), d, 4, mask);
  return RUN_ON;
}

int exec_clusterarrive(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_block *first = w->block->cluster_blocks[0];
  if (w->cluster_arrived & mask) {
    return emu_finding(w, in, __builtin_ctz(w->cluster_arrived & mask), EMU_BARRIER,
                       "arrives at the cluster's barrier again before it is complete");
  }
  w->cluster_arrived |= mask;
  for (int i = 0; i < EMU_LANES_N; i++) {
    w->cluster_phase[i] = mask >> i & 1 ? first->cluster_phase : w->cluster_phase[i];
  }
  emu_remote_arrive(w, in->imm != 0);
  first->idle = 0;
  w->block->moved = true;
  w->block->worker->traffic.barriers++;
  return RUN_ON;
}

int exec_clusterwait(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t waits = 0, now = w->block->cluster_blocks[0]->cluster_phase;
  for (int i = 0; i < EMU_LANES_N; i++) {
    waits |= (mask >> i & 1) && w->cluster_phase[i] == now ? 1u << i : 0;
  }
  if (waits & ~w->cluster_arrived) {
    return emu_finding(w, in, __builtin_ctz(waits & ~w->cluster_arrived), EMU_BARRIER,
                       "waits at the cluster's barrier without having arrived");
  }
  if (waits) {
    emu_warp_park(w, waits, FRAG_CLUSTER, 0);
  } else {
    emu_remote_wait(w);
  }
  return waits ? RUN_PICK : RUN_ON;
}

static bool complete(const emu_block *first) {
  bool any = false;
  for (int m = 0; m < first->launch->cluster_size; m++) {
    const emu_block *b = first->cluster_blocks[m];
    for (int i = 0; i < b->n_warps; i++) {
      any |= b->warps[i].cluster_arrived != 0;
      if (b->warps[i].live & ~b->warps[i].cluster_arrived) {
        return false;
      }
    }
  }
  return any;
}

static void wake(emu_warp *w) {
  bool any = false;
  for (int j = 0; j < w->n_frags; j++) {
    if (w->frags[j].state == FRAG_CLUSTER) {
      w->frags[j].state = FRAG_RUN;
      any = true;
    }
  }
  if (any) {
    emu_remote_wait(w);
  }
}

bool emu_cluster_release(emu_block *first) {
  if (!complete(first)) {
    return false;
  }
  first->cluster_phase++;
  emu_remote_release(first);
  for (int m = 0; m < first->launch->cluster_size; m++) {
    emu_block *b = first->cluster_blocks[m];
    uint32_t arrived[EMU_WARPS] = {0};
    for (int i = 0; i < b->n_warps; i++) {
      emu_warp *w = &b->warps[i];
      arrived[i] = w->cluster_arrived;
      w->cluster_arrived = 0;
      wake(w);
    }
    if (b->remote) {
      emu_clock_join_proxied(b, arrived);
    } else {
      emu_clock_join(b, arrived);
    }
  }
  return true;
}
