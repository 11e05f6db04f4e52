#include "gen_expr.h"

#include <lauxlib.h>
#include <string.h>

#include "gen_code.h"
#include "gen_lex.h"
#include "gen_tmpl.h"

static bool is_word(const char *name, const char *word, size_t n) {
  return name[0] == word[0] && (n == 1 || name[1] == word[1]) && !strncmp(name, word, n) &&
         !name[n];
}

/* Names differ in length, in how they begin and in how they end. */
static size_t chain_of(const char *word, size_t n) {
  const unsigned first = (unsigned char)word[0], last = (unsigned char)word[n ? n - 1 : 0];
  const unsigned middle = (unsigned char)word[n / 2];
  return (first * 7 + middle * 31 + last * 3 + n * 61) % GEN_SYMBOL_CHAINS;
}

static const gen_symbol *find_word(const gen_symbols *s, const char *word, size_t n,
                                   unsigned kinds) {
  for (size_t i = s->first[chain_of(word, n)]; i; i = s->at[i - 1].next) {
    const gen_symbol *x = &s->at[i - 1];
    if (is_word(x->name, word, n) && (x->kind & kinds)) {
      return x;
    }
  }
  return NULL;
}

/* At the end of its chain: the first of a name is found first. */
const gen_symbol *gen_symbol_add(gen_symbols *s, const char *name, gen_symbol_kind kind,
                                 size_t index) {
  uint16_t *end = &s->first[chain_of(name, strlen(name))];
  while (*end) {
    end = &s->at[*end - 1].next;
  }
  s->at[s->n] = (gen_symbol){.name = name, .kind = kind, .index = (uint32_t)index};
  *end = (uint16_t)(s->n + 1);
  return &s->at[s->n++];
}

const gen_symbol *gen_symbol_find(const gen_symbols *s, const char *name, unsigned kinds) {
  return find_word(s, name, strlen(name), kinds);
}

/* ---- checking -------------------------------------------------------------------------------- */

typedef struct check {
  gen_box *b;
  arena *a;
  gen_line at;
  const gen_symbols *symbols;
  unsigned kinds;
  gen_lexer lexer;
  gen_token now;
  const gen_symbol *reads[GEN_MAX_SYMBOLS];
  size_t n_reads;
  int depth; /* of parentheses */
  str *out;  /* the expression on one line */
} check;

static const char *describe(gen_symbol_kind kind) {
  switch (kind) {
  case GEN_SYMBOL_FIELD: return "a field";
  case GEN_SYMBOL_PARAM: return "a parameter";
  case GEN_SYMBOL_DERIVED: return "a derived value that parameters affect";
  case GEN_SYMBOL_FIXED: return "a derived value";
  case GEN_SYMBOL_DEVICE: return "a device limit";
  case GEN_SYMBOL_SCALAR: return "an argument";
  case GEN_SYMBOL_CALL: return "an argument of the call";
  case GEN_SYMBOL_OTHER: return "a buffer";
  }
  return "known";
}

static bool is_helper(const gen_token *t) {
  for (size_t i = 0; gen_helper_names[i]; i++) {
    if (is_word(gen_helper_names[i], t->p, t->n)) {
      return true;
    }
  }
  return false;
}

_Noreturn static void fail_unknown(check *c, const char *name) {
  const gen_symbol *s = gen_symbol_find(c->symbols, name, ~0u);
  if (s) {
    gen_fail(c->b, ERR_TEMPLATE, c->at, "'%s' is %s, which this expression cannot read", name,
             describe(s->kind));
  }
  const char *names[GEN_MAX_SYMBOLS + 16];
  size_t n = 0;
  for (size_t i = 0; i < c->symbols->n; i++) {
    if (c->symbols->at[i].kind & c->kinds) {
      names[n++] = c->symbols->at[i].name;
    }
  }
  for (size_t i = 0; gen_helper_names[i]; i++) {
    names[n++] = gen_helper_names[i];
  }
  gen_fail(c->b, ERR_TEMPLATE, c->at, "there is no '%s' here%s", name,
           gen_suggestion(name, names, n).text);
}

