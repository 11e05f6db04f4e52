/* run.h -- a candidate on a device: loaded, launched, checked, timed.
 *
 * rt_loaded is an image with its plan, ready to launch: the tuner and libtuned use the same one.
 * rt_harness is one problem's buffers on a device: inputs filled, outputs poisoned, canaries around
 * every buffer, reference results, and enough copies that timing can rotate past the L2 cache.
 *
 * A user makes one rt_harness per problem, and for every candidate one rt_loaded, one check and, if
 * it passes, one timing. Neither allocates device memory per launch.
 */
#ifndef RT_RUN_H
#define RT_RUN_H

#include "compile.h"
#include "device.h"
#include "gen.h"

enum { RT_NUMBERS = 14 };
/* rt_numbers -- a device's limits by the names that templates' expressions read: dev_sms, ... */
void rt_numbers(const rt_info *info, gen_number out[RT_NUMBERS]);
/* rt_instance_new -- gen_instance_new with a device's limits */
int rt_instance_new(gen_template *t, const gen_problem *p, const rt_info *info, gen_instance **out,
                    err *e);

typedef struct rt_loaded rt_loaded;

/* rt_loaded_new -- load the image, find the plan's kernels, allow their shared memory. The plan is
 * copied. An image without kernel launches (an empty problem) may be NULL.
 *   err  ERR_LAUNCH  a stage asks for more than the loaded kernel or the device allows
 *        ERR_NOTFOUND  the image lacks a kernel */
int rt_loaded_new(rt_device *d, const void *image, size_t nbytes, const gen_template *t,
                  const gen_plan *plan, rt_loaded **out, err *e);
/* rt_loaded_new_from -- another plan over the image of `same`, which may be freed before or after
 */
int rt_loaded_new_from(rt_loaded *same, const gen_template *t, const gen_plan *plan,
                       rt_loaded **out, err *e);
void rt_loaded_free(rt_loaded *l);
/* rt_loaded_launch -- all stages in order, on the stream; asynchronous. The first launch of a plan
 * with workspaces allocates and zeroes them (rt_loaded_reserve does it ahead); launches of one
 * rt_loaded share them, so they must not overlap on the device.
 *   in  args  per argument of the template, in order: a pointer to its value (an rt_ptr for a
 *             buffer); entries of scalars whose value the plan fixes are ignored, may be NULL
 *   err  ERR_NOMEM  workspace;  ERR_LAUNCH */
int rt_loaded_launch(rt_loaded *l, rt_stream s, const void *const *args, err *e);
enum { RT_WORKSPACE_ALIGNMENT = 256 };
/* rt_loaded_launch_in -- the same with the caller's workspace of rt_loaded_workspace_nbytes,
 * RT_WORKSPACE_ALIGNMENT aligned and zeroed before its first use. *l does not change: several
 * threads may launch one rt_loaded, with a workspace each. */
int rt_loaded_launch_in(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                        err *e);
/* rt_loaded_hold -- from now on, only the first launch copies contents into __constant__ variables: the
 * data stay the same, and copies are not timed, unless a launch fills a variable several times.
 * false: every launch does again */
void rt_loaded_hold(rt_loaded *l, bool hold);
/* rt_loaded_blocks -- does a launch wait for the device, to read the word of a loop? */
bool rt_loaded_blocks(const rt_loaded *l);
/* rt_loaded_finished -- did the launches that have ended so far complete their loops? The next launch asks,
 * too. err ERR_LAUNCH  one did not, within its bound */
int rt_loaded_finished(rt_loaded *l, err *e);
size_t rt_loaded_workspace_nbytes(const rt_loaded *l);
int rt_loaded_reserve(rt_loaded *l, err *e);
/* rt_loaded_workspace -- the plan's i-th, in the memory that rt_loaded_reserve allocates */
rt_ptr rt_loaded_workspace(const rt_loaded *l, size_t i);
/* rt_loaded_info -- registers, spills and shared memory: the largest over the plan's kernels */
int rt_loaded_info(rt_loaded *l, rt_function_info *info, err *e);

typedef struct rt_checker rt_checker; /* the runtime's own kernels (fill_check.cu) on a device */
/* rt_checker_new -- compiles and loads them; once per device and process */
int rt_checker_new(rt_device *d, rt_compiler *c, rt_checker **out, err *e);
void rt_checker_free(rt_checker *k);

