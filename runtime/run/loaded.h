/* loaded.h -- what rt_loaded_new makes and launches read. Private to run_loaded.c, which makes it,
 * and run_launch.c, run_steps.c, run_while.c, run_streams.c, run_textures.c, which launch. */
#ifndef RT_LOADED_H
#define RT_LOADED_H

#include <pthread.h>
#include <stdatomic.h>

#include "arena.h"
#include "run.h"

enum {
  LOADED_OPERANDS = 128,
  LOADED_CHUNK = 8, /* constants are copied in chunks of this many */
  LOADED_WORKSPACES = 32,
  LOADED_TENSORS = 8,
  LOADED_ALIGNMENT = RT_WORKSPACE_ALIGNMENT
};

typedef struct operand {
  enum { CONSTANT, LOOP, ARGUMENT, CONTENTS, WORKSPACE, TENSOR, TEXTURE } from;
  uint32_t index;       /* of the argument or workspace; of the stage's tensor or texture */
  const void *constant; /* in the arena; of LOOP a gen_loop_handle, which recordings set */
} operand;

typedef struct tensor { /* the parts of a tensor map known before the launch */
  rt_tensor fixed;      /* without address and strides */
  operand at, strides[GEN_MAX_RANK - 1];
  dtype stride_types[GEN_MAX_RANK - 1];
} tensor;

typedef struct texture {
  rt_texture fixed; /* without address and pitch */
  int rank;
  uint64_t dims[GEN_TEXTURE_RANK];
  operand at, strides[GEN_TEXTURE_RANK - 1];
  dtype stride_types[GEN_TEXTURE_RANK - 1];
  rt_object of_array; /* of fixed.array, which each launch fills; 0: a texture of the buffer */
} texture;

typedef struct loaded_object { /* a texture object of a buffer, kept for later launches */
  const texture *x;
  rt_ptr at;
  uint64_t pitch;
  rt_object made;
  uint64_t used; /* the clock at its last use */
  bool captured; /* by a graph of the caller's, which may run as long as the plan lives */
} loaded_object;

enum { LOADED_OBJECTS = 4096 };

typedef struct loaded_objects {
  pthread_mutex_t turn;
  loaded_object *list;
  size_t n, capacity;
  uint64_t clock;
} loaded_objects;

typedef struct loaded_image { /* shared by plans whose source is the same */
  rt_module *module;
  atomic_int users;
  /* With __constant__ variables, which belong to the module: launches take turns, and on another
   * stream than the last one they wait until that has read them. */
  pthread_mutex_t turn;
  rt_event *done; /* of the last launch; NULL: no plan fills variables or arrays */
  rt_stream last;
  bool launched;
} loaded_image;

typedef struct given { /* parameter `at` is the caller's argument `index` */
  uint8_t at, index;
} given;

typedef struct stage {   /* what every launch reads comes first, in one cache line */
  rt_function *function; /* NULL: sets or copies memory */
  uint32_t grid[3], block[3], smem;
  bool overlap, cooperative,
      copies; /* function NULL: copies from the second operand to the first */
  uint8_t n_operands, n_given, n_rest;
  const void **params; /* the constants among them; whole chunks */
  const given *given;
  operand *rest;    /* contents, workspaces, tensors and textures */
  uint8_t *rest_at; /* which parameters these are */
  operand *operands;
  tensor *tensors;
  size_t n_tensors;
  texture *textures;
  size_t n_textures;
  uint8_t fill;
  enum { WITHIN_DEVICE, FROM_HOST, TO_HOST } way; /* of a copy */
  uint64_t nbytes, at[2]; /* of a copy: bytes from the start of what is written, and read */
  rt_ptr symbol;          /* of a variable that gets the operand's contents; 0: none does */
} stage;

enum { LOADED_NONE = UINT16_MAX }; /* in place of an event */

/* How stages of several streams are ordered. There is an event per stage, then that of the start, and
 * two per loop: an iteration's start and the loop's end. Stage i waits for the events in waits[from[i]]
 * up to waits[from[i + 1]]. */
