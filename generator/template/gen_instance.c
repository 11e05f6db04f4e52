/* A template bound to a problem and a device: the table of values that expressions read. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "gen_tmpl.h"

/* ---- values into Lua ------------------------------------------------------------------------- */

static void push_value(lua_State *L, const gen_value *v) {
  if (v->s) {
    lua_pushstring(L, v->s);
  } else {
    lua_pushinteger(L, v->i);
  }
}

static void push_result(lua_State *L, const gen_result *r) {
  switch (r->type) {
  case GEN_INTEGER: lua_pushinteger(L, r->i); break;
  case GEN_REAL: lua_pushnumber(L, r->d); break;
  case GEN_CONDITION: lua_pushboolean(L, r->yes); break;
  case GEN_NAME: lua_pushstring(L, r->s); break;
  }
}

/* Pops the value into the table just below it. */
static void set(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  lua_insert(L, -2);
  lua_rawset(L, -3);
}

static void push_env(tmpl *t) {
  luaL_checkstack(t->box.L, 8, NULL);
  lua_rawgeti(t->box.L, LUA_REGISTRYINDEX, t->env);
}

static void set_result(tmpl *t, const char *name, const gen_result *r) {
  push_env(t);
  push_result(t->box.L, r);
  set(t->box.L, name);
  lua_pop(t->box.L, 1);
}

void gen_set_scalar(tmpl *t, size_t i, const gen_result *r) {
  if (i < GEN_MAX_SCALARS) {
    t->codes.scalars[i] = gen_result_atom(r);
    t->codes.has_scalar[i] = true;
  }
  set_result(t, t->pub.args[i].name, r);
}

void gen_set_field(tmpl *t, size_t i, const gen_problem *p) {
  push_env(t);
  push_value(t->box.L, &p->values[i]);
  set(t->box.L, t->pub.fields[i].name);
  lua_pop(t->box.L, 1);
}

/* Fields and device limits into the table on top. */
static void set_problem(gen_instance *g) {
  lua_State *L = g->t->box.L;
  const gen_template *p = &g->t->pub;
  for (size_t i = 0; i < p->n_fields; i++) {
    push_value(L, &g->problem.values[i]);
    set(L, p->fields[i].name);
  }
  for (size_t i = 0; gen_device_names[i]; i++) {
    lua_pushinteger(L, g->device[i]);
    set(L, gen_device_names[i]);
  }
}

/* Those with bits in `which`. */
static void set_params(gen_instance *g, const gen_config *c, uint64_t which) {
  lua_State *L = g->t->box.L;
  const gen_template *p = &g->t->pub;
  for (size_t i = 0; i < p->n_params; i++) {
    if (which >> i & 1) {
      push_value(L, &p->params[i].values[c->index[i]]);
      set(L, p->params[i].name);
    }
  }
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
    g->known[i] = g->known[i] && !(t->derived_reads[i] & params);
  }
  for (size_t i = 0; i < t->pub.n_requirements; i++) {
    g->held[i] = g->held[i] && !(t->requirement_reads[i] & params);
  }
}

/* Whoever looks for a valid configuration changes one parameter at a time: what does not read it
 * stays. */
static void bind_config(gen_instance *g, const gen_config *c) {
  const uint64_t changed = different(g, c);
  if (!changed && g->has_config) {
    return;
  }
  g->has_config = false; /* while it is half done */
  forget(g, changed);
  if (!g->t->codes.by_c) {
    push_env(g->t);
    set_params(g, c, changed);
    lua_pop(g->t->box.L, 1);
  }
  g->t->codes.is_ahead = g->t->codes.by_c;
  g->config = *c;
  g->has_config = true;
}

void gen_bind(gen_instance *g, const gen_config *c) {
  tmpl *t = g->t;
  if (t->bound != g) {
    t->bound = NULL;
    if (!t->codes.by_c) {
      push_env(t);
      set_problem(g);
      lua_pop(t->box.L, 1);
    }
    t->codes.is_ahead = t->codes.by_c;
    g->has_config = false;
    t->codes.fields = g->problem.values;
    memset(g->known, 0, t->pub.n_derived * sizeof *g->known);
    memset(g->held, 0, t->pub.n_requirements * sizeof *g->held);
    t->bound = g;
  }
  if (c) {
    bind_config(g, c);
  }
}