typedef struct rt_harness rt_harness;
/* rt_harness_new -- allocates and fills the problem's buffers, runs the reference for every case.
 * The template, the instance and the checker must outlive the harness.
 *   err  ERR_NOMEM     the problem does not fit; says how much it needs and what is free
 *        ERR_TEMPLATE  the reference itself writes where it should not */
int rt_harness_new(rt_device *d, rt_compiler *c, rt_checker *k, const gen_template *t,
                   gen_instance *g, rt_harness **out, err *e);
/* rt_harness_new_on -- the same with a program's data as the first case, which is timed; the
 * template's own cases follow and are checked. `data` must outlive the harness; NULL: none */
struct rt_captured;
int rt_harness_new_on(rt_device *d, rt_compiler *c, rt_checker *k, const gen_template *t,
                      gen_instance *g, const struct rt_captured *data, rt_harness **out, err *e);
void rt_harness_free(rt_harness *b);
/* Kinds of data: the template's, and others within the range of its fills; as gen_kind_names. */
typedef enum rt_kind {
  RT_KIND_OWN,
  RT_KIND_SORTED,
  RT_KIND_EQUAL,
  RT_KIND_SMALL,
  RT_KINDS
} rt_kind;
/* rt_kinds_parse -- "sorted,equal" as bits of rt_kind, RT_KIND_OWN always among them; NULL or "": 0
 *   err  ERR_USAGE  none of that name; lists them */
int rt_kinds_parse(const char *text, unsigned *kinds, err *e);
/* rt_harness_redraw -- what is timed from now on gets other random numbers, of this kind; 0 and
 * RT_KIND_OWN: those that results are checked on. A check returns to these. False: all inputs are given,
 * or none */
bool rt_harness_redraw(rt_harness *b, uint64_t draw, rt_kind kind);

typedef struct rt_check {
  /* the largest |x - ref| / (abs + rel * |ref|) over all outputs and the cases that were run */
  double error;
  /* elements outside the tolerance; a NaN where the reference is a number is one */
  uint64_t n_wrong;
  /* cases that were run, and seconds of the first case's launch: cold, with the cost of a module's
   * first launch, or of a second launch if the host may have held up the first; 0 where no limit
   * was given */
  size_t n_cases;
  double first_sec;
} rt_check;

/* rt_harness_check -- run every case of the template against the reference, up to the first that is
 * wrong: outputs poisoned (NaN patterns) before each, all bytes of every output compared, padding
 * included, inputs and canaries compared afterwards.
 *   err  ERR_WRONG   what is wrong, in words: "y[123] is 4.5, reference 4.25 (case 1); 17 of 20
 *                    wrong"; "wrote 12 bytes past the end of C, at +0 to +11"; "changed input A"
 *        ERR_LAUNCH  it died */
int rt_harness_check(rt_harness *b, rt_loaded *l, rt_check *out, err *e);
/* rt_harness_check_quick -- the same, but leaves out the other cases when the first one's launch
 * takes more than four times `stop_above`, twice (0: never): the candidate cannot win */
int rt_harness_check_quick(rt_harness *b, rt_loaded *l, double stop_above, rt_check *out, err *e);

typedef enum rt_replay {
  RT_STREAM, /* launches one after another, as in a program */
  RT_GRAPH   /* CUDA graphs of many launches: without the host's time for each launch */
} rt_replay;

/* Why did a timing end? */
typedef enum rt_ended {
  RT_ENDED_FULL,    /* the time for it was spent */
  RT_ENDED_PRECISE, /* the mean was known precisely enough before */
  RT_ENDED_SLOWER,  /* slower than stop_above, beyond doubt */
  RT_ENDED_LOOK,    /* two single launches took more than twice stop_above */
  RT_ENDED_RACE     /* all rounds of a race */
} rt_ended;
const char *rt_ended_name(rt_ended ended);

