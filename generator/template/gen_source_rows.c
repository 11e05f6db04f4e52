/* Which texts configurations make, without making them again: rows of what each text depends on, from
 * this process and from others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gen_lex.h"
#include "gen_tmpl.h"
#include "generator_digest.h"

/* A script's text depends on the values that it reads and on the constants in front. Its statements
 * contain the names it may read; the text, which the values read decide, contains the constants it
 * uses. So equal values of both make equal texts. */
enum { SEEN_MOST = 4096 };

static void pack_names(const gen_names *from, uint64_t to[4]) {
  const uint64_t all[4] = {from->fields, from->params, from->derived, from->device};
  memcpy(to, all, sizeof all);
}

static gen_names unpack_names(const uint64_t from[4]) {
  return (gen_names){.fields = from[0], .params = from[1], .derived = from[2], .device = from[3]};
}

static void add_name(const tmpl *t, const gen_token *token, gen_names *out) {
  const gen_symbol *s = gen_symbol_find_n(&t->symbols, token->p, token->n, GEN_READS_CONFIG);
  uint64_t none = 0, *bits = !s                             ? &none
                             : s->kind == GEN_SYMBOL_FIELD  ? &out->fields
                             : s->kind == GEN_SYMBOL_PARAM  ? &out->params
                             : s->kind == GEN_SYMBOL_DEVICE ? &out->device
                                                            : &out->derived;
  if (s) {
    *bits |= UINT64_C(1) << s->index;
  }
}

/* One that reaches for its names in another way may read any. */
static void find_reads_in(gen_box *b, tmpl *t, gen_device_code *s) {
  gen_script *script = &s->script;
  gen_script_compile(b, &t->a, script);
  gen_lexer lexer = gen_lex(script->lua, strlen(script->lua), 1);
  for (gen_token x = gen_lex_next(&lexer); x.kind != GEN_TOKEN_END; x = gen_lex_next(&lexer)) {
    s->never = s->never || x.kind == GEN_TOKEN_BAD || gen_token_is(&x, "_ENV");
    if (x.kind == GEN_TOKEN_NAME) {
      add_name(t, &x, &s->reads);
    }
  }
  s->have_reads = true;
}

/* They may be known from rows, without the script's statements. */
static void find_reads(gen_box *b, tmpl *t, gen_device_code *s) {
  if (!s->have_reads) {
    find_reads_in(b, t, s);
  }
  free(s->script.lua);
  s->script.lua = NULL;
}

static uint64_t hash_value(uint64_t h, const gen_value *v) {
  return v->s ? hash_more(h, v->s, strlen(v->s)) : hash_more(h, &v->i, sizeof v->i);
}

static uint64_t hash_values(const gen_instance *g, const gen_config *c, const gen_names *names) {
  const gen_template *t = &g->t->pub;
  uint64_t h = 0;
  for (size_t i = 0; i < t->n_fields; i++) {
    h = names->fields >> i & 1 ? hash_value(h, &g->problem.values[i]) : h;
  }
  for (size_t i = 0; i < t->n_params; i++) {
    h = names->params >> i & 1 ? hash_value(h, &t->params[i].values[c->index[i]]) : h;
  }
  for (size_t i = 0; i < t->n_derived; i++) {
    const expr_value *v = &g->derived[i];
    const int64_t word[] = {v->type, v->type == EXPR_CONDITION ? v->yes : v->i};
    h = names->derived >> i & 1 ? hash_more(h, word, sizeof word) : h;
  }
  for (size_t i = 0; gen_device_names[i]; i++) {
    h = names->device >> i & 1 ? hash_more(h, &g->device[i], sizeof g->device[i]) : h;
  }
  return h;
}

typedef struct bound_config {
  gen_instance *g;
  const gen_config *c;
} bound_config;

static void derive_all(gen_box *b, void *ud) {
  bound_config *a = ud;
  find_reads(b, a->g->t, gen_code_of(a->g->t, a->c));
  gen_bind(a->g, a->c);
  gen_derive_all(a->g, a->c);
}

static bool read_values(gen_instance *g, const gen_config *c, uint64_t *h) {
  bound_config a = {g, c};
  const gen_device_code *code = gen_code_of(g->t, c);
  if (gen_box_run(&g->t->box, derive_all, &a, false, NULL) || code->never) {
    return false;
  }
  *h = hash_values(g, c, &code->reads) + (uint64_t)(code - g->t->program.codes);
  return true;
}

static gen_source_row *new_row(gen_sources *s) {
  const bool has_room =
      s->n < SEEN_MOST && array_reserve(&s->seen, s->n + 1, &s->most, sizeof *s->seen);
  return has_room ? &s->seen[s->n] : NULL;
}

