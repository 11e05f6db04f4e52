/* gen_plan.h -- the launches of a configuration: with numbers, and as expressions for any problem.
 */
#ifndef GEN_PLAN_H
#define GEN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "dtype.h"
#include "err.h"

typedef struct gen_template gen_template;
typedef struct gen_instance gen_instance;
typedef struct gen_config gen_config;

typedef enum gen_from {
  GEN_FROM_ARG,
  GEN_FROM_WORKSPACE,
  GEN_FROM_VALUE,
  GEN_FROM_CONTENTS, /* of an argument in the host's memory: passed by value */
  GEN_FROM_EXPECTED, /* of checks: what the reference computed for an argument */
  GEN_FROM_LOOP,     /* gen_loop_handle of the loop whose word is in that workspace */
  GEN_FROM_PREPARED, /* a buffer of the preparation */
  GEN_FROM_TENSOR,
  GEN_FROM_TEXTURE
} gen_from;

typedef struct gen_operand { /* one kernel parameter */
  gen_from from;
  uint32_t index;                    /* of the argument or workspace */
  uint32_t nbytes;                   /* of the parameter; 0: unknown */
  const char *text;                  /* the name or expression in the template; NULL: unknown */
  uint64_t bits;                     /* GEN_FROM_VALUE: the value, little-endian */
  const struct gen_tensor *tensor;   /* GEN_FROM_TENSOR */
  const struct gen_texture *texture; /* GEN_FROM_TEXTURE */
} gen_operand;

enum { GEN_MAX_RANK = 5, GEN_MAX_WORK = 4, GEN_MAX_STREAMS = 8 };

typedef struct gen_tensor { /* a buffer as copies of tiles see it: becomes a tensor map */
  gen_operand at;           /* an argument or workspace */
  dtype type;               /* of its elements */
  size_t rank;
  uint64_t dims[GEN_MAX_RANK];           /* elements, the contiguous dimension first */
  gen_operand strides[GEN_MAX_RANK - 1]; /* of the others: elements; a scalar argument or a value */
  uint32_t box[GEN_MAX_RANK];            /* elements of a tile */
  uint32_t swizzle;                      /* 0, or the bytes of a tile's row */
} gen_tensor;

enum { GEN_TEXTURE_RANK = 3 };
typedef enum gen_edge { GEN_WRAP, GEN_CLAMP, GEN_MIRROR, GEN_BORDER } gen_edge;

/* How a texture reads, as the template states it. */
typedef struct gen_reading {
  gen_edge edge[GEN_TEXTURE_RANK]; /* what is outside */
  bool linear;                     /* it interpolates */
  bool normalized_coords;          /* from 0 to 1 */
  bool normalized;                 /* integers are read as numbers from 0 or -1 to 1 */
} gen_reading;

typedef struct gen_texture { /* a buffer that a kernel reads by a texture object */
  gen_operand at;            /* an argument or workspace */
  dtype type;                /* of its elements */
  size_t rank;
  uint32_t channels;                         /* elements of a texel */
  uint64_t dims[GEN_TEXTURE_RANK];           /* texels, the contiguous dimension first */
  gen_operand strides[GEN_TEXTURE_RANK - 1]; /* elements between rows, and slices */
  bool array;                                /* the launch copies the buffer to an array */
  gen_reading how;
} gen_texture;

/* What a kernel gets by value to go on with a loop until a word is 0, or to say that it gave up:
 * `while_loop` of while_loop.cuh. */
typedef struct gen_loop_handle {
  uint64_t handle; /* of a conditional node; 0: the host, or the kernel itself, drives the loop */
  uint64_t unfinished; /* address of a u32 that is set when the bound is reached; 0: none */
} gen_loop_handle;

/* Workspaces of words: whether another iteration follows; how many may, which graphs count down. */
enum { GEN_LOOP_GO, GEN_LOOP_LEFT, GEN_LOOP_WORDS };

typedef struct gen_loop { /* around launches that follow each other in a plan */
  uint64_t times;         /* of a loop until a word is 0: at most */
  size_t n, n_odd; /* launches of an iteration; then n_odd, n or 0, of odd iterations, in which
                      buffers have changed places; 0: all are alike */
  bool graph;      /* the host launches all iterations at once, where it can */
  bool is_while;   /* iterations follow each other while the word is not 0. With graph, the first
                      launch precedes them, and the last one sets the handle */
  uint32_t word;   /* workspace */
  const char *word_name;
  uint64_t batch; /* iterations that are launched before the host reads the word; 0: it reads it
                      before each */
} gen_loop;

