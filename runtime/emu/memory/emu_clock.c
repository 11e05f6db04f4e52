/* emu_clock.c -- see emu_clock.h. */
#include "emu_clock.h"

#include "emu_publish.h"
#include "emu_remote.h"

void emu_clock_tick(emu_warp *w) {
  w->block->clocks[w->index][w->index]++;
}

void emu_clock_join(emu_block *b, const uint32_t arrived[EMU_WARPS]) {
  uint32_t joined[EMU_WARPS] = {0};
  for (int i = 0; i < b->n_warps; i++) {
    for (int u = 0; arrived[i] && u < b->n_warps; u++) {
      joined[u] = b->clocks[i][u] > joined[u] ? b->clocks[i][u] : joined[u];
    }
  }
  for (int i = 0; i < b->n_warps; i++) {
    for (int u = 0; arrived[i] && u < b->n_warps; u++) {
      b->clocks[i][u] = joined[u] > b->clocks[i][u] ? joined[u] : b->clocks[i][u];
    }
    b->clocks[i][i] += arrived[i] != 0;
  }
  emu_clock_join_proxied(b, arrived);
  emu_remote_join(b, arrived);
}

void emu_clock_join_proxied(emu_block *b, const uint32_t arrived[EMU_WARPS]) {
  uint32_t proxied[EMU_WARPS] = {0};
  for (int i = 0; i < b->n_warps; i++) {
    for (int u = 0; arrived[i] && u < b->n_warps; u++) {
      proxied[u] = b->proxied[i][u] > proxied[u] ? b->proxied[i][u] : proxied[u];
    }
  }
  for (int i = 0; i < b->n_warps; i++) {
    for (int u = 0; arrived[i] && u < b->n_warps; u++) {
      b->proxied[i][u] = proxied[u] > b->proxied[i][u] ? proxied[u] : b->proxied[i][u];
    }
  }
}

/* Everything ordered before the fence is visible to the proxy after it, for this warp and all warps
 * that are ordered after the fence. */
void emu_clock_proxy(emu_warp *w) {
  emu_block *b = w->block;
  for (int u = 0; u < b->n_warps; u++) {
    uint32_t c = b->clocks[w->index][u];
    b->proxied[w->index][u] = c > b->proxied[w->index][u] ? c : b->proxied[w->index][u];
  }
  b->clocks[w->index][w->index]++;
}

void emu_clock_fence(emu_warp *w, bool wide) {
  emu_block *b = w->block;
  emu_remote_fence(w, wide);
  if (wide) {
    emu_publish_fence(w);
  }
  for (int u = 0; u < b->n_warps; u++) {
    uint32_t c = b->clocks[w->index][u];
    b->released[u] = c > b->released[u] ? c : b->released[u];
  }
  b->clocks[w->index][w->index]++;
}

void emu_clock_acquire(emu_warp *w) {
  emu_block *b = w->block;
  for (int u = 0; u < b->n_warps; u++) {
    if (u != w->index && b->released[u] > b->clocks[w->index][u]) {
      b->clocks[w->index][u] = b->released[u];
    }
  }
  emu_remote_acquire(w);
}
