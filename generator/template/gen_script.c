#define _GNU_SOURCE
#include "gen_script.h"

#include <ctype.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_lex.h"

enum { MAX_LINES = 1 << 20, MAX_INCLUDES = 16 };
static const uint32_t NO_TEXT = UINT32_MAX;

/* ---- from text to Lua ------------------------------------------------------------------------ */

typedef struct builder {
  gen_box *b;
  arena *a;
  const gen_script_source *source;
  gen_line *lines;
  gen_piece *pieces;
  uint32_t *first;
  size_t n_lines, n_pieces; /* so far; while they are counted, all */
  str *lua;
  size_t n_seen; /* lines */
  bool is_plain; /* the last piece is a whole line, or several */
  int depth;     /* of includes */
  gen_line here; /* the line under way */
} builder;

static void *make(builder *s, size_t nbytes) {
  void *p = arena_new(s->a, nbytes);
  if (!p) {
    gen_fail(s->b, ERR_NOMEM, s->b->at, "out of memory");
  }
  return p;
}

static void add_line(builder *s, gen_line at) {
  s->first[s->n_lines] = NO_TEXT;
  s->lines[s->n_lines++] = at;
}

static size_t add_piece(builder *s, const char *p, size_t n) {
  s->pieces[s->n_pieces] = (gen_piece){p, n};
  return s->n_pieces++;
}

/* The closing brace of the @{ whose expression starts at p; NULL when the line has none. */
static const char *closing_brace(const char *p, const char *end) {
  gen_lexer l = gen_lex(p, (size_t)(end - p), 1);
  int depth = 0;
  for (gen_token t = gen_lex_next(&l); t.kind != GEN_TOKEN_END; t = gen_lex_next(&l)) {
    if (gen_token_is(&t, "{")) {
      depth++;
    } else if (gen_token_is(&t, "}") && depth-- == 0) {
      return t.p;
    }
  }
  return NULL;
}

static const char *find_value(const char *p, const char *end) {
  for (; p + 1 < end; p++) {
    if (p[0] == '@' && p[1] == '{') {
      return p;
    }
  }
  return NULL;
}

static const char *find_value_in(const builder *s, const char *p, const char *end) {
  return s->source->plain ? NULL : find_value(p, end);
}

/* Lines of text without values that follow each other are one piece. */
static bool extends_last(builder *s, const char *p, const char *end) {
  gen_piece *last = s->n_pieces ? &s->pieces[s->n_pieces - 1] : NULL;
  const bool extends = last && s->is_plain && last->p + last->n == p;
  if (extends) {
    last->n += (size_t)(end - p);
  }
  return extends;
}

/* A line of text, up to and with its newline. */
static void add_text(builder *s, const char *p, const char *end) {
  const char *value = find_value_in(s, p, end);
  if (!value && extends_last(s, p, end)) {
    return;
  }
  s->is_plain = !value;
  s->first[s->n_lines - 1] = (uint32_t)add_piece(s, p, (size_t)((value ? value : end) - p));
  str_addf(s->lua, "_T(%zu)", s->n_lines);
  while (value) {
    const char *close = closing_brace(value + 2, end);
    if (!close) {
      gen_fail(s->b, ERR_TEMPLATE, s->here, "this @{ has no } on its line");
    }
    str_addf(s->lua, " _V((%.*s))", (int)(close - value - 2), value + 2);
    p = close + 1;
    value = find_value(p, end);
    str_addf(s->lua, " _P(%zu)", add_piece(s, p, (size_t)((value ? value : end) - p)));
  }
  str_add(s->lua, ";");
}

typedef void line_action(builder *s, const char *p, const char *end);

static void each_line(builder *s, const char *p, size_t n, gen_line at, line_action *f);

