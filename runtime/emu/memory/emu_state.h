/* emu_state.h -- the state of a running launch: blocks, warps, fragments of warps.
 *
 * The lanes of a warp that are at the same instruction form a fragment. The fragment at the lowest
 * address runs first, so that diverged paths join again. A fragment runs until it has to wait: at a
 * barrier for other warps, at an instruction with a member mask for other lanes. Fragments, warps
 * and blocks run in time slices of some thousand instructions, so that one that spins does not
 * starve the one it waits for. */
#ifndef EMU_STATE_H
#define EMU_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "emu_access_kind.h"
#include "emu_check.h"
#include "emu_code.h"
#include "emu_heap.h"
#include "emu_texture.h"
#include "emu_streams.h"

enum { EMU_CLUSTER_MAX = 16 }; /* most blocks of a cluster */
enum { EMU_WAIT_STEPS = 64 };
enum { EMU_LOOKS = 64 };
enum { EMU_LANES_N = 32, EMU_WARPS = 32, EMU_BARRIERS = 16 };

typedef struct emu_frame {
  struct emu_frame *up;
  int func;
  const emu_insn *call; /* returns to the next instruction; NULL for the kernel */
  int ret_pc, depth;
  uint32_t lanes; /* lanes inside it */
  uint8_t *regs;
  uint64_t local; /* start of its local memory */
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
  int barrier;      /* FRAG_BAR: number of the barrier; FRAG_MBAR: index of the block's mbarriers */
  uint32_t members; /* FRAG_SYNC; FRAG_MBAR: the parity of the phase it waits for */
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
  uint64_t descriptor[2];  /* of a, unless it is in registers, and b in shared memory */
  const emu_insn *in;
  uint32_t group;
} emu_wgmma;

enum { EMU_WGMMA_RING = 64 };

/* the descriptors that the warps of a warp group give for their n-th wgmma */
typedef struct emu_agreement {
  uint64_t n, descriptor[2]; /* n counts from 1 */
} emu_agreement;

/* of a warp whose registers hold values that were never written (emu_poison.h) */
typedef struct emu_poison {
  uint32_t *lanes; /* by a quarter of a register's offset: lanes that hold such a value */
  size_t nbytes;
  int n; /* registers with such lanes */
  /* the load being executed: lanes that load bytes that were never written, and which */
  uint32_t loading, bytes[EMU_LANES_N];
  /* per lane, the last such load and its address */
  const emu_insn *by[EMU_LANES_N];
  uint64_t address[EMU_LANES_N];
} emu_poison;

typedef struct emu_warp {
  /* state of the running fragment */
  uint8_t *regs;
  const uint8_t *pool;
  const emu_insn *code;
  uint64_t *counts, *extra, *sectors, *repeats, *seen; /* counts per instruction: see emu_worker */
  uint64_t bit;                                        /* this warp's bit of `seen` */
  int pc, stop;                                        /* stop: pc of the next fragment to join */
  uint32_t mask;                                       /* its lanes */
  emu_frame *frame;
  struct emu_block *block;
  struct emu_launch *launch;
  int index, current;
  uint32_t plain_stores; /* to global memory, counted where they are checked (emu_publish.h) */
  uint32_t live, carry;
  const emu_lane_fn *select;       /* stores some lanes of a result, by type */
  emu_frag frags[EMU_LANES_N + 2]; /* one may be empty temporarily */
  int n_frags;
  uint64_t steps, slice_end;
  uint64_t waits;  /* barriers, polls of mbarriers and nanosleeps */
  uint64_t stored; /* first sector of the last store to global memory, number of sectors */
  int n_stored;
  bool rotate;
  int poll_pc;                  /* the last load that may wait for another block: its pc, ... */
  uint64_t polls;               /* ... how often it was repeated with the same address, ... */
  uint64_t polled[EMU_LANES_N]; /* ... its addresses */
  emu_frame kernel;             /* the outermost frame */
  size_t kernel_capacity, local_capacity;
  uint8_t *local; /* lanes * launch->local_nbytes */
  uint32_t tid[3][EMU_LANES_N];
  emu_async *async;
  int n_async;
  size_t cap_async;
  uint32_t group[EMU_LANES_N]; /* cp.async groups committed */
  emu_wgmma *wgmma;
  int n_wgmma;
  size_t cap_wgmma;
  uint32_t wgmma_group; /* wgmma groups committed */
  uint64_t wgmma_count; /* wgmmas issued */
  uint32_t *in_flight;  /* per register of the kernel: the group that writes it, plus one */
  size_t cap_in_flight;
  bool any_in_flight; /* does any register wait for a wgmma? */
  bool poisoned;      /* does any register hold a value that was never written? */
  emu_poison poison;
  /* barrier.cluster: arrived lanes, and in which phase */
  uint32_t cluster_arrived, cluster_phase[EMU_LANES_N];
  uint32_t bulk_group[EMU_LANES_N]; /* bulk groups committed */
  uint32_t bulk_reads;              /* lanes whose bulk copies may still read shared memory */
} emu_warp;

