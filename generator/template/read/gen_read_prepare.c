/* The key `prepare`: stages that run when inputs change, and what they leave for launches. All
 * algorithms' preparations become one, each in its algorithm's condition. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <string.h>

#include "gen_read_operands.h"

typedef struct job {
  gen_reader *r;
  gen_scope s;
  gen_prepared *names;
  gen_prepared_rule *buffers;
  const char **counts;
  gen_count_rule *count_rules;
  gen_role *roles; /* per argument: in any preparation */
} job;

/* ---- from, values ---------------------------------------------------------------------------- */

static void set_role(job *j, gen_role role) {
  gen_reader *r = j->r;
  const char *name = gen_text(r, "an input");
  const gen_template *t = &r->t->pub;
  const gen_arg *a = gen_arg_find(t, name);
  if (!a || a->dir != GEN_IN) {
    gen_bad(r, "'%s' is no input: 'from' and 'values' name buffers that are only read", name);
  }
  gen_role *to = &j->roles[a - t->args];
  if (*to != GEN_OF_RUN && *to != role) {
    gen_bad(r, "'%s' is in 'from' and in 'values'", name);
  }
  *to = role;
}

static void read_roles(job *j, const char *key, gen_role role) {
  gen_reader *r = j->r;
  if (!gen_enter(r, key)) {
    return;
  }
  const size_t n = gen_bounded_list(r, key, GEN_MAX_ARGS);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an input");
    set_role(j, role);
    gen_leave(r);
  }
  gen_leave(r);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void declare_buffer(job *j, gen_prepared *name, bool kept) {
  gen_reader *r = j->r;
  uint32_t ignored;
  name->name = gen_text(r, "the name");
  name->kept = kept;
  gen_check_name(r, name->name);
  if (gen_symbol_find(&r->t->symbols, name->name, ~0u) ||
      gen_workspace_find(&r->t->program, name->name, &ignored)) {
    gen_bad(r, "there are two things called '%s'", name->name);
  }
  gen_symbol_add(&r->t->symbols, name->name, GEN_SYMBOL_OTHER, 0);
}

/* In other algorithms it is empty. */
static const gen_expr *read_count(job *j) {
  gen_reader *r = j->r;
  gen_need_at(r, 3, "the count");
  if (j->s.of->guard) {
    lua_pushfstring(r->L, "sel(%s, %s, 0)", j->s.of->guard, luaL_tolstring(r->L, -1, NULL));
    lua_replace(r->L, -3);
    lua_pop(r->L, 1);
  }
  const gen_expr *x = gen_numeric(r, j->s.kinds);
  gen_leave(r);
  return x;
}

static void read_buffer(job *j, bool kept) {
  gen_reader *r = j->r;
  gen_template *t = &r->t->pub;
  const char *type;
  if (gen_list(r, "a buffer", NULL) != 3) {
    gen_bad(r, "a buffer of a preparation is { name, type, count }");
  }
  if (t->n_prepared == GEN_MAX_PREPARED || r->t->symbols.n == GEN_MAX_SYMBOLS) {
    gen_bad(r, "there are more than %d buffers in preparations", GEN_MAX_PREPARED);
  }
  gen_prepared_rule *x = &j->buffers[t->n_prepared];
  gen_need_at(r, 1, "the name");
  declare_buffer(j, &j->names[t->n_prepared], kept);
  gen_leave(r);
  gen_need_at(r, 2, "the element type");
  x->element = gen_read_element(r, &type);
  gen_leave(r);
  x->count = read_count(j);
  t->n_prepared++;
}

static void read_buffers(job *j, const char *key, bool kept) {
  gen_reader *r = j->r;
  if (!gen_enter(r, key)) {
    return;
  }
  const size_t n = gen_bounded_list(r, key, GEN_MAX_PREPARED);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a buffer");
    read_buffer(j, kept);
    gen_leave(r);
  }
  gen_leave(r);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void read_count_of(job *j, gen_count_rule *x) {
  gen_reader *r = j->r;
  gen_need(r, "of");
  x->of = gen_operand_find(&j->s, gen_text(r, "of"));
  x->element = gen_operand_element(&j->s, &x->of);
  const bool scalar = x->of.from == GEN_FROM_ARG && r->t->pub.args[x->of.index].dir == GEN_SCALAR;
  if (scalar || (x->element.field < 0 && dtype_is_float(x->element.type))) {
    gen_bad(r, "'of' is a buffer of whole numbers");
  }
  gen_leave(r);
}

