#define _GNU_SOURCE
#include "gen_sandbox.h"

#include <ctype.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  HOOK_PERIOD = 1000,        /* instructions between two looks at the budget */
  NBYTES_PER_STEP = 256,     /* allocating this much counts as one instruction */
  NBYTES_PER_LOOK = 1 << 15, /* of the longest text: counts as one instruction more */
};

static const uint64_t DEFAULT_INSTRUCTIONS = 20u * 1000 * 1000;
static const size_t DEFAULT_NBYTES = (size_t)512 << 20;

/* ---- limits ---------------------------------------------------------------------------------- */

/* One instruction may compare two long texts, or read one as a number: with texts of n bytes it
 * counts as 1 + n / NBYTES_PER_LOOK, and the budget is looked at more often. */
static uint64_t weight(const gen_box *b) {
  return 1 + b->longest / NBYTES_PER_LOOK;
}

static int period(const gen_box *b) {
  return weight(b) < HOOK_PERIOD ? HOOK_PERIOD / (int)weight(b) : 1;
}

static void hook(lua_State *L, lua_Debug *ar);

static void note_length(gen_box *b, size_t n) {
  b->longest = n;
  if (b->L && lua_gethook(b->L)) {
    lua_sethook(b->L, hook, LUA_MASKCOUNT, period(b));
  }
}

/* Lua's allocator. Sizes are charged too: one instruction can concatenate megabytes. */
static void *allocate(void *ud, void *p, size_t old, size_t size) {
  gen_box *b = ud;
  if (!size) {
    b->nbytes -= p ? old : 0;
    free(p);
    return NULL;
  }
  size_t had = p ? old : 0; /* without p, `old` is a type, not a size */
  if (size > had) {
    if (!p && old == LUA_TSTRING && size > b->longest) {
      note_length(b, size);
    }
    b->n_allocations++;
    b->used += size / NBYTES_PER_STEP;
    if (b->fail_at && b->n_allocations >= b->fail_at) {
      return NULL;
    }
    if (size - had > b->max_nbytes - b->nbytes) {
      b->full = true;
      return NULL;
    }
  }
  void *q = realloc(p, size);
  if (!q) {
    return size > had ? NULL : p; /* Lua takes for granted that shrinking works */
  }
  b->nbytes = b->nbytes - had + size;
  return q;
}

static gen_box *box_of(lua_State *L) {
  void *ud;
  lua_getallocf(L, &ud);
  return ud;
}

void gen_box_charge(gen_box *b, uint64_t instructions) {
  b->used = instructions > UINT64_MAX - b->used ? UINT64_MAX : b->used + instructions;
  if (b->stop && *b->stop) {
    gen_fail(b, ERR_INTERRUPTED, b->at, "interrupted");
  }
  if (b->used > b->budget) {
    b->spent = true;
    luaL_error(b->L, "it takes more than %I instructions (a loop without an end?)",
               (lua_Integer)b->budget);
  }
}

static void hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  gen_box *b = box_of(L);
  gen_box_charge(b, (uint64_t)lua_gethookcount(L) * weight(b));
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char FAILED = 0; /* its address is the error value that stands for b->failure */

void gen_fail(gen_box *b, int code, gen_line at, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(b->failure.message, sizeof b->failure.message, format, ap);
  va_end(ap);
  b->failure.code = code;
  b->failure.at = at;
  lua_settop(b->L, 0); /* room for the one value below, whatever the caller left there */
  lua_pushlightuserdata(b->L, (void *)&FAILED);
  lua_error(b->L);
  abort(); /* lua_error does not return */
}

/* Place of a line of the running script, as Lua counts it. */
static gen_line line_at(const gen_box *b, int line) {
  if (b->at.expression || line <= 0) {
    return b->at;
  }
  if (b->lines) { /* what is missing at the end is missed after the last line */
    return b->lines[(size_t)line <= b->n_lines ? (size_t)line - 1 : b->n_lines - 1];
  }
  return (gen_line){b->at.path, line};
}

/* Where a script stands: the innermost active function that was written in Lua. */
static gen_line where(gen_box *b, lua_State *L) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    if (lua_getinfo(L, "Sl", &ar) && ar.currentline > 0) {
      return line_at(b, ar.currentline);
    }
  }
  return b->at;
}

static int handler(lua_State *L) {
  gen_box *b = box_of(L);
  if (lua_touserdata(L, 1) != &FAILED) {
    b->failure.at = where(b, L);
  }
  return 1;
}

/* Every chunk's name is one word, so Lua's messages start with "word:12: " when they know a line.
 * Returns what follows; *line stays when there is none. */
static const char *skip_place(const char *message, int *line) {
  const char *p = message;
  while (isalpha((unsigned char)*p)) {
    p++;
  }
  char *end;
  long n = p > message && *p == ':' && isdigit((unsigned char)p[1]) ? strtol(p + 1, &end, 10) : 0;
  if (n <= 0 || n > INT_MAX || strncmp(end, ": ", 2)) {
    return message;
  }
  *line = (int)n;
  return end + 2;
}

/* Lua's words for a few things that people meet often, in ours. */
static const char *plain(const char *message) {
  static const char *const words[][2] = {
      {"attempt to perform 'n//", "division by zero"}, /* the wording differs between releases */
      {"attempt to divide by zero", "division by zero"},
      {"attempt to perform 'n%", "division by zero"},
      {"has no integer representation", "a number that is not whole where a whole one is needed"},
      {"attempt to load a binary chunk (mode is 't')", "this is not a text file"},
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strstr(message, words[i][0])) {
      return words[i][1];
    }
  }
  return message;
}

static void one_line(char *text) {
  for (; *text; text++) {
    if (iscntrl((unsigned char)*text)) {
      *text = ' ';
    }
  }
}