typedef struct emu_barrier {
  uint32_t arrived[EMU_WARPS];
  int pc[EMU_WARPS]; /* of an aligned barrier: where the warp's lanes arrived; -1: nowhere yet */
  bool any;
  int expected;      /* threads; 0: all that have not exited */
  int n_true, n_all; /* of a reduction */
} emu_barrier;

/* An mbarrier. Its state is kept here, not in the eight bytes that the program provides; those are
 * marked, so that an ordinary access to them is detected. The clocks that a warp knows when it
 * arrives pass to the warps that see the phase complete. */
typedef struct emu_mbarrier {
  uint32_t address; /* in shared memory */
  bool alive;
  uint32_t expected, pending, phase;
  int64_t tx;
  int maker; /* the thread that initialised it, and its clock */
  uint32_t made;
  uint32_t arriving[2][EMU_WARPS], complete[2][EMU_WARPS]; /* clocks; [1]: of the proxy */
} emu_mbarrier;

/* of a byte of shared memory: threads and clocks of the last accesses */
typedef struct emu_shadow {
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
  uint16_t *read_by; /* per 16 bytes of shared memory: asynchronous reads in flight */
  emu_warp *warps;
  int n_warps;
  emu_barrier barriers[EMU_BARRIERS];
  uint32_t clocks[EMU_WARPS][EMU_WARPS]; /* [w][u]: the clock of warp u that warp w knows */
  uint32_t released[EMU_WARPS];          /* clocks published by fences */
  /* [w][u]: the clock of u that w knows to precede a proxy fence */
  uint32_t proxied[EMU_WARPS][EMU_WARPS];
  emu_agreement agreed[EMU_WARPS / 4][EMU_WGMMA_RING];
  bool has_agreed; /* is any of them set? */
  emu_mbarrier *mbarriers;
  int n_mbarriers;
  size_t cap_mbarriers;
  struct emu_bulk *bulks; /* issued, not yet done */
  int n_bulks;
  size_t cap_bulks;
  struct emu_block *cluster_blocks[EMU_CLUSTER_MAX]; /* by rank; no cluster: itself */
  struct emu_remote *remote; /* the order of the cluster's accesses; NULL: no cluster, no checks */
  int rank;
  bool done;
  /* of the first block, for the whole cluster: */
  int idle; /* rounds in which nothing happened */
  uint32_t cluster_phase;
  uint32_t first_clock;                 /* smaller clocks belong to earlier blocks in this memory */
  bool counting;                        /* is its memory traffic counted? */
  bool moved;                           /* did anything happen in this round? */
  bool polled, published, polled_after; /* by strong accesses of global memory */
  uint64_t looked[EMU_LOOKS];           /* the latest addresses of strong loads and atomics */
  uint32_t n_looked;
  int fetch_pc;     /* of the last atomic by a single lane; -1: none */
  uint64_t fetched; /* its address */
  bool ordered;     /* took part in an ordering between blocks: atomics, fences */
} emu_block;

typedef struct emu_traffic { /* counts for the cost model */
  uint64_t global_requests, load_sectors, load_misses, store_sectors;
  uint64_t shared_requests, shared_wavefronts, atomics, atomic_conflicts, barriers;
  /* of constant memory and parameters: loads whose address is computed, addresses beyond the first
   * of a warp, lines that were not in the constant cache */
  uint64_t constant_requests, constant_replays, constant_misses;
  uint64_t texture_requests, texels;
} emu_traffic;

/* arrays in emu_worker.counts; the first EMU_SUMS hold sums */
enum { EMU_SUMS = 4, EMU_COUNTS = 5 };
enum { EMU_L1_SECTORS = 8192, EMU_ALLOCS = 64, EMU_ATOMIC_LINES = 512 };
enum { EMU_CONSTANT_LINES = 32, EMU_CONSTANT_LINE = 64 }; /* the first constant cache: 2 KiB */

/* the modelled L1 of a multiprocessor, and traffic by allocation and by line */
typedef struct emu_cache {
  uint64_t sector[EMU_L1_SECTORS];
  uint32_t mask; /* of the sectors in use: what shared memory leaves */
  uint64_t offset[EMU_ALLOCS], nbytes[EMU_ALLOCS], sectors[EMU_ALLOCS];   /* allocations accessed */
  uint64_t atomic_line[EMU_ATOMIC_LINES], atomic_turns[EMU_ATOMIC_LINES]; /* lines of 128 bytes */
  uint64_t constant[EMU_CONSTANT_LINES]; /* lines of the constant cache */
  int n, last;
} emu_cache;