/* The name in `include "name"` when the Lua line is that, else false. */
static bool include_name(const char *p, const char *end, char *name, size_t size) {
  gen_lexer l = gen_lex(p, (size_t)(end - p), 1);
  gen_token word = gen_lex_next(&l), file = gen_lex_next(&l), rest = gen_lex_next(&l);
  if (!gen_token_is(&word, "include") || file.kind != GEN_TOKEN_STRING ||
      rest.kind != GEN_TOKEN_END) {
    return false;
  }
  snprintf(name, size, "%.*s", (int)file.n - 2, file.p + 1);
  return true;
}

/* Of a line #include "name"; the toolkit's own, in angle brackets, are the compiler's. A plain file
 * may have those of the folders in which its headers are looked for so. */
static bool cuda_include_name(const builder *s, const char *p, const char *end, char *name,
                              size_t size) {
  static const char word[] = "#include";
  const size_t n = sizeof word - 1;
  if ((size_t)(end - p) <= n || memcmp(p, word, n)) {
    return false;
  }
  const char *from = p + n + strspn(p + n, " ");
  const char close = *from == '"' ? '"' : *from == '<' && s->source->plain ? '>' : 0;
  const char *to = close ? memchr(from + 1, close, (size_t)(end - from - 1)) : NULL;
  if (to) {
    snprintf(name, size, "%.*s", (int)(to - from - 1), from + 1);
  }
  return to;
}

/* Does the line include a file that the source has? */
static bool includes(builder *s, const char *p, const char *end, char *name, size_t size) {
  size_t n;
  const char *path;
  if (!cuda_include_name(s, p, end, name, size)) {
    return false;
  }
  s->b->at = s->here;
  return !s->source->plain || s->source->include(s->b, s->source->ud, name, &n, &path);
}

static bool is_once(const char *p, const char *end) {
  static const char word[] = "#pragma once";
  return (size_t)(end - p) >= sizeof word - 1 && !memcmp(p, word, sizeof word - 1);
}

static void add_include(builder *s, const char *name, line_action *f) {
  gen_line at = s->here;
  size_t n;
  const char *path;
  if (s->depth == MAX_INCLUDES) {
    gen_fail(s->b, ERR_TEMPLATE, at, "\"%s\" includes itself, or files are nested deeper than %d",
             name, MAX_INCLUDES);
  }
  s->b->at = at;
  const char *text = s->source->include(s->b, s->source->ud, name, &n, &path);
  s->depth++;
  each_line(s, text, n, (gen_line){path, 1}, f);
  s->depth--;
}

/* A line that starts with @, but not with @{, is Lua. */
static const char *lua_start(const builder *s, const char *p, const char *end) {
  if (s->source->plain) {
    return NULL;
  }
  while (p < end && (*p == ' ' || *p == '\t')) {
    p++;
  }
  return p < end && *p == '@' && !(p + 1 < end && p[1] == '{') ? p + 1 : NULL;
}

static void add_one(builder *s, const char *p, const char *end) {
  char name[256];
  const char *lua = lua_start(s, p, end);
  add_line(s, s->here);
  if (lua && include_name(lua, end, name, sizeof name)) {
    str_addf(s->lua, "_I['%s'] = true\n", name);
    add_include(s, name, add_one);
  } else if (lua) {
    str_add_n(s->lua, lua, (size_t)(end - lua));
  } else if (includes(s, p, end, name, sizeof name)) {
    str_addf(s->lua, "if not _I['%s'] then _I['%s'] = true\n", name, name);
    add_include(s, name, add_one);
    str_add(s->lua, "end ");
  } else if (is_once(p, end)) {
    str_add(s->lua, "\n");
  } else {
    add_text(s, p, end);
    str_add(s->lua, "\n");
  }
}

/* So many lines as add_one makes, and at least as many pieces. */
static void count_one(builder *s, const char *p, const char *end) {
  char name[256];
  const char *lua = lua_start(s, p, end);
  s->n_lines++;
  if (lua ? include_name(lua, end, name, sizeof name) : includes(s, p, end, name, sizeof name)) {
    add_include(s, name, count_one);
  } else if (!lua) {
    for (const char *at = p; at; at = find_value_in(s, at + 2, end)) {
      s->n_pieces++;
    }
  }
}

