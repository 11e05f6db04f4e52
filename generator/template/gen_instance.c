/* A template bound to a problem and a device: the table of values that expressions read. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "gen_tmpl.h"

/* ---- values ---------------------------------------------------------------------------------- */

expr_value gen_value_of(const gen_value *v) {
  return v->s ? expr_text(v->s) : expr_integer(v->i);
}

static void set_param(gen_instance *g, size_t i, size_t index) {
  g->params[i] = gen_value_of(&g->t->pub.params[i].values[index]);
}

/* ---- binding --------------------------------------------------------------------------------- */

static uint64_t different(const gen_instance *g, const gen_config *c) {
  uint64_t bits = 0;
  for (size_t i = 0; i < g->t->pub.n_params; i++) {
    const bool same = g->has_config && g->config.index[i] == c->index[i];
    bits |= same ? 0 : UINT64_C(1) << i;
  }
  return bits;
}

static void forget(gen_instance *g, uint64_t params) {
  const tmpl *t = g->t;
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    if (t->derived_reads[i] & params) {
      g->derived[i] = (expr_value){0};
    }
  }
  for (size_t i = 0; i < t->pub.n_search_requirements; i++) {
    g->held[i] = g->held[i] && !(t->requirement_reads[i] & params);
  }
}

/* A search for a valid configuration changes one parameter at a time: what does not read it stays.
 */
static void bind_config(gen_instance *g, const gen_config *c) {
  const uint64_t changed = different(g, c);
  forget(g, changed);
  for (uint64_t bits = changed; bits; bits &= bits - 1) {
    const size_t i = (size_t)__builtin_ctzll(bits);
    set_param(g, i, c->index[i]);
  }
  g->config = *c;
  g->has_config = true;
}

void gen_bind(gen_instance *g, const gen_config *c) {
  tmpl *t = g->t;
  if (t->bound != g) {
    t->env.values[EXPR_FIELD] = g->fields;
    t->env.values[EXPR_DEVICE] = g->limits;
    t->env.values[EXPR_PARAM] = g->params;
    t->env.values[EXPR_DERIVED] = g->derived;
    t->env.values[EXPR_SCALAR] = t->scalars;
    t->bound = g;
  }
  if (c) {
    bind_config(g, c);
  }
}

/* Derived values are whole numbers or conditions: what CUDA text can have as a constant. */
static void derive(gen_instance *g, size_t i) {
  gen_box *b = &g->t->box;
  const gen_expr *x = g->t->derived[i];
  gen_derive_for(g, x);
  expr_value v = gen_expr_value(b, x);
  g->derived[i] = v.type == EXPR_CONDITION ? v : expr_integer(gen_expr_integer(b, x));
}

void gen_derive_for(gen_instance *g, const gen_expr *x) {
  for (uint64_t bits = x->reads.derived; bits; bits &= bits - 1) {
    const size_t i = (size_t)__builtin_ctzll(bits);
    if (!g->derived[i].type) {
      derive(g, i);
    }
  }
}

void gen_derive_all(gen_instance *g, const gen_config *c) {
  for (size_t i = 0; i < g->t->pub.n_derived; i++) {
    if (!g->derived[i].type && (c || g->t->fixed[i])) {
      derive(g, i);
    }
  }
}

bool gen_has_derived(const gen_instance *g, size_t i, const gen_config *c) {
  return g->derived[i].type && (c || g->t->fixed[i]);
}

/* ---- values into Lua ------------------------------------------------------------------------- */

static void set(lua_State *L, const char *name, const expr_value *v) {
  lua_pushstring(L, name);
  switch (v->type) {
  case EXPR_INTEGER: lua_pushinteger(L, v->i); break;
  case EXPR_REAL: lua_pushnumber(L, v->d); break;
  case EXPR_CONDITION: lua_pushboolean(L, v->yes); break;
  default: lua_pushstring(L, v->s); break;
  }
  lua_rawset(L, -3);
}

void gen_push_values(gen_instance *g, const gen_config *c) {
  lua_State *L = g->t->box.L;
  const gen_template *t = &g->t->pub;
  gen_push_globals(&g->t->box);
  for (size_t i = 0; i < t->n_fields; i++) {
    set(L, t->fields[i].name, &g->fields[i]);
  }
  for (size_t i = 0; gen_device_names[i]; i++) {
    set(L, gen_device_names[i], &g->limits[i]);
  }
  for (size_t i = 0; c && i < t->n_params; i++) {
    set(L, t->params[i].name, &g->params[i]);
  }
  for (size_t i = 0; i < t->n_derived; i++) {
    if (gen_has_derived(g, i, c)) {
      set(L, t->derived[i].name, &g->derived[i]);
    }
  }
}

