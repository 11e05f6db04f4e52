/* emu_map.c -- see emu_map.h. */
#include "emu_map.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *key, size_t n) {
  uint32_t h = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < n; i++) {
    h = (h ^ (unsigned char)key[i]) * 16777619u;
  }
  return h ^ h >> 15;
}

static emu_map_entry *slot(const emu_map *m, const char *key, size_t n) {
  uint32_t i = hash(key, n) & (m->capacity - 1);
  while (m->entries[i].key && (m->entries[i].n != n || memcmp(m->entries[i].key, key, n) != 0)) {
    i = (i + 1) & (m->capacity - 1);
  }
  return &m->entries[i];
}

static bool grow(emu_map *m) {
  emu_map bigger = {NULL, m->n, m->capacity ? 2 * m->capacity : 16};
  bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
  if (!bigger.entries) {
    return false;
  }
  for (uint32_t i = 0; i < m->capacity; i++) {
    if (m->entries[i].key) {
      *slot(&bigger, m->entries[i].key, m->entries[i].n) = m->entries[i];
    }
  }
  free(m->entries);
  *m = bigger;
  return true;
}

void emu_map_clear(emu_map *m) {
  free(m->entries);
  *m = (emu_map){0};
}

bool emu_map_put(emu_map *m, const char *key, size_t n, int32_t value) {
  if (2 * (m->n + 1) > m->capacity && !grow(m)) {
    return false;
  }
  emu_map_entry *entry = slot(m, key, n);
  m->n += entry->key == NULL;
  *entry = (emu_map_entry){key, (uint32_t)n, value};
  return true;
}

int32_t emu_map_get(const emu_map *m, const char *key, size_t n) {
  if (!m->capacity) {
    return -1;
  }
  const emu_map_entry *entry = slot(m, key, n);
  return entry->key ? entry->value : -1;
}
