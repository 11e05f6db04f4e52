/* gen_pattern.c -- see gen_pattern.h. src: Lua 5.4 Reference Manual, 6.4.1 (patterns) and 6.4
 * (find, gmatch, gsub, match). */
#define _GNU_SOURCE
#include "gen_pattern.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "gen_sandbox.h"

enum {
  CAPTURES_MAX = 32,
  DEPTH_MAX = 200,
  STEPS_AT_ONCE = 4096,
  STEPS_PER_INSTRUCTION = 4, /* of Lua, in time */
  STEPS_PER_REPLACEMENT = 32,
  OPEN = -1,    /* lengths of captures: not yet closed, ... */
  POSITION = -2 /* ... a position */
};

typedef struct matcher {
  lua_State *L;
  gen_box *box;
  const char *text, *text_end, *pattern_end;
  uint64_t steps; /* not yet charged */
  int depth, n;
  struct {
    const char *at;
    ptrdiff_t n;
  } captures[CAPTURES_MAX];
} matcher;

static const char *match(matcher *m, const char *s, const char *p);

static inline void charge(matcher *m, size_t steps) {
  m->steps += steps;
  if (m->steps >= STEPS_AT_ONCE) {
    gen_box_charge(m->box, m->steps / STEPS_PER_INSTRUCTION);
    m->steps = 0;
  }
}

static void charge_rest(matcher *m) {
  gen_box_charge(m->box, m->steps / STEPS_PER_INSTRUCTION);
  m->steps = 0;
}

/* ---- one character --------------------------------------------------------------------------- */

/* behind the item at p: a character, %x, a set */
static const char *item_end(matcher *m, const char *p) {
  const char first = *p++;
  if (first == '%') {
    if (p == m->pattern_end) {
      luaL_error(m->L, "malformed pattern (ends with '%%')");
    }
    return p + 1;
  }
  if (first != '[') {
    return p;
  }
  p += p < m->pattern_end && *p == '^';
  do { /* a first ] is an element */
    if (p == m->pattern_end) {
      luaL_error(m->L, "malformed pattern (missing ']')");
    }
    p += *p == '%' && p + 1 < m->pattern_end ? 2 : 1;
  } while (p >= m->pattern_end || *p != ']');
  return p + 1;
}

static bool in_class(int c, int name) {
  bool is;
  switch (tolower(name)) {
  case 'a': is = isalpha(c); break;
  case 'c': is = iscntrl(c); break;
  case 'd': is = isdigit(c); break;
  case 'g': is = isgraph(c); break;
  case 'l': is = islower(c); break;
  case 'p': is = ispunct(c); break;
  case 's': is = isspace(c); break;
  case 'u': is = isupper(c); break;
  case 'w': is = isalnum(c); break;
  case 'x': is = isxdigit(c); break;
  default: return name == c;
  }
  return isupper(name) ? !is : is;
}

/* p: at [; end: at its ] */
static bool in_set(int c, const char *p, const char *end) {
  const bool listed = p[1] != '^';
  for (p += listed ? 1 : 2; p < end; p++) {
    const unsigned char *u = (const unsigned char *)p;
    if (*p == '%') {
      p++;
      if (in_class(c, u[1])) {
        return listed;
      }
    } else if (p + 2 < end && p[1] == '-') {
      p += 2;
      if (u[0] <= c && c <= u[2]) {
        return listed;
      }
    } else if (u[0] == c) {
      return listed;
    }
  }
  return !listed;
}

/* is the character at s one of the item from p to end? */
static bool is_one(matcher *m, const char *s, const char *p, const char *end) {
  charge(m, (size_t)(end - p));
  if (s >= m->text_end) {
    return false;
  }
  const int c = (unsigned char)*s;
  switch (*p) {
  case '.': return true;
  case '%': return in_class(c, (unsigned char)p[1]);
  case '[': return in_set(c, p, end - 1);
  default: return (unsigned char)*p == c;
  }
}

/* ---- repetitions, captures ------------------------------------------------------------------- */

static const char *longest_first(matcher *m, const char *s, const char *p, const char *end) {
  const char *last = s;
  while (is_one(m, last, p, end)) {
    last++;
  }
  for (; last >= s; last--) {
    const char *found = match(m, last, end + 1);
    if (found) {
      return found;
    }
  }
  return NULL;
}