dtype gen_element_type(const gen_instance *g, gen_element x) {
  if (x.field >= 0) {
    dtype_parse(g->problem.values[x.field].s, &x.type);
  }
  return x.type;
}

/* ---- making one ------------------------------------------------------------------------------ */

int gen_device_limits(const gen_number *device, size_t n, int64_t out[GEN_MAX_DEVICE], err *e) {
  for (size_t i = 0; gen_device_names[i]; i++) {
    size_t j = 0;
    while (j < n && strcmp(device[j].name, gen_device_names[i])) {
      j++;
    }
    if (j == n) {
      return err_set(e, ERR_USAGE, "the device's limits lack %s", gen_device_names[i]);
    }
    out[i] = device[j].value;
  }
  return 0;
}

/* What depends on the problem alone fails here rather than at every candidate. */
static void check_problem(gen_box *b, void *ud) {
  gen_instance *g = ud;
  const tmpl *t = g->t;
  const gen_expr *const numbers[] = {t->flops, t->bytes, t->tolerance.abs, t->tolerance.rel};
  gen_bind(g, NULL);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    gen_derive_for(g, numbers[i]);
    gen_expr_real(b, numbers[i]);
  }
}

int gen_instance_new(gen_template *t, const gen_problem *p, const gen_number *device,
                     size_t n_device, gen_instance **out, err *e) {
  gen_instance *g = calloc(1, sizeof *g);
  bool *held = calloc(t->n_search_requirements + 1, sizeof *held);
  if (!g || !held) {
    free(g);
    free(held);
    return err_nomem(e);
  }
  g->t = gen_tmpl(t);
  g->problem = *p;
  g->held = held;
  for (size_t i = 0; i < t->n_fields; i++) {
    g->fields[i] = gen_value_of(&p->values[i]);
  }
  int rc = gen_device_limits(device, n_device, g->device, e);
  for (size_t i = 0; gen_device_names[i]; i++) {
    g->limits[i] = expr_integer(g->device[i]);
  }
  rc = rc ? rc : gen_box_run(&g->t->box, check_problem, g, false, e);
  if (rc) {
    gen_instance_free(g);
    return rc;
  }
  *out = g;
  return 0;
}

void gen_instance_free(gen_instance *g) {
  if (g) {
    if (g->t->bound == g) {
      g->t->bound = NULL;
      g->t->env = (expr_env){{NULL}};
    }
    free(g->held);
    free(g);
  }
}

/* ---- checking a configuration ---------------------------------------------------------------- */

typedef struct trial {
  gen_instance *g;
  const gen_config *c;
  size_t failed; /* the first requirement that does; n_requirements: none */
  bool holds;    /* requirement `failed` */
  bool searched; /* what only spaces heed counts, too */
} trial;

/* Of the configuration that is bound. */
static bool holds(gen_instance *g, size_t i) {
  if (!g->held[i]) {
    gen_derive_for(g, g->t->requirements[i]);
    g->held[i] = gen_expr_condition(&g->t->box, g->t->requirements[i]);
  }
  return g->held[i];
}

/* A configuration that is compiled with the library has one text for all sizes, though others may be
 * faster for some. */
static bool is_base(const tmpl *t, const gen_config *c) {
  for (size_t i = 0; i < t->n_base; i++) {
    if (gen_config_equal(&t->pub, &t->base[i], c)) {
      return true;
    }
  }
  return false;
}

static void find_failed(gen_box *b, void *ud) {
  trial *k = ud;
  const tmpl *t = k->g->t;
  const bool base = !k->searched && is_base(t, k->c);
  const size_t n = k->searched ? t->pub.n_search_requirements : t->pub.n_requirements;
  (void)b;
  gen_bind(k->g, k->c);
  for (k->failed = 0; k->failed < n; k->failed++) {
    if (!(base && t->advice[k->failed]) && !holds(k->g, k->failed)) {
      return;
    }
  }
  gen_derive_all(k->g, k->c);
}

static void check(gen_box *b, void *ud) {
  trial *k = ud;
  find_failed(b, k);
  if (k->failed < k->g->t->pub.n_requirements) {
    const gen_pair *p = &k->g->t->pub.requirements[k->failed];
    gen_fail(b, ERR_USAGE, (gen_line){0}, "%s (%s)", p->name, p->expression);
  }
}

