#define _GNU_SOURCE
#include "gen_reader.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen_lex.h"

gen_reader gen_reader_start(tmpl *t) {
  return (gen_reader){.t = t, .b = &t->box, .L = t->box.L, .a = &t->a, .marks = {t->outline}};
}

gen_line gen_here(const gen_reader *r) {
  const gen_mark *mark = r->marks[r->depth];
  return (gen_line){mark->path ? mark->path : r->t->pub.path, mark->line};
}

void gen_bad(gen_reader *r, const char *format, ...) {
  char message[500];
  va_list ap;
  va_start(ap, format);
  vsnprintf(message, sizeof message, format, ap);
  va_end(ap);
  gen_fail(r->b, ERR_TEMPLATE, gen_here(r), "%s", message);
}

void *gen_make(gen_reader *r, size_t nbytes) {
  void *p = arena_new(r->a, nbytes);
  if (!p) {
    gen_fail(r->b, ERR_NOMEM, gen_here(r), "out of memory");
  }
  return p;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static bool arrive(gen_reader *r, const gen_mark *mark) {
  if (lua_isnil(r->L, -1)) {
    lua_pop(r->L, 1);
    return false;
  }
  if (r->depth + 1 == sizeof r->marks / sizeof *r->marks) {
    gen_bad(r, "tables are nested too deeply");
  }
  r->marks[++r->depth] = mark;
  return true;
}

bool gen_enter(gen_reader *r, const char *key) {
  luaL_checkstack(r->L, 8, NULL);
  lua_pushstring(r->L, key);
  lua_rawget(r->L, -2);
  return arrive(r, gen_mark_key(r->marks[r->depth], key));
}

bool gen_enter_at(gen_reader *r, int64_t i) {
  luaL_checkstack(r->L, 8, NULL);
  lua_rawgeti(r->L, -1, i);
  return arrive(r, gen_mark_at(r->marks[r->depth], i));
}

void gen_need(gen_reader *r, const char *key) {
  if (!gen_enter(r, key)) {
    gen_bad(r, "'%s' is missing here", key);
  }
}

void gen_need_at(gen_reader *r, int64_t i, const char *what) {
  if (!gen_enter_at(r, i)) {
    gen_bad(r, "%s is missing here, at place %lld of the list", what, (long long)i);
  }
}

void gen_leave(gen_reader *r) {
  lua_pop(r->L, 1);
  r->depth--;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static size_t count(const char *const *keys) {
  size_t n = 0;
  while (keys && keys[n]) {
    n++;
  }
  return n;
}

static bool among(const char *key, const char *const *keys) {
  for (; keys && *keys; keys++) {
    if (key[0] == **keys && !strcmp(key, *keys)) {
      return true;
    }
  }
  return false;
}

/* What somebody looks for with a key that has another name here; "": not known. */
static const char *meant(const char *key) {
  static const char *const scratch[] = {"scratch", "temp", "tmp", "temporary", "buffers", NULL};
  if (among(key, scratch)) {
    return "; " GEN_SCRATCH_HINT;
  }
  return strcmp(key, "count") && strcmp(key, "fill")
             ? ""
             : "; a buffer has a direction before its count, { name, type, \"in\", "
               "count = ... }, and " GEN_SCRATCH_HINT;
}

_Noreturn static void fail_key(gen_reader *r, const char *key, const char *const *keys) {
  const char *hint = meant(key);
  r->marks[r->depth] = gen_mark_key(r->marks[r->depth], key);
  gen_bad(r, "a key '%s' means nothing here%s", key,
          *hint ? hint : gen_suggestion(key, keys, count(keys)).text);
}

/* Every key of the table is a place of 1..n or one of the names. */
static void check_keys(gen_reader *r, size_t n, const char *const *keys) {
  lua_State *L = r->L;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      if (!among(lua_tostring(L, -2), keys)) {
        fail_key(r, lua_tostring(L, -2), keys);
      }
    } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
               (size_t)lua_tointeger(L, -2) > n) {
      gen_bad(r, n ? "the list has gaps" : "here belong keys with names, such as %s = ...",
              keys ? keys[0] : "");
    }
  }
}

static void need_table(gen_reader *r, const char *what) {
  if (!lua_istable(r->L, -1)) {
    gen_bad(r, "%s must be a table, not a %s", what, luaL_typename(r->L, -1));
  }
}

size_t gen_list(gen_reader *r, const char *what, const char *const *keys) {
  need_table(r, what);
  luaL_checkstack(r->L, 8, NULL);
  size_t n = lua_rawlen(r->L, -1);
  check_keys(r, n, keys);
  return n;
}