typedef struct emu_worker {
  struct emu_launch *launch;
  pthread_t thread;
  emu_block *idle; /* finished blocks, whose memory is reused */
  /* Per function, EMU_COUNTS arrays of n + 1 entries by pc: executions by warps; clocks of the
   * load/store unit, in quarters; sectors moved by the L2 port; repetitions of loads that poll; a
   * bit for each warp of the block that came here. */
  uint64_t **counts;
  uint64_t counted; /* blocks whose memory traffic was counted */
  /* Blocks that poll before they publish, and after; the largest number of arrivals that a counter
   * of the kernel waits for; repeated fetches of work from a counter. */
  uint64_t chained, look_backs, arrivals, fetches;
  uint64_t waits;            /* for other blocks, by polling: each counts once */
  uint64_t steps;            /* instructions of all warps */
  uint64_t lengths, longest; /* of the longest warps of the blocks: sum and maximum */
  emu_traffic traffic;
  emu_cache cache;
  uint64_t lanes, blocks; /* executed: instructions of threads, blocks */
  int failed;             /* ERR_NOMEM, or 0 */
} emu_worker;

typedef struct emu_launch {
  emu_heap *heap;
  const emu_objects *objects; /* textures and surfaces */
  int cc, sms;                /* of the card: compute capability, multiprocessors */
  int64_t l1_sectors;         /* L1 sectors that a block has for itself */
  /* output of the kernel's printf; NULL: discarded */
  void (*print)(void *context, const char *text);
  void *print_context;
  const emu_module *module;
  const emu_func *func;
  uint32_t grid[3], block[3], cluster[3];
  int cluster_size;           /* blocks of a cluster */
  uint64_t n_blocks, sampled; /* number of blocks that run */
  int n_threads, n_warps;
  uint64_t smem_nbytes; /* static and dynamic */
  uint32_t dynamic_nbytes;
  uint64_t local_nbytes; /* per lane */
  const uint8_t *params;
  uint64_t params_nbytes;
  bool checks;
  uint64_t count_every; /* memory traffic is counted for one block of so many */
  int regs;             /* per thread */
  bool last;            /* every block arrives last at every counter (atom.inc) */
  uint64_t step_limit;
  uint32_t tag_base;
  struct emu_children *children;        /* what it launches */
  int depth;                            /* of the grids that launch it */
  int pending;                          /* launches of its own that may be pending */
  struct emu_publication *publications; /* by block; NULL: not checked (emu_publish.h) */
  int resident;                         /* unfinished blocks that one worker may hold */
  bool cooperative;
  emu_touched *touched; /* NULL: no stream runs beside another */
  atomic_uint_fast64_t next;
  atomic_bool stop;
  const volatile int *ask_stop; /* set by the caller to end the launch; may be NULL */
  pthread_mutex_t lock;
  rt_emu_finding *finding;
  uint64_t finding_block, note_block;
  bool found;
} emu_launch;

/* emu_over_limit -- has the warp exceeded its step limit? A wait costs the host about as much as
 * EMU_WAIT_STEPS instructions. */
static inline bool emu_over_limit(const emu_warp *w) {
  return w->steps + w->waits * EMU_WAIT_STEPS > w->launch->step_limit;
}

static inline bool emu_interrupted(const emu_launch *l) {
  return l->ask_stop && *l->ask_stop;
}

/* For functions that access emulated memory: races between blocks there are the kernel's, reported
 * by our checks, not data races of the host program. An aligned access of up to 8 bytes is a single
 * access of the host. */
#ifdef __SANITIZE_THREAD__
#define EMU_GUEST __attribute__((no_sanitize_thread))
#else
#define EMU_GUEST
#endif

/* why ordinary accesses to a byte of shared memory have to wait */
enum emu_pending { PENDING_COPY = 1, PENDING_MBARRIER, PENDING_BULK };

/* results of executing an instruction: continue, choose another fragment, end the launch */
enum { RUN_ON, RUN_PICK, RUN_FAULT };

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
/* emu_cluster_home -- the block of the cluster that an address in shared memory belongs to, and the
 * offset there; NULL: no such block */
static inline emu_block *emu_cluster_home(const emu_block *b, uint64_t address, uint64_t *offset) {
  uint64_t rank = address >> EMU_RANK_SHIFT;
  *offset = address & ((1 << EMU_RANK_SHIFT) - 1);
  if (rank > (uint64_t)b->launch->cluster_size) {
    return NULL;
  }
  return rank ? b->cluster_blocks[rank - 1] : b->cluster_blocks[b->rank];
}

#endif
