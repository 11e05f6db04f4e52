/* emu_decode_bulk.c -- decoders of bulk copies and of clusters.
 * src: PTX ISA 9.0, 9.7.9.25.5 (cp.async.bulk, cp.async.bulk.tensor), 9.7.9.24 (mapa, getctarank),
 * 9.7.13.4 (barrier.cluster). */
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"

/* Puts an address into slot 1, 2 or 3 and keeps its offset and width separately. */
static int place_address(emu_parser *p, emu_insn *in, int slot, const emu_operand *o) {
  emu_statement *s = &p->statement;
  emu_operand kept = s->operands[0];
  s->operands[0] = *o;
  int rc = emu_address(p, slot, 0, in);
  s->operands[0] = kept;
  in = &p->f->code[p->f->n - 1];
  in->more->offsets[slot - 1] = in->imm;
  in->more->widths[slot - 1] = in->more->mode[5];
  return rc;
}

typedef struct form {
  int op;
  bool tensor, columns, multicast, policy; /* columns: im2col */
  int dimensions, reduction;               /* reduction: ATOM_... + 1; 0: a copy */
  emu_type type;                           /* of a reduction; of tensors their map gives it */
} form;

/* .shared::cluster.global, .shared::cluster.shared::cta or .global.shared::cta */
static bool take_direction(emu_parser *p, form *f) {
  bool cluster = emu_mod(p, "shared::cluster"), cta = emu_mod(p, "shared::cta");
  bool global = emu_mod(p, "global");
  if (global && cta && !cluster) { /* the order of the two gives the direction */
    const emu_statement *s = &p->statement;
    for (int i = 1; i < s->n_mods; i++) {
      if (s->mods[i].n == 6 && !memcmp(s->mods[i].p, "global", 6)) {
        f->op = BULK_STORE;
        return true;
      }
      if (s->mods[i].n == 11 && !memcmp(s->mods[i].p, "shared::cta", 11)) {
        f->op = BULK_LOAD;
        return true;
      }
    }
  }
  f->op = cta ? BULK_BETWEEN : BULK_LOAD;
  return cluster && (cta != global);
}

static bool take_reduction(emu_parser *p, form *f) {
  const int op = emu_mod_choice(p, emu_atom_names);
  f->reduction = op + 1;
  if (op < 0 || op >= ATOM_REDUCTIONS || f->op == BULK_LOAD || f->tensor) {
    return op >= 0 && op < ATOM_REDUCTIONS && f->op == BULK_STORE;
  }
  emu_mod(p, "noftz");
  f->type = emu_mod_type(p);
  return emu_atom_fits(op, f->type) && emu_type_kind(f->type) != 'v' &&
         ((op != ATOM_inc && op != ATOM_dec) || f->type == T_u32);
}

static bool take_form(emu_parser *p, form *f) {
  static const char *const dimensions[] = {"1d", "2d", "3d", "4d", "5d", NULL};
  f->tensor = emu_mod(p, "tensor");
  f->dimensions = f->tensor ? emu_mod_choice(p, dimensions) + 1 : 0;
  if ((f->tensor && !f->dimensions) || !take_direction(p, f)) {
    return false;
  }
  f->columns = !emu_mod(p, "tile") && emu_mod(p, f->op == BULK_STORE ? "im2col_no_offs" : "im2col");
  if (f->columns && f->dimensions < 3) {
    return false;
  }
  if (f->reduction && !take_reduction(p, f)) {
    return false;
  }
  f->multicast = emu_mod(p, "multicast::cluster");
  f->policy = emu_mod(p, "L2::cache_hint");
  return emu_mod(p, f->op == BULK_STORE ? "bulk_group" : "mbarrier::complete_tx::bytes");
}

/* one op for each coordinate of a tensor's tile */
static int place_coordinates(emu_parser *p, emu_insn *in, const emu_operand *address, int n) {
  if (address->kind != OPERAND_ADDRESS || address->count != n) {
    return emu_unsupported(p, "wrong number of coordinates");
  }
  for (int i = 0; i < n; i++) {
    in->more->bytes[i] = 4;
    TRY(emu_use_operand(p, 5 + i, emu_list(p, address, i), 4, T_s32));
  }
  return 0;
}

/* how far each pixel of a column is moved: one op for each dimension but the first and last */
static int place_filter(emu_parser *p, emu_insn *in, const form *f, const emu_operand *list) {
  const int n = f->dimensions - 2;
  if (emu_operand_count(list) != n) {
    return emu_unsupported(p, "wrong number of im2col offsets");
  }
  for (int i = 0; i < n; i++) {
    in->more->bytes[f->dimensions + 1 + i] = 2;
    TRY(emu_use_operand(p, 6 + f->dimensions + i, emu_operand_at(p, list, i), 2, T_u16));
  }
  return 0;
}