int gen_config_check(gen_instance *g, const gen_config *c, err *e) {
  trial k = {.g = g, .c = c};
  return gen_box_run(&g->t->box, check, &k, false, e);
}

static void test_one(gen_box *b, void *ud) {
  trial *k = ud;
  (void)b;
  gen_bind(k->g, k->c);
  k->holds = holds(k->g, k->failed);
}

int gen_config_holds(gen_instance *g, const gen_config *c, size_t i, bool *yes, err *e) {
  trial k = {.g = g, .c = c, .failed = i};
  TRY(gen_box_run(&g->t->box, test_one, &k, false, e));
  *yes = k.holds;
  return 0;
}

int gen_config_failing(gen_instance *g, const gen_config *c, size_t *failing, err *e) {
  trial k = {.g = g, .c = c};
  TRY(gen_box_run(&g->t->box, find_failed, &k, false, e));
  *failing = k.failed;
  return 0;
}

int gen_config_outside(gen_instance *g, const gen_config *c, size_t *failing, err *e) {
  trial k = {.g = g, .c = c, .searched = true};
  TRY(gen_box_run(&g->t->box, find_failed, &k, false, e));
  *failing = k.failed;
  return 0;
}

uint64_t gen_requirement_reads(const gen_template *t, size_t i) {
  return gen_tmpl(t)->requirement_reads[i];
}

/* ---- showing one ----------------------------------------------------------------------------- */

typedef struct view {
  gen_instance *g;
  const gen_config *c;
  str *out;
} view;

static void add_words(gen_box *b, void *ud) {
  view *v = ud;
  const tmpl *t = v->g->t;
  const char *between = "";
  gen_bind(v->g, v->c);
  for (size_t i = 0; i < t->pub.n_params; i++) {
    const gen_param *p = &t->pub.params[i];
    const uint16_t index = v->c->index[i];
    if (t->when[i] && index == t->preset.index[i]) {
      gen_derive_for(v->g, t->when[i]);
      if (!gen_expr_condition(b, t->when[i])) {
        continue;
      }
    }
    str_addf(v->out, "%s%s=", between, p->name);
    gen_add_value(&p->values[index], v->out);
    between = ",";
  }
}

int gen_config_words(gen_instance *g, const gen_config *c, str *out, err *e) {
  view v = {.g = g, .c = c, .out = out};
  return gen_box_run(&g->t->box, add_words, &v, false, e);
}

/* ---- for problems without tuning results ----------------------------------------------------- */

typedef struct suggestion {
  gen_instance *g;
  const gen_suggested *s;
  bool fits;
} suggestion;

static void find_fitting(gen_box *b, void *ud) {
  suggestion *x = ud;
  gen_bind(x->g, NULL);
  gen_derive_for(x->g, x->s->when);
  x->fits = gen_expr_condition(b, x->s->when);
}

int gen_config_untuned(gen_instance *g, gen_config *c, bool *suggested, err *e) {
  bool ignored = false;
  suggested = suggested ? suggested : &ignored;
  gen_config_default(&g->t->pub, c);
  *suggested = false;
  for (size_t i = 0; i < g->t->n_untuned; i++) {
    suggestion x = {.g = g, .s = &g->t->untuned[i]};
    size_t failing = 0;
    TRY(gen_box_run(&g->t->box, find_fitting, &x, false, e));
    if (x.fits) {
      TRY(gen_config_failing(g, &x.s->config, &failing, e));
    }
    if (x.fits && failing == g->t->pub.n_requirements) {
      *c = x.s->config;
      *suggested = true;
      return 0;
    }
  }
  return 0;
}

typedef struct data_kinds {
  gen_instance *g;
  bool wanted;
} data_kinds;

static void ask_kinds(gen_box *b, void *ud) {
  data_kinds *x = ud;
  const tmpl *t = x->g->t;
  gen_bind(x->g, NULL);
  x->wanted = t->kinds && (!t->kinds_when || gen_expr_condition(b, t->kinds_when));
}

int gen_kinds(gen_instance *g, const char **names, err *e) {
  data_kinds x = {.g = g};
  TRY(gen_box_run(&g->t->box, ask_kinds, &x, false, e));
  *names = x.wanted ? g->t->kinds : "";
  return 0;
}

const char *const *gen_kind_names(void) {
  static const char *const names[] = {"own", "sorted", "equal", "small", NULL};
  return names;
}

bool gen_has_untuned(const gen_template *t) {
  return gen_tmpl(t)->n_untuned > 0;
}
