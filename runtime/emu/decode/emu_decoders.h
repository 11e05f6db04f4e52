/* emu_decoders.h -- the tables of decoders by name of the instruction. */
#ifndef EMU_DECODERS_H
#define EMU_DECODERS_H

#include "emu_operands.h"

/* A decoder turns p->statement into instructions; p->op and p->arg are those of its row. */
typedef int (*emu_decoder)(emu_parser *p);

typedef struct emu_decode_row {
  const char *name;
  emu_decoder decode;
  int op, arg;
} emu_decode_row;

/* one table for each decode file; name is NULL in the last row */
extern const emu_decode_row emu_decode_alu_rows[], emu_decode_move_rows[], emu_decode_mem_rows[],
    emu_decode_flow_rows[], emu_decode_mma_rows[], emu_decode_async_rows[], emu_decode_bulk_rows[],
    emu_decode_video_rows[], emu_decode_texture_rows[];

/* emu_decode_cp_arrive -- cp.async.mbarrier.arrive, after "mbarrier" */
int emu_decode_cp_arrive(emu_parser *p);

/* emu_decode_bulk, emu_decode_cluster_bar -- cp.async.bulk and barrier.cluster, after these words
 */
int emu_decode_bulk(emu_parser *p);
int emu_decode_cluster_bar(emu_parser *p);
/* emu_decode_word -- st.async, or red.async with ATOM_..., after these words; reduction -1: st */
int emu_decode_word(emu_parser *p, int reduction);

#endif
