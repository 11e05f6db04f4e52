/* tuned.h -- libtuned: the kernels that autotune found, launched from C and C++.
 *
 *   #include <tuned.h>
 *   tuned_context *ctx;
 *   tuned_error err = {0};
 *   if (tuned_open(&ctx, NULL, &err) ||
 *       tuned_sgemm(ctx, stream, 'N', 'T', m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, &err)) {
 *     fprintf(stderr, "%s\n", err.message);
 *   }
 *   tuned_close(ctx);
 *
 * Every call that can fail returns 0 or one of the negative codes below, and says why in *err,
 * which may be NULL. Nothing is ever printed. A context may be used from any number of threads at
 * once. Launches are asynchronous, on the caller's stream. Buffers are device addresses, from
 * tuned_alloc or from wherever the program has them (cudaMalloc, cuMemAlloc; managed memory, and
 * pinned memory of the host, which kernels use in place).
 *
 * Needs no CUDA header; a CUstream or a cudaStream_t is passed as it is.
 */
#ifndef TUNED_H
#define TUNED_H

#include <stddef.h>
#include <stdint.h>

#define TUNED_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TUNED_OK = 0,
  TUNED_E_USAGE = -1,     /* the caller's arguments: an unknown name, a value out of range */
  TUNED_E_TEMPLATE = -2,  /* a template is broken; place is file:line */
  TUNED_E_IO = -3,        /* a file or folder */
  TUNED_E_DATABASE = -4,  /* the database: locked, corrupt, from a newer version */
  TUNED_E_DEVICE = -5,    /* no driver, no such device, a driver call failed */
  TUNED_E_COMPILE = -6,   /* the kernel's source did not compile */
  TUNED_E_LAUNCH = -7,    /* the kernel could not be launched, or died */
  TUNED_E_WRONG = -8,     /* results are wrong; only where results are checked */
  TUNED_E_NOMEM = -9,     /* host or device memory */
  TUNED_E_NOTFOUND = -10, /* no such family */
  TUNED_E_LIMIT = -11,    /* a bound of the library was reached */
  TUNED_E_INTERRUPTED = -12
};

typedef struct tuned_error {
  int code;          /* one of the above */
  char message[720]; /* one line: what is wrong and how to mend it */
  char place[200];   /* "saxpy.lua:41" for a template; usually empty */
} tuned_error;

typedef struct tuned_context tuned_context; /* a device, a database, and the kernels in use */
typedef struct tuned_kernel tuned_kernel;   /* one problem's kernel, ready to launch */
typedef struct tuned_plan tuned_plan;       /* a kernel, and what it has prepared of some inputs */
typedef void *tuned_stream;                 /* CUstream, cudaStream_t; NULL is the default stream */

/* Structs that grow: tuned_options and tuned_kernel_info. Later versions add fields at the end and
 * change none that are there; a new option that is 0 is its default. tuned_open and
 * tuned_info pass on the size that a program was compiled with, so that one header and another
 * library go together:
 *   a later library    takes options that the program does not have as 0, and writes no field of
 *                      tuned_kernel_info that it does not have
 *   an earlier library refuses an option that it does not have unless it is 0 (TUNED_E_USAGE), and
 *                      sets fields of tuned_kernel_info that it does not have to 0
 * All other types stay as they are. src: openat2(2) and clone3(2) of Linux, which take sizes
 * likewise; deflateInit of zlib and fuse_main of libfuse, whose headers pass them on */

