/* emu_map.h -- names to indices: an open hash table. Its keys are borrowed from the PTX text. */
#ifndef EMU_MAP_H
#define EMU_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emu_map_entry {
  const char *key; /* NULL: free */
  uint32_t n;
  int32_t value;
} emu_map_entry;

typedef struct emu_map {
  emu_map_entry *entries;
  uint32_t n, capacity; /* capacity is 0 or a power of two */
} emu_map;

void emu_map_clear(emu_map *m);
/* emu_map_put -- an existing key takes the new value; false: out of memory */
bool emu_map_put(emu_map *m, const char *key, size_t n, int32_t value);
/* emu_map_get -- -1: no such key */
int32_t emu_map_get(const emu_map *m, const char *key, size_t n);

#endif
