/* harness.h -- what harness.c, harness_check.c and harness_timing.c share. Private to runtime/run.
 *
 * Where the buffers lie. On a GPU all buffers of one launch (a SET) lie in one allocation, each
 * 256-byte aligned, and every byte between them is a canary: a write past the exact end, or before
 * the start, changes one. Further sets for timing follow at a fixed stride. The emulator guards
 * every allocation to the byte, reads included, so there each buffer of each case is its own.
 *
 *   | canary | x ........ | canary | y ........ | canary | canary | x ....   next set
 *
 * Beside the sets, far from stray writes: the inputs as they were filled (masters), and per case
 * what the reference made of them (expected).
 */
#ifndef RT_HARNESS_H
#define RT_HARNESS_H

#include "run.h"
#include "run_captured.h"
#include "run_tools.h"

typedef struct harness_case {
  const gen_data *data;
  const rt_captured *captured; /* what a program gave; NULL: the template says what to fill in */
  double *magnitude; /* per argument, of what a program's data make of it: at least 1; else 1 */
  rt_ptr *given;     /* per argument: its recorded contents; 0: filled */
  rt_ptr *at;        /* per argument: its buffer in the first set; 0 for scalars */
  rt_ptr *expected;  /* per argument: what it must become; 0 for inputs and scalars */
  uint64_t *values;  /* per argument: a scalar's bits, a buffer's address */
  const void **args; /* pointers to these, as a launch takes them */
  rt_zone *zones;    /* canaries: zone i lies before the i-th buffer, the last after all */
} harness_case;

struct rt_harness {
  rt_device *d;
  rt_tools *tools;
  const gen_template *t;
  arena memory;
  const rt_captured *captured; /* NULL: none */
  harness_case *cases;
  size_t n_cases, n_buffers, n_zones;
  bool separate; /* one allocation per buffer, no canaries: the emulator */
  rt_loaded *reference;
  rt_ptr *masters;   /* per argument: the inputs' contents; 0 when it is never read */
  gen_datum *filled; /* per argument: what its master holds now */
  rt_ptr sets;       /* the first set, and the others behind it */
  uint64_t stride, n_sets, set_nbytes;
  rt_ptr findings, zones; /* on the device: room for one check */
  rt_finding *found;      /* the same on the host: zones, then buffers */
  rt_ptr *blocks;         /* every allocation, for the end */
  size_t n_blocks;
  rt_event *from, *to;
  bool suspect; /* masters and expected must be made (again): a candidate wrote where it should not
                 */
};

bool harness_is_buffer(const rt_harness *b, size_t arg);
/* Does this argument start as poison in this case? */
bool harness_is_poisoned(const rt_harness *b, const harness_case *c, size_t arg);
uint64_t harness_nbytes(const harness_case *c, size_t arg);
/* The byte that poisons; all ones is a NaN of every floating type. */
uint8_t harness_poison(dtype t);
/* harness_start -- the first set as a launch of this case must find it: inputs, poison, canaries */
int harness_start(rt_harness *b, harness_case *c, err *e);
/* harness_expect -- run the reference for every case and keep what it gives; undoes `suspect` */
int harness_expect(rt_harness *b, err *e);

/* harness_verify -- after a launch of this case: canaries, inputs and outputs.
 *   out  *out  errors counted on top of what it holds
 *   err  ERR_WRONG  what is wrong, in words */
int harness_verify(rt_harness *b, harness_case *c, rt_check *out, err *e);

/* harness_looks_again -- is a single launch that took so long to be given up for being over `most`,
 * and worth another look first? A busy host holds launches up for some of its time slices, of
 * milliseconds; what takes longer than that is slow itself. */
bool harness_looks_again(double sec, double most);

enum { HARNESS_CANARY = 0xcb };

#endif
