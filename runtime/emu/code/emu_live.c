/* emu_live.c -- estimates the registers of a thread: the largest number of 32-bit values live at
 * once.
 *
 * Liveness is computed by backward iteration over bit sets of basic blocks, then instruction by
 * instruction within each block. ptxas reorders instructions and shares addresses, so the result is
 * an estimate; ptxas's own number replaces it where it is known (emu_ptxas_report.c).
 * src: Aho, Lam, Sethi, Ullman, Compilers, 9.2.5. */
#include <stdlib.h>
#include <string.h>

#include "emu_module.h"

enum {
  SETS_MAX = 1 << 23,
  WORK_MAX = 1 << 28
}; /* words of bit sets; no estimate for larger functions */
enum {
  OVERHEAD = 4,
  LEAST = 10,
  MOST = 255
}; /* OVERHEAD: registers that ptxas uses in addition, for addresses */

typedef struct blocks {
  int *first; /* of block i; first[n] is the end */
  int *of;    /* block of an instruction */
  int n;
  size_t words; /* of a bit set */
  uint64_t *in, *use, *def;
  bool too_big;
} blocks;

static bool ends_block(const emu_insn *in) {
  return in->kind == KIND_bra || in->kind == KIND_brx || in->kind == KIND_ret ||
         in->kind == KIND_exit || in->kind == KIND_trap;
}

static void mark_leads(emu_func *f) {
  f->leads[0] = 1;
  for (int i = 0; i < f->n; i++) {
    const emu_insn *in = &f->code[i];
    if (ends_block(in) && i + 1 < f->n) {
      f->leads[i + 1] = 1;
    }
    if (in->kind == KIND_bra && in->target >= 0) {
      f->leads[in->target] = 1;
    }
    for (int t = 0; in->kind == KIND_brx && t < in->more->n; t++) {
      f->leads[in->more->ops[t]] = 1;
    }
  }
}

static bool find_blocks(const emu_func *f, blocks *b) {
  size_t n = (size_t)(unsigned)f->n + 1;
  b->first = calloc(n, sizeof *b->first);
  b->of = calloc(n, sizeof *b->of);
  for (int i = 0; b->first && b->of && i < f->n; i++) {
    if (f->leads[i]) {
      b->first[b->n++] = i;
    }
    b->of[i] = b->n - 1;
  }
  b->words = (size_t)f->n_regs / 64 + 1;
  if ((size_t)b->n * b->words > SETS_MAX) {
    b->too_big = true;
    return true;
  }
  size_t nbytes = (size_t)b->n * b->words * sizeof(uint64_t);
  b->in = calloc(1, nbytes + 8);
  b->use = calloc(1, nbytes + 8);
  b->def = calloc(1, nbytes + 8);
  if (!b->first || !b->of || !b->in || !b->use || !b->def) {
    return false;
  }
  b->first[b->n] = f->n;
  return true;
}

static inline bool has(const uint64_t *set, uint32_t r) {
  return set[r / 64] >> (r % 64) & 1;
}
static inline void put(uint64_t *set, uint32_t r) {
  set[r / 64] |= UINT64_C(1) << (r % 64);
}
static inline void take(uint64_t *set, uint32_t r) {
  set[r / 64] &= ~(UINT64_C(1) << (r % 64));
}

/* a guarded instruction may leave its result unchanged, so it does not end the old value's life */
static void summarise(const emu_func *f, const blocks *b, int i) {
  uint64_t *use = b->use + (size_t)i * b->words, *def = b->def + (size_t)i * b->words;
  for (int pc = b->first[i]; pc < b->first[i + 1]; pc++) {
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      if (!(f->refs[r] & 1) && !has(def, f->refs[r] >> 1)) {
        put(use, f->refs[r] >> 1);
      }
    }
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      if (f->refs[r] & 1 && f->code[pc].guard == EMU_NONE) {
        put(def, f->refs[r] >> 1);
      }
    }
  }
}

