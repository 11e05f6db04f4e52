/* emu_parse.c -- see emu_parse.h: the directives outside functions. src: PTX ISA 9.0, chapter 11.
 */
#include "emu_parse.h"

#include <stdlib.h>
#include <string.h>

#include "emu_grammar.h"
#include "emu_module.h"

static int parse_file(emu_parser *p) {
  uint64_t number;
  TRY(emu_take_integer(p, &number));
  if (p->lex.token.kind != TOKEN_STRING) {
    return emu_unexpected(p, "a file name");
  }
  if (number < EMU_FILES) {
    p->m->files[number] = arena_text_n(&p->m->memory, p->lex.token.p, p->lex.token.n);
    p->m->n_files = p->m->n_files > (int)number ? p->m->n_files : (int)number + 1;
  }
  emu_lex_next(&p->lex);
  while (emu_accept(p, ',')) {
    TRY(emu_take_integer(p, &number));
  }
  return 0;
}

static int parse_section(emu_parser *p) {
  emu_token name;
  TRY(emu_take_name(p, &name));
  TRY(emu_expect(p, '{'));
  while (p->lex.token.kind != TOKEN_END && !emu_lex_is(&p->lex, '}')) {
    emu_lex_next(&p->lex);
  }
  return emu_expect(p, '}');
}

static int parse_target(emu_parser *p) {
  do {
    emu_token t;
    TRY(emu_take_name(p, &t));
    if (t.n > 3 && memcmp(t.p, "sm_", 3) == 0) {
      p->m->target = atoi(t.p + 3);
      p->m->target_alone = t.p[t.n - 1] == 'a';
    }
  } while (emu_accept(p, ','));
  return 0;
}

static int parse_version(emu_parser *p) {
  if (p->lex.token.kind != TOKEN_INTEGER && p->lex.token.kind != TOKEN_F64) {
    return emu_unexpected(p, "a version");
  }
  emu_lex_next(&p->lex);
  return 0;
}

static int parse_directive(emu_parser *p) {
  emu_declaration d = {.align = 0};
  emu_token t;
  uint64_t ignored;
  TRY(emu_take_name(p, &t));
  while (emu_token_is(&t, ".visible") || emu_token_is(&t, ".weak") || emu_token_is(&t, ".extern") ||
         emu_token_is(&t, ".common")) {
    d.external = emu_token_is(&t, ".extern");
    TRY(emu_take_name(p, &t));
  }
  if (emu_token_is(&t, ".entry") || emu_token_is(&t, ".func")) {
    return emu_function_parse(p, emu_token_is(&t, ".entry"));
  }
  if (emu_space_of(&t, &d.space)) {
    return emu_declare_variables(p, &d);
  }
  if (emu_token_is(&t, ".file")) {
    return parse_file(p);
  }
  if (emu_token_is(&t, ".section")) {
    return parse_section(p);
  }
  if (emu_token_is(&t, ".version")) {
    return parse_version(p);
  }
  if (emu_token_is(&t, ".target")) {
    return parse_target(p);
  }
  if (emu_token_is(&t, ".address_size")) {
    return emu_take_integer(p, &ignored);
  }
  if (emu_token_is(&t, ".pragma")) {
    return emu_skip_statement(p);
  }
  return emu_fail(p, "unsupported directive '%.*s'", (int)(t.n < 60 ? t.n : 60), t.p);
}

static void parser_clear(emu_parser *p) {
  while (p->scope != &p->top) {
    emu_scope *up = p->scope->up;
    emu_scope_clear(p->scope);
    free(p->scope);
    p->scope = up;
  }
  emu_scope_clear(&p->top);
  emu_map_clear(&p->pool_map);
  emu_map_clear(&p->inlined);
  free(p->symbols);
  free(p->reg_bytes);
  free(p->refs);
  free(p->tables);
  if (p->f) { /* an unfinished function's code is not in the arena yet */
    free(p->f->code);
    free(p->f->pool);
  }
}

static int parse_module(emu_parser *p) {
  if (!emu_token_is(&p->lex.token, ".version")) { /* every module begins with it */
    return emu_fail(p, "this is not PTX: it does not begin with .version");
  }
  while (p->lex.token.kind != TOKEN_END) {
    if (!emu_accept(p, ';')) {
      TRY(parse_directive(p));
    }
  }
  return 0;
}

int emu_parse(const char *text, size_t nbytes, int (*decode)(emu_parser *), emu_module **out,
              err *e) {
  emu_module *m = calloc(1, sizeof *m);
  emu_parser *p = calloc(1, sizeof *p);
  int rc = ERR_NOMEM;
  *out = NULL;
  if (m && p) {
    while (nbytes && text[nbytes - 1] == 0) {
      nbytes--; /* NVRTC's size includes the final NUL */
    }
    m->text = arena_text_n(&m->memory, text, nbytes);
    m->files = ARENA_ARRAY(&m->memory, const char *, EMU_FILES);
    p->m = m;
    p->e = e;
    p->decode = decode;
    p->scope = &p->top;
    emu_lex_start(&p->lex, m->text ? m->text : "", m->text ? nbytes : 0);
    rc = m->text && m->files ? parse_module(p) : err_nomem(p->e);
    parser_clear(p);
  }
  free(p);
  if (rc) {
    emu_module_free(m);
    return rc == ERR_NOMEM ? err_nomem(e) : rc;
  }
  *out = m;
  return 0;
}
