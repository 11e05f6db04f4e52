/* emu_state.h -- a launch while it runs: blocks, warps, fragments of warps.
 *
 * A CUDA thread is a lane's program counter and its lane of every register. The lanes of a warp
 * that stand at the same place form a fragment; the lowest fragment runs first, so that paths that
 * meet again are joined. A fragment runs until it must wait: at a barrier for the block, at an
 * instruction with a member mask for the lanes named there. Slices of some thousand instructions
 * keep a fragment, a warp or a block that spins from starving the one it waits for.
 */
#ifndef EMU_STATE_H
#define EMU_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "emu_check.h"
#include "emu_code.h"
#include "emu_heap.h"

enum { EMU_MATES = 16 }; /* blocks of a cluster at most */
enum { EMU_LANES_N = 32, EMU_WARPS = 32, EMU_BARRIERS = 16 };

typedef struct emu_frame {
  struct emu_frame *up;
  int func;
  const emu_insn *call; /* the instruction to return to is the next one; NULL for the kernel */
  int ret_pc, depth;
  uint32_t lanes; /* inside it */
  uint8_t *regs;
  uint64_t local; /* where its local memory begins */
} emu_frame;

typedef enum emu_frag_state {
  FRAG_RUN,
  FRAG_BAR,
  FRAG_SYNC,
  FRAG_MBAR,
  FRAG_CLUSTER
} emu_frag_state;

typedef struct emu_frag {
  emu_frame *frame;
  int pc;
  uint32_t mask;
  emu_frag_state state;
  int barrier;      /* FRAG_BAR: its number; FRAG_MBAR: index of the block's mbarriers */
  uint32_t members; /* FRAG_SYNC; FRAG_MBAR: the parity whose phase it waits for */
} emu_frag;

/* does it wait for other warps? */
static inline bool emu_parked(const emu_frag *f) {
  return f->state != FRAG_RUN && f->state != FRAG_SYNC;
}

typedef struct emu_async { /* a cp.async in flight */
  uint32_t to;
  uint8_t n, lane, data[16];
  uint32_t group;
} emu_async;

typedef struct emu_wgmma { /* a wgmma in flight */
  uint64_t descriptor[2];  /* of a and b in shared memory; a: only where it is not in registers */
  const emu_insn *in;
  uint32_t group;
} emu_wgmma;

enum { EMU_WGMMA_RING = 64 };

/* what a warp group's warps gave for their n-th wgmma, of the latest ones */
typedef struct emu_agreement {
  uint64_t n, descriptor[2]; /* n from one on */
} emu_agreement;

typedef struct emu_warp {
  /* of the running fragment */
  uint8_t *regs;
  const uint8_t *pool;
  const emu_insn *code;
  uint64_t *counts, *extra, *sectors, *repeats, *seen; /* per instruction: see emu_worker */
  uint64_t bit;                                        /* of this warp in `seen` */
  int pc, stop;                                        /* stop: where another fragment stands */
  uint32_t mask;                                       /* its lanes */
  emu_frame *frame;
  struct emu_block *block;
  struct emu_launch *launch;
  int index, current;
  uint32_t live, carry;
  emu_frag frags[EMU_LANES_N + 2]; /* one may be empty for a moment */
  int n_frags;
  uint64_t steps, slice_end;
  uint64_t stored; /* the first sector of its last store to global memory, and how many */
  int n_stored;
  bool rotate;
  int look_pc;                  /* of the last load that may wait for another block, ... */
  uint64_t looks;               /* ... how often it looked in vain, ... */
  uint64_t looked[EMU_LANES_N]; /* ... and its addresses */
  emu_frame kernel;             /* the outermost frame */
  size_t kernel_capacity, local_capacity;
  uint8_t *local; /* lanes * launch->local_nbytes */
  uint32_t tid[3][EMU_LANES_N];
  emu_async *async;
  int n_async, cap_async;
  uint32_t group[EMU_LANES_N]; /* cp.async groups committed so far */
  emu_wgmma *wgmma;
  int n_wgmma, cap_wgmma;
  uint32_t wgmma_group; /* groups committed so far */
  uint64_t wgmma_count; /* wgmmas issued so far */
  uint32_t *flying;     /* per register of the kernel: the group that writes it, plus one */
  size_t cap_flying;
  bool is_flying;                                       /* is any? */
  uint32_t cluster_arrived, cluster_phase[EMU_LANES_N]; /* barrier.cluster: who, when */
  uint32_t bulk_group[EMU_LANES_N];                     /* bulk groups committed so far */
  uint32_t bulk_reads; /* lanes whose bulk copies may still read shared memory */
} emu_warp;

