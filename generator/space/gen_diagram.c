/* How it is built: the layers one after another, every node of a layer before the next. For each
 * layer there is a Lua function that takes the parts' values, goes through the parameter's values,
 * tests the requirements that are decided by it, and hands on the next layer's parts; C finds the
 * node that has these, or makes it. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_builder.h"

enum { MAX_FACTOR = 1000, STEPS_PER_EDGE = 32 };
enum { SHORT = 40 }; /* bytes of a string that Lua keeps only once (LUAI_MAXSHORTLEN) */
static const size_t MAX_CELLS = (size_t)1 << 25, MAX_KEYS = (size_t)1 << 24;
/* In the order of the declaration: some tenths of a second. */
static const size_t FEW_KEYS = (size_t)1 << 22;
enum { REAL = LUA_TNUMBER + 16 };

/* ---- nodes ----------------------------------------------------------------------------------- */

static void keys_clear(gen_keys *k) {
  free(k->bits);
  free(k->types);
  free(k->ways);
  free(k->table);
  *k = (gen_keys){0};
}

static bool keys_reserve(gen_keys *k, size_t n) {
  if (n <= k->max) {
    return true;
  }
  size_t max = 2 * n + 16;
  uint64_t *bits = realloc(k->bits, (max * k->width + 1) * sizeof *bits);
  k->bits = bits ? bits : k->bits;
  uint8_t *types = realloc(k->types, max * k->width + 1);
  k->types = types ? types : k->types;
  double *ways = realloc(k->ways, max * sizeof *ways);
  k->ways = ways ? ways : k->ways;
  k->max = bits && types && ways ? max : k->max;
  return bits && types && ways;
}

static uint64_t hash_key(const gen_keys *k, size_t node) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = node * k->width; i < (node + 1) * k->width; i++) {
    h = (h ^ k->bits[i] ^ k->types[i]) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  return h;
}

static bool equal_keys(const gen_keys *k, size_t a, size_t b) {
  return !memcmp(k->bits + a * k->width, k->bits + b * k->width, k->width * sizeof *k->bits) &&
         !memcmp(k->types + a * k->width, k->types + b * k->width, k->width);
}

/* Where the node's number stands, or could. */
static uint32_t *table_slot(const gen_keys *k, size_t node) {
  size_t i = hash_key(k, node) & (k->n_table - 1);
  while (k->table[i] && !equal_keys(k, k->table[i] - 1, node)) {
    i = (i + 1) & (k->n_table - 1);
  }
  return &k->table[i];
}

static bool rehash(gen_keys *k) {
  size_t n_table = k->n_table ? 2 * k->n_table : 1024;
  uint32_t *table = calloc(n_table, sizeof *table);
  if (!table) {
    return false;
  }
  free(k->table);
  k->table = table;
  k->n_table = n_table;
  for (size_t i = 0; i < k->n; i++) {
    *table_slot(k, i) = (uint32_t)i + 1;
  }
  return true;
}

static void read_value(gen_builder *b, lua_State *L, int i, uint64_t *bits, uint8_t *type) {
  *type = (uint8_t)lua_type(L, i);
  *bits = 0;
  if (*type == LUA_TNUMBER && lua_isinteger(L, i)) {
    *bits = (uint64_t)lua_tointeger(L, i);
  } else if (*type == LUA_TNUMBER) {
    double v = lua_tonumber(L, i);
    memcpy(bits, &v, sizeof v);
    *type = REAL;
  } else if (*type == LUA_TBOOLEAN) {
    *bits = (uint64_t)lua_toboolean(L, i);
  } else if (*type == LUA_TSTRING) {
    const char *p = lua_tostring(L, i);
    if (lua_rawlen(L, i) > SHORT) { /* Lua has it more than once, and may drop this one */
      gen_builder_too_large(b, "one of its texts is long");
    }
    memcpy(bits, &p, sizeof p);
  } else {
    gen_fail(&b->g->t->box, ERR_TEMPLATE, b->g->t->box.home, "an expression has no value");
  }
}

static void push_value(lua_State *L, uint64_t bits, uint8_t type) {
  double v;
  const char *p;
  switch (type) {
  case LUA_TNUMBER: lua_pushinteger(L, (lua_Integer)bits); break;
  case LUA_TBOOLEAN: lua_pushboolean(L, (int)bits); break;
  case LUA_TSTRING:
    memcpy(&p, &bits, sizeof p);
    lua_pushstring(L, p);
    break;
  default:
    memcpy(&v, &bits, sizeof v);
    lua_pushnumber(L, v);
    break;
  }
}