static void find_include(builder *s, const char *p, const char *end) {
  char name[256];
  const char *lua = lua_start(s, p, end);
  if (lua ? include_name(lua, end, name, sizeof name) : includes(s, p, end, name, sizeof name)) {
    add_include(s, name, find_include);
  }
}

/* Every line of text that ends with a newline, as all do (see gen_script_source). */
static void each_line(builder *s, const char *p, size_t n, gen_line at, line_action *f) {
  for (const char *end = p + n; p < end; at.line++) {
    const char *next = memchr(p, '\n', (size_t)(end - p));
    next = next ? next + 1 : end;
    s->here = at;
    if (s->n_seen++ == MAX_LINES) {
      gen_fail(s->b, ERR_LIMIT, at, "the text is longer than %d lines", MAX_LINES);
    }
    f(s, p, next);
    p = next;
  }
}

static void compile(builder *s, gen_script *out) {
  gen_box *b = s->b;
  if (s->lua->failed) {
    gen_fail(b, ERR_NOMEM, b->at, "out of memory");
  }
  b->lines = out->lines;
  b->n_lines = out->n_lines;
  lua_newtable(b->L);
  gen_push_chunk(b, str_text(s->lua), s->lua->n, "source");
  out->ref = luaL_ref(b->L, LUA_REGISTRYINDEX);
  b->lines = NULL;
  out->lua = strdup(str_text(s->lua)); /* no earlier: where Lua refuses it nobody would free it */
  if (!out->lua) {
    gen_fail(b, ERR_NOMEM, b->at, "out of memory");
  }
  str_clear(s->lua); /* as long as the text: nothing else built there is */
}

/* What the text says is counted first, for one place in the arena. */
static void lay_out(builder *s) {
  const gen_script_source *source = s->source;
  each_line(s, source->text, source->n, source->at, count_one);
  s->lines = make(s, (s->n_lines + 1) * sizeof *s->lines);
  s->first = make(s, (s->n_lines + 1) * sizeof *s->first);
  s->pieces = make(s, (s->n_pieces + 1) * sizeof *s->pieces);
  s->n_lines = s->n_pieces = s->n_seen = 0;
}

void gen_script_new(gen_box *b, arena *a, const gen_script_source *source, gen_script *out) {
  *out = (gen_script){.source = *source};
  if (!b->lazy) {
    gen_script_compile(b, a, out);
    return;
  }
  builder s = {.b = b, .a = a, .source = source};
  gen_line before = b->at;
  each_line(&s, source->text, source->n, source->at, find_include);
  b->at = before;
}

void gen_script_compile(gen_box *b, arena *a, gen_script *out) {
  const gen_script_source *source = &out->source;
  builder s = {.b = b, .a = a, .source = source, .lua = &b->scratch};
  gen_line before = b->at;
  if (out->ref) {
    return;
  }
  lay_out(&s);
  str_reset(s.lua);
  str_add(s.lua, "local _T, _V, _P = ... local _I = {} ");
  each_line(&s, source->text, source->n, source->at, add_one);
  out->lines = s.lines;
  out->n_lines = s.n_lines;
  out->pieces = s.pieces;
  out->first = s.first;
  b->at = before;
  compile(&s, out);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct emitter {
  gen_box *b;
  const gen_script *script;
  str *out;
  size_t max_n;
  gen_line next; /* what the compiler takes the next output line for */
} emitter;

static emitter *emitter_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static void emit(emitter *m, const char *p, size_t n) {
  if (!n) {
    return; /* p may be NULL */
  }
  if (n > m->max_n - m->out->n) {
    m->b->spent = true;
    luaL_error(m->b->L, "the source is longer than the %I bytes it may have",
               (lua_Integer)m->max_n);
  }
  str_add_n(m->out, p, n);
  for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))); p++) {
    m->next.line++;
  }
}

