/* gen_symbol.h -- the names that expressions may read. */
#ifndef GEN_SYMBOL_H
#define GEN_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits, so that a set of them says what an expression may read. */
typedef enum gen_symbol_kind {
  GEN_SYMBOL_FIELD = 1,
  GEN_SYMBOL_PARAM = 2,
  GEN_SYMBOL_DERIVED = 4,
  GEN_SYMBOL_FIXED = 8, /* a derived value that no parameter affects */
  GEN_SYMBOL_DEVICE = 16,
  GEN_SYMBOL_SCALAR = 32, /* an argument; the value it has in a case */
  GEN_SYMBOL_CALL = 64,   /* an argument of the typed call */
  GEN_SYMBOL_OTHER = 128, /* a buffer or workspace: a name that is taken */
  GEN_SYMBOL_INDEX = 256, /* of the iterations of a loop; evaluated as a scalar */
  GEN_SYMBOL_COUNT = 512  /* read back in a preparation; evaluated as a scalar */
} gen_symbol_kind;

enum {
  GEN_READS_PROBLEM = GEN_SYMBOL_FIELD | GEN_SYMBOL_FIXED,
  GEN_READS_DEVICE = GEN_READS_PROBLEM | GEN_SYMBOL_DEVICE,
  GEN_READS_CASE = GEN_READS_PROBLEM | GEN_SYMBOL_SCALAR,
  GEN_READS_CONFIG = GEN_READS_DEVICE | GEN_SYMBOL_PARAM | GEN_SYMBOL_DERIVED,
  GEN_READS_CALL = GEN_SYMBOL_CALL,
};

enum { GEN_MAX_SYMBOLS = 256 };

typedef struct gen_symbol {
  const char *name;
  gen_symbol_kind kind;
  uint32_t index; /* of the field, parameter, ... */
  uint8_t types;  /* that its value may have: bits of expr_type */
  uint16_t next;  /* of the same chain */
} gen_symbol;

enum { GEN_SYMBOL_CHAINS = 256 };

typedef struct gen_symbols { /* all zero: empty */
  gen_symbol at[GEN_MAX_SYMBOLS];
  size_t n;
  uint16_t first[GEN_SYMBOL_CHAINS]; /* in chains, one more than a symbol's place; 0: no other */
} gen_symbols;

/* gen_symbol_add -- there must be room. Its value may be of any type; the caller may know better */
gen_symbol *gen_symbol_add(gen_symbols *s, const char *name, gen_symbol_kind kind, size_t index);
/* gen_symbol_find -- the first of that name and one of those kinds; NULL: none */
const gen_symbol *gen_symbol_find(const gen_symbols *s, const char *name, unsigned kinds);
const gen_symbol *gen_symbol_find_n(const gen_symbols *s, const char *name, size_t n,
                                    unsigned kinds);
/* gen_symbol_describe -- "a field" */
const char *gen_symbol_describe(gen_symbol_kind kind);

typedef struct gen_names {                           /* a set of names */
  unsigned kinds;                                    /* all of their kinds */
  uint64_t fields, params, derived, device, scalars; /* bits, by index */
} gen_names;

#endif