typedef struct loaded_order {
  uint8_t *stream;                /* per stage; 0: the caller's */
  uint32_t *from;                 /* per stage, and one more */
  uint16_t *waits;                /* events */
  uint16_t last[GEN_MAX_STREAMS]; /* event of each stream; LOADED_NONE: it has ended before */
  bool *is_awaited;               /* per event */
  size_t n_events;
} loaded_order;

/* Streams and events of our own: one set for launches, one for launches in a capture. */
typedef struct loaded_streams {
  rt_stream list[GEN_MAX_STREAMS]; /* the first is the caller's, and not in here */
  rt_event **done;                 /* per event of the order; NULL: nothing waits for it */
  rt_stream captured;              /* the caller's stream of the last capture */
} loaded_streams;

typedef struct loaded_loop { /* stages [first, first + n), then n_odd for odd iterations */
  size_t first, n, n_odd;
  uint64_t times; /* at most, of one until a word is 0 */
  bool graph;     /* then, of one until a word is 0, the first stage precedes the iterations */
  bool is_while;
  uint32_t word; /* workspace */
  const char *word_name;
  uint64_t
      batch; /* iterations launched before the host looks at the word; 0: it does before each */
  /* Of a plan with streams: the last events of each stream before the loop, and in an even and an odd
   * iteration; as loaded_order's. */
  uint16_t before[GEN_MAX_STREAMS], last[2][GEN_MAX_STREAMS];
} loaded_loop;

/* One iteration after the other, recorded for these arguments. */
typedef struct loaded_graph {
  rt_loaded *l;
  const loaded_loop *loop;
  uint64_t *key; /* per argument of the template its value, then the workspace */
  const void **args;
  rt_graph *made;
} loaded_graph;

typedef struct loaded_graphs {
  pthread_mutex_t turn;
  loaded_graph **list;
  size_t n, next, most; /* next: the one that the next new graph replaces */
} loaded_graphs;

typedef struct loaded_reader loaded_reader;
typedef struct loaded_whiles { /* of loops until a word is 0 (run_while.c) */
  pthread_mutex_t turn;
  loaded_reader *readers; /* those that no launch uses */
  rt_ptr flag;            /* 0: no kernel takes the address of one */
  uint32_t *host_flag;    /* the same, where the host can read it */
  const char *word_name;
} loaded_whiles;

struct rt_loaded {
  rt_device *d;
  stage *stages;
  size_t n_stages;
  bool in_steps; /* it fills variables, has loops, or streams of its own */
  size_t n_workspaces;
  uint64_t *offsets;   /* of each workspace */
  loaded_image *image; /* NULL: nothing to launch */
  const void *bytes;   /* of the image, while rt_loaded_new runs; NULL: not at hand */
  size_t nbytes;
  arena memory;
  size_t workspace_nbytes;
  rt_ptr workspace;                                 /* ours, 0 until reserved */
  enum { COPY_ALWAYS, COPY_ONCE, COPY_NEVER } copy; /* contents of variables */
  rt_function_info info;
  bool fills;   /* variables of the module */
  bool refills; /* one of them several times, with other contents */
  loaded_loop *loops;
  size_t n_loops;
  uint8_t *arg_nbytes; /* per argument: of those that launches in loops take; 0: none does */
  size_t n_args;
  loaded_graphs graphs;
  loaded_whiles whiles;
  bool blocks;         /* the host drives a loop until a word is 0 */
  loaded_order *order; /* NULL: all stages are on the caller's stream */
  loaded_streams streams[2];
  pthread_mutex_t turn; /* of launches on our streams */
  loaded_objects objects;
};

/* loaded_launch_stage -- one launch */
int loaded_launch_stage(rt_loaded *l, const stage *s, rt_stream stream, const void *const *args,
                        rt_ptr workspace, err *e);