/* Bytes of a struct up to its last field: a later field may lie in the padding behind. */
#define TUNED_NBYTES(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef struct tuned_options { /* all zero: the defaults */
  const char *device;    /* "0" or "cuda:0" a GPU, "emu" the CPU. NULL: the calling thread's current
                            CUDA context if it has one, else $TUNED_DEVICE, else "0" */
  const char *database;  /* file. NULL: $TUNED_DB, else autotune/tuned.db in the XDG data folder. A
                            missing file is an empty database */
  const char *templates; /* folders with templates of your own, separated by colons, searched before
                            the built-in ones. NULL: $TUNED_TEMPLATES */
  int trust_database;    /* not 0: use the database even if others can write to it, as does
                            $TUNED_TRUST; else that is an error, since it holds code */
  /* since 0.2 */
  int threads; /* compile what calls do not wait for, at low priority; they start when something is to
                     be compiled. 0: $TUNED_THREADS, else 1. -1, or TUNED_THREADS=0: none, calls wait */
  int wait;    /* not 0: a call waits until its best kernel is compiled, as with TUNED_WAIT=1: for
                     benchmarks, and for the same bits from the first call on */
  int keep_first; /* not 0: a problem keeps the kernel that served it first; what would be better is
                     compiled for the next process */
  const char
      *reproducible; /* "any", "run" or "shape": the field of that name in problems that do not
                               give it, so in all typed calls of families that have it. NULL:
                               $TUNED_REPRODUCIBLE, else "any" */
} tuned_options;
enum { TUNED_OPTIONS_NBYTES = TUNED_NBYTES(tuned_options, reproducible) };

/* tuned_open -- out *ctx: tuned_close; NULL after a failure. A context does not outlive a fork: in
 * the child every call with it is an error, and tuned_close does nothing.
 * tuned_open_sized -- the same with the size of the caller's options. A program without this header
 * (dlsym, another language) calls it: the symbol tuned_open takes the options of version 0.1 only */
TUNED_API int tuned_open_sized(tuned_context **ctx, const tuned_options *options, size_t nbytes,
                               tuned_error *err);
static __inline__ int tuned_open(tuned_context **ctx, const tuned_options *options,
                                 tuned_error *e) {
  return tuned_open_sized(ctx, options, TUNED_OPTIONS_NBYTES, e);
}
/* tuned_close -- synchronise the streams first, and let no other thread be in a call with it. Waits
 * for its threads, mostly less than 50 ms; the end of the program does likewise. Its kernels end with
 * it. A call on a closed context is an error; NULL does nothing. */
TUNED_API void tuned_close(tuned_context *ctx);

/* tuned_find -- the kernel for a problem.
 *   in   problem  "sgemm m=1000 n=1000 k=64": a family's name, or the path of a template of yours,
 *                 then its fields; those left out take their presets
 *   out  *kernel  owned by the context. The same problem gives the same kernel.
 *   It is the best one in the database for exactly this problem and device. Else, where `autotune
 *   portfolio` has made a portfolio for such sizes, the one of it that suits this size. Else it has the
 *   configuration of the nearest problem for which all requirements hold: of those tuned on this
 *   device, on another of the same compute capability, or shipped with the library; adapted, if
 *   no near one fits as it is. Else it has the template's default configuration. tuned_info says
 *   which.
 *   No call waits for a compiler while something else can serve: if the image of that kernel is
 *   neither loaded nor in a file (the database, the image cache, the base set of the library), the
 *   best one that is serves, threads of the context compile the better one, and it takes over at a
 *   later launch outside of graph captures; tuned_info says that it is on its way. NVRTC is needed
 *   only for what is in no file. tuned_options: threads, wait, keep_first. */
TUNED_API int tuned_find(tuned_context *ctx, const char *problem, tuned_kernel **kernel,
                         tuned_error *err);

/* tuned_preload -- makes the kernels of n problems ready, as texts for tuned_find: what is not at hand
 * is compiled by all threads of the context, and loaded, before it returns.
 *   err  of the first problem that fails; the others are ready nevertheless */
TUNED_API int tuned_preload(tuned_context *ctx, const char *const *problems, size_t n,
                            tuned_error *err);

/* tuned_launch -- run it; asynchronous.
 *   in  args  per argument of the template, in its order: a pointer to the value (to the device
 *             address, for a buffer; to a host address, where the template says so for the problem).
 *             Scalars that the problem fixes may be NULL. Addresses are
 *             aligned to their elements, and as the problem's field `align` says, where it has one
 *             (in elements; left out, addresses as cudaMalloc gives them are meant). Typed calls
 *             look at the addresses themselves.
 *   A kernel that needs scratch memory keeps some per stream until tuned_trim or tuned_close, so that
 *   launches on different streams never share any. It goes by the stream's handle, and for
 *   cudaStreamPerThread by the thread too; CUDA may give the handle to a new stream once the old
 *   one is destroyed: synchronise a stream before you destroy it, or before its thread ends. A
 *   graph that captured a launch uses its stream's scratch memory wherever it is replayed: not
 *   beside launches on that stream, or with tuned_launch_with. */