/* { "width", of = "longest", at = 0, most = "cols" }; its buffer is not known by name yet */
static void read_one_count(job *j, size_t i) {
  static const char *const keys[] = {"of", "at", "most", NULL};
  gen_reader *r = j->r;
  gen_template *t = &r->t->pub;
  if (gen_list(r, "a count", keys) != 1) {
    gen_bad(r, "a count is { name, of = buffer, at = element, most = bound }");
  }
  j->count_rules[i].line = gen_here(r);
  j->counts[i] = gen_first_name(r, "a count's name");
  gen_declare(r, j->counts[i], GEN_SYMBOL_COUNT, GEN_FIRST_COUNT + i);
  j->count_rules[i].at = gen_numeric_at(r, "at", GEN_READS_CONFIG);
  j->count_rules[i].most = gen_numeric_at(r, "most", GEN_READS_CONFIG);
  if (!j->count_rules[i].most) {
    gen_bad(r, "'most' is missing here: a bound of the count");
  }
  t->n_counts = i + 1;
}

/* Each of the counts here, those of this preparation from the first-th on. */
static void each_count(job *j, size_t first, bool of) {
  gen_reader *r = j->r;
  if (!gen_enter(r, "counts")) {
    return;
  }
  const size_t n = gen_bounded_list(r, "counts", GEN_MAX_COUNTS - first);
  if (r->t->pub.n_args > GEN_FIRST_COUNT) {
    gen_bad(r, "with counts, a template has at most %d arguments", GEN_FIRST_COUNT);
  }
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a count");
    if (of) {
      read_count_of(j, &j->count_rules[first + i]);
    } else {
      read_one_count(j, first + i);
    }
    gen_leave(r);
  }
  gen_leave(r);
}

static uint32_t bit_of(gen_scope *s) {
  gen_reader *r = s->r;
  const char *name = gen_text(r, "a count");
  const gen_symbol *x = gen_symbol_find(&r->t->symbols, name, GEN_SYMBOL_COUNT);
  if (!x) {
    gen_bad(r, "there is no count '%s'%s", name,
            gen_suggestion(name, r->t->pub.counts, r->t->pub.n_counts).text);
  }
  return 1u << (x->index - GEN_FIRST_COUNT);
}

/* The condition of a stage that reads counts cannot read one: earlier parts ask for it. */
bool gen_count_stage_read(gen_scope *s, gen_stage *stage) {
  static const char *const keys[] = {"count", "when", NULL};
  gen_reader *r = s->r;
  if (!s->in_prepare || !gen_enter(r, "count")) {
    return false;
  }
  if (s->loop || (stage->when && stage->when->reads.kinds & GEN_SYMBOL_COUNT)) {
    gen_bad(r, s->loop ? "counts are not read in a loop" : "this 'when' cannot read a count");
  }
  const size_t n = gen_is_text(r) ? 0 : gen_bounded_list(r, "count", GEN_MAX_COUNTS);
  stage->counts = n ? 0 : bit_of(s);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a count");
    stage->counts |= bit_of(s);
    gen_leave(r);
  }
  gen_leave(r);
  gen_keys(r, keys);
  return true;
}

/* ---- what the stages take -------------------------------------------------------------------- */

static void check_arg(const job *j, const gen_stage *s, uint32_t index) {
  const gen_template *t = &j->r->t->pub;
  const gen_arg *a = &t->args[index];
  gen_role *role = &j->roles[index];
  if (a->dir == GEN_SCALAR) {
    *role = GEN_OF_PLAN;
  } else if (*role == GEN_OF_RUN || (*role == GEN_OF_VALUES && !s->values_only)) {
    gen_fail(j->r->b, ERR_TEMPLATE, s->at,
             *role == GEN_OF_RUN
                 ? "the preparation takes '%s': name it in 'from' or in 'values'"
                 : "'%s' is in 'values': stages that take it have values_only = true",
             a->name);
  }
}

static void check_operand(const job *j, const gen_stage *s, const gen_stage_operand *o) {
  const gen_template *t = &j->r->t->pub;
  if (o->from == GEN_FROM_TENSOR || o->from == GEN_FROM_TEXTURE) {
    check_operand(j, s, o->from == GEN_FROM_TENSOR ? &o->tensor->at : &o->texture->at);
  } else if (o->from == GEN_FROM_ARG || o->from == GEN_FROM_CONTENTS) {
    check_arg(j, s, o->index);
  } else if (o->from == GEN_FROM_PREPARED && s->values_only && !t->prepared[o->index].kept) {
    gen_fail(j->r->b, ERR_TEMPLATE, s->at,
             "'%s' is gone when values change: stages with values_only take outputs",
             t->prepared[o->index].name);
  }
}

static void check_stages(const job *j) {
  const gen_program *p = &j->r->t->prepare.program;
  for (const gen_stage *s = p->stages; s < p->stages + p->n_stages; s++) {
    for (size_t i = 0; i < s->n_operands; i++) {
      check_operand(j, s, &s->operands[i]);
    }
    if (s->instance) {
      gen_fail(j->r->b, ERR_TEMPLATE, s->at, "a stage of a preparation has no 'instance'");
    }
  }
}

