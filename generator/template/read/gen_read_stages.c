/* The part of a template that says what runs: workspaces, stages, source; of the kernel and of the
 * reference alike. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <string.h>

#include "compiler_option.h"
#include "gen_algorithms.h"
#include "gen_lex.h"
#include "gen_read.h"
#include "gen_read_operands.h"

enum { MAX_STAGES = 512, MAX_WORKSPACES = 32, MAX_OPERANDS = GEN_MAX_OPERANDS };

typedef gen_scope scope;

/* The template as a whole. */
static const gen_algorithm whole = {NULL, NULL};

/* ---- workspace ------------------------------------------------------------------------------- */

const gen_arg *gen_arg_find(const gen_template *t, const char *name) {
  for (const gen_arg *a = t->args; a < t->args + t->n_args; a++) {
    if (!strcmp(a->name, name)) {
      return a;
    }
  }
  return NULL;
}

/* Workspaces of the kernel and of the reference may share names; nothing else may. */
static void check_workspace_name(scope *s, const char *name) {
  uint32_t ignored;
  gen_check_name(s->r, name);
  if (gen_symbol_find(&s->r->t->symbols, name, ~0u) ||
      gen_workspace_find(s->program, name, &ignored)) {
    gen_bad(s->r, "there are two things called '%s'", name);
  }
}

static void read_workspace(scope *s, gen_workspace *w) {
  gen_reader *r = s->r;
  const char *type;
  if (gen_list(r, "a workspace", NULL) != 3) {
    gen_bad(r, "a workspace is { name, type, count }");
  }
  gen_need_at(r, 1, "the name");
  w->name = gen_text(r, "the name");
  check_workspace_name(s, w->name);
  gen_leave(r);
  gen_need_at(r, 2, "the element type");
  w->element = gen_read_element(r, &type);
  gen_leave(r);
  gen_need_at(r, 3, "the count");
  if (s->of->guard) {
    lua_pushfstring(r->L, "sel(%s, %s, 0)", s->of->guard, luaL_tolstring(r->L, -1, NULL));
    lua_replace(r->L, -3);
    lua_pop(r->L, 1);
  }
  w->count = gen_numeric(r, s->kinds);
  gen_leave(r);
}

static void read_workspaces(scope *s, gen_workspace *w) {
  gen_reader *r = s->r;
  if (!gen_part_enter(r, s->of, "workspace")) {
    return;
  }
  size_t n = gen_bounded_list(r, "workspace", MAX_WORKSPACES - s->program->n_workspaces);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a workspace");
    read_workspace(s, &w[s->program->n_workspaces]);
    s->program->n_workspaces++;
    gen_leave(r);
  }
  gen_part_leave(r, s->of);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* The table or expression at the top: one expression, or a list of them. */
static void read_some(scope *s, const char *key, size_t most, const char *bounds,
                      const gen_expr **out) {
  gen_reader *r = s->r;
  if (!gen_is_table(r)) {
    out[0] = gen_numeric(r, s->kinds);
    return;
  }
  size_t n = gen_list(r, key, NULL);
  if (n < 1 || n > most) {
    gen_bad(r, "'%s' has one to %s", key, bounds);
  }
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an expression");
    out[i] = gen_numeric(r, s->kinds);
    gen_leave(r);
  }
}

static void read_extent(scope *s, const char *key, const gen_expr *out[3]) {
  gen_need(s->r, key);
  read_some(s, key, 3, "three entries, for x, y and z", out);
  gen_leave(s->r);
}

static void read_work(scope *s, gen_stage *stage) {
  if (gen_enter(s->r, "work")) {
    read_some(s, "work", GEN_MAX_WORK, "four entries, numbers that tell what a block does",
              stage->work);
    gen_leave(s->r);
  }
}