static const char *shortest_first(matcher *m, const char *s, const char *p, const char *end) {
  for (;; s++) {
    const char *found = match(m, s, end + 1);
    if (found || !is_one(m, s, p, end)) {
      return found;
    }
  }
}

static const char *open_capture(matcher *m, const char *s, const char *p) {
  const bool position = p + 1 < m->pattern_end && p[1] == ')';
  if (m->n == CAPTURES_MAX) {
    luaL_error(m->L, "too many captures");
  }
  m->captures[m->n].at = s;
  m->captures[m->n++].n = position ? POSITION : OPEN;
  const char *found = match(m, s, p + (position ? 2 : 1));
  m->n -= !found;
  return found;
}

static const char *close_capture(matcher *m, const char *s, const char *p) {
  int i = m->n - 1;
  while (i >= 0 && m->captures[i].n != OPEN) {
    i--;
  }
  if (i < 0) {
    luaL_error(m->L, "invalid pattern capture");
  }
  m->captures[i].n = s - m->captures[i].at;
  const char *found = match(m, s, p + 1);
  m->captures[i].n = found ? m->captures[i].n : OPEN;
  return found;
}

static const char *back_reference(matcher *m, const char *s, int digit) {
  const int i = digit - '1';
  if (i < 0 || i >= m->n || m->captures[i].n == OPEN) {
    luaL_error(m->L, "invalid capture index %%%d", i + 1);
  }
  const ptrdiff_t n = m->captures[i].n;
  if (n == POSITION || m->text_end - s < n) {
    return NULL;
  }
  charge(m, (size_t)n / 16);
  return memcmp(m->captures[i].at, s, (size_t)n) ? NULL : s + n;
}

/* %bxy at p: behind the y that closes the x at s */
static const char *balanced(matcher *m, const char *s, const char *p) {
  if (p + 3 >= m->pattern_end) {
    luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
  }
  int open = 0;
  for (const char *at = s; at < m->text_end && (open || at == s); at++) {
    charge(m, 1);
    if (*at == p[3] && open) {
      if (!--open) {
        return at + 1;
      }
    } else if (*at == p[2]) {
      open++;
    }
  }
  return NULL;
}

/* %f[set] at p: does a character outside the set precede s, and one inside it follow? */
static bool at_frontier(matcher *m, const char *s, const char *set, const char *end) {
  charge(m, (size_t)(end - set));
  const int before = s == m->text ? 0 : (unsigned char)s[-1];
  const int here = s == m->text_end ? 0 : (unsigned char)*s;
  return !in_set(before, set, end - 1) && in_set(here, set, end - 1);
}

static const char *frontier(matcher *m, const char *s, const char **p) {
  const char *set = *p + 2;
  if (set >= m->pattern_end || *set != '[') {
    luaL_error(m->L, "missing '[' after '%%f' in pattern");
  }
  *p = item_end(m, set);
  return at_frontier(m, s, set, *p) ? s : NULL;
}

/* ---- a whole pattern ------------------------------------------------------------------------- */

/* %b, %f and %1 at *p, which moves behind them; *is: is it one? */
static const char *special(matcher *m, const char *s, const char **p, bool *is) {
  const char *at = *p;
  const int kind = at[0] == '%' && at + 1 < m->pattern_end ? (unsigned char)at[1] : 0;
  *is = kind == 'b' || kind == 'f' || isdigit(kind);
  if (kind == 'f') {
    return frontier(m, s, p);
  }
  *p += kind == 'b' ? 4 : *is ? 2 : 0;
  return kind == 'b' ? balanced(m, s, at) : *is ? back_reference(m, s, kind) : s;
}

/* from s on; the end of what matches, or NULL */
static const char *match_items(matcher *m, const char *s, const char *p) {
  while (s && p < m->pattern_end) {
    bool is;
    charge(m, 1);
    if (*p == '(' || *p == ')') {
      return *p == '(' ? open_capture(m, s, p) : close_capture(m, s, p);
    }
    if (*p == '$' && p + 1 == m->pattern_end) {
      return s == m->text_end ? s : NULL;
    }
    s = special(m, s, &p, &is);
    if (is) {
      continue;
    }
    const char *end = item_end(m, p), *found = NULL;
    switch (end < m->pattern_end ? *end : 0) {
    case '?':
      found = is_one(m, s, p, end) ? match(m, s + 1, end + 1) : NULL;
      if (found) {
        return found;
      }
      p = end + 1;
      break;
    case '+': return is_one(m, s, p, end) ? longest_first(m, s + 1, p, end) : NULL;
    case '*': return longest_first(m, s, p, end);
    case '-': return shortest_first(m, s, p, end);
    default: s = is_one(m, s, p, end) ? s + 1 : NULL; p = end;
    }
  }
  return s;
}

