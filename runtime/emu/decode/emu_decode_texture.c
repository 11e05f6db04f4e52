/* emu_decode_texture.c -- decoders of textures and surfaces. src: PTX ISA 9.0, 9.7.9 and 9.7.10. */
#include "emu_decoders.h"
#include "emu_modes.h"

/* Slots of the operands: values, then coordinates. */
enum { VALUES = 4, COORDINATES = 4 };

static int take_geometry(emu_parser *p, int *geometry) {
  static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", NULL};
  static const char *const other[] = {"cube", "acube", "2dms", "a2dms", NULL};
  const int refused = emu_mod_choice(p, other);
  if (refused >= 0) {
    return emu_unsupported(p, refused < 2 ? "cubemaps are not emulated"
                                          : "multisampled textures are not emulated");
  }
  *geometry = emu_mod_choice(p, names);
  return *geometry < 0 ? emu_unsupported(p, "") : 0;
}

/* Operand i is [object, {coordinates}]; its 64-bit register becomes slot 1. */
static int take_object(emu_parser *p, int i, int geometry, emu_type t) {
  static const int needed[] = {1, 2, 3, 2, 3};
  const emu_operand *o = &p->statement.operands[i];
  emu_operand object = {.kind = OPERAND_REG, .reg = o->reg, .second = EMU_NONE, .symbol = -1};
  if (o->kind == OPERAND_ADDRESS && o->symbol >= 0) {
    return emu_unsupported(p, "texture and surface references are not emulated; pass the kernel an "
                              "object (cudaTextureObject_t)");
  }
  if (o->kind != OPERAND_ADDRESS || o->reg == EMU_NONE || p->reg_bytes[o->reg] != 8 || o->value ||
      (geometry >= 0 && o->count < needed[geometry])) {
    return emu_unsupported(p, "");
  }
  TRY(emu_use_operand(p, 1, &object, 8, T_b64));
  for (int k = 0; geometry >= 0 && k < needed[geometry]; k++) {
    const bool layer = k == 0 && geometry >= GEOMETRY_a1d;
    TRY(emu_use_operand(p, 5 + VALUES + k, emu_list(p, o, k), 4, layer ? T_u32 : t));
  }
  return 0;
}

static int begin(emu_parser *p, emu_kind kind, emu_type t, int geometry, emu_insn **in) {
  TRY(emu_begin_more(p, kind, EMU_PIPE_tex, VALUES + COORDINATES, in));
  (*in)->type = (uint8_t)t;
  (*in)->more->space = SPACE_global;
  (*in)->more->mode[1] = geometry;
  p->m->has_textures = true;
  return 0;
}

/* tex{.base,.level,.grad}.GEOMETRY.v4.TYPE.COORDINATES {d0,..}, [object, {c0,..}] and, without an
 * effect on textures of one level, a level or gradients; tld4.COMPONENT, of p->arg */
static int decode_tex(emu_parser *p) {
  static const char *const components[] = {"r", "g", "b", "a", NULL};
  const bool leveled = emu_mod(p, "level"), grad = emu_mod(p, "grad");
  const int component = p->arg ? emu_mod_choice(p, components) : -1;
  const int n = 2 + leveled + 2 * grad;
  int geometry;
  emu_mod(p, "base");
  TRY(take_geometry(p, &geometry));
  const bool four = emu_mod(p, "v4");
  const emu_type t = emu_mod_type(p), coordinates = emu_mod_type(p);
  const emu_operand *to = &p->statement.operands[0];
  TRY(emu_arity(p, n, n));
  if (!four || (t != T_f32 && t != T_f16 && t != T_s32 && t != T_u32) ||
      (coordinates != T_f32 && (coordinates != T_s32 || p->arg)) || to->kind != OPERAND_LIST ||
      to->count != VALUES || (p->arg && (component < 0 || geometry != GEOMETRY_2d))) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(begin(p, KIND_tex, t, geometry, &in));
  in->more->mode[2] = coordinates == T_f32;
  in->more->mode[3] = component + 1;
  TRY(take_object(p, 1, geometry, coordinates));
  for (int i = 0; i < VALUES; i++) {
    if (emu_list(p, to, i)->kind != OPERAND_SINK) {
      TRY(emu_def_operand(p, 5 + i, emu_list(p, to, i), emu_type_bytes(t)));
    }
    in->more->bytes[i] = (uint8_t)emu_type_bytes(t);
  }
  return 0;
}