/* All of it at once, when Lua is asked after all. */
void gen_catch_up(tmpl *t) {
  gen_instance *g = (gen_instance *)t->bound;
  if (!t->codes.is_ahead || !g) {
    return;
  }
  push_env(t);
  set_problem(g);
  if (g->has_config) {
    set_params(g, &g->config, UINT64_MAX);
  }
  lua_pop(t->box.L, 1);
  for (size_t i = 0; i < t->pub.n_derived; i++) {
    if (g->known[i]) {
      set_result(t, t->pub.derived[i].name, &g->values[i]);
    }
  }
  t->codes.is_ahead = false;
}

/* Derived values are whole numbers or conditions: what CUDA text can have as a constant. */
static void derive(gen_instance *g, size_t i) {
  tmpl *t = g->t;
  const gen_expr *x = t->derived[i];
  gen_derive_for(g, x);
  gen_result r = gen_expr_value(&t->box, x);
  if (r.type != GEN_CONDITION && r.type != GEN_INTEGER) {
    r = (gen_result){.type = GEN_INTEGER, .i = gen_expr_integer(&t->box, x)};
  }
  g->values[i] = r;
  if (!t->codes.is_ahead) {
    set_result(t, t->pub.derived[i].name, &r);
  }
  g->known[i] = true;
}

void gen_derive_for(gen_instance *g, const gen_expr *x) {
  for (size_t i = 0; i < x->n_reads; i++) {
    const gen_symbol *s = x->reads[i];
    if (gen_is_derived(s) && !g->known[s->index]) {
      derive(g, s->index);
    }
  }
}

void gen_derive_all(gen_instance *g, const gen_config *c) {
  for (size_t i = 0; i < g->t->pub.n_derived; i++) {
    if (!g->known[i] && (c || g->t->fixed[i])) {
      derive(g, i);
    }
  }
}

bool gen_has_derived(const gen_instance *g, size_t i, const gen_config *c) {
  return g->known[i] && (c || g->t->fixed[i]);
}

void gen_push_values(gen_instance *g, const gen_config *c) {
  gen_push_globals(&g->t->box);
  set_problem(g);
  if (c) {
    set_params(g, c, UINT64_MAX);
  }
  for (size_t i = 0; i < g->t->pub.n_derived; i++) {
    if (gen_has_derived(g, i, c)) {
      push_result(g->t->box.L, &g->values[i]);
      set(g->t->box.L, g->t->pub.derived[i].name);
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

int gen_device_limits(const gen_number *device, size_t n, int64_t out[16], err *e) {
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
  const gen_expr *const numbers[] = {t->flops, t->bytes, t->tolerance_abs, t->tolerance_rel};
  gen_bind(g, NULL);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    gen_derive_for(g, numbers[i]);
    gen_expr_real(b, numbers[i]);
  }
}

int gen_instance_new(gen_template *t, const gen_problem *p, const gen_number *device,
                     size_t n_device, gen_instance **out, err *e) {
  gen_instance *g = calloc(1, sizeof *g);
  if (!g) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  g->t = gen_tmpl(t);
  g->problem = *p;
  g->values = calloc(t->n_derived + 1, sizeof *g->values);
  g->known = calloc(t->n_derived + 1, sizeof *g->known);
  g->held = calloc(t->n_requirements + 1, sizeof *g->held);
  int rc = g->values && g->known && g->held ? gen_device_limits(device, n_device, g->device, e)
                                            : err_set(e, ERR_NOMEM, "out of memory");
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
      g->t->codes.fields = NULL;
    }
    free(g->values);
    free(g->known);
    free(g->held);
    free(g);
  }
}

/* ---- checking a configuration ---------------------------------------------------------------- */

typedef struct trial {
  gen_instance *g;
  const gen_config *c;
  size_t failed; /* the first requirement that does; n_requirements: none */
  bool holds;    /* the one that was asked for */
} trial;

/* Of the configuration that is bound. */
static bool holds(gen_instance *g, size_t i) {
  if (!g->held[i]) {
    gen_derive_for(g, g->t->requirements[i]);
    g->held[i] = gen_expr_condition(&g->t->box, g->t->requirements[i]);
  }
  return g->held[i];
}

static void find_failed(gen_box *b, void *ud) {
  trial *k = ud;
  (void)b;
  gen_bind(k->g, k->c);
  for (k->failed = 0; k->failed < k->g->t->pub.n_requirements; k->failed++) {
    if (!holds(k->g, k->failed)) {
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

/* ---- for problems that nobody tuned ---------------------------------------------------------- */

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