static const char *match(matcher *m, const char *s, const char *p) {
  if (++m->depth > DEPTH_MAX) {
    luaL_error(m->L, "pattern too complex");
  }
  const char *found = match_items(m, s, p);
  m->depth--;
  return found;
}

/* a match that begins at s, without captures of an earlier one */
static const char *match_at(matcher *m, const char *s, const char *p) {
  m->depth = m->n = 0;
  const char *end = match(m, s, p);
  if (end || s == m->text_end) {
    charge_rest(m);
  }
  return end;
}

/* the text and the pattern that are at these places of the stack */
static const char *begin(lua_State *L, int text, int pattern, matcher *m) {
  size_t n, n_pattern;
  void *ud;
  lua_getallocf(L, &ud);
  *m = (matcher){.L = L, .box = ud};
  m->text = luaL_checklstring(L, text, &n);
  const char *p = luaL_checklstring(L, pattern, &n_pattern);
  m->text_end = m->text + n;
  m->pattern_end = p + n_pattern;
  return p;
}

/* capture i, or for i = 0 of a pattern without captures all that matches */
static void push_capture(matcher *m, int i, const char *s, const char *end) {
  if (i >= m->n) {
    if (i) {
      luaL_error(m->L, "invalid capture index %%%d", i + 1);
    }
    lua_pushlstring(m->L, s, (size_t)(end - s));
  } else if (m->captures[i].n == OPEN) {
    luaL_error(m->L, "unfinished capture");
  } else if (m->captures[i].n == POSITION) {
    lua_pushinteger(m->L, m->captures[i].at - m->text + 1);
  } else {
    lua_pushlstring(m->L, m->captures[i].at, (size_t)m->captures[i].n);
  }
}

static int push_captures(matcher *m, const char *s, const char *end) {
  const int n = m->n || !s ? m->n : 1;
  luaL_checkstack(m->L, n, "too many captures");
  for (int i = 0; i < n; i++) {
    push_capture(m, i, s, end);
  }
  return n;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* where argument i says to begin; NULL: behind the text */
static const char *start(lua_State *L, int i, const matcher *m) {
  const lua_Integer n = m->text_end - m->text, at = luaL_optinteger(L, i, 1);
  const lua_Integer from = at > 0 ? at - 1 : at < -n ? 0 : at ? n + at : 0;
  return from > n ? NULL : m->text + from;
}

static bool is_plain(const char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (strchr("^$*+?.([%-", p[i]) && p[i]) {
      return false;
    }
  }
  return true;
}

static int find_plain(matcher *m, const char *s, const char *p) {
  const size_t n = (size_t)(m->pattern_end - p);
  gen_box_charge(m->box, ((size_t)(m->text_end - s) + n) / 16);
  const char *found = memmem(s, (size_t)(m->text_end - s), p, n);
  if (!found) {
    lua_pushnil(m->L);
    return 1;
  }
  lua_pushinteger(m->L, found - m->text + 1);
  lua_pushinteger(m->L, found - m->text + (lua_Integer)n);
  return 2;
}

static int search(lua_State *L, bool finds) {
  matcher m;
  const char *p = begin(L, 1, 2, &m), *s = start(L, 3, &m);
  if (s && finds && (lua_toboolean(L, 4) || is_plain(p, (size_t)(m.pattern_end - p)))) {
    return find_plain(&m, s, p);
  }
  const bool anchored = p < m.pattern_end && *p == '^';
  p += anchored;
  for (; s && s <= m.text_end; s++) {
    const char *end = match_at(&m, s, p);
    if (end && !finds) {
      return push_captures(&m, s, end);
    }
    if (end) {
      lua_pushinteger(L, s - m.text + 1);
      lua_pushinteger(L, end - m.text);
      return 2 + push_captures(&m, NULL, NULL);
    }
    if (anchored) {
      break;
    }
  }
  lua_pushnil(L);
  return 1;
}

