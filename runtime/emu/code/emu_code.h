/* emu_code.h -- a PTX module in memory: variables, functions, decoded instructions.
 *
 * Registers are numbered while a function is parsed and laid out when its body ends. The 32 lanes
 * of a register are adjacent (64, 128, 256 or 512 bytes; a predicate is one 32-bit mask). An
 * operand is the byte offset of a register in the frame (>= 0), or ~offset in the function's pool
 * of constants. Constants are stored 32 times, once for each lane, so that executing an operation
 * does not depend on the kind of its operands. */
#ifndef EMU_CODE_H
#define EMU_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "emu_isa.h"
#include "emu_pipe.h"

/* Windows of generic addresses: the bits from 2^40 up select the window. */
#define EMU_WINDOW_SHIFT 40
#define EMU_SHARED_WINDOW (UINT64_C(1) << EMU_WINDOW_SHIFT)
#define EMU_LOCAL_WINDOW (UINT64_C(2) << EMU_WINDOW_SHIFT)
#define EMU_PARAM_WINDOW (UINT64_C(3) << EMU_WINDOW_SHIFT)
#define EMU_CODE_WINDOW (UINT64_C(4) << EMU_WINDOW_SHIFT)
#define EMU_GLOBAL_BASE (UINT64_C(0x10) << EMU_WINDOW_SHIFT)
/* In addresses of shared memory, the bits from EMU_RANK_SHIFT up are 0 for the block's own memory,
 * else 1 + the rank of a block of the cluster. */
#define EMU_RANK_SHIFT 24
#define EMU_NONE INT32_MIN
/* Shared memory that the system reserves: at offset 0 in modules that read %reserved_smem_offset_...,
 * else nowhere. Cooperative groups use %reserved_smem_offset_1. */
enum { EMU_RESERVED_SMEM = 1024, EMU_RESERVED_SMEM_1 = 512 };
enum { EMU_FILES = 4096, EMU_FUNCS_MAX = 4096 }; /* .file numbers and functions of a module */

/* clang-format off */
typedef enum emu_space {
  SPACE_generic, SPACE_global, SPACE_const, SPACE_shared, SPACE_local,
  SPACE_cluster, /* shared memory of any block of the cluster */
  SPACE_param, /* parameters of a kernel */
  SPACE_frame  /* parameters of calls: per thread, next to its local variables */
} emu_space;
/* clang-format on */

/* the kinds of instructions; exec_NAME executes kind NAME */
/* clang-format off */
#define EMU_KINDS(X)                                                                          \
  X(alu) X(wrapped) X(setp) X(set) X(plogic) X(pmov) X(carry) X(cvt) X(sreg) X(pack)          \
  X(unpack) X(frameaddr) X(cvta) X(isspacep) X(ld) X(st) X(atom) X(bra) X(brx) X(call) X(ret) \
  X(exit) X(bar) X(warpsync) X(shfl) X(vote) X(match) X(redux) X(activemask) X(elect)         \
  X(cpasync) X(cpcommit) X(cpwait) X(ldmatrix) X(stmatrix) X(movmatrix) X(mma) X(wmmaload)    \
  X(wmmastore) X(wmma) X(fence) X(nop) X(trap) X(mbarrier) X(mbarwait) X(mbarpending)         \
  X(proxyfence) X(wgmma) X(wgmmacommit) X(wgmmawait) X(mapa) X(ctarank) X(clusterarrive)      \
  X(clusterwait) X(bulk) X(bulkcommit) X(bulkwait) X(cparrive) X(video)          \
  X(alloca) X(stackrestore) X(tensormap) X(mmaquad) X(mmabits) X(mmasparse)         \
  X(tex) X(suld) X(sust) X(sured) X(txq)
/* clang-format on */

typedef enum emu_kind {
#define EMU_KIND_ENUM(name) KIND_##name,
  EMU_KINDS(EMU_KIND_ENUM)
#undef EMU_KIND_ENUM
      KIND_COUNT
} emu_kind;

enum {
  INSN_FTZ = 1,       /* flush subnormal f32 operands and results */
  INSN_SAT = 2,       /* clamp the result to [0, 1] */
  INSN_GUARD_NOT = 4, /* @!%p */
  INSN_STRONG = 8,    /* volatile, relaxed, acquire, release or atomic, hence no plain access */
  INSN_PAST_L1 = 16,  /* bypasses the L1: ld.cg, ld.cv */
  INSN_RELEASES = 32, /* publishes what is ordered before it: .release, .acq_rel */
  INSN_IN_BLOCK = 64, /* its scope is the block: .cta */
  INSN_HELPER = 128   /* computes an operand of the next instruction; only that one is counted */
};

/* fields that only some kinds need */
typedef struct emu_more {
  emu_space space;
  int mode[6];        /* the meaning depends on the kind: see the decoder of each */
  emu_type from;      /* cvt: source type */
  int64_t offsets[3]; /* offsets of several addresses, in slots 1, 2 and 3 */
  int widths[3];      /* bytes of their registers; 0: no address */
  int n;              /* number of ops */
  int32_t *ops;       /* operand lists: elements of vectors, arguments of a call */
  uint8_t *bytes;     /* lane width of each; 0: a predicate, or absent */
} emu_more;