static void emit_path(emitter *m, const char *path) {
  emit(m, " \"", 2);
  for (; *path; path++) {
    if (*path == '"' || *path == '\\') {
      emit(m, "\\", 1);
    }
    emit(m, path, 1);
  }
  emit(m, "\"", 1);
}

/* Tell the compiler which template line comes next, when it would count otherwise. */
static void emit_place(emitter *m, gen_line at) {
  char number[32];
  if (at.path == m->next.path && at.line == m->next.line) {
    return;
  }
  emit(m, number, (size_t)snprintf(number, sizeof number, "#line %d", at.line));
  if (at.path != m->next.path) {
    emit_path(m, at.path);
  }
  emit(m, "\n", 1);
  m->next = at;
}

/* _T(line): the text that the line starts with */
static int start_line(lua_State *L) {
  emitter *m = emitter_of(L);
  size_t i = (size_t)lua_tointeger(L, 1) - 1;
  const gen_piece *piece = &m->script->pieces[m->script->first[i]];
  emit_place(m, m->script->lines[i]);
  emit(m, piece->p, piece->n);
  return 0;
}

/* _P(piece): text after a substitution */
static int add_rest(lua_State *L) {
  emitter *m = emitter_of(L);
  const gen_piece *piece = &m->script->pieces[lua_tointeger(L, 1)];
  emit(m, piece->p, piece->n);
  return 0;
}

/* The shortest digits that read back as x, with a point or an exponent, so that C++ sees a double.
 */
static void real_text(lua_Number x, char *text, size_t size) {
  int precision = 15;
  do {
    snprintf(text, size, "%.*g", precision, x);
  } while (strtod(text, NULL) != x && precision++ < 17);
  if (!strpbrk(text, ".e")) {
    strcat(text, ".0");
  }
}

static const char *integer_text(lua_Integer i, char *text, size_t size) {
  if (i == LUA_MININTEGER) { /* C++ has no literal for it */
    return "(-9223372036854775807 - 1)";
  }
  snprintf(text, size, "%lld", (long long)i);
  return text;
}

/* _V(value): a substitution, as C++ spells it */
static int add_value(lua_State *L) {
  char text[64];
  emitter *m = emitter_of(L);
  size_t n = 0;
  const char *p = text;
  switch (lua_type(L, 1)) {
  case LUA_TSTRING: p = lua_tolstring(L, 1, &n); break;
  case LUA_TBOOLEAN: p = lua_toboolean(L, 1) ? "true" : "false"; break;
  case LUA_TNUMBER:
    if (lua_isinteger(L, 1)) {
      p = integer_text(lua_tointeger(L, 1), text, sizeof text);
    } else if (isfinite(lua_tonumber(L, 1))) {
      real_text(lua_tonumber(L, 1), text, sizeof text - 2);
    } else {
      return luaL_error(L, "the value of this @{...} is not a finite number");
    }
    break;
  default:
    return luaL_error(L, "the value of this @{...} is %s, which has no text", luaL_typename(L, 1));
  }
  emit(m, p, n ? n : strlen(p));
  return 0;
}

static void push_emitter(lua_State *L, lua_CFunction f, emitter *m) {
  lua_pushlightuserdata(L, m);
  lua_pushcclosure(L, f, 1);
}

void gen_script_run(gen_box *b, const gen_script *s, size_t max_nbytes, str *out) {
  lua_State *L = b->L;
  emitter m = {.b = b, .script = s, .out = out, .max_n = out->n + max_nbytes};
  luaL_checkstack(L, 8, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->ref);
  lua_insert(L, -2);
  if (!lua_setupvalue(L, -2, 1)) {
    lua_pop(L, 1);
  }
  push_emitter(L, start_line, &m);
  push_emitter(L, add_value, &m);
  push_emitter(L, add_rest, &m);
  b->lines = s->lines;
  b->n_lines = s->n_lines;
  lua_call(L, 3, 0);
  b->lines = NULL;
  if (out->failed) {
    gen_fail(b, ERR_NOMEM, b->at, "out of memory");
  }
}
