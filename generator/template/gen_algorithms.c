#define _GNU_SOURCE
#include "gen_algorithms.h"

#include <lauxlib.h>
#include <string.h>

#include "gen_read.h"

static const char *const keys[] = {"brief",     "cite",   "space",  "derive",  "require", "default",
                                   "workspace", "stages", "source", "prepare", NULL};

bool gen_part_enter(gen_reader *r, const gen_algorithm *of, const char *key) {
  if (!of->value) {
    return gen_enter(r, key);
  }
  gen_need(r, "algorithms");
  gen_need(r, of->value);
  if (gen_enter(r, key)) {
    return true;
  }
  gen_leave(r);
  gen_leave(r);
  return false;
}

void gen_part_need(gen_reader *r, const gen_algorithm *of, const char *key) {
  if (of->value) {
    gen_need(r, "algorithms");
    gen_need(r, of->value);
  }
  gen_need(r, key);
}

void gen_part_leave(gen_reader *r, const gen_algorithm *of) {
  gen_leave(r);
  if (of->value) {
    gen_leave(r);
    gen_leave(r);
  }
}

/* The parameter that chooses, whose values are the keys of the table here. */
static const gen_param *selector(gen_reader *r) {
  const gen_template *t = &r->t->pub;
  const gen_param *p = t->n_params ? &t->params[0] : NULL;
  if (!p || !p->values[0].s) {
    gen_bad(r, "algorithms are named by the values of the first parameter, which are texts");
  }
  if (p->n > GEN_MAX_ALGORITHMS) {
    gen_bad(r, "there are more than %d algorithms", GEN_MAX_ALGORITHMS);
  }
  const char *names[GEN_MAX_ALGORITHMS + 1] = {NULL};
  for (size_t i = 0; i < p->n; i++) {
    names[i] = p->values[i].s;
  }
  gen_keys(r, names);
  return p;
}

/* The one whose table is on top of the stack; a new one when it was not met before. */
static size_t find(gen_reader *r, const void **tables, gen_algorithm *list, size_t n,
                   const char *value) {
  const void *table = lua_topointer(r->L, -1);
  size_t i = 0;
  while (i < n && tables[i] != table) {
    i++;
  }
  if (i == n) {
    gen_keys(r, keys);
    tables[i] = table;
    list[i].value = value;
  }
  return i;
}

/* "(ALG == 'a' or ALG == 'b')" */
static const char *guard_of(gen_reader *r, const gen_param *p, const uint8_t *chosen,
                            size_t which) {
  str text = {0};
  for (size_t i = 0; i < p->n; i++) {
    if (chosen[i] == which) {
      str_addf(&text, "%s%s == '%s'", text.n ? " or " : "(", p->name, p->values[i].s);
    }
  }
  str_add(&text, ")");
  char *guard = text.failed ? NULL : arena_text(r->a, str_text(&text));
  str_clear(&text);
  if (!guard) {
    gen_fail(r->b, ERR_NOMEM, gen_here(r), "out of memory");
  }
  return guard;
}

void gen_algorithms_read(gen_reader *r) {
  const void *tables[GEN_MAX_ALGORITHMS];
  if (!gen_enter(r, "algorithms")) {
    return;
  }
  const gen_param *p = selector(r);
  gen_algorithm *list = GEN_MAKE(r, gen_algorithm, p->n);
  uint8_t *chosen = GEN_MAKE(r, uint8_t, p->n);
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    gen_need(r, p->values[i].s);
    chosen[i] = (uint8_t)find(r, tables, list, n, p->values[i].s);
    n += chosen[i] == n;
    gen_leave(r);
  }
  for (size_t i = 0; i < n; i++) {
    list[i].guard = guard_of(r, p, chosen, i);
  }
  gen_leave(r);
  r->t->algorithms = list;
  r->t->n_algorithms = n;
  r->t->algorithm_of = chosen;
}
