/* emu_modes.h -- values of emu_more.mode, written by the decoders and read by the executors. */
#ifndef EMU_MODES_H
#define EMU_MODES_H

#include "emu_type.h"

enum { SHFL_up, SHFL_down, SHFL_bfly, SHFL_idx };
enum { VOTE_all, VOTE_any, VOTE_uni, VOTE_ballot };
enum {
  ATOM_add,
  ATOM_inc,
  ATOM_dec,
  ATOM_min,
  ATOM_max,
  ATOM_and,
  ATOM_or,
  ATOM_xor,
  ATOM_exch,
  ATOM_cas,
  ATOM_REDUCTIONS = ATOM_exch
};
extern const char *const emu_atom_names[]; /* by ATOM_..., NULL-terminated */
/* emu_atom_fits -- is there such an atomic of this type? */
bool emu_atom_fits(int op, emu_type t);
enum { BAR_sync, BAR_arrive, BAR_popc, BAR_and, BAR_or };
enum { PLOGIC_not, PLOGIC_and, PLOGIC_or, PLOGIC_xor };
enum {
  MBARRIER_init,
  MBARRIER_inval,
  MBARRIER_arrive,
  MBARRIER_drop,
  MBARRIER_expect,
  MBARRIER_complete
};
enum {                      /* flags of wgmma */
       WGMMA_registers = 1, /* a is in registers */
       WGMMA_minus_a = 2,
       WGMMA_minus_b = 4,
       WGMMA_trans_a = 8,
       WGMMA_trans_b = 16,
       WGMMA_sparse = 32 /* imm: elements of a that four slots stand for; selector << 8 */
};
enum {
  VIDEO_add,
  VIDEO_sub,
  VIDEO_avrg,
  VIDEO_absdiff,
  VIDEO_min,
  VIDEO_max,
  VIDEO_shl,
  VIDEO_shr,
  VIDEO_mad,
  VIDEO_set
};
enum { /* flags of video instructions */
       VIDEO_signed_d = 1,
       VIDEO_signed_a = 2,
       VIDEO_signed_b = 4,
       VIDEO_sat = 8,
       VIDEO_wrap = 16, /* of the number of bits to shift by */
       VIDEO_plus_one = 32,
       VIDEO_minus_product = 64,
       VIDEO_minus_c = 128
};
enum { SECOND_none, SECOND_add, SECOND_min, SECOND_max };
enum { CMP_eq, CMP_ne, CMP_lt, CMP_le, CMP_gt, CMP_ge };
enum { /* fields of tensor maps, and copies of whole ones */
       MAP_address,
       MAP_rank,
       MAP_box,
       MAP_dim,
       MAP_stride,
       MAP_element_stride,
       MAP_type,
       MAP_interleave,
       MAP_swizzle,
       MAP_swizzle_atomicity,
       MAP_fill,
       MAP_copy
};
enum { BOOL_none, BOOL_and, BOOL_or, BOOL_xor };
/* global to shared, back, shared to shared, registers to shared */
enum { BULK_LOAD, BULK_STORE, BULK_BETWEEN, BULK_WORD };
enum { GEOMETRY_1d, GEOMETRY_2d, GEOMETRY_3d, GEOMETRY_a1d, GEOMETRY_a2d }; /* a: layers */
enum { BOUNDARY_trap, BOUNDARY_clamp, BOUNDARY_zero };
enum {
  QUERY_width,
  QUERY_height,
  QUERY_depth,
  QUERY_array_size,
  QUERY_type,
  QUERY_order,
  QUERY_normalized,
  QUERY_one /* levels, samples */
};

#endif
