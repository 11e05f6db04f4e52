/* emu_atomic.c -- see emu_atomic.h. */
#include "emu_atomic.h"

#include "emu_isa.h"
#include "emu_modes.h"
#include "emu_state.h"

static uint64_t add_halves(uint64_t a, uint64_t b, bool brain) {
  uint32_t r = 0;
  for (int i = 0; i < 2; i++) {
    uint16_t x = (uint16_t)(a >> (16 * i)), y = (uint16_t)(b >> (16 * i));
    r |= (uint32_t)(brain ? emu_bf16_nearest(emu_bf16_value(x) + emu_bf16_value(y))
                          : emu_f16_nearest(emu_f16_value(x) + emu_f16_value(y)))
         << (16 * i);
  }
  return r;
}

static uint64_t add_of(emu_type t, uint64_t a, uint64_t b) {
  switch (t) {
  case T_f32: {
    float r = emu_f32((uint32_t)a) + emu_f32((uint32_t)b);
    return r == r ? emu_f32_bits(r) : 0x7fffffff;
  }
  case T_f64: return emu_f64_bits(emu_f64(a) + emu_f64(b));
  case T_f16: return emu_f16_nearest(emu_f16_value((uint16_t)a) + emu_f16_value((uint16_t)b));
  case T_bf16: return emu_bf16_nearest(emu_bf16_value((uint16_t)a) + emu_bf16_value((uint16_t)b));
  case T_f16x2: return add_halves(a, b, false);
  case T_bf16x2: return add_halves(a, b, true);
  default: return a + b;
  }
}

static uint64_t pick_of(emu_type t, uint64_t a, uint64_t b, bool smaller) {
  if (t == T_f16x2 || t == T_bf16x2 || t == T_f16 || t == T_bf16) {
    uint64_t d[64] = {0}, x[64] = {0}, y[64] = {0};
    emu_put(x, 0, 4, a);
    emu_put(y, 0, 4, b);
    emu_lanes()[smaller ? OP_min : OP_max][t](d, x, y, NULL, NULL);
    return emu_get(d, 0, emu_type_bytes(t));
  }
  bool less = t == T_s32 ? (int32_t)a < (int32_t)b : t == T_s64 ? (int64_t)a < (int64_t)b : a < b;
  return less == smaller ? a : b;
}

static uint64_t updated(emu_type t, int op, uint64_t old, uint64_t b, uint64_t c) {
  switch (op) {
  case ATOM_add: return add_of(t, old, b);
  case ATOM_inc: return old >= b ? 0 : old + 1;
  case ATOM_dec: return old == 0 || old > b ? b : old - 1;
  case ATOM_min: return pick_of(t, old, b, true);
  case ATOM_max: return pick_of(t, old, b, false);
  case ATOM_and: return old & b;
  case ATOM_or: return old | b;
  case ATOM_xor: return old ^ b;
  case ATOM_exch: return b;
  default: return old == b ? c : old;
  }
}

#define SWAP(T)                                                                                    \
  do {                                                                                             \
    T *at = (T *)(void *)p, old = __atomic_load_n(at, __ATOMIC_SEQ_CST);                           \
    while (!__atomic_compare_exchange_n(at, &old, (T)updated(t, op, old, b, c), false,             \
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {                     \
    }                                                                                              \
    return old;                                                                                    \
  } while (0)

uint64_t emu_atomic_update(emu_type t, int op, uint8_t *p, uint64_t b, uint64_t c) {
  switch (emu_type_bytes(t)) {
  case 2: SWAP(uint16_t);
  case 4: SWAP(uint32_t);
  default: SWAP(uint64_t);
  }
}
