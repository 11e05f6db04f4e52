/* test_gen_sandbox.c -- a template cannot reach outside, run for ever or take all memory, and a
 * failed allocation is an error and nothing worse. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <lualib.h>

#include "gen_fixture.h"
#include "gen_pattern.h"
#include "gen_sandbox.h"
#include "random.h"

/* A small budget, so that endless templates end soon. */
static const gen_options tight = {
    .max_instructions = 2000000, .max_nbytes = 16 << 20, .max_source_nbytes = 100000};

static void load_fails(const char *code, int expected, const char *words) {
  gen_template *t;
  err e = {0};
  auto_str text = {0};
  str_addf(&text, "local x = %s\n%s", code, mini_text);
  folder_write("mini.lua", text.p, text.n);
  assert_fails(gen_open(&tight, folder_path("mini.lua"), &t, &e), &e, expected, words);
  assert_non_null(strstr(e.place, "mini.lua"));
}

TEST(nothing_leads_outside) {
  static const char *const names[] = {"io",           "os",
                                      "require",      "package",
                                      "debug",        "load",
                                      "loadfile",     "dofile",
                                      "loadstring",   "coroutine",
                                      "print",        "pcall",
                                      "xpcall",       "collectgarbage",
                                      "setmetatable", "rawset",
                                      "warn",         "getmetatable",
                                      "_G",           "utf8",
                                      "next"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char words[64];
    snprintf(words, sizeof words, "there is no '%s' here", names[i]);
    load_fails(names[i], ERR_TEMPLATE, words);
  }
  load_fails("string.dump(ipairs)", ERR_TEMPLATE, "nil value (field 'dump')");
  load_fails("math.random()", ERR_TEMPLATE, "nil value (field 'random')");
  load_fails("('x').dump(ipairs)", ERR_TEMPLATE, "nil value (field 'dump')");
  load_fails("tostring({})", ERR_TEMPLATE, "a table has no text");
  load_fails("string.format('%p', {})", ERR_TEMPLATE, "%p is not available");
  load_fails("pairs({[{}] = 1})", ERR_TEMPLATE, "pairs needs keys that are numbers or strings");
  load_fails("'1' + 1", ERR_TEMPLATE, "attempt to perform arithmetic on a string value");
}

TEST(loops_without_an_end_are_ended) {
  static const char *const loops[] = {
      "1 while true do end",
      "1 repeat until false",
      "1 ::again:: goto again",
      "(function() local function f() return f() end return f() end)()",
      "1 for i = 1, math.huge do end",
      "string.rep('', 2^62 | 0)",
      "table.move({}, 1, 2^62 | 0, 2)",
      "('a'):rep(3000):find(('a-'):rep(40) .. 'b')",
      "('a'):rep(3000):gsub('.-.-.-.-.-b', '')",
      "1 local t = {} for i = 1, 10000 do t[i] = i end while true do table.insert(t, 1, 0) "
      "table.remove(t, 1) end",
      "1 local s = ('x'):rep(1000000) while true do local t = s .. 'y' end",
      "1 local s = ('x'):rep(1000000) while true do local t = s:upper() end",
      "1 local t = {} for i = 1, 100000 do t[i] = 'x' end while true do table.concat(t) end",
      "1 local t = {} for i = 1, 10000 do t[i] = i end while true do for k in pairs(t) do break "
      "end end",
      /* each was an endless loop of the C library, or cost more than it was charged */
      "('a'):rep(3000):find(('a?'):rep(40) .. ('a'):rep(40) .. 'b')",
      "('('):rep(200000):find('%b()%b()b')",
      "('a'):rep(3000):match(('a-'):rep(40) .. 'b', 1, true)",
      "('a'):rep(3000):find(('(a*)'):rep(9) .. '%1%2b', 1, false)",
      "1 for w in ('a'):rep(3000):gmatch(('a*'):rep(9) .. 'b') do end",
      "1 local s = ('a'):rep(1000000) while true do s:find('ab', 1, true) end",
      "1 local s = ('a'):rep(1000000) while true do s:find('ab') end",
      "1 local s, t = ('a'):rep(100000), {} for i = 1, 80 do t[i] = s .. i end "
      "while true do table.sort(t) end",
      "1 local s, t = ('a'):rep(100000), {} for i = 1, 80 do t[s .. i] = i end "
      "while true do for k in pairs(t) do break end end",
      "1 local s = ('1'):rep(1000000) while true do tonumber(s) end",
      "1 local s = ('1'):rep(1000000) while true do math.floor(s) end",
      "1 local s = ('a'):rep(1000000) local t, u = s .. 'b', s .. 'c' "
      "while true do local x = t < u end",
      "1 local t = {} while true do table.unpack(t, 1, 9999) end",
      "1 while true do string.format('%99d%99d%99d', 1, 2, 3) end",
      "1 local s = ('x'):rep(1000000) while true do string.format('%q', s) end",
      "1 local s = ('x'):rep(100000) while true do s:gsub('.-', {}) end",
  };
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    load_fails(loops[i], ERR_LIMIT, "it takes more than 2000000 instructions");
  }
  load_fails("(function() local function f() return 1 + f() end return f() end)()", ERR_LIMIT,
             "memory");
}