void gen_source_remember(gen_instance *g, const gen_config *c, const char hash[HASH_TEXT]) {
  gen_sources *s = &g->t->sources;
  const gen_device_code *code = gen_code_of(g->t, c);
  gen_source_row x = {.code = (uint64_t)(code - g->t->program.codes)}, *row;
  if (!read_values(g, c, &x.by_reads) || !(row = new_row(s))) {
    return;
  }
  x.by_constants = hash_values(g, c, &s->used);
  pack_names(&code->reads, x.reads);
  pack_names(&s->used, x.used);
  memcpy(x.hash, hash, sizeof x.hash);
  *row = x;
  s->n++;
}

bool gen_source_hash(gen_instance *g, const gen_config *c, char hash[HASH_TEXT]) {
  const gen_sources *s = &g->t->sources;
  uint64_t by_reads, by_constants = 0;
  if (!read_values(g, c, &by_reads)) {
    return false;
  }
  bool have = false;
  for (size_t i = 0; i < s->n; i++) {
    const gen_source_row *x = &s->seen[i];
    if (x->by_reads != by_reads) {
      continue;
    }
    const gen_names used = unpack_names(x->used);
    by_constants = have ? by_constants : hash_values(g, c, &used);
    have = true;
    if (x->by_constants == by_constants) {
      memcpy(hash, x->hash, sizeof x->hash);
      hash[sizeof x->hash] = 0;
      return true;
    }
  }
  return false;
}

/* ---- texts that another process made ----------------------------------------------------------- */

void gen_source_row_name(const gen_source_row *row, char name[HASH_TEXT]) {
  snprintf(name, HASH_TEXT, "%016llx%016llx", (unsigned long long)row->by_reads,
           (unsigned long long)row->by_constants);
}

void gen_source_maker(const gen_template *p, char maker[HASH_TEXT]) {
  const tmpl *t = gen_tmpl(p);
  auto_str all = {0};
  str_addf(&all, "%s %s %zu %s\n", GENERATOR_DIGEST, p->hash, t->max_source_nbytes, p->path);
  for (const gen_included *f = t->included; f; f = f->next) { /* the text names these */
    str_addf(&all, "%s\n", f->path);
  }
  hash_bytes(str_text(&all), all.n, maker);
}

/* A process that knows its statements' names from there need not compile the script. */
void gen_source_rows_add(gen_template *p, const gen_source_row *rows, size_t n) {
  tmpl *t = gen_tmpl(p);
  gen_sources *s = &t->sources;
  const bool nothing_new = s->n_old == s->n;
  for (size_t i = 0; i < n; i++) {
    gen_source_row *row = rows[i].code < t->program.n_codes ? new_row(s) : NULL;
    if (row) {
      gen_device_code *code = &t->program.codes[rows[i].code];
      *row = rows[i];
      s->n++;
      code->reads = code->have_reads ? code->reads : unpack_names(row->reads);
      code->have_reads = true;
    }
  }
  s->n_old = nothing_new ? s->n : s->n_old;
}

size_t gen_source_rows_new(gen_template *p, const gen_source_row **rows) {
  gen_sources *s = &gen_tmpl(p)->sources;
  const size_t n = s->n - s->n_old;
  *rows = n ? s->seen + s->n_old : NULL;
  s->n_old = s->n;
  return n;
}

static void find_reads_of_last(gen_box *b, void *ud) {
  tmpl *t = ud;
  find_reads(b, t, t->sources.code);
}

void gen_source_depends(const gen_template *p, uint64_t *fields, uint64_t *derived) {
  tmpl *t = gen_tmpl(p);
  uint64_t reading = 0; /* derived values that read fields */
  const gen_device_code *code = t->sources.code;
  const bool unknown =
      !code || gen_box_run(&t->box, find_reads_of_last, t, false, NULL) || code->never;
  const gen_names any = {.derived = UINT64_MAX}, in_script = unknown ? any : code->reads;
  *fields = unknown ? UINT64_MAX : in_script.fields | t->sources.used.fields;
  for (size_t i = 0; i < p->n_derived; i++) {
    const gen_names *reads = &t->derived[i]->reads;
    reading |= (uint64_t)(reads->fields || reads->derived & reading) << i;
  }
  *derived = reading & (in_script.derived | t->sources.used.derived);
}

int gen_derived_value(gen_instance *g, const gen_config *c, size_t i, int64_t *out, err *e) {
  bound_config a = {g, c};
  TRY(gen_box_run(&g->t->box, derive_all, &a, false, e));
  *out = g->derived[i].type == EXPR_CONDITION ? g->derived[i].yes : g->derived[i].i;
  return 0;
}