/* Slots: 1 destination, 2 source (of a tensor: the map's address), 3 mbarrier, 4 size. ops:
 * coordinates, then the mask of a multicast, then the offsets of columns. */
static int decode_copy(emu_parser *p, const form *f) {
  const emu_operand *o = p->statement.operands;
  int n = f->op == BULK_STORE ? 2 : 3;
  const bool filter = f->columns && f->op == BULK_LOAD;
  n += !f->tensor + f->multicast + f->policy + filter;
  TRY(emu_arity(p, n, n));
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_bulk, EMU_PIPE_lsu,
                     f->dimensions + 1 + (filter ? f->dimensions - 2 : 0), &in));
  int at = 2;
  const emu_operand *map = f->op == BULK_STORE ? &o[0] : &o[1];
  in->more->mode[0] = f->op;
  in->more->mode[1] = f->dimensions;
  in->more->mode[2] = f->multicast;
  in->more->mode[3] = f->reduction;
  in->more->mode[4] = f->columns;
  in->type = (uint8_t)f->type;
  in->more->space = SPACE_global;
  TRY(place_address(p, in, 1, &o[0]));
  TRY(place_address(p, in, 2, &o[1]));
  if (f->tensor) {
    TRY(place_coordinates(p, in, map, f->dimensions));
  } else {
    TRY(emu_use(p, 4, at++, 4, T_u32));
  }
  if (f->op != BULK_STORE) {
    TRY(place_address(p, in, 3, &o[at++]));
  }
  TRY(filter ? place_filter(p, in, f, &o[at++]) : 0);
  return f->multicast ? emu_use(p, 5 + f->dimensions, at, 2, T_u16) : 0;
}

static int decode_wait(emu_parser *p) {
  bool read = emu_mod(p, "read");
  TRY(emu_arity(p, 1, 1));
  emu_insn *in;
  TRY(emu_begin(p, KIND_bulkwait, EMU_PIPE_control, &in));
  (void)read; /* both forms wait until the copy is done */
  in->imm = (int64_t)p->statement.operands[0].value;
  return p->statement.operands[0].kind == OPERAND_INT ? 0 : emu_unsupported(p, "");
}

int emu_decode_bulk(emu_parser *p) {
  form f = {0};
  if (emu_mod(p, "commit_group")) {
    TRY(emu_arity(p, 0, 0));
    return emu_begin(p, KIND_bulkcommit, EMU_PIPE_control, NULL);
  }
  if (emu_mod(p, "wait_group")) {
    return decode_wait(p);
  }
  f.reduction = emu_mod(p, "reduce");
  if (!f.reduction && emu_mod(p, "prefetch")) { /* no effect on results */
    p->statement.used = ~0u;
    return emu_begin(p, KIND_nop, EMU_PIPE_control, NULL);
  }
  return take_form(p, &f) ? decode_copy(p, &f) : emu_unsupported(p, "");
}

/* Slots: 1 destination, 3 mbarrier; ops: the values. */
int emu_decode_word(emu_parser *p, int reduction) {
  static const char *const vectors[] = {"v2", "v4", NULL};
  const emu_operand *o = p->statement.operands;
  emu_mod(p, "weak");
  emu_mod(p, "relaxed");
  emu_mod(p, "cluster");
  emu_mod(p, "shared::cluster");
  const bool counts = emu_mod(p, "mbarrier::complete_tx::bytes");
  const int n = 1 << (emu_mod_choice(p, vectors) + 1);
  const emu_type t = emu_mod_type(p);
  const int b = emu_type_bytes(t);
  TRY(emu_arity(p, 3, 3));
  if (!counts || (b != 4 && b != 8) || emu_type_kind(t) == 'v' || emu_operand_count(&o[1]) != n ||
      (reduction >= 0 && (n > 1 || !emu_atom_fits(reduction, t)))) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_bulk, EMU_PIPE_lsu, n, &in));
  in->more->mode[0] = BULK_WORD;
  in->more->mode[3] = reduction + 1;
  in->type = (uint8_t)t;
  in->more->space = SPACE_cluster;
  TRY(place_address(p, in, 1, &o[0]));
  for (int i = 0; i < n; i++) {
    in->more->bytes[i] = (uint8_t)b;
    TRY(emu_use_operand(p, 5 + i, emu_operand_at(p, &o[1], i), b, t));
  }
  return place_address(p, in, 3, &o[2]);
}