typedef struct emu_barrier {
  uint32_t arrived[EMU_WARPS];
  int pc[EMU_WARPS]; /* of an aligned barrier, where the warp's lanes arrived; -1 none yet */
  bool any;
  int expected;      /* threads; 0: all that live */
  int n_true, n_all; /* reductions */
} emu_barrier;

/* An mbarrier object. The state lives here, not in the eight bytes that the program set aside for
 * it: those are marked, so that an ordinary access to them is found. What a warp knew when it
 * arrived (its clocks) goes to those that see the phase complete. */
typedef struct emu_mbarrier {
  uint32_t address; /* in shared memory */
  bool alive;
  uint32_t expected, pending, phase;
  int64_t tx;
  int maker; /* thread that initialised it, when */
  uint32_t made;
  uint32_t arriving[2][EMU_WARPS], complete[2][EMU_WARPS]; /* clocks; [1]: of the proxy */
} emu_mbarrier;

typedef struct emu_shadow { /* of a byte of shared memory: thread and clock of the last access */
  uint32_t write, read;
} emu_shadow;

typedef struct emu_block {
  struct emu_block *next;
  struct emu_worker *worker;
  struct emu_launch *launch;
  uint64_t linear;
  uint32_t ctaid[3];
  uint8_t *smem;
  emu_shadow *shadow;
  uint8_t *pending;  /* per byte of shared memory: emu_pending */
  uint16_t *read_by; /* per 16 bytes of shared memory: asynchronous reads that are not over */
  emu_warp *warps;
  int n_warps;
  emu_barrier barriers[EMU_BARRIERS];
  uint32_t clocks[EMU_WARPS][EMU_WARPS];  /* [w][u]: what warp w knows of warp u's clock */
  uint32_t released[EMU_WARPS];           /* what fences published */
  uint32_t proxied[EMU_WARPS][EMU_WARPS]; /* [w][u]: clocks of u that w knows a proxy fence after */
  emu_agreement agreed[EMU_WARPS / 4][EMU_WGMMA_RING];
  bool has_agreed; /* is any of them set? */
  emu_mbarrier *mbarriers;
  int n_mbarriers, cap_mbarriers;
  struct emu_bulk *bulks; /* issued and not done yet */
  int n_bulks, cap_bulks;
  struct emu_block *mates[EMU_MATES]; /* the cluster's blocks by rank; alone: itself */
  int rank;
  bool done;
  /* of the first block, for the whole cluster */
  int idle; /* times that nothing but time could pass */
  uint32_t cluster_phase;
  uint32_t first_clock;           /* older clocks are of earlier blocks in this memory */
  bool counting;                  /* is its memory traffic counted? */
  bool moved;                     /* did anything happen in this round? */
  bool looked, told, looked_back; /* at and to other blocks, by strong loads and stores */
  int draw_pc;                    /* of the last atomic by a single lane; -1: none */
  uint64_t drawn;                 /* and its address */
  bool ordered;                   /* took part in an ordering between blocks: atomics, fences */
} emu_block;

typedef struct emu_traffic { /* what the cost model wants to know of memory; all counts */
  uint64_t global_requests, load_sectors, load_misses, store_sectors;
  uint64_t shared_requests, shared_wavefronts, atomics, atomic_conflicts, barriers;
} emu_traffic;

enum { EMU_SUMS = 4, EMU_COUNTS = 5 }; /* arrays of emu_worker's counts; the first are sums */
enum { EMU_L1_SECTORS = 8192, EMU_ALLOCS = 64, EMU_ATOMIC_LINES = 512 };

/* sectors that one multiprocessor's first-level cache would hold, and the traffic by allocation */
typedef struct emu_cache {
  uint64_t sector[EMU_L1_SECTORS];
  uint32_t mask; /* of the sectors in use: what shared memory leaves */
  uint64_t offset[EMU_ALLOCS], nbytes[EMU_ALLOCS], sectors[EMU_ALLOCS];   /* allocations touched */
  uint64_t atomic_line[EMU_ATOMIC_LINES], atomic_turns[EMU_ATOMIC_LINES]; /* 128 bytes each */
  int n, last;
} emu_cache;

