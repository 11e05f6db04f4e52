/* What scripts can call: see gen_sandbox.h for what is left out and why. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <math.h>
#include <string.h>

#include "expr_value.h"
#include "gen_pattern.h"
#include "gen_sandbox.h"

static gen_box *box_of(lua_State *L) {
  void *ud;
  lua_getallocf(L, &ud);
  return ud;
}

/* ---- helpers of expressions ------------------------------------------------------------------ */

static expr_value value_at(lua_State *L, int i) {
  switch (lua_type(L, i)) {
  case LUA_TNUMBER:
    return lua_isinteger(L, i) ? expr_integer(lua_tointeger(L, i)) : expr_real(lua_tonumber(L, i));
  case LUA_TBOOLEAN: return expr_condition(lua_toboolean(L, i));
  case LUA_TSTRING: return expr_text(lua_tostring(L, i));
  default: return (expr_value){0};
  }
}

static void push_value(lua_State *L, const expr_value *v) {
  switch (v->type) {
  case EXPR_INTEGER: lua_pushinteger(L, v->i); break;
  case EXPR_REAL: lua_pushnumber(L, v->d); break;
  default: lua_pushboolean(L, v->yes); break;
  }
}

static expr_value apply(lua_State *L, expr_op op, const expr_value *v) {
  const uint8_t types[] = {(uint8_t)v[0].type, (uint8_t)v[1].type};
  expr_value out;
  char why[200];
  if (!expr_apply(op, v, &out)) {
    expr_complaint(op, v, types, why, sizeof why);
    luaL_error(L, "%s", why);
  }
  return out;
}

/* min and max take any number of arguments, two at a time. */
static int helper(lua_State *L) {
  const expr_op op = (expr_op)lua_tointeger(L, lua_upvalueindex(1));
  const bool any = op == EXPR_MIN || op == EXPR_MAX;
  expr_value v[2] = {value_at(L, 1), value_at(L, 2)};
  v[0] = any && lua_gettop(L) < 2 ? apply(L, EXPR_ONE, v) : apply(L, op, v);
  for (int i = 3; any && i <= lua_gettop(L); i++) {
    v[1] = value_at(L, i);
    v[0] = apply(L, op, v);
  }
  push_value(L, &v[0]);
  return 1;
}

/* Of anything, tables too. */
static int choose(lua_State *L) {
  luaL_argcheck(L, lua_isboolean(L, 1), 1, "a condition is needed");
  luaL_checkany(L, 3);
  lua_pushvalue(L, lua_toboolean(L, 1) ? 2 : 3);
  return 1;
}

/* Into the table on top. */
static void set_helpers(lua_State *L) {
  for (expr_op op = EXPR_CEILDIV; op < EXPR_N_OPS; op++) {
    if (expr_laws[op].helper) {
      lua_pushinteger(L, op);
      lua_pushcclosure(L, op == EXPR_SEL ? choose : helper, 1);
      lua_setfield(L, -2, expr_laws[op].text);
    }
  }
}

/* ---- functions whose work instructions do not show ------------------------------------------- */

typedef enum charge {
  CHARGE_COUNT,   /* argument 2 is a count */
  CHARGE_MOVE,    /* arguments 2 and 3 are a range */
  CHARGE_TABLE,   /* of its length */
  CHARGE_SORT,    /* its comparisons */
  CHARGE_TEXT,    /* texts are read: as numbers, for example */
  CHARGE_RESULTS, /* as many results as arguments 2 and 3 say */
} charge;

/* Each use of `...` copies them all. */
enum { RESULTS_MAX = 10000 };

static double length(lua_State *L, int i) {
  return lua_type(L, i) == LUA_TSTRING || lua_type(L, i) == LUA_TTABLE ? (double)lua_rawlen(L, i)
                                                                       : 0;
}

static double texts_cost(lua_State *L, int first) {
  double n = 0;
  for (int i = first; i <= lua_gettop(L); i++) {
    n += lua_type(L, i) == LUA_TSTRING ? (double)lua_rawlen(L, i) : 0;
  }
  return n / 8;
}

/* n log n comparisons, of texts as long as the longest */
static double sort_cost(lua_State *L, int table) {
  const double n = length(L, table);
  double longest = 0;
  for (lua_Integer i = 1; i <= (lua_Integer)n; i++) {
    const int type = lua_rawgeti(L, table, i);
    const double here = type == LUA_TSTRING ? (double)lua_rawlen(L, -1) : 0;
    longest = here > longest ? here : longest;
    lua_pop(L, 1);
  }
  return n / 4 + n * log2(n + 1) * longest / 128;
}

