/* emu_publish.c -- see emu_publish.h. */
#define _GNU_SOURCE
#include "emu_publish.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "emu_finding.h"
#include "emu_modes.h"

/* of each 4 bytes of global memory: the last plain store, and the instruction */
typedef struct emu_origin {
  uint32_t block; /* a tag, see emu_check_global.c; 0: none */
  uint32_t warp : 5, clock : 27;
  uint32_t stores;
  uint32_t func : 12, pc : 20;
} emu_origin;

enum { GRANULE = 4 };

/* Room for all memory that is allocated now. What earlier launches left there has other tags. */
static bool reserve(emu_heap *h) {
  const uint64_t nbytes = (h->top / GRANULE + 1) * sizeof(emu_origin);
  if (h->origin_nbytes >= nbytes) {
    return true;
  }
  void *p = mmap(NULL, 2 * nbytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    return false;
  }
  if (h->origin) {
    munmap(h->origin, h->origin_nbytes);
  }
  h->origin = p;
  h->origin_nbytes = 2 * nbytes;
  return true;
}

void emu_publish_open(emu_launch *l) {
  l->publications = NULL;
  if (l->checks && l->tag_base && l->module->announces && l->n_blocks > 1 &&
      l->n_blocks <= EMU_PUBLISH_BLOCKS && reserve(l->heap)) {
    l->publications = calloc(l->n_blocks, sizeof *l->publications);
  }
}

void emu_publish_close(emu_launch *l) {
  free(l->publications);
  l->publications = NULL;
}

/* NULL: beyond the memory that was allocated when the launch began */
static emu_origin *origin_of(const emu_heap *h, uint64_t address) {
  const uint64_t i = (address - EMU_GLOBAL_BASE) / GRANULE;
  return (i + 1) * sizeof(emu_origin) <= h->origin_nbytes ? (emu_origin *)h->origin + i : NULL;
}

static uint32_t relative(const emu_block *b, uint32_t clock) {
  return clock - (b->first_clock - 1);
}

static emu_publication *own(const emu_warp *w) {
  return &w->launch->publications[w->block->linear];
}

EMU_GUEST static void note(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                           emu_origin by) {
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint64_t at = address[__builtin_ctz(left)];
    for (int i = 0; i < n; i += GRANULE) {
      emu_origin *o = origin_of(w->launch->heap, at + (uint64_t)i);
      if (o) {
        *o = by;
      }
    }
  }
}

static void note_store(emu_warp *w, uint32_t mask, const uint64_t address[32], int n) {
  const emu_block *b = w->block;
  note(w, mask, address, n,
       (emu_origin){w->launch->tag_base + (uint32_t)b->linear, (uint32_t)w->index & 31,
                    relative(b, b->clocks[w->index][w->index]) & 0x7ffffff, ++w->plain_stores,
                    (uint32_t)w->frame->func & 0xfff, (uint32_t)(w->pc - 1) & 0xfffff});
}

EMU_GUEST void emu_publish_fence(emu_warp *w) {
  const emu_block *b = w->block;
  for (int u = 0; w->launch->publications && u < b->n_warps; u++) {
    const uint32_t clock = relative(b, b->clocks[w->index][u]);
    uint32_t *to = &own(w)->fenced[u];
    *to = clock > *to ? clock : *to;
  }
}

EMU_GUEST static void release(emu_warp *w) {
  emu_publication *p = own(w);
  for (int u = 0; u < w->block->n_warps; u++) { /* memcpy is watched by the thread sanitizer */
    p->released[u] = p->fenced[u];
  }
}

void emu_publish_release(emu_warp *w) {
  emu_publish_fence(w);
  if (w->launch->publications) {
    release(w);
  }
}

EMU_GUEST static void announce(emu_warp *w) {
  const emu_block *b = w->block;
  emu_publication *p = own(w);
  for (int u = 0; u < b->n_warps; u++) {
    const uint32_t clock = u == w->index ? 0 : relative(b, b->clocks[w->index][u]);
    p->signalled[u] = clock > p->signalled[u] ? clock : p->signalled[u];
  }
  p->stores[w->index] = w->plain_stores;
}