TEST(results_are_bounded) {
  load_fails("table.unpack({}, 1, 100000)", ERR_TEMPLATE, "more than 10000 results");
  load_fails("('x'):rep(20000):byte(1, -1)", ERR_TEMPLATE, "more than 10000 results");
}

/* ---- patterns: the results are Lua's --------------------------------------------------------- */

/* Calls function `name` of the table at `library` with the arguments from `first` to `last`; its
 * results, or what kind of error it made, as a text. */
static void outcome_of(lua_State *L, int library, const char *name, int first, int last, str *out) {
  const int top = lua_gettop(L);
  lua_getfield(L, library, name);
  for (int i = first; i <= last; i++) {
    lua_pushvalue(L, i);
  }
  const int failed = lua_pcall(L, last - first + 1, LUA_MULTRET, 0);
  str_addf(out, "%s:", failed ? "failed" : name);
  for (int i = top + 1; i <= lua_gettop(L) && !failed; i++) {
    str_addf(out, " %s", luaL_tolstring(L, i, NULL));
    lua_pop(L, 1);
  }
  lua_settop(L, top);
}

static void random_text(lua_State *L, uint64_t *r, const char *const *words, size_t n_words,
                        int most) {
  auto_str s = {0};
  for (int n = (int)random_below(r, (size_t)most); n > 0; n--) {
    str_add(&s, words[random_below(r, n_words)]);
  }
  lua_pushstring(L, str_text(&s));
}

/* stack: 1 Lua's library, 2 ours, 3 text, 4 pattern, 5 replacement or position */
static void compare_patterns(gen_box *b, void *ud) {
  static const char *const letters[] = {"a", "b", "(", ")", "1", " ", "]", "%", "-", "A"};
  static const char *const items[] = {"a",    "b",     ".",     "%a",   "%d",   "%u", "[ab]",
                                      "[^a]", "[%d-]", "[a-z]", "[]a]", "*",    "+",  "-",
                                      "?",    "(",     ")",     "()",   "%b()", "%1", "%f[%a]",
                                      "^",    "$",     "%",     "[",    "%%",   "%(", "%)"};
  static const char *const with[] = {"x", "%0", "%1", "%2", "%%", "<", "%"};
  lua_State *L = b->L;
  uint64_t *r = ud;
  luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
  lua_newtable(L);
  gen_pattern_functions(L);
  for (int i = 0; i < 10000; i++) {
    static const char *const names[] = {"find", "match", "gsub"};
    const char *name = names[i % 3];
    auto_str lua = {0}, ours = {0};
    lua_settop(L, 2);
    random_text(L, r, letters, sizeof letters / sizeof *letters, 12);
    random_text(L, r, items, sizeof items / sizeof *items, 7);
    if (i % 3 == 2) {
      random_text(L, r, with, sizeof with / sizeof *with, 4);
    } else {
      lua_pushinteger(L, (lua_Integer)random_below(r, 16) - 8);
    }
    outcome_of(L, 1, name, 3, 5, &lua);
    outcome_of(L, 2, name, 3, 5, &ours);
    if (strcmp(str_text(&lua), str_text(&ours))) {
      fail_msg("%s('%s', '%s'): Lua '%s', ours '%s'", name, lua_tostring(L, 3), lua_tostring(L, 4),
               str_text(&lua), str_text(&ours));
    }
  }
}

TEST(patterns_are_those_of_lua) {
  gen_box b;
  err e = {0};
  uint64_t r = 1;
  assert_ok(gen_box_open(&b, NULL, &e), &e);
  b.max_instructions = UINT64_MAX;
  assert_ok(gen_box_run(&b, compare_patterns, &r, false, &e), &e);
  gen_box_close(&b);
  street s = street_mini("first @{B}",
                         "@{(('one two'):gsub('%w+', function(w) return w:upper() end))}\n"
                         "@{(('a=1, b=2'):gsub('(%w)=%w', { a = 'x' }))}\n"
                         "@ for k, v in ('a=1, b=2'):gmatch('(%w)=(%w)') do\n@{k}@{v}\n@ end",
                         "");
  auto_str out = {0};
  size_t body;
  assert_ok(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e);
  assert_non_null(strstr(out.p, "ONE TWO\n"));
  assert_non_null(strstr(out.p, "x, b=2\n"));
  assert_non_null(strstr(out.p, "a1\n"));
  assert_non_null(strstr(out.p, "b2\n"));
  street_close(&s);
}

