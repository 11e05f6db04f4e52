/* emu_type.h -- the types of PTX, as they appear in the suffixes of opcodes.
 *
 * src  PTX ISA 9.0, 5.2 (fundamental types) and 5.2.3 to 5.2.5 (packed and alternate types) */
#ifndef EMU_TYPE_H
#define EMU_TYPE_H

#include <stdbool.h>
#include <stdint.h>

/* name, bytes, kind: p predicate, b bits, u unsigned, s signed, f floating point, v packed */
#define EMU_TYPES(X)                                                                               \
  X(pred, 0, 'p')                                                                                  \
  X(b8, 1, 'b')                                                                                    \
  X(b16, 2, 'b')                                                                                   \
  X(b32, 4, 'b')                                                                                   \
  X(b64, 8, 'b')                                                                                   \
  X(b128, 16, 'b')                                                                                 \
  X(u8, 1, 'u')                                                                                    \
  X(u16, 2, 'u')                                                                                   \
  X(u32, 4, 'u')                                                                                   \
  X(u64, 8, 'u')                                                                                   \
  X(s8, 1, 's')                                                                                    \
  X(s16, 2, 's')                                                                                   \
  X(s32, 4, 's')                                                                                   \
  X(s64, 8, 's')                                                                                   \
  X(f16, 2, 'f')                                                                                   \
  X(bf16, 2, 'f')                                                                                  \
  X(f32, 4, 'f')                                                                                   \
  X(f64, 8, 'f')                                                                                   \
  X(tf32, 4, 'f')                                                                                  \
  X(f16x2, 4, 'v')                                                                                 \
  X(bf16x2, 4, 'v')                                                                                \
  X(u16x2, 4, 'v')                                                                                 \
  X(s16x2, 4, 'v')                                                                                 \
  X(e4m3x2, 2, 'v')                                                                                \
  X(e5m2x2, 2, 'v')                                                                                \
  X(e4m3, 1, 'f')                                                                                  \
  X(e5m2, 1, 'f')                                                                                  \
  X(s4, 0, 's')                                                                                    \
  X(u4, 0, 'u')                                                                                    \
  X(b1, 0, 'b')

typedef enum emu_type {
#define EMU_TYPE_ENUM(name, nbytes, kind) T_##name,
  EMU_TYPES(EMU_TYPE_ENUM)
#undef EMU_TYPE_ENUM
      T_COUNT,
  T_none = T_COUNT
} emu_type;

/* emu_type_bytes -- size of one element; 0 for predicates and types smaller than a byte */
int emu_type_bytes(emu_type t);
/* emu_type_kind -- the letter of the table above; 0 for T_none */
char emu_type_kind(emu_type t);
/* emu_type_parse -- T_none: no type has that name */
emu_type emu_type_parse(const char *name, int n);
/* emu_type_unsigned -- u32 for s32 and b32; other types unchanged */
emu_type emu_type_unsigned(emu_type t);

/* One operation on a warp. The 32 lanes of an operand are adjacent; a predicate is one 32-bit mask.
 * All 32 lanes are computed, whichever are active. d may be equal to a, b or c but must not overlap
 * them partly. */
typedef void (*emu_lane_fn)(void *d, const void *a, const void *b, const void *c, const void *e);

#endif
