/* harness.h -- what the files of the harness share; private to runtime/run. Each builds on those
 * before it: harness_buffers, harness_verify, harness, harness_check, harness_timing.
 *
 * Where the buffers lie. On a GPU all buffers of one launch (a SET) lie in one allocation, each
 * 256-byte aligned, and every byte between them is a canary: a write past the exact end, or before
 * the start, changes one. Further sets for timing follow at a fixed stride. The emulator guards
 * every allocation to the byte, reads included, so there each buffer of each case has an allocation
 * of its own.
 *
 *   | canary | x ........ | canary | y ........ | canary | canary | x ....   next set
 *
 * A buffer of the host's memory is there once, and has its place in the sets, too: there it is
 * filled before a launch, and verified afterwards.
 *
 * Beside the sets, out of reach of most stray writes: the inputs as they were filled (masters), and
 * what the reference computed in each case (expected).
 */
#ifndef RT_HARNESS_H
#define RT_HARNESS_H

#include "run.h"
#include "run_captured.h"
#include "checker.h"

typedef struct harness_case {
  const gen_data *data;
  const rt_captured *captured; /* a program's data; NULL: the template says what to fill in */
  const void **contents; /* per argument: what the host puts into it; NULL: a kernel fills it */
  double *magnitude; /* per argument: the largest value expected of a program's data, at least 1; or
                        the peak of what the reference computes */
  rt_ptr *given;     /* per argument: its recorded contents; 0: filled */
  rt_ptr *at;        /* per argument: its buffer in the first set; 0 for scalars */
  rt_ptr *expected;  /* per argument: what it must become; 0 for inputs and scalars */
  uint64_t *valid;   /* per argument: how many elements of an output count, after a launch, */
  uint64_t *found;   /* and how many the launch says there are */
  rt_ptr *bounds;    /* per argument: the bound of each element's error; 0: none */
  uint64_t *values;  /* per argument: a scalar's bits, a buffer's address */
  const void **args; /* pointers to these, as a launch takes them */
  void **host;       /* per argument: its buffer in the host's memory; NULL: it is on the device */
  const void *
      *on_device; /* args for the reference, whose buffers are all on the device; for checks,
                             behind them, those of what it computed */
  rt_zone *zones; /* canaries: zone i lies before the i-th buffer, the last after all */
} harness_case;

struct rt_harness {
  rt_device *d;
  rt_checker *checker;
  const gen_template *t;
  arena memory;
  const rt_captured *captured; /* NULL: none */
  harness_case *cases;
  size_t n_cases, n_buffers, n_zones;
  bool separate; /* one allocation per buffer, no canaries: the emulator */
  rt_loaded *reference;
  rt_loaded **checks; /* the template's, n_checks; NULL: not loaded */
  double *allowed;    /* of each check that measures a residual */
  rt_ptr counted;     /* the workspaces of a reference that counts wrong elements */
  rt_ptr *masters;    /* per argument: the inputs' contents; 0 when it is never read */
  gen_datum *filled;  /* per argument: what its master holds now */
  rt_ptr sets;        /* the first set; the others follow */
  uint64_t stride, n_sets, set_nbytes;
  rt_ptr findings, zones; /* on the device: room for one check */
  rt_finding *found;      /* the same on the host: zones, then buffers */
  rt_ptr *blocks;         /* every allocation, to be released */
  size_t n_blocks;
  void **host; /* per argument: the buffer of the host's memory that all cases use; or NULL */
  rt_event *from, *to;
  uint64_t draw; /* of the inputs that launches get; 0: those that results are checked on */
  rt_kind kind;  /* of these */
  bool suspect;  /* a candidate wrote where it must not: masters and expected must be made again */
};

/* ---- harness_buffers.c ---- */

bool harness_is_buffer(const rt_harness *b, size_t arg);
bool harness_is_output(const rt_harness *b, size_t arg);
/* harness_is_recorded -- does a program's data give this buffer's contents? */
bool harness_is_recorded(const harness_case *c, size_t arg);
/* harness_is_poisoned -- does this buffer start as poison in this case? */
bool harness_is_poisoned(const rt_harness *b, const harness_case *c, size_t arg);
/* harness_bounds_nbytes -- of the bounds of an output's elements; 0: it has none */
uint64_t harness_bounds_nbytes(const rt_harness *b, const harness_case *c, size_t arg);
uint64_t harness_nbytes(const harness_case *c, size_t arg);
/* harness_poison -- the byte that poisons; all ones is a NaN of every floating type */
uint8_t harness_poison(dtype t);
enum { HARNESS_CANARY = 0xcb };

int harness_make_cases(rt_harness *b, gen_instance *g, err *e);
/* harness_allocate -- all device memory, and where each buffer lies in it */
int harness_allocate(rt_harness *b, err *e);
/* harness_start -- the first set as a launch of this case must find it: inputs, poison, canaries */
int harness_start(rt_harness *b, harness_case *c, err *e);
/* harness_free_host -- the buffers of the host's memory */
void harness_free_host(rt_harness *b);
/* harness_collect -- after a launch, buffers of the host's memory go to their places in the first set */
int harness_collect(rt_harness *b, const harness_case *c, err *e);

/* ---- harness_verify.c ---- */

/* harness_verify -- after a launch of this case: canaries, inputs and outputs.
 *   out  *out  errors are added to those it holds
 *   err  ERR_WRONG  what is wrong, in words */
int harness_verify(rt_harness *b, harness_case *c, rt_check *out, err *e);

/* ---- harness_judge.c ---- */

/* harness_load_checks -- from the reference's image, whose kernels they launch */
int harness_load_checks(rt_harness *b, const str *image, gen_instance *g, arena *a, err *e);
void harness_free_checks(rt_harness *b);
/* harness_judge -- the template's checks of what a launch of this case left.
 *   in   reference  only those of outputs that the reference computes
 *   out  *out  errors are added to those it holds
 *   err  ERR_WRONG  what is wrong, in words */
int harness_judge(rt_harness *b, harness_case *c, bool reference, rt_check *out, err *e);

/* ---- harness.c ---- */

/* harness_expect -- run the reference for every case and keep what it computes; ends `suspect` */
int harness_expect(rt_harness *b, err *e);

/* ---- harness_check.c and harness_timing.c ---- */

/* harness_looks_again -- is a launch over `most` worth a second look before it is given up? A busy
 * host holds launches up for time slices of milliseconds; a launch that takes more than 50 ms
 * beyond `most` is slow itself. */
static inline bool harness_looks_again(double sec, double most) {
  static const double held_up_sec = 0.05;
  return sec > most && sec - held_up_sec <= most;
}

#endif