static int find(lua_State *L) {
  return search(L, true);
}

static int first_match(lua_State *L) {
  return search(L, false);
}

/* Upvalues: text, pattern, where to go on, end of the last match. */
static int next_match(lua_State *L) {
  matcher m;
  const char *p = begin(L, lua_upvalueindex(1), lua_upvalueindex(2), &m);
  const char *s = m.text + lua_tointeger(L, lua_upvalueindex(3));
  const lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
  for (; s <= m.text_end; s++) {
    const char *end = match_at(&m, s, p);
    if (end && end - m.text != last) {
      lua_pushinteger(L, end - m.text);
      lua_copy(L, -1, lua_upvalueindex(3));
      lua_replace(L, lua_upvalueindex(4));
      return push_captures(&m, s, end);
    }
  }
  return 0;
}

static int all_matches(lua_State *L) {
  matcher m;
  begin(L, 1, 2, &m);
  const char *s = start(L, 3, &m);
  lua_settop(L, 2);
  lua_pushinteger(L, s ? s - m.text : m.text_end - m.text + 1);
  lua_pushinteger(L, -1);
  lua_pushcclosure(L, next_match, 4);
  return 1;
}

static void add_text(matcher *m, luaL_Buffer *out, const char *s, const char *end) {
  size_t n;
  const char *with = lua_tolstring(m->L, 3, &n);
  charge(m, n);
  for (size_t i = 0; i < n; i++) {
    if (with[i] != '%') {
      luaL_addchar(out, with[i]);
    } else if (++i < n && with[i] == '%') {
      luaL_addchar(out, '%');
    } else if (i < n && with[i] == '0') {
      luaL_addlstring(out, s, (size_t)(end - s));
    } else if (i < n && isdigit((unsigned char)with[i])) {
      if (with[i] - '1' >= (m->n ? m->n : 1)) {
        luaL_error(m->L, "invalid capture index %%%d in replacement string", with[i] - '0');
      }
      push_capture(m, with[i] - '1', s, end);
      luaL_addvalue(out);
    } else {
      luaL_error(m->L, "invalid use of '%%' in replacement string");
    }
  }
}

/* what argument 3, a text, table or function, puts in the place of a match */
static void add_replacement(matcher *m, luaL_Buffer *out, const char *s, const char *end) {
  lua_State *L = m->L;
  charge(m, STEPS_PER_REPLACEMENT);
  switch (lua_type(L, 3)) {
  case LUA_TFUNCTION:
    lua_pushvalue(L, 3);
    lua_call(L, push_captures(m, s, end), 1);
    break;
  case LUA_TTABLE:
    push_capture(m, 0, s, end);
    lua_gettable(L, 3);
    break;
  default: add_text(m, out, s, end); return;
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(out, s, (size_t)(end - s));
    return;
  }
  if (!lua_isstring(L, -1)) {
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  }
  luaL_addvalue(out);
}

static int replace(lua_State *L) {
  matcher m;
  luaL_Buffer out;
  const char *p = begin(L, 1, 2, &m), *s = m.text, *last = NULL;
  const int type = lua_type(L, 3);
  luaL_argexpected(
      L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE,
      3, "string/function/table");
  const lua_Integer most = luaL_optinteger(L, 4, m.text_end - m.text + 1);
  const bool anchored = p < m.pattern_end && *p == '^';
  lua_Integer n = 0;
  p += anchored;
  luaL_buffinit(L, &out);
  while (n < most) {
    const char *end = match_at(&m, s, p);
    if (end && end != last) {
      n++;
      add_replacement(&m, &out, s, end);
      s = last = end;
    } else if (s < m.text_end) {
      luaL_addchar(&out, *s++);
    } else {
      break;
    }
    if (anchored) {
      break;
    }
  }
  luaL_addlstring(&out, s, (size_t)(m.text_end - s));
  luaL_pushresult(&out);
  lua_pushinteger(L, n);
  return 2;
}

void gen_pattern_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"find", find},
                                       {"gmatch", all_matches},
                                       {"gsub", replace},
                                       {"match", first_match},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