TEST(memory_is_limited) {
  static const char *const bombs[] = {
      "('x'):rep(1000000):rep(20)",
      "1 local t = {} for i = 1, 1e9 do t[i] = {} end",
      "1 local s = 'x' while true do s = s .. s end",
      "table.concat({('x'):rep(1000000):rep(9), ('y'):rep(1000000):rep(9)})",
  };
  for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
    load_fails(bombs[i], ERR_LIMIT, "it needs more than the 16 MiB of memory it may use");
  }
  load_fails("('x'):rep(2^62 | 0)", ERR_LIMIT, "instructions");
}

static void source_fails(const char *line, const char *words) {
  auto_street s = {0};
  auto_str out = {0};
  size_t body;
  assert_ok(mini_open(&tight, "first @{B}", line, &s.t, &s.e), &s.e);
  street_start(&s, "");
  assert_fails(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e, ERR_LIMIT, words);
  assert_non_null(strstr(s.e.place, "mini.lua:3"));
  /* the same template works on */
  const gen_plan *p;
  err_clear(&s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
}

TEST(sources_are_limited) {
  source_fails("\n@ while true do end", "it takes more than");
  source_fails("@ while true do\nline after line\n@ end",
               "the source is longer than the 100000 bytes");
  source_fails("@{('x'):rep(1000000)}", "the source is longer than the 100000 bytes");
}

TEST(an_interruption_ends_the_run) {
  volatile int stop = 0;
  gen_options o = {.stop = &stop};
  auto_street s = {0};
  auto_str out = {0};
  size_t body;
  assert_ok(mini_open(&o, "first @{B}", "@ for i = 1, 1000000 do\n@ end", &s.t, &s.e), &s.e);
  street_start(&s, "");
  stop = 1;
  assert_fails(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e, ERR_INTERRUPTED, "interrupted");
  stop = 0;
  err_clear(&s.e);
  assert_ok(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e);
}

/* What a script changes lasts no longer than its run. */
TEST(scripts_leave_nothing_behind) {
  street s = street_mini("first @{B}",
                         "@ string.extra = (string.extra or 0) + 1\n@ B = B + 1\n@ count = 1\n"
                         "@{string.extra} @{B} @{count} @{('x').extra == nil}",
                         "");
  for (int i = 0; i < 3; i++) {
    auto_str out = {0};
    size_t body;
    assert_ok(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e);
    assert_non_null(strstr(out.p, "\n1 33 1 true\n"));
  }
  street_close(&s);
}

/* ---- the k-th allocation fails, for every k -------------------------------------------------- */

/* Everything the generator does, once. Nothing leaks or crashes, whatever the outcome. */
static int walk(const gen_options *o, err *e) {
  auto_template *t = NULL;
  gen_problem p;
  gen_instance *g = NULL;
  gen_space *space = NULL;
  gen_config c;
  auto_arena a = {0};
  auto_str out = {0};
  size_t body;
  const gen_plan *plan;
  const gen_data *data;
  int rc = gen_open(o, folder_path("mini.lua"), &t, e);
  if (rc) {
    return rc;
  }
  rc = rc ? rc : gen_problem_parse(t, "n=1000 kind=safe", &p, e);
  rc = rc ? rc : gen_instance_new(t, &p, h200, N_H200, &g, e);
  gen_config_default(t, &c);
  rc = rc ? rc : gen_space_new(g, &space, e);
  rc = rc ? rc : gen_config_check(g, &c, e);
  rc = rc ? rc : gen_source_make(g, &c, &out, &body, e);
  rc = rc ? rc : gen_reference_source(g, &out, &body, e);
  rc = rc ? rc : gen_plan_make(g, &c, &a, &plan, e);
  rc = rc ? rc : gen_data_make(g, 1, &a, &data, e);
  gen_space_free(space);
  gen_instance_free(g);
  return rc;
}

TEST(every_failed_allocation_is_an_error) {
  folder_write("mini.lua", mini_text, strlen(mini_text));
  uint64_t k = 1;
  for (int rc = ERR_NOMEM; rc; k++) {
    err e = {0};
    const gen_options o = {.fail_at = k};
    rc = walk(&o, &e);
    if (rc && (rc != ERR_NOMEM || strcmp(e.message, "out of memory"))) {
      fail_msg("allocation %d: %s '%s'", (int)k, err_name(rc), e.message);
    }
    assert_true(k < 100000);
  }
  assert_true(k > 500); /* a run takes that many allocations, so that many failed */
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
