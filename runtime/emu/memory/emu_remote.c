/* emu_remote.c -- see emu_remote.h. */
#include "emu_remote.h"

#include <stdlib.h>
#include <string.h>

#include "emu_publish.h"
#include "err.h"

int emu_remote_start(emu_block *b) {
  const emu_launch *l = b->launch;
  emu_remote *r = b->remote;
  if (!l->checks || l->cluster_size == 1) {
    return 0;
  }
  if (!r) {
    r = b->remote = calloc(1, sizeof *r);
    emu_shadow *shadow = r ? calloc(l->smem_nbytes + 64, sizeof *shadow) : NULL;
    if (!shadow) {
      return ERR_NOMEM;
    }
    r->shadow = shadow;
    return 0;
  }
  emu_shadow *shadow = r->shadow;
  if (r->high > r->low) {
    memset(shadow + r->low, 0, (r->high - r->low) * sizeof *shadow);
  }
  memset(r, 0, sizeof *r);
  r->shadow = shadow;
  return 0;
}

void emu_remote_free(emu_block *b) {
  if (b->remote) {
    free(b->remote->shadow);
  }
  free(b->remote);
}

static emu_remote *common(const emu_block *b) {
  return b->cluster_blocks[0]->remote;
}

static void raise_row(uint32_t *to, const uint32_t *from, int n) {
  for (int u = 0; u < n; u++) {
    to[u] = from[u] > to[u] ? from[u] : to[u];
  }
}

/* raises what is published by what the warp knows; own: of its own block too */
static void publish(const emu_warp *w, emu_view to, bool own) {
  const emu_block *b = w->block;
  for (int rank = 0; rank < w->launch->cluster_size; rank++) {
    if (rank != b->rank) {
      raise_row(to[rank], b->remote->known[w->index][rank], b->n_warps);
    }
  }
  for (int u = 0; own && u < b->n_warps; u++) {
    const uint32_t clock = b->clocks[w->index][u] - (b->first_clock - 1);
    to[b->rank][u] = clock > to[b->rank][u] ? clock : to[b->rank][u];
  }
}

static void learn(emu_warp *w, const emu_view from) {
  emu_block *b = w->block;
  for (int rank = 0; rank < w->launch->cluster_size; rank++) {
    if (rank != b->rank) {
      raise_row(b->remote->known[w->index][rank], from[rank], b->n_warps);
    }
  }
  for (int u = 0; u < b->n_warps; u++) {
    const uint32_t clock = from[b->rank][u] + (b->first_clock - 1);
    if (u != w->index && clock > b->clocks[w->index][u]) {
      b->clocks[w->index][u] = clock;
    }
  }
}

void emu_remote_join(emu_block *b, const uint32_t arrived[EMU_WARPS]) {
  emu_remote *r = b->remote;
  for (int rank = 0; r && rank < b->launch->cluster_size; rank++) {
    uint32_t joined[EMU_WARPS] = {0};
    for (int i = 0; i < b->n_warps; i++) {
      if (arrived[i]) {
        raise_row(joined, r->known[i][rank], b->n_warps);
      }
    }
    for (int i = 0; i < b->n_warps; i++) {
      if (arrived[i]) {
        memcpy(r->known[i][rank], joined, sizeof *joined * (size_t)b->n_warps);
      }
    }
  }
}

void emu_remote_fence(emu_warp *w, bool wide) {
  if (w->block->remote) {
    publish(w, w->block->remote->inbox, false);
    if (wide) {
      publish(w, common(w->block)->released, true);
    }
    common(w->block)->news++;
  }
}

void emu_remote_acquire(emu_warp *w) {
  emu_remote *r = w->block->remote;
  if (r && r->seen[w->index] != common(w->block)->news) {
    r->seen[w->index] = common(w->block)->news;
    learn(w, r->inbox);
    learn(w, common(w->block)->released);
  }
}

void emu_remote_signal(emu_warp *w, emu_block *home) {
  if (w->block->remote) {
    publish(w, home->remote->inbox, home != w->block);
    emu_publish_release(w);
    common(w->block)->news++;
  }
}

void emu_remote_delivered(const emu_warp *w, uint32_t when, emu_block *home) {
  const uint32_t clock = when - (w->block->first_clock - 1);
  if (home->remote) {
    uint32_t *to = &home->remote->inbox[w->block->rank][w->index];
    *to = home != w->block && clock > *to ? clock : *to;
    common(home)->news++;
  }
}

void emu_remote_arrive(emu_warp *w, bool relaxed) {
  emu_block *b = w->block;
  if (b->remote) {
    common(b)->here[b->rank][w->index] = emu_remote_clock(w);
    if (!relaxed) {
      emu_publish_release(w);
      publish(w, common(b)->arriving, true);
    }
    b->clocks[w->index][w->index]++;
  }
}

void emu_remote_release(emu_block *first) {
  emu_remote *r = first->remote;
  if (r) {
    memcpy(r->complete, r->arriving, sizeof r->complete);
    memcpy(r->met, r->here, sizeof r->met);
  }
}

void emu_remote_wait(emu_warp *w) {
  if (w->block->remote) {
    learn(w, common(w->block)->complete);
    emu_remote_acquire(w);
    w->block->clocks[w->index][w->index]++;
  }
}