TUNED_API int tuned_launch(tuned_kernel *kernel, tuned_stream stream, const void *const *args,
                           tuned_error *err);

/* tuned_trim -- releases the scratch memory that the context keeps for launches on this stream (on
 * cudaStreamPerThread, this thread's), or on all: TUNED_EVERY_STREAM. It waits for what runs, as
 * cudaFree does; the next launch of a kernel that needs some allocates anew. From any thread, not
 * beside captures. Graphs that captured launches on the stream use this memory: destroy them before,
 * or capture launches in memory of your own.
 *   err  TUNED_E_USAGE  the stream is being captured */
#define TUNED_EVERY_STREAM ((tuned_stream)(intptr_t)-1)
TUNED_API int tuned_trim(tuned_context *ctx, tuned_stream stream, tuned_error *err);

/* tuned_workspace_bytes -- the scratch memory that a launch of this kernel needs; 0: none.
 * tuned_launch_with -- tuned_launch in scratch memory of the caller's own, so that the context
 * keeps none: for a program with a pool of memory, and for launches captured into a graph, which
 * may be replayed on any stream.
 *   in  workspace  device memory, 256-byte aligned (tuned_alloc's and cudaMalloc's is). All its
 *                  bytes are 0 before the first launch in it (tuned_zero, cudaMemset); a launch
 *                  leaves it ready for the next of the same kernel. Zero it again when anything
 *                  else has written there, another problem's kernel included. NULL where the
 *                  kernel needs none
 *       nbytes     its size, at least what tuned_workspace_bytes returned first. All of it may be
 *                  written
 *   Launches in one workspace must follow each other: those that may overlap, on two streams or
 *   from two threads, need one each. A better kernel that was compiled meanwhile may need more, which
 *   tuned_workspace_bytes then returns; it takes over in a workspace of that size, which it zeroes
 *   itself, but not where a launch was captured into a graph before. Kernels that online tuning finds
 *   take over only if they need no workspace.
 *   err  TUNED_E_USAGE  too small, misaligned, NULL */
TUNED_API int tuned_workspace_bytes(const tuned_kernel *kernel, size_t *nbytes, tuned_error *err);
TUNED_API int tuned_launch_with(tuned_kernel *kernel, tuned_stream stream, const void *const *args,
                                void *workspace, size_t nbytes, tuned_error *err);

typedef enum tuned_origin {
  TUNED_EXACT,     /* tuned for this problem on this device */
  TUNED_PORTFOLIO, /* a range of sizes is covered by a few configurations: the one for this size */
  TUNED_NEAREST,   /* for the nearest problem tuned on this device */
  TUNED_OTHER_DEVICE, /* on another device of the same compute capability */
  TUNED_PRESET,       /* on the library's author's device: what the library ships with */
  TUNED_DEFAULT,      /* nobody tuned anything that fits: the template's default configuration */
  TUNED_ONLINE        /* found while this program ran: tuned_online */
} tuned_origin;