typedef struct emu_worker {
  struct emu_launch *launch;
  pthread_t thread;
  emu_block *idle; /* finished blocks whose memory can be used again */
  /* [function][pc]: executions by warps; behind them, n + 1 on, clocks of the load/store unit, in
   * quarters; behind these, sectors that its L2 port moves; behind
   * these, executions of loads that only looked again at what they wait for; behind these, the
   * warps of a block that came here, a bit for each */
  uint64_t **counts;
  uint64_t counted; /* blocks whose memory traffic was counted */
  /* blocks that looked at what others told, before they told anything themselves, or after; how
   * many arrivals the kernel's counters wait for; numbers drawn again by blocks that share their
   * work as they go */
  uint64_t links, backs, arrivals, draws;
  uint64_t steps;            /* instructions of all warps */
  uint64_t lengths, longest; /* of blocks' longest warps: sum and most */
  emu_traffic traffic;
  emu_cache cache;
  uint64_t lanes, blocks; /* thread-instructions and blocks done */
  int failed;             /* ERR_NOMEM */
} emu_worker;

typedef struct emu_launch {
  emu_heap *heap;
  int cc, sms;        /* of the card: compute capability, multiprocessors */
  int64_t l1_sectors; /* of the first-level cache that a block has for itself */
  void (*print)(void *context, const char *text); /* of kernels; NULL: nowhere */
  void *print_context;
  const emu_module *module;
  const emu_func *func;
  uint32_t grid[3], block[3], cluster[3];
  int n_mates;                /* blocks of a cluster */
  uint64_t n_blocks, sampled; /* sampled: how many are run */
  int n_threads, n_warps;
  uint64_t smem_nbytes; /* static and dynamic */
  uint32_t dynamic_nbytes;
  uint64_t local_nbytes; /* per lane */
  const uint8_t *params;
  uint64_t params_nbytes;
  bool checks;
  uint64_t count_every; /* blocks: each so-manieth has its memory traffic counted */
  int regs;             /* per thread */
  bool last;            /* every block comes last to every counter (atom.inc) */
  uint64_t step_limit;
  uint32_t tag_base;
  int resident; /* blocks that one worker may hold unfinished */
  atomic_uint_fast64_t next;
  atomic_bool stop;
  const volatile int *ask_stop; /* from outside; NULL: nobody asks */
  pthread_mutex_t lock;
  rt_emu_finding *finding;
  uint64_t finding_block;
  bool found;
} emu_launch;

static inline bool emu_interrupted(const emu_launch *l) {
  return l->ask_stop && *l->ask_stop;
}

/* Of functions that touch the emulated memory: blocks run on several host threads, and what they do
 * to each other there is the kernel's affair, for our own checks to judge and not for a sanitizer
 * of the host's program. An aligned access of up to 8 bytes is one access of the host's. */
#ifdef __SANITIZE_THREAD__
#define EMU_GUEST __attribute__((no_sanitize_thread))
#else
#define EMU_GUEST
#endif

/* why ordinary accesses to a byte of shared memory must wait */
enum emu_pending { PENDING_COPY = 1, PENDING_MBARRIER, PENDING_BULK };

/* what executing an instruction says */
enum { RUN_ON, RUN_PICK, RUN_FAULT };
typedef enum emu_access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } emu_access;

static inline void *emu_reg(const emu_warp *w, int32_t o) {
  return w->regs + o;
}
static inline const void *emu_src(const emu_warp *w, int32_t o) {
  return o >= 0 ? w->regs + o : w->pool + ~o;
}
/* emu_get, emu_put -- one lane of an operand, zero-extended */
static inline uint64_t emu_get(const void *lanes, int lane, int bytes) {
  uint64_t v = 0;
  __builtin_memcpy(&v, (const uint8_t *)lanes + lane * bytes, (size_t)bytes);
  return v;
}
static inline void emu_put(void *lanes, int lane, int bytes, uint64_t v) {
  __builtin_memcpy((uint8_t *)lanes + lane * bytes, &v, (size_t)bytes);
}
static inline int emu_thread(const emu_warp *w, int lane) {
  return w->index * EMU_LANES_N + lane;
}
/* emu_cluster_home -- the block that an address in shared memory, cluster-wide, belongs to, and
 * where there; NULL: no such block, or it has ended */
static inline emu_block *emu_cluster_home(const emu_block *b, uint64_t address, uint64_t *offset) {
  uint64_t rank = address >> EMU_RANK_SHIFT;
  *offset = address & ((1 << EMU_RANK_SHIFT) - 1);
  if (rank > (uint64_t)b->launch->n_mates) {
    return NULL;
  }
  return rank ? b->mates[rank - 1] : b->mates[b->rank];
}

#endif
