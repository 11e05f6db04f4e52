/* serve_args.h -- the arguments of a launch: which the caller must give, whether they are there and
 * aligned, and how large the buffers behind them are. */
#ifndef SERVE_ARGS_H
#define SERVE_ARGS_H

#include "device.h"
#include "gen.h"

typedef enum serve_need {
  SERVE_FIXED,  /* the problem says its value: args[i] may be NULL */
  SERVE_GIVEN,  /* args[i] must point at a value */
  SERVE_ADDRESS /* and that value is an address that must not be NULL */
} serve_need;

typedef struct serve_address { /* args[index] holds one, and no bit of `stray` is set in it */
  uint8_t index, stray;
} serve_address;

typedef struct serve_addresses {
  uint8_t n;
  serve_address list[64]; /* as many as a template has arguments at most: gen_read_args.c */
} serve_addresses;

/* serve_args_describe -- needs[t->n_args] and the addresses, of a problem's data */
void serve_args_describe(const gen_template *t, const gen_data *data, serve_need *needs,
                         serve_addresses *addresses);
/* serve_args_nothing -- are all outputs of this problem empty? Some plans launch even then. */
bool serve_args_nothing(const gen_template *t, const gen_data *data);

/* serve_args_missing -- err ERR_USAGE: which argument is missing */
int serve_args_missing(const gen_template *t, const serve_need *needs, const void *const *args,
                       err *e);

static inline rt_ptr serve_address_of(const serve_address *a, const void *const *args) {
  return *(const rt_ptr *)args[a->index];
}
/* serve_addresses_valid -- on every launch: no address is NULL or misaligned. The highest bit is
 * set in zero minus one, and in no address. */
static inline bool serve_addresses_valid(const serve_addresses *addresses,
                                         const void *const *args) {
  rt_ptr stray = 0, less = 0;
  for (const serve_address *a = addresses->list, *end = a + addresses->n; a < end; a++) {
    const rt_ptr at = serve_address_of(a, args);
    stray |= at & a->stray;
    less |= at - 1;
  }
  return !(stray | less >> 63);
}
/* serve_addresses_refuse -- which one is; err ERR_USAGE */
int serve_addresses_refuse(const gen_template *t, const serve_addresses *addresses,
                           const void *const *args, err *e) __attribute__((cold));

/* serve_args_data -- types and sizes of the buffers in this call, which may depend on a scalar such
 * as a leading dimension. A template serves one thread at a time; out in the arena */
int serve_args_data(const gen_template *t, const serve_need *needs, gen_instance *g,
                    const void *const *args, arena *a, const gen_data **data, err *e);

#endif
