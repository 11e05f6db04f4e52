/* emu_sreg.h -- the special registers of PTX. src: PTX ISA 9.0, chapter 10. */
#ifndef EMU_SREG_H
#define EMU_SREG_H

#include <stddef.h>

/* clang-format off */
typedef enum emu_sreg {
  SREG_tid_x, SREG_tid_y, SREG_tid_z, SREG_ntid_x, SREG_ntid_y, SREG_ntid_z,
  SREG_ctaid_x, SREG_ctaid_y, SREG_ctaid_z, SREG_nctaid_x, SREG_nctaid_y, SREG_nctaid_z,
  SREG_laneid, SREG_warpid, SREG_nwarpid, SREG_smid, SREG_nsmid, SREG_gridid,
  SREG_lanemask_eq, SREG_lanemask_le, SREG_lanemask_lt, SREG_lanemask_ge, SREG_lanemask_gt,
  SREG_clock, SREG_clock_hi, SREG_clock64, SREG_globaltimer, SREG_globaltimer_lo,
  SREG_globaltimer_hi, SREG_dynamic_smem_size, SREG_total_smem_size,
  SREG_cluster_ctaid_x, SREG_cluster_ctaid_y, SREG_cluster_ctaid_z,
  SREG_cluster_nctaid_x, SREG_cluster_nctaid_y, SREG_cluster_nctaid_z, SREG_cluster_ctarank,
  SREG_cluster_nctarank, SREG_clusterid_x, SREG_clusterid_y, SREG_clusterid_z,
  SREG_nclusterid_x, SREG_nclusterid_y, SREG_nclusterid_z, SREG_zero, SREG_one,
  SREG_envreg1, SREG_envreg2, /* high and low half of the address of the grid's workspace */
  SREG_reserved_begin, SREG_reserved_end, SREG_reserved_cap, SREG_reserved_0, SREG_reserved_1,
  SREG_aggr_smem_size, SREG_is_explicit_cluster, SREG_current_graph_exec, SREG_zero64
} emu_sreg;
/* clang-format on */

/* emu_sreg_parse -- -1: no special register of that name */
int emu_sreg_parse(const char *name, size_t n);
/* emu_sreg_bytes -- lane width of a special register; 0: a predicate */
int emu_sreg_bytes(int sreg);

#endif