typedef struct tuned_kernel_info { /* texts live as long as the kernel */
  const char *problem;             /* complete, in canonical form */
  const char *config;              /* "BM=128,BN=64,..." */
  tuned_origin origin;
  const char *tuned_problem; /* that the configuration was tuned for; NULL for a default */
  const char *tuned_device;  /* and where: the device's key in the database; likewise */
  int adapted;               /* parameters that had to be changed to fit this problem */
  /* of one launch; 0: not known. Unless the origin is exact, the time of the tuned problem times
   * the ratio of the least times that the devices' peak rates allow for the two problems, a
   * microsecond a kernel at least: an estimate, coarse where launches are short or parameters were
   * adapted */
  double expected_sec;
  int measured;             /* 1: that time was measured; 0: modelled */
  int registers;            /* per thread; the largest over the kernels launched, as are the next */
  int64_t spill_nbytes;     /* registers spilled to memory, per thread */
  int64_t shared_nbytes;    /* shared memory per block, static and dynamic */
  int64_t workspace_nbytes; /* device memory the context holds for it, per stream */
  /* of a portfolio: by what share it is expected to be slower than the portfolio's best for this very
   * size, as sizes that its choice was not made from showed; tuning may find more. Else 0 */
  double expected_loss;
  /* since 0.2: 1: a better kernel for this problem is being compiled, and will take its place */
  int better_pending;
  /* 1: a launch waits for the device, to see whether a loop goes on; only where the problem has
   * blocking=yes. Such a launch cannot be captured into a graph */
  int blocking;
} tuned_kernel_info;
enum { TUNED_KERNEL_INFO_NBYTES = TUNED_NBYTES(tuned_kernel_info, blocking) };

/* tuned_origin_name -- "exact", "portfolio", "nearest", "other device", "preset", "default"; static
 */
TUNED_API const char *tuned_origin_name(tuned_origin origin);
/* tuned_info -- out *info
 * tuned_info_sized -- as tuned_open_sized */
TUNED_API int tuned_info_sized(const tuned_kernel *kernel, tuned_kernel_info *info, size_t nbytes,
                               tuned_error *err);
static __inline__ int tuned_info(const tuned_kernel *kernel, tuned_kernel_info *info,
                                 tuned_error *e) {
  return tuned_info_sized(kernel, info, TUNED_KERNEL_INFO_NBYTES, e);
}

/* Plans, for families whose kernels read what was prepared of some inputs: formats of sparse
 * matrices, orders, tables. The template's `prepare` names these inputs; all other buffers, and the
 * scalars that preparing does not read, are arguments of a run. Typed calls: tuned_spmv_plan, tuned_spmv.
 *
 * tuned_plan_new -- find the problem's kernel, as tuned_find does, and prepare. It allocates memory and
 * waits for the stream, and may wait for all that runs on the device; not in a graph capture. If the
 * kernel turns out not to suit these inputs, or memory is short, the template's default serves.
 *   in   problem  as for tuned_find. Its field `uses`, where it has one, says how many runs are to be
 *                 expected ("1", "10", ..., "many"): the kernel is the fastest for a run and that share
 *                 of preparing
 *        args     as for tuned_launch; those of a run are not read. The other buffers remain the caller's:
 *                 runs may read them, so they live, and do not change, as long as the plan
 *   out  *plan    tuned_plan_free, before tuned_close, which frees the plans that are left
 * A better kernel on its way (tuned_info) takes over at the first run after it is there, unless that is
 * captured into a graph or the plan was made for fewer than 100 runs: this run prepares, and waits. What
 * was prepared before stays until tuned_plan_renew or _free. */
TUNED_API int tuned_plan_new(tuned_context *ctx, tuned_stream stream, const char *problem,
                             const void *const *args, tuned_plan **plan, tuned_error *err);
/* tuned_plan_run -- launch; asynchronous. From any thread, on any stream, as tuned_launch, scratch memory
 * and graphs included; a graph that captured a run ends with its plan.
 *   in  args  as for tuned_launch; those of the plan are not read, and may be NULL */
TUNED_API int tuned_plan_run(tuned_plan *plan, tuned_stream stream, const void *const *args,
                             tuned_error *err);
/* tuned_plan_values -- the numbers have changed, not the structure: prepare again what depends on them.
 * Asynchronous; runs on other streams, and calls with this plan from other threads, must not overlap it.
 *   in  args  as for tuned_launch; only the inputs in the template's `values` are read. NULL: where they
 *             were */
TUNED_API int tuned_plan_values(tuned_plan *plan, tuned_stream stream, const void *const *args,
                                tuned_error *err);
