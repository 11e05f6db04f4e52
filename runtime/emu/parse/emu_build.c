/* emu_build.c -- see emu_build.h. */
#include "emu_build.h"

#include <stdlib.h>
#include <string.h>

enum { REGS_MAX = 1 << 18, LANES = 32 };

int emu_build_start(emu_parser *p, emu_func *f) {
  p->f = f;
  p->cap_code = 0;
  p->n_regs = p->n_refs = p->n_tables = 0;
  p->cap_pool = 0;
  emu_map_clear(&p->pool_map);
  p->stack_used = EMU_NONE;
  f->defined = true;
  f->n_uses = p->m->n_vars;
  f->uses = arena_new(&p->m->memory, (size_t)p->m->n_vars + 1);
  return f->uses ? 0 : err_nomem(p->e);
}

int emu_build_reg(emu_parser *p, int bytes, int n, int32_t *first) {
  if (n < 0 || n > REGS_MAX - p->n_regs) {
    return emu_fail(p, "more than %d registers in one function", REGS_MAX);
  }
  if (!array_reserve(&p->reg_bytes, (size_t)(p->n_regs + n), &p->cap_regs, 1)) {
    return err_nomem(p->e);
  }
  memset(p->reg_bytes + p->n_regs, bytes == 1 ? 2 : bytes, (size_t)n);
  *first = p->n_regs;
  p->n_regs += n;
  return 0;
}

int emu_build_insn(emu_parser *p, emu_kind kind, emu_insn **in) {
  emu_func *f = p->f;
  if (!array_reserve(&f->code, f->n + 1, &p->cap_code, sizeof *f->code)) {
    return err_nomem(p->e);
  }
  *in = &f->code[f->n++];
  **in = (emu_insn){.kind = (uint8_t)kind,
                    .guard = EMU_NONE,
                    .target = -1,
                    .o = {EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE},
                    .line = (uint32_t)p->statement.line,
                    .file = p->file,
                    .source_line = p->source_line,
                    .inlined = p->inline_index,
                    .pipe = EMU_PIPE_none,
                    .weight = 1};
  return 0;
}

int emu_build_more(emu_parser *p, emu_insn *in, int n_ops) {
  emu_more *more = ARENA_ARRAY(&p->m->memory, emu_more, 1);
  if (more && n_ops) {
    more->ops = ARENA_ARRAY(&p->m->memory, int32_t, (size_t)n_ops);
    more->bytes = ARENA_ARRAY(&p->m->memory, uint8_t, (size_t)n_ops);
  }
  if (!more || (n_ops && (!more->ops || !more->bytes))) {
    return err_nomem(p->e);
  }
  for (int i = 0; i < n_ops; i++) {
    more->ops[i] = EMU_NONE;
  }
  more->n = n_ops;
  in->more = more;
  return 0;
}

static int32_t *slot_of(emu_insn *in, int slot) {
  return slot < 0 ? &in->guard : slot < 5 ? &in->o[slot] : &in->more->ops[slot - 5];
}

int emu_build_ref(emu_parser *p, int slot, int32_t reg, bool def) {
  uint32_t pc = (uint32_t)p->f->n - 1;
  if (!array_reserve(&p->refs, p->n_refs + 1, &p->cap_refs, sizeof *p->refs)) {
    return err_nomem(p->e);
  }
  p->refs[p->n_refs++] = (emu_ref){pc, (int16_t)slot, def};
  *slot_of(&p->f->code[pc], slot) = reg;
  return 0;
}

static int pool_room(emu_parser *p, size_t nbytes) {
  return array_reserve(&p->f->pool, p->f->pool_nbytes + nbytes, &p->cap_pool, 1) ? 0
                                                                                 : err_nomem(p->e);
}

static void spread(uint8_t *to, int bytes, uint64_t value) {
  if (bytes == 0) {
    uint32_t mask = value ? ~0u : 0;
    memcpy(to, &mask, sizeof mask);
    return;
  }
  uint64_t words[2] = {value, 0};
  for (int i = 0; i < LANES; i++) {
    memcpy(to + i * bytes, words, (size_t)bytes);
  }
}

static size_t lanes_nbytes(int bytes) {
  return bytes ? (size_t)bytes * LANES : 64;
}

int emu_build_call(emu_parser *p, int index) {
  emu_func *f = p->f;
  for (int i = 0; i < f->n_calls; i++) {
    if (f->calls[i] == index) {
      return 0;
    }
  }
  int *calls = ARENA_ARRAY(&p->m->memory, int, (size_t)f->n_calls + 1);
  if (!calls) {
    return err_nomem(p->e);
  }
  for (int i = 0; i < f->n_calls; i++) {
    calls[i] = f->calls[i];
  }
  calls[f->n_calls++] = index;
  f->calls = calls;
  return 0;
}

static int add_fixup(emu_parser *p, uint32_t offset, int symbol, int bytes, uint64_t addend) {
  emu_module *m = p->m;
  const emu_symbol *s = &p->symbols[symbol];
  emu_place of = {s->kind == SYMBOL_FUNC, s->index};
  if (s->kind != SYMBOL_FUNC && s->kind != SYMBOL_VAR) {
    return emu_fail(p, "only variables and functions have an address");
  }
  if (!array_reserve(&m->fixups, m->n_fixups + 1, &m->cap_fixups, sizeof *m->fixups)) {
    return err_nomem(p->e);
  }
  m->fixups[m->n_fixups++] = (emu_fixup){p->f_index, offset, bytes, addend, of};
  if (of.is_func) {
    return emu_build_call(p, of.index);
  }
  if (of.index < p->f->n_uses) {
    p->f->uses[of.index] = 1;
  }
  return 0;
}