static void add_successor(const blocks *b, int block, uint64_t *live) {
  const uint64_t *in = b->in + (size_t)block * b->words;
  for (size_t w = 0; w < b->words; w++) {
    live[w] |= in[w];
  }
}

/* the registers live at the end of block i */
static void live_out(const emu_func *f, const blocks *b, int i, uint64_t *live) {
  const emu_insn *last = &f->code[b->first[i + 1] - 1];
  bool falls = !ends_block(last) || last->guard != EMU_NONE || (last->kind == KIND_brx);
  memset(live, 0, b->words * sizeof *live);
  if (falls && i + 1 < b->n) {
    add_successor(b, i + 1, live);
  }
  if (last->kind == KIND_bra && last->target >= 0) {
    add_successor(b, b->of[last->target], live);
  }
  for (int t = 0; last->kind == KIND_brx && t < last->more->n; t++) {
    add_successor(b, b->of[last->more->ops[t]], live);
  }
}

static bool update(const emu_func *f, const blocks *b, int i, uint64_t *live) {
  uint64_t *in = b->in + (size_t)i * b->words, changed = 0;
  const uint64_t *use = b->use + (size_t)i * b->words, *def = b->def + (size_t)i * b->words;
  live_out(f, b, i, live);
  for (size_t w = 0; w < b->words; w++) {
    uint64_t next = use[w] | (live[w] & ~def[w]);
    changed |= next ^ in[w];
    in[w] = next;
  }
  return changed != 0;
}

static int words_of(const emu_func *f, const uint64_t *live) {
  int n = 0;
  for (size_t w = 0; w < (size_t)f->n_regs / 64 + 1; w++) {
    for (uint64_t left = live[w]; left; left &= left - 1) {
      n += f->reg_words[w * 64 + (size_t)__builtin_ctzll(left)];
    }
  }
  return n;
}

/* the most words live at once in block i, going backwards */
static int most_live(const emu_func *f, const blocks *b, int i, uint64_t *live) {
  live_out(f, b, i, live);
  int now = words_of(f, live), most = now;
  for (int pc = b->first[i + 1] - 1; pc >= b->first[i]; pc--) {
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      uint32_t reg = f->refs[r] >> 1;
      if (f->refs[r] & 1 && f->code[pc].guard == EMU_NONE && has(live, reg)) {
        take(live, reg);
        now -= f->reg_words[reg];
      }
    }
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      uint32_t reg = f->refs[r] >> 1;
      if (!(f->refs[r] & 1) && !has(live, reg)) {
        put(live, reg);
        now += f->reg_words[reg];
      }
    }
    most = now > most ? now : most;
  }
  return most;
}

static int estimate(const emu_func *f, const blocks *b, uint64_t *live) {
  bool changed = true;
  size_t work = 0;
  int most = 0;
  for (int i = 0; i < b->n; i++) {
    summarise(f, b, i);
  }
  while (changed && work < WORK_MAX) {
    changed = false;
    for (int i = b->n - 1; i >= 0; i--) {
      changed |= update(f, b, i, live);
    }
    work += (size_t)b->n * b->words;
  }
  for (int i = 0; i < b->n; i++) {
    int here = most_live(f, b, i, live);
    most = here > most ? here : most;
  }
  return most;
}

bool emu_live(emu_func *f) {
  blocks b = {0};
  mark_leads(f);
  bool ok = f->n > 0 && find_blocks(f, &b);
  uint64_t *live = ok ? calloc(b.words, sizeof *live) : NULL;
  ok = ok && live;
  if (ok) {
    int regs = b.too_big ? MOST : estimate(f, &b, live) + OVERHEAD;
    f->regs = regs < LEAST ? LEAST : regs > MOST ? MOST : (regs + 1) / 2 * 2;
  }
  free(b.first);
  free(b.of);
  free(b.in);
  free(b.use);
  free(b.def);
  free(live);
  return ok;
}