typedef struct rt_timing {
  /* device time to spend on one candidate; 0 takes 0.01 */
  double target_sec;
  /* give up as soon as the candidate is slower than this beyond doubt; 0: never */
  double stop_above;
  /* times are those of a launch and this share of a preparation: 1 / uses; 0: of the launch alone */
  double uses;
  /* one set of buffers instead of rotating */
  bool hot;
  rt_replay replay;
  /* called once for each contender (0 in rt_harness_time) while the device runs one of its batches:
   * the moment to read clocks and power. NULL: not called */
  void (*watch)(void *self, size_t contender);
  void *watcher;
} rt_timing;

enum { RT_BATCHES = 64 };

typedef struct rt_times {
  double median, p25,
      p75;            /* seconds per launch of the whole plan, and its share of a preparation */
  double prepare_sec; /* of a preparation; 0: there is none */
  uint64_t launches;
  bool cold, stopped; /* buffers rotated past the L2 cache; stopped early by stop_above */
  rt_ended ended;
  rt_replay replay;
  uint32_t n_batches;
  float batches[RT_BATCHES]; /* seconds per launch of each batch, in order */
} rt_times;

/* rt_times_spread -- the middle half's width as a share of the median */
static inline double rt_times_spread(const rt_times *t) {
  return t->median > 0 ? (t->p75 - t->p25) / t->median : 0;
}

/* rt_harness_energy -- joules per launch, by a meter that counts in steps: launches follow each
 * other for at least `sec`, from one step of the meter to another. The emulator has no meter.
 *   in   joules  the meter, read by the host; a negative number: it failed
 *   err  ERR_DEVICE  it failed, or did not move for two seconds */
typedef struct rt_meter {
  double (*joules)(void *self);
  void *self;
} rt_meter;
int rt_harness_energy(rt_harness *b, rt_loaded *l, const rt_meter *meter, double sec,
                      double *joules, err *e);

/* rt_harness_time -- batches of launches between two events, each batch long enough for the events'
 * resolution, over rotating buffers; case 0. It ends by a sequential test (see harness_timing.c).
 * On the emulator one launch, in modelled seconds. err  ERR_USAGE  RT_GRAPH, and this device has no
 * graphs */
int rt_harness_time(rt_harness *b, rt_loaded *l, const rt_timing *how, rt_times *out, err *e);

/* A thing to time beside the candidates: a vendor's library, say. */
typedef struct rt_contender {
  int (*launch)(void *self, rt_stream s, const void *const *args, err *e);
  void *self;
  void (*hold)(void *self, bool hold); /* rt_loaded_hold; NULL: there is nothing to hold */
  bool blocks;                         /* rt_loaded_blocks: no graph can hold its launches */
  int (*finished)(void *self, err *e); /* rt_loaded_finished; NULL: it has no loops */
  /* prepare -- before launches with other inputs. Up to n_copies of what it leaves are used in turn, as
   * buffers are. It waits for the stream. NULL: there is nothing to prepare
   *   out  *sec  the seconds that it took */
  int (*prepare)(void *self, rt_stream s, const void *const *args, uint64_t n_copies, double *sec,
                 err *e);
  /* verify -- after a launch: is what was prepared as it was? `finding` is room on the device. NULL: yes
   *   err  ERR_WRONG  what it is */
  int (*verify)(void *self, rt_checker *k, rt_ptr finding, err *e);
} rt_contender;
rt_contender rt_loaded_contender(rt_loaded *l);
/* rt_harness_race -- n contenders interleaved, A B C A B C ..., `rounds` batches each, but only
 * three of a contender more than four times slower than the fastest; times[n] */
int rt_harness_race(rt_harness *b, const rt_contender *c, size_t n, size_t rounds,
                    const rt_timing *how, rt_times *times, err *e);
/* The same with any contender: as rt_harness_check_quick, _time, _energy. rt_harness_check_contender
 * never leaves out cases */
int rt_harness_check_contender(rt_harness *b, rt_contender c, rt_check *out, err *e);
int rt_harness_check_contender_quick(rt_harness *b, rt_contender c, double stop_above,
                                     rt_check *out, err *e);
int rt_harness_time_contender(rt_harness *b, rt_contender c, const rt_timing *how, rt_times *out,
                              err *e);
int rt_harness_energy_contender(rt_harness *b, rt_contender c, const rt_meter *meter, double sec,
                                double *joules, err *e);

#endif