/* The next layer's node with the values from stack place 2 on. */
static size_t node_with(gen_builder *b, lua_State *L) {
  gen_keys *k = &b->next;
  if (!keys_reserve(k, k->n + 1) || (2 * k->n >= k->n_table && !rehash(k))) {
    gen_builder_no_memory(b);
  }
  if ((k->n + 1) * (k->width + 1) > (b->as_declared ? FEW_KEYS : MAX_KEYS)) {
    gen_builder_too_large(b, "its requirements tie too many parameters to each other");
  }
  for (size_t i = 0; i < k->width; i++) {
    read_value(b, L, (int)i + 2, &k->bits[k->n * k->width + i], &k->types[k->n * k->width + i]);
  }
  uint32_t *slot = table_slot(k, k->n);
  if (!*slot) {
    k->ways[k->n++] = 0;
    *slot = (uint32_t)k->n;
  }
  return *slot - 1;
}

static gen_builder *builder_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* _edge(i, parts...): the i-th value of the node at hand leads to the node with these parts */
static int edge(lua_State *L) {
  gen_builder *b = builder_of(L);
  gen_layer *y = &b->d->layers[b->layer];
  size_t n_values = b->d->t->params[y->param].n, value = (size_t)lua_tointeger(L, 1) - 1;
  size_t next = node_with(b, L);
  gen_box_charge(&b->g->t->box, STEPS_PER_EDGE);
  b->next.ways[next] += b->now.ways[b->node];
  y->below[b->node * n_values + value] = (uint32_t)next;
  return 0;
}

static int reject(lua_State *L) {
  gen_builder *b = builder_of(L);
  b->rejected[lua_tointeger(L, 1)] += b->now.ways[b->node] * b->points_below;
  gen_box_charge(&b->g->t->box, STEPS_PER_EDGE);
  return 0;
}

static int not_condition(lua_State *L) {
  return luaL_error(L, "a condition is needed");
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void push_values(lua_State *L, const gen_template *t) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    for (size_t j = 0; j < t->params[i].n; j++) {
      const gen_value *v = &t->params[i].values[j];
      if (v->s) {
        lua_pushstring(L, v->s);
      } else {
        lua_pushinteger(L, v->i);
      }
      lua_rawseti(L, -2, ++n);
    }
  }
}

/* Leaves the list of functions at stack place 1, and the values, which the strings belong to, at 2.
 */
static void push_functions(gen_builder *b) {
  gen_box *box = &b->g->t->box;
  lua_State *L = box->L;
  static const lua_CFunction callbacks[] = {edge, reject, not_condition};
  push_values(L, b->d->t);
  lua_newtable(L);
  gen_push_chunk(box, str_text(&b->text), b->text.n, "diagram");
  lua_pushvalue(L, 1);
  int n = 1;
  for (size_t i = 0; i < 3; i++, n++) {
    lua_pushlightuserdata(L, b);
    lua_pushcclosure(L, callbacks[i], 1);
  }
  lua_newtable(L);
  gen_set_helpers(box);
  int helpers = lua_gettop(L);
  for (size_t i = 0; gen_helper_names[i]; i++, n++) {
    lua_getfield(L, helpers, gen_helper_names[i]);
  }
  lua_remove(L, helpers);
  lua_call(L, n, 1);
  lua_insert(L, 1);
}

static void walk_node(gen_builder *b, lua_State *L) {
  const gen_keys *k = &b->now;
  lua_rawgeti(L, 1, (lua_Integer)b->layer + 1);
  for (size_t i = b->node * k->width; i < (b->node + 1) * k->width; i++) {
    push_value(L, k->bits[i], k->types[i]);
  }
  lua_call(L, (int)k->width, 0);
}

/* All edges of the layer, and with them the nodes of the next. */
static void walk_layer(gen_builder *b, lua_State *L) {
  gen_layer *y = &b->d->layers[b->layer];
  size_t cells = b->now.n * b->d->t->params[y->param].n;
  y->n = b->now.n;
  b->d->n_cells += cells;
  if (b->d->n_cells > MAX_CELLS) {
    gen_builder_too_large(b, "its requirements tie too many parameters to each other");
  }
  y->below = malloc((cells + 1) * sizeof *y->below);
  if (!y->below) {
    gen_builder_no_memory(b);
  }
  memset(y->below, 0xff, cells * sizeof *y->below);
  b->next.width = b->slots[b->layer + 1].n;
  b->points_below /= (double)b->d->t->params[y->param].n;
  for (b->node = 0; b->node < b->now.n; b->node++) {
    walk_node(b, L);
  }
  keys_clear(&b->now);
  b->now = b->next;
  b->next = (gen_keys){0};
}

static void walk_layers(gen_builder *b) {
  lua_State *L = b->g->t->box.L;
  luaL_checkstack(L, GEN_MAX_SLOTS + 16, NULL);
  if (!keys_reserve(&b->now, 1)) {
    gen_builder_no_memory(b);
  }
  b->now.n = 1;
  b->now.ways[0] = 1;
  b->points_below = 1;
  for (size_t i = 0; i < b->d->t->n_params; i++) {
    b->points_below *= (double)b->d->t->params[i].n;
  }
  for (b->layer = 0; b->layer < b->d->t->n_params; b->layer++) {
    walk_layer(b, L);
  }
  b->d->layers[b->layer].n = b->now.n;
}