static void need(check *c, bool memory) {
  if (!memory) {
    gen_fail(c->b, ERR_NOMEM, c->at, "out of memory");
  }
}

static void add_read(check *c, const gen_symbol *s) {
  for (size_t i = 0; i < c->n_reads; i++) {
    if (c->reads[i] == s) {
      return;
    }
  }
  c->reads[c->n_reads++] = s;
}

static void check_name(check *c) {
  const gen_symbol *s = find_word(c->symbols, c->now.p, c->now.n, c->kinds);
  if (s) {
    add_read(c, s);
  } else if (!is_helper(&c->now)) {
    const char *name = arena_text_n(c->a, c->now.p, c->now.n);
    need(c, name);
    fail_unknown(c, name);
  }
}

static bool among(const gen_token *t, const char *const *words) {
  for (; *words; words++) {
    if (gen_token_is(t, *words)) {
      return true;
    }
  }
  return false;
}

/* + - * / // % ^ == ~= < <= > >= & | ~ << >> ( ) and the comma */
static bool is_operator(const gen_token *t) {
  return strchr("+-*/%^~<>&|(),", *t->p) || gen_token_is(t, "==");
}

static void check_token(check *c) {
  static const char *const keywords[] = {"and", "or", "not", "true", "false", NULL};
  const gen_token *t = &c->now;
  bool fine = t->kind == GEN_TOKEN_NUMBER || t->kind == GEN_TOKEN_NAME ||
              (t->kind == GEN_TOKEN_STRING && !memchr(t->p, '\n', t->n)) ||
              (t->kind == GEN_TOKEN_KEYWORD && among(t, keywords)) ||
              (t->kind == GEN_TOKEN_OPERATOR && is_operator(t));
  c->depth += gen_token_is(t, "(") - gen_token_is(t, ")");
  /* a comma or a parenthesis too many would end the `return (...)` that the text is put into */
  if (!fine || c->depth < 0 || (gen_token_is(t, ",") && c->depth == 0)) {
    gen_fail(c->b, ERR_TEMPLATE, c->at, "an expression has no place for '%.*s'",
             t->n < 40 ? (int)t->n : 40, t->p);
  }
  if (t->kind == GEN_TOKEN_NAME) {
    check_name(c);
  }
}

/* All tokens, each checked; the gaps between them become at most one blank. */
static void check_all(check *c) {
  const char *end = NULL;
  for (c->now = gen_lex_next(&c->lexer); c->now.kind != GEN_TOKEN_END;
       c->now = gen_lex_next(&c->lexer)) {
    check_token(c);
    if (end && c->now.p > end) {
      str_add(c->out, " ");
    }
    str_add_n(c->out, c->now.p, c->now.n);
    end = c->now.p + c->now.n;
  }
  if (!end) {
    gen_fail(c->b, ERR_TEMPLATE, c->at, "an expression is empty");
  }
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Push its function, which Lua's registry has under its address once it is compiled. The globals
 * are the template's table of values. */
static void push_function(gen_box *b, const gen_expr *x) {
  lua_State *L = b->L;
  luaL_checkstack(L, 8, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, x) == LUA_TFUNCTION) {
    return;
  }
  lua_pop(L, 1);
  lua_pushfstring(L, "return (%s)", x->text);
  lua_rawgeti(L, LUA_REGISTRYINDEX, b->codes->t->env);
  gen_push_chunk(b, lua_tostring(L, -2), lua_rawlen(L, -2), "expression");
  lua_remove(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, x);
}

static gen_expr *finish(check *c) {
  gen_expr *x = arena_new(c->a, sizeof *x);
  const gen_symbol **reads = ARENA_ARRAY(c->a, const gen_symbol *, c->n_reads + 1);
  char *text = arena_text(c->a, str_text(c->out));
  need(c, x && reads && text && !c->out->failed);
  memcpy(reads, c->reads, c->n_reads * sizeof *reads);
  c->b->at = c->at = (gen_line){c->at.path, c->at.line, text};
  *x = (gen_expr){.text = text, .at = c->at, .reads = reads, .n_reads = c->n_reads};
  if (!c->b->lazy) {
    push_function(c->b, x);
    lua_pop(c->b->L, 1);
  }
  return x;
}