static void fail_memory(gen_box *b) {
  gen_failure *f = &b->failure;
  f->code = b->full ? ERR_LIMIT : ERR_NOMEM;
  f->at = (gen_line){b->at.path, b->at.line, NULL};
  if (b->full) {
    snprintf(f->message, sizeof f->message, "it needs more than the %zu MiB of memory it may use",
             b->max_nbytes >> 20);
  } else {
    snprintf(f->message, sizeof f->message, "out of memory");
  }
}

/* Lua's own error, the value on top, as a failure. */
static void fail_lua(gen_box *b) {
  gen_failure *f = &b->failure;
  int line = 0;
  f->code = b->spent ? ERR_LIMIT : ERR_TEMPLATE;
  if (lua_type(b->L, -1) != LUA_TSTRING) {
    snprintf(f->message, sizeof f->message, "it failed with a %s instead of a message",
             luaL_typename(b->L, -1));
    return;
  }
  const char *message = plain(skip_place(lua_tostring(b->L, -1), &line));
  if (!f->at.line && line) {
    f->at = line_at(b, line);
  }
  snprintf(f->message, sizeof f->message, "%s", message);
}

static int report(const gen_box *b, err *e) {
  const gen_failure *f = &b->failure;
  char place[sizeof((err){0}.place)] = "";
  if (f->at.path && f->at.line) {
    snprintf(place, sizeof place, "%s:%d", f->at.path, f->at.line);
  } else if (f->at.path) {
    snprintf(place, sizeof place, "%s", f->at.path);
  }
  if (f->at.expression) {
    return err_at(e, f->code, place, "%s, in \"%s\"", f->message, f->at.expression);
  }
  return err_at(e, f->code, place, "%s", f->message);
}

typedef struct job {
  gen_action *f;
  void *ud;
} job;

static int perform(lua_State *L) {
  job *j = lua_touserdata(L, 1);
  lua_settop(L, 0);
  j->f(box_of(L), j->ud);
  return 0;
}

static void begin(gen_box *b, bool scripted) {
  b->used = 0;
  b->budget = b->max_instructions;
  b->full = b->spent = false;
  b->lines = NULL;
  b->at = b->home;
  b->failure = (gen_failure){0};
  lua_sethook(b->L, scripted ? hook : NULL, scripted ? LUA_MASKCOUNT : 0, HOOK_PERIOD);
}

int gen_box_run(gen_box *b, gen_action *f, void *ud, bool scripted, err *e) {
  job j = {f, ud};
  begin(b, scripted);
  lua_pushcfunction(b->L, handler);
  lua_pushcfunction(b->L, perform);
  lua_pushlightuserdata(b->L, &j);
  int rc = lua_pcall(b->L, 1, 0, 1);
  if (rc == LUA_ERRMEM) {
    fail_memory(b);
  } else if (rc && lua_touserdata(b->L, -1) != &FAILED) {
    fail_lua(b);
  }
  lua_settop(b->L, 0);
  if (!rc) {
    return 0;
  }
  one_line(b->failure.message);
  return report(b, e);
}

int gen_box_open(gen_box *b, const gen_options *options, err *e) {
  static const gen_options none;
  const gen_options *o = options ? options : &none;
  *b = (gen_box){
      .max_instructions = o->max_instructions ? o->max_instructions : DEFAULT_INSTRUCTIONS,
      .max_nbytes = o->max_nbytes ? o->max_nbytes : DEFAULT_NBYTES,
      .fail_at = o->fail_at,
      .lazy = o->lazy,
      .stop = o->stop,
  };
  b->L = lua_newstate(allocate, b);
  if (!b->L) {
    return err_nomem(e);
  }
  return gen_box_run(b, gen_library_open, NULL, false, e);
}

void gen_box_close(gen_box *b) {
  if (b->L) {
    lua_close(b->L);
    b->L = NULL;
  }
  str_clear(&b->scratch);
}

static int lines_before(const char *text, const char *at) {
  int n = 1;
  for (; text < at; text++) {
    n += *text == '\n';
  }
  return n;
}

/* Brackets that are open at the end of the last line of [from, to). */
static int open_brackets(const char *from, const char *to) {
  int n = 0;
  for (const char *p = to; p > from && p[-1] != '\n'; p--) {
    n += (p[-1] == '[') - (p[-1] == ']');
  }
  return n;
}

/* The subscript a[b[i]] ends a text that [[ begins: after a syntax error, say so. */
static void explain_brackets(lua_State *L, const char *text) {
  for (const char *at = text, *end; (at = strstr(at, "[[")); at = end + 2) {
    end = strstr(at + 2, "]]");
    if (!end) {
      return;
    }
    if (open_brackets(at + 2, end) > 0) {
      lua_pushfstring(
          L,
          "%s; the text that [[ begins in line %d ends at the ]] of a subscript in line "
          "%d: write it between [==[ and ]==]",
          lua_tostring(L, -1), lines_before(text, at), lines_before(text, end));
      return;
    }
  }
}

void gen_push_chunk(gen_box *b, const char *text, size_t n, const char *name) {
  lua_State *L = b->L;
  if (luaL_loadbufferx(L, text, n, lua_pushfstring(L, "=%s", name), "t")) {
    if (!strcmp(name, "template")) {
      explain_brackets(L, text);
    }
    lua_error(L);
  }
  lua_replace(L, -2); /* the name */
  lua_insert(L, -2);
  if (!lua_setupvalue(L, -2, 1)) { /* _ENV is always the first */
    lua_pop(L, 1);
  }
}

gen_hint gen_suggestion(const char *word, const char *const *names, size_t n) {
  gen_hint hint = {""};
  const char *nearest = text_nearest(word, names, n);
  if (nearest) {
    snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", nearest);
  }
  return hint;
}
