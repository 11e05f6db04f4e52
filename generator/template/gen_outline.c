#include "gen_outline.h"

#include <string.h>

#include "gen_lex.h"

typedef struct walk {
  arena *a;
  gen_lexer lexer;
  gen_token now, ahead;
  bool failed;
} walk;

static void advance(walk *w) {
  w->now = w->ahead;
  w->ahead = gen_lex_next(&w->lexer);
}

static void start(walk *w, const gen_lexer *at) {
  w->lexer = *at;
  advance(w);
  advance(w);
}

static inline bool is(const walk *w, const char *text) {
  return gen_token_is(&w->now, text);
}

static bool ended(const walk *w) {
  return w->now.kind == GEN_TOKEN_END || w->now.kind == GEN_TOKEN_BAD;
}

/* +1 for what opens a nested construct, -1 for what closes one. `do` serves for and while. */
static int nesting(const gen_token *t) {
  static const char *const open[] = {"function", "if", "do", "repeat"};
  static const char *const close[] = {"end", "until"};
  if (t->kind == GEN_TOKEN_OPERATOR && t->n == 1) {
    return (strchr("([{", *t->p) != NULL) - (strchr(")]}", *t->p) != NULL);
  }
  if (t->kind != GEN_TOKEN_KEYWORD) {
    return 0;
  }
  for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
    if (gen_token_is(t, open[i])) {
      return 1;
    }
  }
  for (size_t i = 0; i < sizeof close / sizeof *close; i++) {
    if (gen_token_is(t, close[i])) {
      return -1;
    }
  }
  return 0;
}

/* Move to the comma, semicolon or brace that ends the value here. */
static void skip_value(walk *w) {
  for (int depth = 0; !ended(w); advance(w)) {
    if (depth == 0 && (is(w, ",") || is(w, ";") || is(w, "}"))) {
      return;
    }
    depth += nesting(&w->now);
  }
}

static gen_mark *add(walk *w, gen_mark *parent, gen_mark ***tail) {
  gen_mark *m = arena_new(w->a, sizeof *m);
  if (!m) {
    w->failed = true;
    return NULL;
  }
  m->parent = parent;
  m->line = w->now.line;
  **tail = m;
  *tail = (gen_mark **)&m->next;
  return m;
}

/* `key =` or `["key"] =` or neither, then a value follows; the caller's count is for the latter. */
static void read_key(walk *w, gen_mark *m, int64_t *n) {
  if (w->now.kind == GEN_TOKEN_NAME && gen_token_is(&w->ahead, "=")) {
    m->key = arena_text_n(w->a, w->now.p, w->now.n);
    advance(w);
    advance(w);
  } else if (is(w, "[") && w->ahead.kind == GEN_TOKEN_STRING && w->ahead.n >= 2) {
    m->key = arena_text_n(w->a, w->ahead.p + 1, w->ahead.n - 2);
    for (int i = 0; i < 4; i++) { /* bracket, string, bracket, equals */
      advance(w);
    }
  } else {
    m->index = ++*n;
  }
  w->failed = w->failed || !(m->key || m->index);
}

enum { MAX_DEPTH = 8 }; /* nothing in the format nests deeper */

/* The entries of the constructor whose opening brace is the current token. */
static void walk_table(walk *w, gen_mark *table, int depth) {
  gen_mark **tail = (gen_mark **)&table->child;
  int64_t n = 0;
  advance(w);
  while (!ended(w) && !is(w, "}")) {
    gen_mark *m = add(w, table, &tail);
    if (!m) {
      return;
    }
    read_key(w, m, &n);
    if (is(w, "{") && depth < MAX_DEPTH) {
      walk_table(w, m, depth + 1);
    }
    skip_value(w);
    if (is(w, ",") || is(w, ";")) {
      advance(w);
    }
  }
  if (is(w, "}")) {
    advance(w);
  }
}

/* Stand on the last `return`: a chunk's return is its last statement. */
static bool find_return(walk *w, const char *text, size_t n) {
  gen_lexer l = gen_lex(text, n, 1), found = l;
  bool any = false;
  for (;;) {
    gen_lexer before = l;
    gen_token t = gen_lex_next(&l);
    if (t.kind == GEN_TOKEN_END || t.kind == GEN_TOKEN_BAD) {
      break;
    }
    if (t.kind == GEN_TOKEN_KEYWORD && gen_token_is(&t, "return")) {
      found = before;
      any = true;
    }
  }
  start(w, &found);
  return any;
}

/* `return t`: stand on the brace of the first `t = {`. */
static void find_table(walk *w, const char *text, size_t n) {
  gen_token name = w->now;
  gen_lexer l = gen_lex(text, n, 1);
  start(w, &l);
  for (int matched = 0; !ended(w) && matched < 2; advance(w)) {
    bool same = w->now.n == name.n && !memcmp(w->now.p, name.p, name.n);
    matched = same ? 1 : matched == 1 && is(w, "=") ? 2 : 0;
  }
}

const gen_mark *gen_outline_new(arena *a, const char *text, size_t n) {
  walk w = {.a = a};
  gen_mark *root = arena_new(a, sizeof *root);
  if (!root || !find_return(&w, text, n)) {
    return root;
  }
  root->line = w.now.line;
  advance(&w);
  if (w.now.kind == GEN_TOKEN_NAME) {
    find_table(&w, text, n);
  }
  if (is(&w, "{")) {
    walk_table(&w, root, 0);
  }
  return w.failed ? NULL : root;
}

const gen_mark *gen_mark_key(const gen_mark *m, const char *key) {
  for (const gen_mark *c = m->child; c; c = c->next) {
    if (c->key && !strcmp(c->key, key)) {
      return c;
    }
  }
  return m;
}

const gen_mark *gen_mark_at(const gen_mark *m, int64_t index) {
  for (const gen_mark *c = m->child; c; c = c->next) {
    if (!c->key && c->index == index) {
      return c;
    }
  }
  return m;
}