void gen_keys(gen_reader *r, const char *const *keys) {
  need_table(r, "this");
  luaL_checkstack(r->L, 8, NULL);
  check_keys(r, 0, keys);
}

const char *gen_first_name(gen_reader *r, const char *what) {
  if (!gen_is_table(r)) {
    gen_bad(r, "a table is needed here, whose first entry is %s", what);
  }
  gen_need_at(r, 1, what);
  const char *name = gen_text(r, what);
  gen_leave(r);
  return name;
}

size_t gen_bounded_list(gen_reader *r, const char *what, size_t max) {
  size_t n = gen_list(r, what, NULL);
  if (n > max) {
    gen_bad(r, "%s has %zu entries; %zu are the most", what, n, max);
  }
  return n;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool gen_is_text(const gen_reader *r) {
  return lua_type(r->L, -1) == LUA_TSTRING;
}
bool gen_is_table(const gen_reader *r) {
  return lua_istable(r->L, -1);
}

const char *gen_text_here(gen_reader *r, const char *what, size_t *n) {
  if (!gen_is_text(r)) {
    gen_bad(r, "%s must be text in quotes, not a %s", what, luaL_typename(r->L, -1));
  }
  const char *p = lua_tolstring(r->L, -1, n);
  if (strlen(p) != *n) {
    gen_bad(r, "%s must not contain a zero byte", what);
  }
  return p;
}

const char *gen_text(gen_reader *r, const char *what) {
  size_t n;
  const char *p = gen_text_here(r, what, &n);
  return memcpy(gen_make(r, n + 1), p, n);
}

int64_t gen_integer(gen_reader *r, const char *what) {
  int whole = 0;
  int64_t v = lua_type(r->L, -1) == LUA_TNUMBER ? lua_tointegerx(r->L, -1, &whole) : 0;
  if (!whole) {
    gen_bad(r, "%s must be a whole number", what);
  }
  return v;
}

double gen_real_number(gen_reader *r, const char *what) {
  if (lua_type(r->L, -1) != LUA_TNUMBER) {
    gen_bad(r, "%s must be a number", what);
  }
  return lua_tonumber(r->L, -1);
}

/* A number as the text that reads back as it. */
static const char *number_text(gen_reader *r) {
  char text[48];
  if (lua_isinteger(r->L, -1)) {
    snprintf(text, sizeof text, "%lld", (long long)lua_tointeger(r->L, -1));
  } else {
    int whole;
    lua_Integer i = lua_tointegerx(r->L, -1, &whole);
    snprintf(text, sizeof text, whole ? "%.0f" : "%.17g",
             whole ? (double)i : lua_tonumber(r->L, -1));
  }
  return strcpy(gen_make(r, strlen(text) + 1), text);
}

const gen_expr *gen_expression(gen_reader *r, unsigned kinds) {
  const char *text = lua_type(r->L, -1) == LUA_TNUMBER ? number_text(r)
                     : lua_isboolean(r->L, -1) ? (lua_toboolean(r->L, -1) ? "true" : "false")
                                               : NULL;
  if (!text && !gen_is_text(r)) {
    gen_bad(r, "here belongs an expression or a number, not a %s", luaL_typename(r->L, -1));
  }
  text = text ? text : gen_text(r, "an expression");
  return gen_expr_new(r->b, r->a, text, gen_here(r), &r->t->symbols, kinds);
}

const char *gen_text_at(gen_reader *r, const char *key) {
  if (!gen_enter(r, key)) {
    return NULL;
  }
  const char *text = gen_text(r, key);
  gen_leave(r);
  return text;
}

const gen_expr *gen_condition(gen_reader *r, unsigned kinds) {
  return gen_expr_need(r->b, gen_expression(r, kinds), EXPR_CONDITION);
}

const gen_expr *gen_numeric(gen_reader *r, unsigned kinds) {
  return gen_expr_need(r->b, gen_expression(r, kinds), EXPR_NUMBER);
}

const gen_expr *gen_condition_at(gen_reader *r, const char *key, unsigned kinds) {
  const gen_expr *x = NULL;
  if (gen_enter(r, key)) {
    x = gen_condition(r, kinds);
    gen_leave(r);
  }
  return x;
}

const gen_expr *gen_numeric_at(gen_reader *r, const char *key, unsigned kinds) {
  const gen_expr *x = NULL;
  if (gen_enter(r, key)) {
    x = gen_numeric(r, kinds);
    gen_leave(r);
  }
  return x;
}

static const gen_expr *need_numeric(gen_reader *r, const char *key, unsigned kinds) {
  gen_need(r, key);
  const gen_expr *x = gen_numeric(r, kinds);
  gen_leave(r);
  return x;
}

static bool has_key(gen_reader *r, const char *key) {
  const bool there = gen_is_table(r) && gen_enter(r, key);
  if (there) {
    gen_leave(r);
  }
  return there;
}

/* { abs = ..., rel = ... }, { bound = ..., factor = ..., abs = ... }, { norm2 = ... } or
 * { psnr = ..., peak = ... }: which keys each has, of which the first tells it. The abs of a bound and
 * the peak may be missing. */
static const struct {
  const char *abs, *rel, *bound, *keys[4];
} tolerances[] = {[GEN_ERROR_ELEMENT] = {"abs", "rel", NULL, {"abs", "rel"}},
                  [GEN_ERROR_BOUND] = {"abs", "factor", "bound", {"bound", "factor", "abs"}},
                  [GEN_ERROR_NORM2] = {NULL, "norm2", NULL, {"norm2"}},
                  [GEN_ERROR_PSNR] = {"peak", "psnr", NULL, {"psnr", "peak"}}};

static const gen_expr *zero(gen_reader *r, unsigned kinds) {
  return gen_expr_new(r->b, r->a, "0", gen_here(r), &r->t->symbols, kinds);
}

void gen_read_tolerance(gen_reader *r, unsigned kinds, gen_tolerance *out) {
  gen_error_kind kind = GEN_ERROR_PSNR;
  while (kind > GEN_ERROR_ELEMENT && !has_key(r, tolerances[kind].keys[0])) {
    kind--;
  }
  const char *abs = tolerances[kind].abs;
  gen_keys(r, tolerances[kind].keys);
  *out = (gen_tolerance){.error = kind, .at = gen_here(r)};
  out->bound_name = tolerances[kind].bound ? gen_text_at(r, tolerances[kind].bound) : NULL;
  const bool none = !abs || (kind >= GEN_ERROR_BOUND && !has_key(r, abs));
  out->abs = none ? zero(r, kinds) : need_numeric(r, abs, kinds);
  out->rel = need_numeric(r, tolerances[kind].rel, kinds);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Words that C++ and CUDA keep for themselves, and ours; parameters become constants of CUDA text.
 */
static const char *const reserved[] = {"alignas",
                                       "alignof",
                                       "asm",
                                       "auto",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "class",
                                       "concept",
                                       "const",
                                       "consteval",
                                       "constexpr",
                                       "constinit",
                                       "continue",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "else",
                                       "enum",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "float",
                                       "for",
                                       "friend",
                                       "goto",
                                       "if",
                                       "inline",
                                       "int",
                                       "long",
                                       "mutable",
                                       "namespace",
                                       "new",
                                       "noexcept",
                                       "nullptr",
                                       "operator",
                                       "private",
                                       "protected",
                                       "public",
                                       "register",
                                       "reinterpret_cast",
                                       "requires",
                                       "return",
                                       "short",
                                       "signed",
                                       "sizeof",
                                       "static",
                                       "static_assert",
                                       "static_cast",
                                       "const_cast",
                                       "dynamic_cast",
                                       "struct",
                                       "switch",
                                       "template",
                                       "this",
                                       "thread_local",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "union",
                                       "unsigned",
                                       "using",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "wchar_t",
                                       "while",
                                       "threadIdx",
                                       "blockIdx",
                                       "blockDim",
                                       "gridDim",
                                       "warpSize",
                                       NULL};

void gen_check_name(gen_reader *r, const char *name) {
  if (!gen_word_is_name(name) || name[0] == '_') {
    gen_bad(r, "'%s' is not a name: letters, digits and underscores, a letter first", name);
  }
  if (gen_word_is_lua(name, strlen(name))) {
    gen_bad(r, "'%s' is a word of Lua; take another name", name);
  }
  if (among(name, reserved)) {
    gen_bad(r, "'%s' is a word of CUDA C++; take another name", name);
  }
  if (among(name, expr_helper_names) || among(name, gen_device_names)) {
    gen_bad(r, "'%s' already means something in expressions; take another name", name);
  }
}

gen_symbol *gen_declare(gen_reader *r, const char *name, gen_symbol_kind kind, size_t index) {
  gen_symbols *s = &r->t->symbols;
  gen_check_name(r, name);
  if (gen_symbol_find(s, name, ~0u)) {
    gen_bad(r, "there are two things called '%s'", name);
  }
  if (s->n == GEN_MAX_SYMBOLS) {
    gen_bad(r, "there are more than %d names", GEN_MAX_SYMBOLS);
  }
  return gen_symbol_add(s, name, kind, index);
}