/* tuned_plan_renew -- any of the inputs have changed: prepare all again, with the best kernel that there
 * is now. Waits as tuned_plan_new does, and no run of the plan may be under way. Graphs that
 * captured runs are not valid any more. After an error the plan cannot run, but be renewed again.
 *   in  args  as for tuned_plan_new; NULL: where they were */
TUNED_API int tuned_plan_renew(tuned_plan *plan, tuned_stream stream, const void *const *args,
                               tuned_error *err);
/* tuned_plan_seconds -- of the last preparation, and of the plan's second run, for which it waits; 0: not
 * known (yet). A plan pays off against another one after (its prepare) / (their run - its run) runs */
TUNED_API int tuned_plan_seconds(tuned_plan *plan, double *prepare, double *run, tuned_error *err);
/* tuned_plan_info -- of the kernel that the plan runs now; tuned_plan_info_sized -- as tuned_open_sized.
 * tuned_plan_kernel -- out *kernel, of which tuned_info tells what may take its place */
TUNED_API int tuned_plan_info_sized(const tuned_plan *plan, tuned_kernel_info *info, size_t nbytes,
                                    tuned_error *err);
static __inline__ int tuned_plan_info(const tuned_plan *plan, tuned_kernel_info *info,
                                      tuned_error *e) {
  return tuned_plan_info_sized(plan, info, TUNED_KERNEL_INFO_NBYTES, e);
}
TUNED_API int tuned_plan_kernel(const tuned_plan *plan, tuned_kernel **kernel, tuned_error *err);
/* tuned_plan_free -- NULL does nothing. No run may be under way; it may wait for the device */
TUNED_API void tuned_plan_free(tuned_plan *plan);

/* tuned_online -- tune while the program runs; off unless this is called.
 *   in  budget_fraction  of the time that passes, for trying: 0.05; 0 ends it
 *   A problem that is not tuned is served at once as ever. Threads of the context compile
 * variants of its kernel, at low priority; now and then a launch tries one beside the served
 * kernel, on the caller's inputs and a scratch copy of the outputs, and waits for both. One that is
 * faster and whose results then agree every time takes the kernel's place (tuned_info then says
 * so). When none of the last 30 was better (60 beside a template's default), or after 240, the
 * problem settles, and the best is stored in the database for the next process, if it can be
 * written. Results are always those of a kernel that was served or has agreed with it within the
 * template's tolerance; floating-point sums may round differently once a kernel is replaced. Not
 * for streams that are being captured into a graph. Problems with outputs of more than 64 MiB are
 * left alone. err  TUNED_E_DEVICE  there is no NVRTC */
TUNED_API int tuned_online(tuned_context *ctx, double budget_fraction, tuned_error *err);

/* Memory, for programs that use nothing else of CUDA. The copies follow what was launched on the
 * default stream and return when they are done; for another stream, tuned_sync it first. */
TUNED_API int tuned_alloc(tuned_context *ctx, size_t nbytes, void **address, tuned_error *err);
/* tuned_free -- NULL is nothing to do. err TUNED_E_DEVICE  nothing was allocated there, or it was
 * freed before */
TUNED_API int tuned_free(tuned_context *ctx, void *address, tuned_error *err);
TUNED_API int tuned_copy_to_device(tuned_context *ctx, void *to, const void *from, size_t nbytes,
                                   tuned_error *err);
TUNED_API int tuned_copy_to_host(tuned_context *ctx, void *to, const void *from, size_t nbytes,
                                 tuned_error *err);
/* tuned_zero -- sets bytes to 0; asynchronous, on the stream */
TUNED_API int tuned_zero(tuned_context *ctx, tuned_stream stream, void *address, size_t nbytes,
                         tuned_error *err);
/* tuned_sync -- wait for all work on the stream; reports what went wrong in it */
TUNED_API int tuned_sync(tuned_context *ctx, tuned_stream stream, tuned_error *err);

/* tuned_version -- "0.2.0" */
TUNED_API const char *tuned_version(void);

#include "tuned_calls.h" /* the typed calls: tuned_saxpy, tuned_sgemm, ... */

#ifdef __cplusplus
}
#endif

#endif