/* of string.byte and table.unpack; positions in a text may count from its end */
static double results_cost(lua_State *L) {
  const bool text = lua_type(L, 1) == LUA_TSTRING;
  const double all = length(L, 1);
  double first = (double)luaL_optinteger(L, 2, 1);
  double last = luaL_optnumber(L, 3, text ? first : all);
  if (text) {
    first = first < 0 ? fmax(first + all + 1, 1) : first;
    last = last < 0 ? last + all + 1 : fmin(last, all);
  }
  if (last - first >= RESULTS_MAX) {
    luaL_error(L, "more than %d results", RESULTS_MAX);
  }
  return (last - first) / 4;
}

static double cost(lua_State *L, charge kind) {
  switch (kind) {
  case CHARGE_COUNT: return fabs((double)lua_tonumber(L, 2)) + texts_cost(L, 2);
  case CHARGE_MOVE: return fabs((double)lua_tonumber(L, 3) - (double)lua_tonumber(L, 2));
  case CHARGE_SORT: return lua_istable(L, 1) ? sort_cost(L, 1) : 0;
  case CHARGE_TEXT: return texts_cost(L, 1);
  case CHARGE_RESULTS: return results_cost(L);
  case CHARGE_TABLE: break;
  }
  return length(L, 1) / 4;
}

static int charged(lua_State *L) {
  double c = cost(L, (charge)lua_tointeger(L, lua_upvalueindex(2)));
  gen_box_charge(box_of(L), c < 0 ? 0 : c < 1e18 ? (uint64_t)c : (uint64_t)1e18);
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* Replace functions of the table on top by their charged forms. */
static void charge_for(lua_State *L, charge kind, const char *const *names) {
  for (; *names; names++) {
    lua_getfield(L, -1, *names);
    lua_pushinteger(L, kind);
    lua_pushcclosure(L, charged, 2);
    lua_setfield(L, -2, *names);
  }
}

/* ---- functions that differ from Lua's -------------------------------------------------------- */

/* Is its text an address, so another in every run? */
static bool has_address(lua_State *L, int i) {
  int type = lua_type(L, i);
  return type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA;
}

static int to_text(lua_State *L) {
  luaL_checkany(L, 1);
  if (has_address(L, 1)) {
    return luaL_error(L, "a %s has no text", luaL_typename(L, 1));
  }
  luaL_tolstring(L, 1, NULL);
  return 1;
}

static bool formats_address(const char *format) {
  for (const char *p = format; (p = strchr(p, '%')); p++) {
    p += 1 + strspn(p + 1, "-+ #0123456789.");
    if (*p == 'p') {
      return true;
    }
    if (!*p) {
      return false;
    }
  }
  return false;
}

/* A conversion takes as long as some dozen instructions; %q looks at every byte. */
static double format_cost(lua_State *L) {
  enum { CONVERSION = 32 };
  double n = 0;
  for (const char *p = luaL_checkstring(L, 1); (p = strchr(p, '%')); p++) {
    n += CONVERSION;
  }
  return n + 4 * texts_cost(L, 1);
}

static int format(lua_State *L) {
  luaL_argcheck(L, !formats_address(luaL_checkstring(L, 1)), 1, "%p is not available");
  gen_box_charge(box_of(L), (uint64_t)fmin(format_cost(L), 1e18));
  for (int i = 2; i <= lua_gettop(L); i++) {
    if (has_address(L, i)) {
      return luaL_error(L, "a %s has no text", luaL_typename(L, i));
    }
  }
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* Order of keys: numbers, then strings. */
static int key_before(lua_State *L) {
  int a = lua_type(L, 1), b = lua_type(L, 2);
  lua_pushboolean(L, a == b ? lua_compare(L, 1, 2, LUA_OPLT) : a < b);
  return 1;
}

static int next_pair(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));
  do {
    lua_settop(L, 1); /* the table */
    lua_rawgeti(L, lua_upvalueindex(1), ++i);
    if (lua_isnil(L, 2)) {
      return 1;
    }
    lua_pushvalue(L, 2);
    lua_rawget(L, 1);
  } while (lua_isnil(L, 3)); /* removed since */
  lua_pushinteger(L, i);
  lua_replace(L, lua_upvalueindex(2));
  return 2;
}

/* pairs, in an order that does not depend on the hash seed of this run. */
static int ordered_pairs(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_newtable(L);
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && type != LUA_TSTRING) {
      return luaL_error(L, "pairs needs keys that are numbers or strings, to have an order");
    }
    lua_pushvalue(L, 3);
    lua_rawseti(L, 2, ++n);
  }
  double c = (double)n + sort_cost(L, 2);
  gen_box_charge(box_of(L), c < 1e18 ? (uint64_t)c : (uint64_t)1e18);
  lua_pushvalue(L, lua_upvalueindex(1)); /* table.sort */
  lua_pushvalue(L, 2);
  lua_pushcfunction(L, key_before);
  lua_call(L, 2, 0);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_pair, 2);
  lua_insert(L, 1);
  return 2;
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* Push a new table with those fields of the table on top. */
static void push_subset(lua_State *L, const char *const *names) {
  lua_newtable(L);
  for (; *names; names++) {
    lua_getfield(L, -2, *names);
    lua_setfield(L, -2, *names);
  }
}

