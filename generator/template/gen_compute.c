/* Test data that a Lua function of the template gives, element by element. */
#include <lauxlib.h>
#include <string.h>

#include "gen_tmpl.h"

enum { CHUNK = 1 << 16 }; /* elements that one budget of instructions is for */

typedef struct job {
  gen_instance *g;
  size_t arg;
  const gen_datum *datum;
  unsigned char *bytes;
  uint64_t from;
} job;

/* { n = 1000, kind = "fast" } */
static void push_fields(lua_State *L, const gen_instance *g) {
  const gen_template *t = &g->t->pub;
  lua_createtable(L, 0, (int)t->n_fields);
  for (size_t i = 0; i < t->n_fields; i++) {
    const int64_t v = g->problem.values[i].i;
    if (t->fields[i].names) {
      lua_pushstring(L, t->fields[i].names[v]);
    } else {
      lua_pushinteger(L, v);
    }
    lua_setfield(L, -2, t->fields[i].name);
  }
}

/* The element on top of the stack; integers whole, of 64 bits too. */
static uint64_t element(gen_box *b, const job *j, uint64_t i) {
  lua_State *L = b->L;
  const dtype t = j->datum->type;
  int whole = 0;
  const lua_Integer v = lua_tointegerx(L, -1, &whole);
  if (lua_type(L, -1) != LUA_TNUMBER || (!whole && !dtype_is_float(t))) {
    gen_fail(b, ERR_TEMPLATE, b->home, "the fill of '%s' gives %s for element %llu, not %s",
             j->g->t->pub.args[j->arg].name,
             lua_isnumber(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1),
             (unsigned long long)i, dtype_is_float(t) ? "a number" : "a whole number");
  }
  return dtype_is_float(t) ? dtype_encode(t, lua_tonumber(L, -1)) : (uint64_t)v;
}

static void compute(gen_box *b, void *ud) {
  job *j = ud;
  lua_State *L = b->L;
  const size_t size = dtype_nbytes(j->datum->type);
  const uint64_t left = j->datum->count - j->from, end = j->from + (left < CHUNK ? left : CHUNK);
  luaL_checkstack(L, 8, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, j->g->t->args[j->arg].function);
  push_fields(L, j->g);
  for (; j->from < end; j->from++) {
    lua_pushvalue(L, -2);
    lua_pushinteger(L, (lua_Integer)j->from);
    lua_pushinteger(L, (lua_Integer)j->datum->count);
    lua_pushvalue(L, -4);
    lua_call(L, 3, 1);
    const uint64_t bits = element(b, j, j->from);
    memcpy(j->bytes + j->from * size, &bits, size);
    lua_pop(L, 1);
  }
}

int gen_data_compute(gen_instance *g, size_t arg, const gen_datum *datum, void *bytes, err *e) {
  job j = {g, arg, datum, bytes, 0};
  while (j.from < datum->count) {
    TRY(gen_box_run(&g->t->box, compute, &j, true, e));
  }
  return 0;
}