gen_expr *gen_expr_new(gen_box *b, arena *a, const char *text, gen_line at,
                       const gen_symbols *symbols, unsigned kinds) {
  check c = {.b = b,
             .a = a,
             .at = {at.path, at.line, text},
             .symbols = symbols,
             .kinds = kinds,
             .lexer = gen_lex(text, strlen(text), 1),
             .out = &b->scratch};
  gen_line before = b->at;
  b->at = c.at;
  str_reset(&b->scratch);
  check_all(&c);
  gen_expr *x = finish(&c);
  if (symbols == &b->codes->t->symbols) { /* a typed call's are only written out as C */
    x->next = b->codes->exprs;
    b->codes->exprs = x;
  }
  b->at = before;
  return x;
}

bool gen_expr_reads_only(const gen_expr *x, unsigned kinds) {
  for (size_t i = 0; i < x->n_reads; i++) {
    if (!(x->reads[i]->kind & kinds)) {
      return false;
    }
  }
  return true;
}

/* ---- evaluating ------------------------------------------------------------------------------ */

static gen_result result_of(lua_State *L, int i) {
  switch (lua_type(L, i)) {
  case LUA_TBOOLEAN: return (gen_result){.type = GEN_CONDITION, .yes = lua_toboolean(L, i)};
  case LUA_TSTRING: return (gen_result){.type = GEN_NAME, .s = lua_tostring(L, i)};
  default: break;
  }
  int is_whole;
  gen_result r = {.type = GEN_REAL, .d = lua_tonumber(L, i)};
  r.i = lua_tointegerx(L, i, &is_whole);
  r.type = is_whole ? GEN_INTEGER : GEN_REAL;
  return r;
}

static gen_result ask_lua(gen_box *b, const gen_expr *x) {
  lua_State *L = b->L;
  gen_line before = b->at;
  gen_catch_up((tmpl *)b->codes->t);
  b->at = x->at;
  push_function(b, x);
  lua_call(L, 0, 1);
  if (lua_isnil(L, -1)) {
    luaL_error(L, "it has no value");
  }
  gen_result r = result_of(L, -1);
  lua_pop(L, 1);
  b->at = before;
  return r;
}

gen_result gen_expr_value(gen_box *b, const gen_expr *x) {
  gen_atom v;
  gen_codes *c = b->codes;
  if (c->by_c && !x->asked && !c->made) {
    gen_codes_make_one(b, c, (gen_expr *)x);
  }
  if (x->code && gen_code_run(c, x->code, &v)) {
    return gen_atom_result(&v);
  }
  if (!c->by_c && ++c->n_asked > c->most_asked) {
    gen_codes_make(b, c);
  }
  return ask_lua(b, x);
}

_Noreturn static void fail_type(gen_box *b, const gen_expr *x, const gen_result *r,
                                const char *wanted) {
  switch (r->type) {
  case GEN_INTEGER:
  case GEN_REAL: gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not %.17g", wanted, r->d);
  case GEN_CONDITION: gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not a condition", wanted);
  case GEN_NAME: break;
  }
  gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not '%s'", wanted, r->s);
}

int64_t gen_expr_integer(gen_box *b, const gen_expr *x) {
  gen_result r = gen_expr_value(b, x);
  if (r.type != GEN_INTEGER) {
    fail_type(b, x, &r, "a whole number");
  }
  return r.i;
}

double gen_expr_real(gen_box *b, const gen_expr *x) {
  gen_result r = gen_expr_value(b, x);
  if (r.type != GEN_INTEGER && r.type != GEN_REAL) {
    fail_type(b, x, &r, "a number");
  }
  return r.d;
}

bool gen_expr_condition(gen_box *b, const gen_expr *x) {
  gen_result r = gen_expr_value(b, x);
  if (r.type != GEN_CONDITION) {
    fail_type(b, x, &r, "a condition");
  }
  return r.yes;
}