static void open_string(lua_State *L) {
  static const char *const names[] = {"byte",  "char",  "find", "format",  "gmatch", "gsub",  "len",
                                      "lower", "match", "rep",  "reverse", "sub",    "upper", NULL};
  static const char *const counts[] = {"rep", NULL};
  static const char *const texts[] = {"lower", "reverse", "upper", NULL};
  static const char *const results[] = {"byte", NULL};
  luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
  push_subset(L, names);
  gen_pattern_functions(L);
  charge_for(L, CHARGE_COUNT, counts);
  charge_for(L, CHARGE_TEXT, texts);
  charge_for(L, CHARGE_RESULTS, results);
  lua_getfield(L, -1, "format");
  lua_pushcclosure(L, format, 1);
  lua_setfield(L, -2, "format");
  lua_remove(L, -2);
}

/* ("x"):rep(3) finds a table of its own, which no script can reach; "1" + 1 stays an error. */
static void open_string_methods(lua_State *L) {
  lua_pushliteral(L, "");
  lua_newtable(L);
  open_string(L);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

static void open_table(lua_State *L) {
  static const char *const names[] = {"concat", "insert", "move",   "pack",
                                      "remove", "sort",   "unpack", NULL};
  static const char *const ranges[] = {"move", NULL};
  static const char *const tables[] = {"concat", "insert", "remove", NULL};
  static const char *const sorts[] = {"sort", NULL};
  static const char *const results[] = {"unpack", NULL};
  luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
  push_subset(L, names);
  charge_for(L, CHARGE_MOVE, ranges);
  charge_for(L, CHARGE_TABLE, tables);
  charge_for(L, CHARGE_SORT, sorts);
  charge_for(L, CHARGE_RESULTS, results);
  lua_remove(L, -2);
}

static void open_math(lua_State *L) {
  static const char *const names[] = {"abs",        "ceil",       "cos", "exp",  "floor", "fmod",
                                      "huge",       "log",        "max", "min",  "modf",  "pi",
                                      "maxinteger", "mininteger", "sin", "sqrt", "tan",   "type",
                                      "ult",        "tointeger",  NULL};
  static const char *const texts[] = {"abs", "ceil",      "cos", "exp",  "floor", "fmod",
                                      "log", "max",       "min", "modf", "sin",   "sqrt",
                                      "tan", "tointeger", "ult", NULL};
  luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 0);
  push_subset(L, names);
  charge_for(L, CHARGE_TEXT, texts);
  lua_remove(L, -2);
}

static void open_base(lua_State *L) {
  static const char *const names[] = {"assert",   "error", "ipairs", "select",
                                      "tonumber", "type",  NULL};
  static const char *const texts[] = {"tonumber", NULL};
  luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
  push_subset(L, names);
  charge_for(L, CHARGE_TEXT, texts);
  lua_remove(L, -2);
  lua_pushcfunction(L, to_text);
  lua_setfield(L, -2, "tostring");
  luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
  lua_getfield(L, -1, "sort");
  lua_remove(L, -2);
  lua_pushcclosure(L, ordered_pairs, 1);
  lua_setfield(L, -2, "pairs");
}

enum { MAX_NAMES = 256 };

static int undefined(lua_State *L) {
  const char *names[MAX_NAMES];
  size_t n = 0;
  const char *name = luaL_tolstring(L, 2, NULL);
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    if (n < MAX_NAMES && lua_type(L, -2) == LUA_TSTRING) {
      names[n++] = lua_tostring(L, -2);
    }
  }
  return luaL_error(L, "there is no '%s' here%s", name, gen_suggestion(name, names, n).text);
}

static const char LIBRARY = 0, STRICT = 0; /* their addresses are keys of the registry */

void gen_library_open(gen_box *b, void *ud) {
  lua_State *L = b->L;
  (void)ud;
  open_string_methods(L);
  open_base(L);
  open_string(L);
  lua_setfield(L, -2, "string");
  open_table(L);
  lua_setfield(L, -2, "table");
  open_math(L);
  lua_setfield(L, -2, "math");
  set_helpers(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &LIBRARY);
  lua_newtable(L);
  lua_pushcfunction(L, undefined);
  lua_setfield(L, -2, "__index");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &STRICT);
}

/* Replace the table on top by a copy; one level of tables inside it is copied too. */
static void copy_table(lua_State *L, int levels) {
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, -3);) {
    if (levels && lua_istable(L, -1)) {
      copy_table(L, levels - 1);
    }
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  lua_remove(L, -2);
}

/* Every script gets copies: what one changes in `string` no other sees. */
void gen_push_globals(gen_box *b) {
  lua_State *L = b->L;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &LIBRARY);
  copy_table(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &STRICT);
  lua_setmetatable(L, -2);
}