static int decode_query(emu_parser *p) {
  static const char *const names[] = {"width",
                                      "height",
                                      "depth",
                                      "array_size",
                                      "channel_data_type",
                                      "channel_order",
                                      "normalized_coords",
                                      "num_mipmap_levels",
                                      "num_samples",
                                      NULL};
  const bool leveled = emu_mod(p, "level");
  const int query = emu_mod_choice(p, names);
  emu_mod(p, "b32");
  TRY(emu_arity(p, 2 + leveled, 2 + leveled));
  if (query < 0) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(begin(p, KIND_txq, T_u32, -1, &in));
  in->more->mode[0] = p->arg;
  in->more->mode[1] = query < QUERY_one ? query : QUERY_one;
  TRY(take_object(p, 1, -1, T_u32));
  return emu_def(p, 0, 0, 4);
}

/* ---- surfaces ---- */

static int take_boundary(emu_parser *p) {
  static const char *const names[] = {"trap", "clamp", "zero", NULL};
  const int i = emu_mod_choice(p, names);
  return i < 0 ? BOUNDARY_trap : i;
}

static int take_values(emu_parser *p, emu_insn *in, const emu_operand *list, bool result) {
  for (int i = 0; i < in->more->mode[2]; i++) {
    const emu_operand *o = emu_operand_at(p, list, i);
    const int size = in->more->mode[0], width = size < 2 ? 2 : size;
    if (result && o->kind == OPERAND_SINK) {
      continue;
    }
    in->more->bytes[i] = (uint8_t)width;
    TRY(result ? emu_def_operand(p, 5 + i, o, width)
               : emu_use_operand(p, 5 + i, o, width, (emu_type)in->type));
  }
  return 0;
}

/* suld.b.GEOMETRY{.v2,.v4}.TYPE.BOUNDARY {d..}, [object, {c..}]; p->arg: sust, with operands in the
 * other order, .b or formatted .p */
static int decode_access(emu_parser *p) {
  static const char *const vectors[] = {"v2", "v4", NULL};
  static const char *const hints[] = {"ca", "cg", "cs", "cv", "wb", "wt", NULL};
  const bool formatted = emu_mod(p, "p"), plain = emu_mod(p, "b");
  int geometry;
  emu_mod_choice(p, hints);
  TRY(take_geometry(p, &geometry));
  const int n = 1 << (emu_mod_choice(p, vectors) + 1), boundary = take_boundary(p);
  const emu_type t = emu_mod_type(p);
  TRY(emu_arity(p, 2, 2));
  const emu_operand *values = &p->statement.operands[p->arg ? 1 : 0];
  if (formatted == plain || (formatted && (!p->arg || t != T_b32)) || emu_type_kind(t) != 'b' ||
      emu_type_bytes(t) * n > 16 || !emu_type_bytes(t) || emu_operand_count(values) != n) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(begin(p, p->arg ? KIND_sust : KIND_suld, t, geometry, &in));
  in->more->mode[0] = emu_type_bytes(t);
  in->more->mode[2] = n;
  in->more->mode[4] = boundary;
  in->more->mode[5] = formatted;
  TRY(take_object(p, p->arg ? 0 : 1, geometry, T_s32));
  return take_values(p, in, values, !p->arg);
}

/* sured.b.OP.GEOMETRY.TYPE.BOUNDARY [object, {c..}], value */
static int decode_sured(emu_parser *p) {
  static const char *const names[] = {"add", "min", "max", "and", "or", NULL};
  static const int ops[] = {ATOM_add, ATOM_min, ATOM_max, ATOM_and, ATOM_or};
  const bool formatted = emu_mod(p, "p"), plain = emu_mod(p, "b");
  const int op = emu_mod_choice(p, names);
  int geometry;
  TRY(take_geometry(p, &geometry));
  const int boundary = take_boundary(p);
  const emu_type t = emu_mod_type(p);
  const int nbytes = emu_type_bytes(t);
  TRY(emu_arity(p, 2, 2));
  if (op < 0 || formatted == plain || (nbytes != 4 && nbytes != 8) || emu_type_kind(t) == 'f' ||
      emu_type_kind(t) == 'v' || (formatted && t != T_b32)) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(begin(p, KIND_sured, t, geometry, &in));
  in->more->mode[0] = nbytes;
  in->more->mode[2] = 1;
  in->more->mode[3] = ops[op];
  in->more->mode[4] = boundary;
  in->more->mode[5] = formatted;
  TRY(take_object(p, 0, geometry, T_s32));
  return take_values(p, in, &p->statement.operands[1], false);
}

const emu_decode_row emu_decode_texture_rows[] =
    {
        {"tex", decode_tex},         {"tld4", decode_tex, 0, 1},
        {"txq", decode_query, 0, 1}, /* OBJECT_texture */
        {"suq", decode_query, 0, 2}, /* OBJECT_surface */
        {"suld", decode_access},     {"sust", decode_access, 0, 1},
        {"sured", decode_sured},     {NULL},
};