int emu_build_constant(emu_parser *p, int bytes, uint64_t value, int symbol, int32_t *operand) {
  struct {
    uint64_t value;
    int32_t symbol, bytes;
  } key = {value, symbol, bytes};
  int32_t at = emu_map_get(&p->pool_map, (const char *)&key, sizeof key);
  if (at < 0) {
    char *kept = arena_text_n(&p->m->memory, (const char *)&key, sizeof key);
    TRY(pool_room(p, lanes_nbytes(bytes)));
    at = (int32_t)p->f->pool_nbytes;
    spread(p->f->pool + at, bytes, value);
    p->f->pool_nbytes += lanes_nbytes(bytes);
    if (!kept || !emu_map_put(&p->pool_map, kept, sizeof key, at)) {
      return err_nomem(p->e);
    }
    if (symbol >= 0) {
      TRY(add_fixup(p, (uint32_t)at, symbol, bytes, value));
    }
  }
  *operand = ~at;
  return 0;
}

/* Registers read and written by each instruction, for liveness and for the cost model. */
static int keep_refs(emu_parser *p) {
  emu_func *f = p->f;
  f->n_regs = p->n_regs;
  f->ref_start = ARENA_ARRAY(&p->m->memory, uint32_t, (size_t)f->n + 1);
  f->refs = ARENA_ARRAY(&p->m->memory, uint32_t, (size_t)p->n_refs + 1);
  f->reg_words = ARENA_ARRAY(&p->m->memory, uint8_t, (size_t)p->n_regs + 1);
  f->leads = ARENA_ARRAY(&p->m->memory, uint8_t, (size_t)f->n + 1);
  if (!f->ref_start || !f->refs || !f->reg_words || !f->leads) {
    return err_nomem(p->e);
  }
  for (int i = 0; i < p->n_refs; i++) { /* refs are sorted by instruction */
    f->ref_start[p->refs[i].pc + 1] = (uint32_t)i + 1;
    f->refs[i] = (uint32_t)*slot_of(&f->code[p->refs[i].pc], p->refs[i].slot) << 1 | p->refs[i].def;
  }
  for (int i = 0; i < f->n; i++) {
    f->ref_start[i + 1] =
        f->ref_start[i + 1] > f->ref_start[i] ? f->ref_start[i + 1] : f->ref_start[i];
  }
  for (int i = 0; i < p->n_regs; i++) {
    f->reg_words[i] = (uint8_t)(p->reg_bytes[i] == 0   ? 0
                                : p->reg_bytes[i] <= 4 ? 1
                                                       : p->reg_bytes[i] / 4);
  }
  return 0;
}

/* Registers are laid out widest first, so that each is aligned to its lanes. */
static int layout(emu_parser *p) {
  static const uint8_t widths[] = {16, 8, 4, 2, 0};
  int32_t *offsets = ARENA_ARRAY(&p->m->memory, int32_t, (size_t)p->n_regs + 1);
  size_t at = 0;
  if (!offsets) {
    return err_nomem(p->e);
  }
  for (size_t w = 0; w < sizeof widths; w++) {
    for (int i = 0; i < p->n_regs; i++) {
      if (p->reg_bytes[i] == widths[w]) {
        offsets[i] = (int32_t)at;
        at += widths[w] ? lanes_nbytes(widths[w]) : 4;
      }
    }
  }
  for (int i = 0; i < p->n_refs; i++) {
    int32_t *slot = slot_of(&p->f->code[p->refs[i].pc], p->refs[i].slot);
    *slot = offsets[*slot];
  }
  p->f->reg_at = offsets;
  for (int i = 0; i < p->f->n; i++) { /* missing operands of arithmetic read the first operand */
    emu_insn *in = &p->f->code[i];
    for (int o = 2; o < 5 && (in->kind == KIND_alu || in->kind == KIND_wrapped); o++) {
      in->o[o] = in->o[o] == EMU_NONE ? in->o[1] : in->o[o];
    }
  }
  p->f->regs_nbytes = (at + 63) / 64 * 64;
  return 0;
}

int emu_build_end(emu_parser *p) {
  emu_insn *in;
  TRY(emu_build_insn(p, KIND_ret, &in)); /* reaching the end of the body returns */
  TRY(keep_refs(p));
  TRY(layout(p));
  emu_insn *code = ARENA_ARRAY(&p->m->memory, emu_insn, (size_t)p->f->n);
  uint8_t *pool = arena_new(&p->m->memory, p->f->pool_nbytes + 64);
  if (!code || !pool) {
    return err_nomem(p->e);
  }
  memcpy(code, p->f->code, sizeof *code * (size_t)p->f->n);
  if (p->f->pool_nbytes) {
    memcpy(pool, p->f->pool, p->f->pool_nbytes);
  }
  free(p->f->code);
  free(p->f->pool);
  p->f->code = code;
  p->f->pool = pool;
  return 0; /* labels are resolved when the scope closes */
}

void emu_build_discard(emu_parser *p) {
  emu_func *f = p->f;
  free(f->code);
  free(f->pool);
  f->code = NULL;
  f->pool = NULL;
  f->n = f->n_calls = 0;
  f->pool_nbytes = f->frame_nbytes = 0;
  f->indirect = false;
}