static void read_launch(scope *s, gen_stage *stage) {
  static const char *const keys[] = {
      "kernel",      "instance", "grid", "block",  "smem",  "when", "overlap",     "early",
      "cooperative", "args",     "work", "stream", "after", "pool", "values_only", NULL};
  gen_reader *r = s->r;
  if (!s->is_check) {
    gen_keys(r, keys);
  }
  gen_need(r, "kernel");
  stage->kernel = gen_text(r, "kernel");
  if (!gen_word_is_name(stage->kernel)) {
    gen_bad(r, "'%s' is not a kernel's name", stage->kernel);
  }
  gen_leave(r);
  stage->instance = gen_text_at(r, "instance");
  read_extent(s, "grid", stage->grid);
  read_extent(s, "block", stage->block);
  stage->smem = gen_numeric_at(r, "smem", s->kinds);
  stage->overlap = gen_condition_at(r, "overlap", s->kinds);
  stage->early = gen_condition_at(r, "early", s->kinds);
  stage->cooperative = gen_condition_at(r, "cooperative", s->kinds);
  stage->pool = gen_numeric_at(r, "pool", s->kinds);
  read_work(s, stage);
  gen_operands_read(s, stage);
}

/* stream = 1, after = { 0, 2 } */
static void read_order(scope *s, gen_stage *stage) {
  gen_reader *r = s->r;
  stage->stream = gen_numeric_at(r, "stream", s->kinds);
  if (gen_enter(r, "after")) {
    read_some(s, "after", GEN_MAX_STREAMS, "eight entries, numbers of streams", stage->after);
    gen_leave(r);
  }
}

/* Its own condition, that of its loop, and that its algorithm is chosen. */
static const gen_expr *read_when(scope *s) {
  gen_reader *r = s->r;
  const char *all[3] = {s->of->guard, s->loop_when};
  if (!all[0] && !all[1]) {
    return gen_condition_at(r, "when", s->kinds);
  }
  all[2] = gen_text_at(r, "when");
  lua_pushstring(r->L, "");
  for (int i = 0; i < 3; i++) {
    if (all[i]) {
      const char *before = lua_tostring(r->L, -1);
      lua_pushfstring(r->L, i ? "%s%s(%s)" : "%s%s%s", before, *before ? " and " : "", all[i]);
      lua_replace(r->L, -2);
    }
  }
  const gen_expr *x = gen_condition(r, s->kinds);
  lua_pop(r->L, 1);
  return x;
}

static void read_values_only(scope *s, gen_stage *stage) {
  gen_reader *r = s->r;
  if (!gen_enter(r, "values_only")) {
    return;
  }
  if (!s->in_prepare || !lua_isboolean(r->L, -1)) {
    gen_bad(r, "values_only is true or false, of a stage of 'prepare'");
  }
  stage->values_only = lua_toboolean(r->L, -1);
  gen_leave(r);
}