typedef struct emu_insn {
  uint8_t kind, flags, dbytes, type; /* dbytes: lane width of the result; type: emu_type */
  int32_t guard;                     /* predicate, or EMU_NONE */
  int32_t o[5];                      /* result and operands */
  int32_t target;      /* pc of a branch, or index of the called function; -1: neither */
  int64_t imm;         /* offset that is added to an address */
  emu_lane_fn fn, sat; /* sat: applied to the result with INSN_SAT */
  emu_more *more;
  uint32_t line;        /* line of the PTX */
  uint16_t file;        /* source file and line, from .loc */
  uint8_t pipe, weight; /* the pipe it is issued to, and how many times */
  uint32_t source_line;
  int inlined; /* index in the module's inlined, plus one; 0: none */
} emu_insn;

typedef struct emu_var {
  const char *name;
  uint32_t name_n;
  emu_space space;
  uint32_t align, element;  /* element: bytes; 1 may stand for any type */
  uint64_t nbytes, address; /* address in its state space; of global and const: generic */
  bool external;            /* .extern .shared: dynamic shared memory */
  bool managed;             /* the host may use it as well */
  int owner;                /* the function that declares it, or -1 */
  const uint8_t *init;      /* NULL: zeros */
} emu_var;

typedef struct emu_place { /* what an address refers to */
  bool is_func;
  int index;
} emu_place;

typedef struct emu_reloc { /* an address in an initialiser */
  int var;
  uint64_t offset, addend;
  int size; /* bytes */
  emu_place of;
} emu_reloc;

typedef struct emu_fixup { /* an address in a pool of constants */
  int func;
  uint32_t offset;
  int bytes;
  uint64_t addend;
  emu_place of;
} emu_fixup;

typedef struct emu_param {
  uint64_t offset, nbytes;
} emu_param;

typedef struct emu_func {
  const char *name; /* NUL-terminated */
  bool entry, defined;
  bool grid_barrier;                /* calls grid.sync() */
  const char *refused, *refused_at; /* why its body cannot be run, and where; NULL: it can */
  int builtin; /* BUILTIN_... of a function that the PTX only declares; 0: none */
  emu_insn *code;
  int n;
  uint8_t *pool;
  size_t pool_nbytes, regs_nbytes, frame_nbytes; /* frame: bytes of local memory per thread */
  size_t depth_nbytes; /* local memory, callees included; SIZE_MAX: recursive */
  emu_param *params, *results;
  int n_params, n_results;
  uint64_t params_nbytes; /* of a kernel */
  uint64_t smem; /* static shared memory of a kernel, with that of the functions it calls */
  int max_threads, required[3], min_blocks, max_regs; /* launch bounds; 0: not given */
  int cluster[3];                                     /* blocks of a cluster; 0: no cluster */
  int regs;                         /* estimated from liveness, or ptxas's number */
  bool has_report;                  /* the PTX contains ptxas's report */
  double spill_stores, spill_loads; /* spill instructions of 4 bytes, from ptxas's report */
  /* registers of instruction i: refs[ref_start[i]] up to refs[ref_start[i + 1]], each the
   * register << 1 | is result */
  uint32_t *ref_start, *refs;
  int n_regs;
  int32_t *reg_at;     /* offset of each register in the frame */
  uint8_t *reg_words;  /* 32-bit registers that each takes; 0 for predicates */
  uint8_t *leads;      /* per instruction: does a basic block begin here? */
  int *calls, n_calls; /* functions it calls or whose address it takes */
  bool indirect;       /* calls through a register */
  uint8_t *uses;       /* per variable of the module: does the function name it? */
  int n_uses;
  int line;
} emu_func;

typedef struct emu_line {
  uint32_t file, line;
} emu_line;

/* A line of inlined code; the line of the kernel that the calls lead from; and the innermost line
 * between them that is in the kernel's file. */
typedef struct emu_inlined {
  emu_line inner, outer, user;
} emu_inlined;

typedef struct emu_module {
  arena memory;
  char *text;
  emu_var *vars;
  int n_vars;
  size_t cap_vars;
  emu_func **funcs;
  int n_funcs;
  size_t cap_funcs;
  emu_reloc *relocs;
  int n_relocs;
  size_t cap_relocs;
  emu_fixup *fixups;
  int n_fixups;
  size_t cap_fixups;
  const char **files; /* by .file number */
  emu_inlined *inlined;
  int n_inlined;
  size_t cap_inlined;
  int n_files;
  uint64_t smem_static, smem_dynamic_at; /* layout of shared memory, the same for all kernels */
  int target;                            /* 90 for sm_90 */
  bool target_alone;                     /* sm_90a */
  bool has_reserved_smem;  /* reads %reserved_smem_offset_..., as tiles over 32 threads do */
  bool has_textures;       /* reads textures or surfaces */
  bool announces;          /* has atomics or strong stores to global memory */
  bool has_grid_barrier;   /* reads %envreg1 and 2, as grid.sync() does */
  uint64_t grid_workspace; /* the driver's memory for grid.sync(); 0: none */
} emu_module;

/* clang-format off */
enum {
  BUILTIN_vprintf = 1, BUILTIN_assertfail, BUILTIN_malloc, BUILTIN_free,
  /* the device runtime (emu_exec_device.c) */
  BUILTIN_parameter_buffer, BUILTIN_launch_device, BUILTIN_last_error, BUILTIN_peek_error,
  BUILTIN_device, BUILTIN_device_count, BUILTIN_stream_create, BUILTIN_stream_destroy,
  BUILTIN_set_conditional
};
/* clang-format on */

#endif