/* ---- counting -------------------------------------------------------------------------------- */

static uint64_t count_below(const gen_diagram *d, size_t layer, const uint32_t *below) {
  return *below == GEN_NOWHERE ? 0 : d->layers[layer + 1].count[*below];
}

/* False when there are more than 2^63. */
static bool count_layer(gen_diagram *d, size_t layer) {
  gen_layer *y = &d->layers[layer];
  size_t n_values = d->t->params[y->param].n;
  for (size_t i = 0; i < y->n; i++) {
    uint64_t sum = 0;
    for (size_t v = 0; v < n_values; v++) {
      if (__builtin_add_overflow(sum, count_below(d, layer, &y->below[i * n_values + v]), &sum)) {
        return false;
      }
    }
    y->count[i] = sum;
    if (sum > INT64_MAX) {
      return false;
    }
  }
  return true;
}

static void count_all(gen_builder *b) {
  gen_diagram *d = b->d;
  for (size_t i = d->t->n_params + 1; i-- > 0;) {
    gen_layer *y = &d->layers[i];
    y->count = calloc(y->n + 1, sizeof *y->count);
    if (!y->count) {
      gen_builder_no_memory(b);
    }
    d->n_nodes += y->n;
    if (i == d->t->n_params) {
      y->count[0] = y->n;
    } else if (!count_layer(d, i)) {
      gen_builder_too_large(b, "more than 2^63 of them are valid");
    }
  }
  d->nbytes = d->n_cells * sizeof(uint32_t) + d->n_nodes * sizeof(uint64_t);
}

static void build(gen_box *box, void *ud) {
  gen_builder *b = ud;
  box->budget = box->max_instructions > UINT64_MAX / MAX_FACTOR
                    ? UINT64_MAX
                    : box->max_instructions * MAX_FACTOR;
  box->lines = &box->home;
  box->n_lines = 1;
  gen_builder_plan(b);
  push_functions(b);
  walk_layers(b);
  count_all(b);
}

static int build_in_order(gen_instance *g, bool as_declared, double *rejected, gen_diagram **out,
                          err *e) {
  gen_builder *b = calloc(1, sizeof *b);
  gen_diagram *d = calloc(1, sizeof *d);
  if (!b || !d) {
    free(b);
    free(d);
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  d->t = &g->t->pub;
  b->g = g;
  b->d = d;
  b->rejected = rejected;
  b->as_declared = as_declared;
  memset(rejected, 0, d->t->n_requirements * sizeof *rejected);
  int rc = gen_box_run(&g->t->box, build, b, false, e);
  keys_clear(&b->now);
  keys_clear(&b->next);
  str_clear(&b->text);
  str_clear(&b->part);
  arena_clear(&b->a);
  free(b);
  if (rc) {
    gen_diagram_free(d);
    return rc;
  }
  *out = d;
  return 0;
}

/* Who writes a template names together what belongs together, and that order mostly is a good one.
 * Where it isn't, another is looked for, by an estimate that is often wrong. */
int gen_diagram_new(gen_instance *g, double *rejected, gen_diagram **out, err *e) {
  err why = {0};
  const int rc = build_in_order(g, true, rejected, out, &why);
  if (rc == ERR_LIMIT || rc == ERR_TEMPLATE) {
    return build_in_order(g, false, rejected, out, e);
  }
  return rc ? err_at(e, rc, why.place, "%s", why.message) : 0;
}

void gen_diagram_free(gen_diagram *d) {
  for (size_t i = 0; d && i <= GEN_MAX_PARAMS; i++) {
    free(d->layers[i].below);
    free(d->layers[i].count);
  }
  free(d);
}

/* ---- points ---------------------------------------------------------------------------------- */

uint64_t gen_diagram_count(const gen_diagram *d) {
  return d->layers[0].count[0];
}

void gen_diagram_at(const gen_diagram *d, uint64_t i, gen_config *c) {
  size_t node = 0;
  *c = (gen_config){{0}};
  for (size_t k = 0; k < d->t->n_params; k++) {
    const gen_layer *y = &d->layers[k];
    const uint32_t *below = y->below + node * d->t->params[y->param].n;
    size_t v = 0;
    for (uint64_t n; i >= (n = count_below(d, k, &below[v])); v++) {
      i -= n;
    }
    c->index[y->param] = (uint16_t)v;
    node = below[v];
  }
}

bool gen_diagram_find(const gen_diagram *d, const gen_config *c, uint64_t *i) {
  size_t node = 0;
  *i = 0;
  for (size_t k = 0; k < d->t->n_params; k++) {
    const gen_layer *y = &d->layers[k];
    const uint32_t *below = y->below + node * d->t->params[y->param].n;
    size_t v = c->index[y->param];
    if (!count_below(d, k, &below[v])) {
      return false;
    }
    for (size_t w = 0; w < v; w++) {
      *i += count_below(d, k, &below[w]);
    }
    node = below[v];
  }
  return true;
}