typedef struct gen_launch {
  const char *kernel; /* NULL: this stage sets or copies memory */
  uint32_t grid[3], block[3], smem;
  bool overlap; /* with the kernel before, or the caller's: it waits for that one's end by itself
                   (griddepcontrol) */
  bool cooperative; /* all blocks are on the device at once */
  uint32_t pool;    /* launches of its own that may be pending; 0: the device's default */
  bool copy;        /* kernel NULL: from the second operand to the first */
  uint8_t stream;   /* 0: the caller's; others run beside it and end before its end */
  uint8_t after;    /* bits of other streams: waits for what stands before it in them */
  const gen_operand *operands; /* of the kernel; or one: what to set */
  size_t n_operands;
  double work[GEN_MAX_WORK]; /* of one block, as the template states it; 0: not stated */
  uint8_t fill;              /* memory stages: the byte */
  uint64_t nbytes;           /* memory stages: how many */
  uint64_t at[2];            /* copies: bytes from the start of what is written, and read */
  const char *symbol;   /* kernel NULL: a __constant__ variable that gets the operand's contents */
  int line;             /* of the stage in the template; 0: unknown */
  const gen_loop *loop; /* NULL: in none */
} gen_launch;

typedef struct gen_plan { /* the launches in order; stages whose `when` is false are left out */
  const gen_launch *launches;
  size_t n;
  const uint64_t *workspaces; /* bytes of each */
  size_t n_workspaces;
  const uint64_t *values; /* per argument: the bits of scalars with a fixed value, else 0 */
  const bool *on_host;    /* per argument: a buffer in the host's memory */
  double flops, bytes;    /* of the whole problem */
} gen_plan;

/* gen_plan_launches -- how many launches a plan makes, all iterations of loops counted; one of those until
 * a word is 0 */
double gen_plan_launches(const gen_plan *plan);
/* gen_plan_blocks -- does a launch of it wait for the device, to read the word of a loop? */
bool gen_plan_blocks(const gen_plan *plan);
/* gen_plan_make -- out is in the arena. A problem with an empty grid has no kernel launches.
 *   err  ERR_TEMPLATE  a grid, block, or size is negative, not whole, or beyond CUDA's limits */
int gen_plan_make(gen_instance *g, const gen_config *c, arena *a, const gen_plan **out, err *e);
/* gen_features_plan -- of the kernels that compute features of the data, into workspaces; reads nothing of a
 * configuration */
int gen_features_plan(gen_instance *g, arena *a, const gen_plan **out, err *e);
int gen_reference_plan(gen_instance *g, arena *a, const gen_plan **out, err *e);
/* gen_check_plan -- of the i-th check, i < n_checks, whose kernels are in the reference's source.
 *   out  **out     its first workspaces are GEN_CHECK_WRONG and GEN_CHECK_SUMS; a launch's args are the
 *                  template's, then for each what the reference computed (GEN_FROM_EXPECTED)
 *        *allowed  of a residual: the greatest root of sums[0] / sums[1] */
enum {
  GEN_CHECK_WRONG, /* u64 [2]: how many elements are wrong, and the first of them */
  GEN_CHECK_SUMS,  /* f64 [2]: squares of the residual, and of what it is measured by */
  GEN_CHECK_WORKSPACES
};
int gen_check_plan(gen_instance *g, size_t i, arena *a, const gen_plan **out, double *allowed,
                   err *e);

/* The same as expressions, to be written out for any problem. */
typedef struct gen_operand_text {
  gen_from from;
  uint32_t index;                       /* of the argument or workspace */
  dtype type;                           /* GEN_FROM_VALUE */
  const char *value;                    /* likewise */
  const struct gen_tensor_text *tensor; /* GEN_FROM_TENSOR */
} gen_operand_text;

typedef struct gen_tensor_text {
  gen_operand_text at;
  dtype type; /* of its elements, unless */
  int field;  /* this field chooses it; -1: none does */
  size_t rank;
  const char *dims[GEN_MAX_RANK], *box[GEN_MAX_RANK], *swizzle; /* swizzle NULL: 0 */
  gen_operand_text strides[GEN_MAX_RANK - 1];
} gen_tensor_text;

typedef struct gen_launch_text {
  const char *kernel;          /* NULL: this stage sets memory */
  const char *when;            /* NULL: always */
  const char *overlap, *early; /* with the kernel before; with the caller's; NULL: never */
  const char *grid[3], *block[3], *smem; /* NULL: 1, 1, 0 */
  const char *work[GEN_MAX_WORK];        /* NULL: 0 */
  const char *fill, *nbytes;             /* NULL: 0, the whole workspace */
  const gen_operand_text *operands;
  size_t n_operands;
} gen_launch_text;

typedef struct gen_workspace_text {
  const char *count; /* elements */
  dtype type;        /* of an element, unless */
  int field;         /* this field chooses it; -1: none does */
} gen_workspace_text;

typedef struct gen_texts {
  const gen_launch_text *launches;
  size_t n;
  const gen_workspace_text *workspaces;
  size_t n_workspaces;
  const char *flops, *bytes; /* of the whole problem */
} gen_texts;

/* gen_texts_make -- out in the arena; texts live as long as the template.
 *   err  ERR_USAGE  a value's type is chosen by a field, which C cannot express */
int gen_texts_make(const gen_template *t, arena *a, gen_texts *out, err *e);

#endif
