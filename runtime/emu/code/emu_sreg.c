/* emu_sreg.c -- names and widths of the special registers. */
#include "emu_sreg.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  emu_sreg sreg;
} sregs[] = {
    {"%tid.x", SREG_tid_x},
    {"%tid.y", SREG_tid_y},
    {"%tid.z", SREG_tid_z},
    {"%ntid.x", SREG_ntid_x},
    {"%ntid.y", SREG_ntid_y},
    {"%ntid.z", SREG_ntid_z},
    {"%ctaid.x", SREG_ctaid_x},
    {"%ctaid.y", SREG_ctaid_y},
    {"%ctaid.z", SREG_ctaid_z},
    {"%nctaid.x", SREG_nctaid_x},
    {"%nctaid.y", SREG_nctaid_y},
    {"%nctaid.z", SREG_nctaid_z},
    {"%laneid", SREG_laneid},
    {"%warpid", SREG_warpid},
    {"%nwarpid", SREG_nwarpid},
    {"%smid", SREG_smid},
    {"%nsmid", SREG_nsmid},
    {"%gridid", SREG_gridid},
    {"%lanemask_eq", SREG_lanemask_eq},
    {"%lanemask_le", SREG_lanemask_le},
    {"%lanemask_lt", SREG_lanemask_lt},
    {"%lanemask_ge", SREG_lanemask_ge},
    {"%lanemask_gt", SREG_lanemask_gt},
    {"%clock", SREG_clock},
    {"%clock_hi", SREG_clock_hi},
    {"%clock64", SREG_clock64},
    {"%globaltimer", SREG_globaltimer},
    {"%globaltimer_lo", SREG_globaltimer_lo},
    {"%globaltimer_hi", SREG_globaltimer_hi},
    {"%dynamic_smem_size", SREG_dynamic_smem_size},
    {"%total_smem_size", SREG_total_smem_size},
    {"%envreg1", SREG_envreg1},
    {"%envreg2", SREG_envreg2},
    {"%tid.w", SREG_zero},
    {"%ctaid.w", SREG_zero},
    {"%ntid.w", SREG_one},
    {"%nctaid.w", SREG_one},
    {"%cluster_ctaid.x", SREG_cluster_ctaid_x},
    {"%cluster_ctaid.y", SREG_cluster_ctaid_y},
    {"%cluster_ctaid.z", SREG_cluster_ctaid_z},
    {"%cluster_nctaid.x", SREG_cluster_nctaid_x},
    {"%cluster_nctaid.y", SREG_cluster_nctaid_y},
    {"%cluster_nctaid.z", SREG_cluster_nctaid_z},
    {"%cluster_ctarank", SREG_cluster_ctarank},
    {"%cluster_nctarank", SREG_cluster_nctarank},
    {"%clusterid.x", SREG_clusterid_x},
    {"%clusterid.y", SREG_clusterid_y},
    {"%clusterid.z", SREG_clusterid_z},
    {"%nclusterid.x", SREG_nclusterid_x},
    {"%nclusterid.y", SREG_nclusterid_y},
    {"%nclusterid.z", SREG_nclusterid_z},
    {"%reserved_smem_offset_begin", SREG_reserved_begin},
    {"%reserved_smem_offset_end", SREG_reserved_end},
    {"%reserved_smem_offset_cap", SREG_reserved_cap},
    {"%reserved_smem_offset_0", SREG_reserved_0},
    {"%reserved_smem_offset_1", SREG_reserved_1},
    {"%aggr_smem_size", SREG_aggr_smem_size},
    {"%is_explicit_cluster", SREG_is_explicit_cluster},
    {"%current_graph_exec", SREG_current_graph_exec},
};

/* %envreg0 to 31, which the driver sets, and the counters %pm0 to 7 and %pm0_64 to 7_64 read as 0 */
static int numbered(const char *name, size_t n) {
  char text[16] = "", end[8] = "";
  unsigned i;
  memcpy(text, name, n < sizeof text ? n : 0);
  if (sscanf(text, "%%envreg%2u%1s", &i, end) == 1) {
    return i < 32 ? SREG_zero : -1;
  }
  if (sscanf(text, "%%pm%1u%3s", &i, end) < 1 || i > 7) {
    return -1;
  }
  return !*end ? SREG_zero : !strcmp(end, "_64") ? SREG_zero64 : -1;
}

int emu_sreg_parse(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof sregs / sizeof *sregs; i++) {
    if (strlen(sregs[i].name) == n && !memcmp(sregs[i].name, name, n)) {
      return (int)sregs[i].sreg;
    }
  }
  return numbered(name, n);
}

int emu_sreg_bytes(int sreg) {
  switch (sreg) {
  case SREG_is_explicit_cluster: return 0;
  case SREG_clock64:
  case SREG_globaltimer:
  case SREG_gridid:
  case SREG_current_graph_exec:
  case SREG_zero64: return 8;
  default: return 4;
  }
}
