/* emu_check_global.c -- see emu_check_memory.h. The heap has a state for each byte (allocated,
 * written, constant, freed) and, for each two bytes, the block of this launch that wrote there
 * last. */
#define _GNU_SOURCE
#include "emu_check_memory.h"

#include <string.h>
#include <time.h>

#include "emu_finding.h"

static int bad_byte(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int n,
                    emu_access access, int i, uint8_t state) {
  str text = {0};
  rt_emu_check check = !(state & BYTE_ALLOCATED)
                           ? (state & BYTE_FREED ? EMU_FREED : EMU_GLOBAL_BOUNDS)
                       : state & BYTE_CONST && access != ACCESS_READ ? EMU_READ_ONLY
                                                                     : EMU_GLOBAL_UNINIT;
  emu_heap_describe(w->launch->heap, address + (uint64_t)i, &text);
  int rc = emu_finding(w, in, lane, check, "%s %d bytes%s: %s",
                       access == ACCESS_READ    ? "reads"
                       : access == ACCESS_WRITE ? "writes"
                                                : "atomically updates",
                       n,
                       check == EMU_GLOBAL_UNINIT ? " that were never written"
                       : check == EMU_READ_ONLY   ? " that are read-only for this launch"
                                                  : "",
                       str_text(&text));
  str_clear(&text);
  return rc;
}

/* bits of a byte's state that are tested, and their required value */
static void wanted(emu_access access, uint8_t *bits, uint8_t *value) {
  *bits = BYTE_ALLOCATED | BYTE_FREED | (access == ACCESS_WRITE ? 0 : BYTE_WRITTEN) |
          (access == ACCESS_READ ? 0 : BYTE_CONST);
  *value = BYTE_ALLOCATED | (access == ACCESS_WRITE ? 0 : BYTE_WRITTEN);
}

EMU_GUEST static inline bool state_ok(const uint8_t *state, int n, uint8_t bits, uint8_t value) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  uint64_t bad = 0;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t s;
    memcpy(&s, state + i, 8);
    bad |= (s & (ones * bits)) ^ (ones * value);
  }
  if (n - i == 4) {
    uint32_t s;
    memcpy(&s, state + i, 4);
    return !bad && !((s & (uint32_t)(ones * bits)) ^ (uint32_t)(ones * value));
  }
  for (; i < n; i++) {
    bad |= (uint64_t)((state[i] & bits) ^ value);
  }
  return !bad;
}

EMU_GUEST static void mark_set(uint8_t *state, int n) {
  for (int i = 0; i < n; i++) {
    state[i] = BYTE_ALLOCATED | BYTE_WRITTEN;
  }
}

/* n bytes that all lanes access together; false: a lane's access is bad */
EMU_GUEST static bool pass_run(uint8_t *state, int n, emu_access access, uint8_t bits,
                               uint8_t value) {
  const bool ok = state_ok(state, n, bits, value);
  if (ok && access != ACCESS_READ) {
    mark_set(state, n);
  }
  return ok;
}

EMU_GUEST int emu_check_global(emu_warp *w, const emu_insn *in, uint32_t mask,
                               const uint64_t address[32], int n, emu_access access) {
  emu_heap *h = w->launch->heap;
  uint8_t bits, value;
  wanted(access, &bits, &value);
  const bool passed =
      emu_consecutive(mask, address, n) &&
      pass_run(h->state + (address[0] - EMU_GLOBAL_BASE), EMU_LANES_N * n, access, bits, value);
  for (uint32_t left = passed ? 0 : mask; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    uint8_t *state = h->state + (address[lane] - EMU_GLOBAL_BASE);
    for (int i = 0; i < n && !state_ok(state, n, bits, value); i++) {
      if ((state[i] & bits) != value) {
        return bad_byte(w, in, lane, address[lane], n, access, i, state[i]);
      }
    }
    if (access != ACCESS_READ) {
      mark_set(state, n);
    }
  }
  for (uint32_t left = w->launch->touched ? mask : 0; left; left &= left - 1) {
    emu_touch(w->launch->touched, address[__builtin_ctz(left)], (uint64_t)n, access);
  }
  if (access == ACCESS_ATOMIC) {
    w->block->ordered = true;
  }
  return RUN_ON;
}

static int race(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int n,
                uint32_t other) {
  const emu_launch *l = w->launch;
  uint64_t b = other - l->tag_base;
  str text = {0};
  emu_heap_describe(l->heap, address, &text);
  int rc = emu_finding(
      w, in, lane, EMU_GLOBAL_RACE,
      "writes %d bytes to which block (%u,%u,%u) wrote another value in this launch: %s", n,
      (uint32_t)(b % l->grid[0]), (uint32_t)(b / l->grid[0] % l->grid[1]),
      (uint32_t)(b / l->grid[0] / l->grid[1]), str_text(&text));
  str_clear(&text);
  return rc;
}

/* A block marks what it writes just before it writes: another value there may be about to go. */
static bool stays_different(const uint8_t *at, const uint8_t *value) {
  const struct timespec pause = {.tv_nsec = 500000};
  for (int i = 0; i < 20 && memcmp(at, value, 2); i++) {
    nanosleep(&pause, NULL);
  }
  return memcmp(at, value, 2);
}

int emu_check_race(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                   int n, const uint8_t *values) {
  emu_heap *h = w->launch->heap;
  uint32_t base = w->launch->tag_base, mine = base + (uint32_t)w->block->linear;
  if (n == 1 || !base || w->block->ordered) {
    return RUN_ON;
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    uint64_t offset = address[lane] - EMU_GLOBAL_BASE;
    uint32_t *tag = h->tag + offset / 2;
    for (int i = 0; i < n; i += 2) {
      uint32_t other = tag[i / 2];
      if (other >= base && other != mine &&
          memcmp(h->data + offset + i, values + lane * n + i, 2) &&
          stays_different(h->data + offset + i, values + lane * n + i)) {
        return race(w, in, lane, address[lane], n, other);
      }
      tag[i / 2] = mine;
    }
  }
  return RUN_ON;
}