/* ---- clusters ---- */

int emu_decode_cluster_bar(emu_parser *p) {
  static const char *const orders[] = {"release", "relaxed", "acquire", NULL};
  bool arrive = emu_mod(p, "arrive"), wait = !arrive && emu_mod(p, "wait");
  const int order = emu_mod_choice(p, orders);
  emu_mod(p, "aligned");
  TRY(emu_arity(p, 0, 0));
  if (!arrive && !wait) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin(p, arrive ? KIND_clusterarrive : KIND_clusterwait, EMU_PIPE_control, &in));
  in->imm = order == 1; /* relaxed: orders nothing */
  return 0;
}

static int decode_mapa(emu_parser *p) {
  bool shared = emu_mod(p, "shared::cluster");
  emu_type t = emu_mod_type(p);
  int bytes = emu_type_bytes(t);
  TRY(emu_arity(p, 3, 3));
  if ((t != T_u32 && t != T_u64) || (t == T_u32 && !shared)) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin(p, KIND_mapa, EMU_PIPE_alu, &in));
  in->dbytes = (uint8_t)bytes;
  TRY(emu_use(p, 1, 1, bytes, t));
  TRY(emu_use(p, 2, 2, 4, T_u32));
  return emu_def(p, 0, 0, bytes);
}

static int decode_ctarank(emu_parser *p) {
  emu_mod(p, "shared::cluster");
  emu_type t = emu_mod_type(p);
  TRY(emu_arity(p, 2, 2));
  if (t != T_u32 && t != T_u64) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_ctarank, EMU_PIPE_alu, 0, &in));
  in->more->mode[0] = emu_type_bytes(t);
  TRY(emu_use(p, 1, 1, emu_type_bytes(t), t));
  return emu_def(p, 0, 0, 4);
}

/* ---- tensor maps ---- */

/* tensormap.replace. Slots: 1 address, 2 value; mode: field, dimension. */
static int decode_replace(emu_parser *p) {
  static const char *const fields[] = {
      "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
      "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity",
      "fill_mode",      NULL};
  static const char *const spaces[] = {"global", "shared::cta", NULL};
  const emu_operand *o = p->statement.operands;
  const int field = emu_mod_choice(p, fields), space = emu_mod_choice(p, spaces);
  const bool by_dimension = field >= MAP_box && field <= MAP_element_stride;
  const int n = by_dimension ? 3 : 2;
  const emu_type t = emu_mod(p, "tile") && emu_mod(p, "b1024") ? emu_mod_type(p) : T_none;
  TRY(emu_arity(p, n, n));
  if (field < 0 || t != (field == MAP_address || field == MAP_stride ? T_b64 : T_b32) ||
      (by_dimension && (o[1].kind != OPERAND_INT || o[1].value > 4))) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_tensormap, EMU_PIPE_lsu, 0, &in));
  in->more->space = space < 0 ? SPACE_generic : space ? SPACE_shared : SPACE_global;
  in->more->mode[0] = field;
  in->more->mode[1] = by_dimension ? (int)o[1].value : 0;
  in->more->mode[2] = emu_type_bytes(t);
  TRY(place_address(p, in, 1, &o[0]));
  return emu_use(p, 2, n - 1, emu_type_bytes(t), t);
}

/* tensormap.cp_fenceproxy. Slots: 1 destination, 2 source. */
static int decode_map_copy(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  const bool known = emu_mod(p, "global") && emu_mod(p, "shared::cta") &&
                     emu_mod(p, "tensormap::generic") && emu_mod(p, "release") &&
                     emu_mod(p, "sync") && emu_mod(p, "aligned");
  static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
  TRY(emu_arity(p, 3, 3));
  if (!known || emu_mod_choice(p, scopes) < 0 || o[2].kind != OPERAND_INT || o[2].value != 128) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_tensormap, EMU_PIPE_lsu, 0, &in));
  in->more->space = SPACE_global;
  in->more->mode[0] = MAP_copy;
  TRY(place_address(p, in, 1, &o[0]));
  return place_address(p, in, 2, &o[1]);
}

static int decode_tensormap(emu_parser *p) {
  if (emu_mod(p, "replace")) {
    return decode_replace(p);
  }
  return emu_mod(p, "cp_fenceproxy") ? decode_map_copy(p) : emu_unsupported(p, "");
}

const emu_decode_row emu_decode_bulk_rows[] = {
    {"tensormap", decode_tensormap},
    {"mapa", decode_mapa},
    {"getctarank", decode_ctarank},
    {NULL},
};