EMU_GUEST static void remember(emu_publication *p, uint64_t address) {
  if (p->signals[(p->n_signals - 1) % EMU_SIGNALS] != address) {
    p->signals[p->n_signals++ % EMU_SIGNALS] = address;
  }
}

/* an atomic or strong access; looks: it returns what is there */
static void signal(emu_warp *w, uint32_t mask, const uint64_t address[32], bool announces,
                   bool looks) {
  emu_block *b = w->block;
  uint64_t last = 0;
  if (announces) {
    announce(w);
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint64_t at = address[__builtin_ctz(left)];
    if (announces && at != last) {
      remember(own(w), at);
    }
    if (looks && at != last) {
      b->looked[b->n_looked++ % EMU_LOOKS] = at;
    }
    last = at;
  }
}

/* ---- loads ---- */

EMU_GUEST static bool has_looked(const emu_block *b, const emu_publication *p) {
  for (uint32_t i = 0; i < EMU_SIGNALS && i < p->n_signals; i++) {
    for (uint32_t j = 0; j < EMU_LOOKS && j < b->n_looked; j++) {
      if (p->signals[i] == b->looked[j]) {
        return true;
      }
    }
  }
  return false;
}

EMU_GUEST static bool unfenced(const emu_block *b, const emu_publication *p, const emu_origin *o) {
  return o->clock > p->released[o->warp] &&
         (o->clock <= p->signalled[o->warp] || o->stores <= p->stores[o->warp]) && has_looked(b, p);
}

static int report(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int n,
                  const emu_origin *o) {
  const emu_launch *l = w->launch;
  const uint64_t b = o->block - l->tag_base;
  const emu_func *f = l->module->funcs[(int)o->func < l->module->n_funcs ? o->func : 0];
  char place[140];
  str text = {0};
  emu_place_text(w, &f->code[(int)o->pc < f->n ? o->pc : 0], place, sizeof place);
  emu_heap_describe(l->heap, address, &text);
  int rc = emu_finding(
      w, in, lane, EMU_UNFENCED,
      "reads %d bytes that block (%u,%u,%u) stored in %s and announced without a fence in between "
      "(__threadfence(), or a releasing atomic): %s",
      n, (uint32_t)(b % l->grid[0]), (uint32_t)(b / l->grid[0] % l->grid[1]),
      (uint32_t)(b / l->grid[0] / l->grid[1]), place, str_text(&text));
  str_clear(&text);
  return rc;
}

EMU_GUEST static int check_load(emu_warp *w, const emu_insn *in, uint32_t mask,
                                const uint64_t address[32], int n) {
  const emu_launch *l = w->launch;
  for (uint32_t left = mask; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    for (int i = 0; i < n; i += GRANULE) {
      const emu_origin *at = origin_of(l->heap, address[lane] + (uint64_t)i);
      const emu_origin o = at ? *at : (emu_origin){0}; /* other threads may write it */
      const uint64_t by = (uint64_t)o.block - l->tag_base;
      if (by < l->n_blocks && by != w->block->linear &&
          unfenced(w->block, &l->publications[by], &o)) {
        return report(w, in, lane, address[lane], n, &o);
      }
    }
  }
  return RUN_ON;
}

/* Does the atomic announce something? Compare-and-swap, minimum and maximum are used by algorithms
 * that tolerate old values. */
static bool announces(const emu_insn *in) {
  const int op = in->more->mode[3];
  return op != ATOM_cas && op != ATOM_min && op != ATOM_max && op != ATOM_xor;
}

int emu_publish_access(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                       int n, emu_access access) {
  const bool strong = in->flags & INSN_STRONG;
  if (!w->launch->publications) {
    return RUN_ON;
  }
  if (access == ACCESS_WRITE && !strong) {
    note_store(w, mask, address, n);
    return RUN_ON;
  }
  if (strong) {
    const bool tells = access == ACCESS_WRITE || (access == ACCESS_ATOMIC && announces(in));
    signal(w, mask, address, tells, access != ACCESS_WRITE);
  }
  if (access != ACCESS_READ) {
    release(w);
    note(w, mask, address, n, (emu_origin){0});
    return RUN_ON;
  }
  return w->block->n_looked ? check_load(w, in, mask, address, n) : RUN_ON;
}
