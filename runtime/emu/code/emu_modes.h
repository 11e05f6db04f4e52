/* emu_modes.h -- values of emu_more.mode, written by the decoders and read by the executors. */
#ifndef EMU_MODES_H
#define EMU_MODES_H

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
  ATOM_cas
};
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
       WGMMA_trans_b = 16
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
enum { BOOL_none, BOOL_and, BOOL_or, BOOL_xor };
enum { BULK_LOAD, BULK_STORE, BULK_BETWEEN }; /* global to shared, back, shared to shared */

#endif
