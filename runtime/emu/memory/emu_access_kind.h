/* emu_access_kind.h -- what an access does to memory, and whether it is one run of bytes. */
#ifndef EMU_ACCESS_KIND_H
#define EMU_ACCESS_KIND_H

#include <stdbool.h>
#include <stdint.h>

typedef enum emu_access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } emu_access;

/* emu_consecutive -- do all 32 lanes access n bytes each, one after the other? */
static inline bool emu_consecutive(uint32_t mask, const uint64_t address[32], int n) {
  uint64_t differ = 0;
  for (uint64_t i = 0; i < 32; i++) {
    differ |= address[i] ^ (address[0] + i * (uint64_t)n);
  }
  return mask == ~0u && !differ;
}

#endif