static void read_stage(scope *s, gen_stage *stage) {
  gen_reader *r = s->r;
  if (!gen_is_table(r)) {
    gen_bad(
        r,
        "a stage is { kernel = ... }, { memset = ... }, { copy = ... }, { constant = ... } or { loop = ... }");
  }
  stage->at = gen_here(r);
  stage->loop = s->loop;
  stage->when = read_when(s);
  if (gen_count_stage_read(s, stage)) {
    return;
  }
  read_values_only(s, stage);
  if (!gen_memory_read(s, stage)) {
    read_launch(s, stage);
  }
  read_order(s, stage);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static size_t read_list(scope *s, gen_stage *out, size_t most);

/* The stages of a loop, in the loop's condition. */
static size_t read_loop_stages(scope *s, gen_stage *out, size_t most) {
  static const char *const keys[] = {"loop", "stages", "when", NULL};
  gen_reader *r = s->r;
  scope inner = *s;
  gen_keys(r, keys);
  if (s->loop) {
    gen_bad(r, "a loop in a loop is not supported");
  }
  gen_stage_loop *loop = gen_loop_read(s);
  loop->when = read_when(s);
  inner.loop = loop;
  inner.kinds |= loop->indexed ? GEN_SYMBOL_INDEX : 0;
  inner.loop_when = gen_text_at(r, "when");
  gen_need(r, "stages");
  const size_t n = read_list(&inner, out, most);
  gen_leave(r);
  return n;
}

/* Those of the list here; returns how many there are, loops counted by what is in them. */
static size_t read_list(scope *s, gen_stage *out, size_t most) {
  gen_reader *r = s->r;
  const size_t entries = gen_bounded_list(r, "stages", most);
  size_t n = 0;
  if (!entries) {
    gen_bad(r, "there are no stages");
  }
  for (size_t i = 0; i < entries; i++) {
    gen_need_at(r, (int64_t)i + 1, "a stage");
    if (gen_has_entry(r, "loop")) {
      n += read_loop_stages(s, out + n, most - n);
    } else {
      read_stage(s, &out[n++]);
    }
    gen_leave(r);
  }
  return n;
}

/* Of the list here, those in loops included. */
static size_t count_list(gen_reader *r) {
  const size_t entries = gen_bounded_list(r, "stages", MAX_STAGES);
  size_t n = entries;
  for (size_t i = 0; i < entries; i++) {
    gen_need_at(r, (int64_t)i + 1, "a stage");
    if (gen_has_entry(r, "loop") && gen_enter(r, "stages")) {
      n += gen_bounded_list(r, "stages", MAX_STAGES);
      gen_leave(r);
    }
    gen_leave(r);
  }
  return n;
}

/* Behind those that are there already. */
void gen_stages_read(scope *s) {
  gen_reader *r = s->r;
  gen_program *p = s->program;
  gen_part_need(r, s->of, "stages");
  const size_t most = count_list(r);
  gen_stage *stages = GEN_MAKE(r, gen_stage, p->n_stages + most);
  for (size_t i = 0; i < p->n_stages; i++) {
    stages[i] = p->stages[i];
  }
  const size_t n = read_list(s, stages + p->n_stages, most);
  p->stages = stages;
  p->n_stages += n;
  gen_part_leave(r, s->of);
}

/* ---- algorithms ------------------------------------------------------------------------------ */

static bool has_part(scope *s, const char *key) {
  const bool has = gen_part_enter(s->r, s->of, key);
  if (has) {
    gen_part_leave(s->r, s->of);
  }
  return has;
}

/* An algorithm's own, else those of the template with the algorithm's guard. */
static void read_stages_of(scope *s, const gen_algorithm *of) {
  s->of = of;
  gen_algorithm common = {NULL, of->guard};
  if (!has_part(s, "stages")) {
    s->of = &common;
  }
  gen_stages_read(s);
  s->of = of;
}

static void read_source_of(scope *s, const gen_algorithm *of, gen_device_code *code) {
  s->of = of;
  if (!has_part(s, "source")) {
    s->of = &whole;
  }
  gen_read_source(s->r, s->of, code);
  s->of = of;
}

static void read_algorithms(scope *s, gen_workspace *w) {
  const tmpl *t = s->r->t;
  const unsigned kinds = s->kinds;
  for (size_t i = 0; i < t->n_algorithms; i++) {
    s->of = &t->algorithms[i];
    s->kinds = kinds & ~(unsigned)GEN_SYMBOL_COUNT;
    read_workspaces(s, w);
  }
  s->kinds = kinds;
  for (size_t i = 0; i < t->n_algorithms; i++) {
    read_stages_of(s, &t->algorithms[i]);
    read_source_of(s, &t->algorithms[i], &s->program->codes[i]);
  }
}

/* ---- compiler options ------------------------------------------------------------------------ */

/* "--use_fast_math", or { "--maxrregcount=", "REGISTERS", when = "REGISTERS > 0" } */
static void read_flag(gen_reader *r, gen_flag *flag, unsigned kinds) {
  static const char *const keys[] = {"when", NULL};
  err e = {0};
  flag->at = gen_here(r);
  if (gen_is_text(r)) {
    flag->text = gen_text(r, "a compiler option");
  } else {
    const size_t n = gen_list(r, "a compiler option", keys);
    flag->text = gen_first_name(r, "a compiler option");
    if (n > 1) {
      gen_need_at(r, 2, "the option's value");
      flag->value = gen_expression(r, kinds);
      gen_leave(r);
    }
    flag->when = gen_condition_at(r, "when", kinds);
  }
  if (!flag->value && compiler_option_check(flag->text, &e)) {
    gen_bad(r, "%s", e.message);
  }
  gen_read_controls(r, flag);
}

static void read_flags(gen_reader *r, gen_program *p, unsigned kinds) {
  if (!gen_enter(r, "options")) {
    return;
  }
  p->n_flags = gen_bounded_list(r, "options", COMPILER_OPTIONS_MAX);
  gen_flag *flags = GEN_MAKE(r, gen_flag, p->n_flags);
  p->flags = flags;
  for (size_t i = 0; i < p->n_flags; i++) {
    gen_need_at(r, (int64_t)i + 1, "a compiler option");
    read_flag(r, &flags[i], kinds);
    gen_leave(r);
  }
  gen_leave(r);
}

static void read_program(gen_reader *r, gen_program *p, unsigned kinds, size_t n_algorithms) {
  gen_workspace *w = GEN_MAKE(r, gen_workspace, MAX_WORKSPACES);
  scope s = {r, p, kinds, &whole, NULL, NULL};
  p->workspaces = w;
  p->codes = GEN_MAKE(r, gen_device_code, n_algorithms ? n_algorithms : 1);
  p->n_codes =
      n_algorithms ? n_algorithms : 1; /* once they are there: closing frees what they hold */
  read_flags(r, p, kinds);
  read_workspaces(&s, w);
  s.kinds |= p == &r->t->program ? GEN_SYMBOL_COUNT : 0;
  if (n_algorithms) {
    read_algorithms(&s, w);
  } else {
    if (p != &r->t->reference || has_part(&s, "stages") || !r->t->has_checks) {
      gen_stages_read(&s);
    }
    gen_read_source(r, s.of, &p->codes[0]);
  }
}

void gen_read_check(gen_reader *r, gen_program *p, unsigned kinds) {
  gen_workspace *w = GEN_MAKE(r, gen_workspace, MAX_WORKSPACES);
  scope s = {.r = r, .program = p, .kinds = kinds, .of = &whole, .in_check = true};
  for (size_t i = 0; i < p->n_workspaces; i++) {
    w[i] = p->workspaces[i];
  }
  p->workspaces = w;
  read_workspaces(&s, w);
  if (gen_has_entry(r, "stages")) {
    gen_stages_read(&s);
    return;
  }
  gen_stage *stage = GEN_MAKE(r, gen_stage, 1);
  s.is_check = true;
  stage->at = gen_here(r);
  read_launch(&s, stage);
  p->stages = stage;
  p->n_stages = 1;
}

void gen_read_apart(gen_reader *r, gen_program *p) {
  read_program(r, p, GEN_READS_DEVICE, 0);
}

void gen_read_program(gen_reader *r, gen_program *p, unsigned kinds) {
  read_program(r, p, kinds, r->t->n_algorithms);
}

/* { { "BLOCK", "16" }, ... } */
static void read_defines(gen_reader *r, gen_program *p) {
  if (!gen_enter(r, "macros")) {
    return;
  }
  p->n_defines = gen_bounded_list(r, "macros", GEN_MAX_PARAMS + GEN_MAX_DERIVED);
  gen_define *defines = GEN_MAKE(r, gen_define, p->n_defines);
  p->defines = defines;
  for (size_t i = 0; i < p->n_defines; i++) {
    gen_need_at(r, (int64_t)i + 1, "a macro");
    defines[i].name = gen_first_name(r, "a macro's name");
    gen_need_at(r, 2, "the value");
    defines[i].value = gen_expression(r, GEN_READS_DEVICE);
    gen_leave(r);
    gen_leave(r);
  }
  gen_leave(r);
}

static void read_variant(gen_reader *r) {
  if (gen_enter(r, "variant")) {
    r->t->pub.self_checked = lua_toboolean(r->L, -1);
    gen_leave(r);
  }
}

/* The name of the workspace in which its kernels count wrong elements. */
static void read_counts(gen_reader *r) {
  const gen_program *p = &r->t->reference;
  if (!gen_enter(r, "counts")) {
    return;
  }
  const char *name = gen_text(r, "counts");
  const gen_workspace *w = p->n_workspaces ? &p->workspaces[0] : NULL;
  if (!w || strcmp(w->name, name) != 0 || w->element.field >= 0 || w->element.type != DTYPE_u64) {
    gen_bad(r,
            "counts names the first workspace here, in which kernels count wrong elements: "
            "workspace = { { \"%s\", \"u64\", 1 } }",
            name);
  }
  r->t->pub.counts_wrong = true;
  gen_leave(r);
}

void gen_read_reference(gen_reader *r) {
  static const char *const keys[] = {"workspace", "stages",  "options", "source",
                                     "macros",    "variant", "counts",  NULL};
  gen_keys(r, keys);
  read_variant(r);
  read_defines(r, &r->t->reference);
  read_program(r, &r->t->reference, GEN_READS_DEVICE, 0);
  read_counts(r);
}
