/* emu_loc.c -- see emu_grammar.h: .loc, and the lines that a function is inlined into.
 * src: PTX ISA 9.0, 11.5.3. */
#include <string.h>

#include "emu_grammar.h"

typedef struct position {
  uint32_t file, line, column;
} position;

static int take_position(emu_parser *p, position *at) {
  uint64_t v[3];
  for (int i = 0; i < 3; i++) {
    TRY(emu_take_integer(p, &v[i]));
  }
  *at = (position){v[0] < EMU_FILES ? (uint32_t)v[0] : 0, (uint32_t)v[1], (uint32_t)v[2]};
  return 0;
}

/* function_name LABEL [+ N], inlined_at FILE LINE COLUMN */
static int take_attributes(emu_parser *p, position *by, bool *inlined) {
  while (emu_accept(p, ',')) {
    while (p->lex.token.kind == TOKEN_WORD || p->lex.token.kind == TOKEN_INTEGER ||
           emu_lex_is(&p->lex, '+')) {
      if (p->lex.token.kind == TOKEN_WORD && *p->lex.token.p == '.') {
        return 0;
      }
      *inlined = emu_token_is(&p->lex.token, "inlined_at");
      emu_lex_next(&p->lex);
      if (*inlined) {
        return take_position(p, by);
      }
    }
  }
  return 0;
}

/* The call at `by` may be inlined itself: the latest .loc of that position says where. */
static int add_inlined(emu_parser *p, const position *at, const position *by) {
  emu_module *m = p->m;
  const int32_t up = emu_map_get(&p->inlined, (const char *)by, sizeof *by);
  emu_inlined x = {{at->file, at->line}, {by->file, by->line}, {by->file, by->line}};
  char *key = arena_text_n(&m->memory, (const char *)at, sizeof *at);
  if (up >= 0) {
    x.outer = m->inlined[up].outer;
    x.user = m->inlined[up].user;
  }
  x.user = at->file == x.outer.file ? x.inner : x.user;
  if (!key || !array_reserve(&m->inlined, m->n_inlined + 1, &m->cap_inlined, sizeof x) ||
      !emu_map_put(&p->inlined, key, sizeof *at, m->n_inlined)) {
    return err_nomem(p->e);
  }
  m->inlined[m->n_inlined++] = x;
  p->file = (uint16_t)x.user.file;
  p->source_line = x.user.line;
  p->inline_index = m->n_inlined;
  return 0;
}

int emu_loc_parse(emu_parser *p) {
  position at, by = {0};
  bool inlined = false;
  TRY(take_position(p, &at));
  TRY(take_attributes(p, &by, &inlined));
  if (inlined && by.line) {
    return add_inlined(p, &at, &by);
  }
  p->file = (uint16_t)at.file;
  p->source_line = at.line ? at.line : p->source_line;
  p->inline_index = 0;
  const bool known = emu_map_get(&p->inlined, (const char *)&at, sizeof at) >= 0;
  char *key = known ? arena_text_n(&p->m->memory, (const char *)&at, sizeof at) : NULL;
  return !known || (key && emu_map_put(&p->inlined, key, sizeof at, -1)) ? 0 : err_nomem(p->e);
}
