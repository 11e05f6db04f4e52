#include "gen_symbol.h"

#include <string.h>

#include "expr_value.h"

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

const gen_symbol *gen_symbol_find_n(const gen_symbols *s, const char *name, size_t n,
                                    unsigned kinds) {
  for (size_t i = s->first[chain_of(name, n)]; i; i = s->at[i - 1].next) {
    const gen_symbol *x = &s->at[i - 1];
    if (is_word(x->name, name, n) && (x->kind & kinds)) {
      return x;
    }
  }
  return NULL;
}

const gen_symbol *gen_symbol_find(const gen_symbols *s, const char *name, unsigned kinds) {
  return gen_symbol_find_n(s, name, strlen(name), kinds);
}

static uint8_t types_of(gen_symbol_kind kind) {
  switch (kind) {
  case GEN_SYMBOL_DERIVED:
  case GEN_SYMBOL_FIXED: return EXPR_INTEGER | EXPR_CONDITION;
  case GEN_SYMBOL_INDEX:
  case GEN_SYMBOL_COUNT:
  case GEN_SYMBOL_DEVICE: return EXPR_INTEGER;
  case GEN_SYMBOL_SCALAR: return EXPR_NUMBER;
  default: return EXPR_ANY;
  }
}

/* At the end of its chain: the first of a name is found first. */
gen_symbol *gen_symbol_add(gen_symbols *s, const char *name, gen_symbol_kind kind, size_t index) {
  uint16_t *end = &s->first[chain_of(name, strlen(name))];
  while (*end) {
    end = &s->at[*end - 1].next;
  }
  s->at[s->n] =
      (gen_symbol){.name = name, .kind = kind, .index = (uint32_t)index, .types = types_of(kind)};
  *end = (uint16_t)(s->n + 1);
  return &s->at[s->n++];
}

const char *gen_symbol_describe(gen_symbol_kind kind) {
  switch (kind) {
  case GEN_SYMBOL_FIELD: return "a field";
  case GEN_SYMBOL_PARAM: return "a parameter";
  case GEN_SYMBOL_DERIVED: return "a derived value that parameters affect";
  case GEN_SYMBOL_FIXED: return "a derived value";
  case GEN_SYMBOL_DEVICE: return "a device limit";
  case GEN_SYMBOL_SCALAR: return "an argument";
  case GEN_SYMBOL_CALL: return "an argument of the call";
  case GEN_SYMBOL_OTHER: return "a buffer";
  case GEN_SYMBOL_INDEX: return "the index of a loop";
  case GEN_SYMBOL_COUNT: return "a count of the preparation";
  }
  return "known";
}