/* loaded_launch_steps -- all, of a plan with loops or variables (run_steps.c) */
int loaded_launch_steps(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                        err *e);
/* loaded_start_of -- the event of an iteration's start */
static inline size_t loaded_start_of(const rt_loaded *l, const loaded_loop *loop) {
  return l->n_stages + 1 + 2 * (size_t)(loop - l->loops);
}
/* Loops until a word is 0 (run_while.c): loaded_while_drive -- the host launches iterations, and waits;
 * loaded_while_record -- a node of the graph that s is being captured into, in the turn of the graphs */
int loaded_while_drive(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, rt_stream s,
                       const void *const *args, rt_ptr workspace, err *e);
int loaded_while_record(rt_loaded *l, const loaded_loop *loop, rt_stream s, const void *const *args,
                        rt_ptr workspace, err *e);
/* loaded_while_operand -- what a kernel gets of such a loop */
int loaded_while_operand(rt_loaded *l, const gen_operand *from, operand *out, err *e);
void loaded_whiles_free(rt_loaded *l);
/* loaded_order_new, _free -- of a plan with streams, else nothing (run_streams.c) */
int loaded_order_new(rt_loaded *l, const gen_plan *plan, err *e);
void loaded_order_free(rt_loaded *l);
/* loaded_streams_for -- the streams and events for a launch on s, or a recording; NULL: all stages are
 * on s. Call it, and launch with it, while holding the turn */
loaded_streams *loaded_streams_for(rt_loaded *l, rt_stream s);
/* loaded_launch_one -- stage i, when what it waits for has ended; x NULL: on the caller's stream */
int loaded_launch_one(rt_loaded *l, loaded_streams *x, size_t i, rt_stream caller,
                      const void *const *args, rt_ptr workspace, err *e);
/* loaded_mark -- record an event on the caller's stream, if something waits for it */
int loaded_mark(rt_loaded *l, loaded_streams *x, size_t event, rt_stream caller, err *e);
/* loaded_join -- the caller's stream waits for these events of the others */
int loaded_join(rt_loaded *l, loaded_streams *x, const uint16_t last[GEN_MAX_STREAMS],
                rt_stream caller, err *e);
/* loaded_textures_bind -- the objects of a stage's textures (run_textures.c); fills arrays, in the
 * stream's order */
int loaded_textures_bind(rt_loaded *l, const stage *s, rt_stream stream, const void *const *args,
                         const rt_ptr *workspaces, rt_object *out, err *e);
/* loaded_textures_array -- the array of a texture that is read from one, and its object */
int loaded_textures_array(rt_device *d, texture *x, err *e);
/* loaded_textures_free -- all objects, and the arrays of the stages */
void loaded_textures_free(rt_loaded *l);
/* loaded_pointer -- where the value of an operand is, of a launch with these arguments */
static inline const void *loaded_pointer(const operand *o, const void *const *args,
                                         const rt_ptr *workspaces) {
  return o->from == ARGUMENT    ? args[o->index]
         : o->from == WORKSPACE ? &workspaces[o->index]
                                : o->constant;
}
/* loaded_fits -- is the launch within the limits of its kernel and the device? (run_fit.c)
 *   err  ERR_LAUNCH  what exceeds which */
int loaded_fits(const rt_loaded *l, const gen_launch *s, const rt_function_info *f, err *e);
/* loaded_fits_at_once -- can all blocks of a cooperative launch be on the device at once? Its kernel
 * must have been allowed the shared memory before */
int loaded_fits_at_once(const rt_loaded *l, const gen_launch *s, rt_function *function,
                        const rt_function_info *f, err *e);
/* loaded_graphs_check -- err ERR_USAGE: a graph would keep the contents of an argument, or a texture
 * object that launches with other buffers replace (run_steps.c) */
int loaded_graphs_check(const rt_loaded *l, const gen_plan *plan, err *e);
/* loaded_graphs_free -- those recorded by loaded_launch_steps */
void loaded_graphs_free(rt_loaded *l);

#endif