/* A count that no stage reads would always have its bound. */
static void check_counts(const job *j) {
  const tmpl *t = j->r->t;
  uint32_t seen = 0;
  for (size_t i = 0; i < t->prepare.program.n_stages; i++) {
    seen |= t->prepare.program.stages[i].counts;
  }
  for (size_t i = 0; i < t->pub.n_counts; i++) {
    if (!(seen >> i & 1)) {
      gen_fail(j->r->b, ERR_TEMPLATE, j->count_rules[i].line,
               "no stage reads the count '%s': { count = \"%s\" }", j->counts[i], j->counts[i]);
    }
  }
}

static void check_uses(gen_reader *r) {
  const gen_field *f = gen_field_find(&r->t->pub, "uses", 4);
  for (size_t i = 0; f && i < f->n_names; i++) {
    const char *name = f->names[i];
    if (strcmp(name, "many") != 0 && (strspn(name, "0123456789") != strlen(name) || *name == '0')) {
      gen_bad(r, "the field 'uses' has numbers from 1 on, and 'many', not '%s'", name);
    }
  }
  if (f && !(f->names && f->is_class)) {
    gen_bad(r, "the field 'uses' is { \"uses\", { \"1\", \"10\", \"many\" }, class = true, "
               "default = \"many\" }");
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The table here. */
static void read_table(job *j, const char *guard) {
  static const char *const keys[] = {"from",      "values", "counts", "outputs",
                                     "workspace", "stages", NULL};
  gen_reader *r = j->r;
  const gen_algorithm here = {NULL, guard};
  const size_t first = r->t->pub.n_counts;
  gen_keys(r, keys);
  j->s.of = &here;
  r->t->pub.has_prepare = true;
  read_roles(j, "from", GEN_OF_PLAN);
  read_roles(j, "values", GEN_OF_VALUES);
  each_count(j, first, false);
  read_buffers(j, "outputs", true);
  read_buffers(j, "workspace", false);
  each_count(j, first, true);
  if (gen_has_entry(r, "stages")) {
    gen_stages_read(&j->s);
  }
  j->s.of = NULL;
}

/* The condition of all algorithms without a preparation of their own; NULL: there is no other. */
static const char *guard_of_others(job *j, bool *any) {
  const tmpl *t = j->r->t;
  str text = {0};
  size_t n = 0;
  for (size_t i = 0; i < t->n_algorithms; i++) {
    const bool own = gen_part_enter(j->r, &t->algorithms[i], "prepare");
    if (own) {
      gen_part_leave(j->r, &t->algorithms[i]);
    } else {
      str_addf(&text, "%s%s", n++ ? " or " : "(", t->algorithms[i].guard);
    }
  }
  str_add(&text, ")");
  *any = n || !t->n_algorithms;
  const bool some = n && n < t->n_algorithms;
  const char *guard = some && !text.failed ? arena_text(j->r->a, str_text(&text)) : NULL;
  str_clear(&text);
  if (some && !guard) {
    gen_fail(j->r->b, ERR_NOMEM, gen_here(j->r), "out of memory");
  }
  return guard;
}

static void read_all(job *j) {
  gen_reader *r = j->r;
  bool any;
  const char *guard = guard_of_others(j, &any);
  if (gen_enter(r, "prepare")) {
    if (!any) {
      gen_bad(r, "each algorithm has a preparation of its own: this one is nobody's");
    }
    read_table(j, guard);
    gen_leave(r);
  }
  for (size_t i = 0; i < r->t->n_algorithms; i++) {
    const gen_algorithm *of = &r->t->algorithms[i];
    if (gen_part_enter(r, of, "prepare")) {
      read_table(j, of->guard);
      gen_part_leave(r, of);
    }
  }
}

void gen_read_prepare(gen_reader *r) {
  tmpl *t = r->t;
  job j = {.r = r,
           .s = {.r = r,
                 .program = &t->prepare.program,
                 .kinds = GEN_READS_CONFIG | GEN_SYMBOL_COUNT,
                 .in_prepare = true},
           .names = GEN_MAKE(r, gen_prepared, GEN_MAX_PREPARED),
           .buffers = GEN_MAKE(r, gen_prepared_rule, GEN_MAX_PREPARED),
           .counts = GEN_MAKE(r, const char *, GEN_MAX_COUNTS),
           .count_rules = GEN_MAKE(r, gen_count_rule, GEN_MAX_COUNTS),
           .roles = GEN_MAKE(r, gen_role, t->pub.n_args)};
  t->pub.prepared = j.names;
  t->pub.counts = j.counts;
  t->prepare.buffers = j.buffers;
  t->prepare.counts = j.count_rules;
  read_all(&j);
  if (!t->pub.has_prepare) {
    return;
  }
  check_stages(&j);
  check_counts(&j);
  check_uses(r);
  for (size_t i = 0; i < t->pub.n_args; i++) {
    ((gen_arg *)t->pub.args)[i].role = j.roles[i];
  }
}
