/* serve_call.h -- what the typed calls are made of.
 *
 * The typed calls (tuned_calls.c, written by calls.c at build time) check their arguments, gather
 * the problem's fields into a key of 64-bit words, and hand over. What a found kernel costs beyond
 * the driver's launch is spent here: hash the key, read the table, fill the operands.
 */
#ifndef SERVE_CALL_H
#define SERVE_CALL_H

#include "serve_table.h"
#include "serve_words.h"
#include "tuned.h"

typedef struct serve serve;

typedef struct serve_front { /* of a context, what every typed call reads; context.h has the rest */
  unsigned forks;            /* serve_process.forks when it was opened */
  serve_table kernels;       /* from a problem's key */
} serve_front;

/* Handles are places in a static table, never freed, so that a closed context can be told from an
 * open one without reading freed memory. They are handed out in turn, so that a closed one is not
 * soon somebody else's. */
enum { SERVE_MAX_CONTEXTS = 256 };
struct tuned_context {
  _Atomic(serve *) open; /* begins with a serve_front */
};
#pragma GCC visibility push(hidden)
extern struct serve_process {
  atomic_uint forks; /* between the process that first opened a context and this one */
  atomic_uint next_handle;
  struct tuned_context handles[SERVE_MAX_CONTEXTS];
} serve_process;
#pragma GCC visibility pop

static inline bool serve_is_open(tuned_context *ctx, serve **s) {
  const uintptr_t at = (uintptr_t)ctx - (uintptr_t)serve_process.handles;
  *s = at < sizeof serve_process.handles ? atomic_load_explicit(&ctx->open, memory_order_acquire)
                                         : NULL;
  return *s && ((serve_front *)*s)->forks ==
                   atomic_load_explicit(&serve_process.forks, memory_order_relaxed);
}

typedef struct serve_call { /* one family's typed call; static data of tuned_calls.c */
  const char *family;
  const char *function;      /* "tuned_saxpy" */
  const char *const *fields; /* the fields that the call gives, in the key's order */
  size_t n_fields;
  const char *signature; /* serve_signature of the template it was made from */
} serve_call;

typedef struct serve_own { /* scratch memory of the caller's own: tuned_FAMILY_with */
  void *workspace;         /* NULL: only *nbytes is wanted */
  size_t *nbytes;
} serve_own;

/* serve_call_new -- find what was not met before, and launch; or anything in scratch memory of the
 * caller's own.
 *   in  key   the address of `call`, then a word per field, in call->fields' order
 *       args  as for tuned_launch
 *       own   NULL: the context's scratch memory */
int serve_call_new(tuned_context *ctx, const serve_call *call, const int64_t *key,
                   tuned_stream stream, const void *const *args, const serve_own *own,
                   tuned_error *err);
/* serve_call_known -- launch */
int serve_call_known(tuned_kernel *k, tuned_stream stream, const void *const *args,
                     tuned_error *err);
/* Stands for a buffer that the call leaves out: a null address. */
extern const void *const serve_no_buffer;
/* What a typed call refuses before it looks for a kernel. */
int serve_refuse_range(tuned_error *err, const char *function, const char *arg, int64_t value,
                       int64_t min, int64_t max) __attribute__((cold));
int serve_refuse_requirement(tuned_error *err, const char *function, const char *reason,
                             const char *expression) __attribute__((cold));

/* serve_call_launch -- the end of every typed call, expanded in it: a key's size is known there. */
static inline __attribute__((always_inline)) int
serve_call_launch(tuned_context *ctx, const serve_call *call, const int64_t *key, size_t nbytes,
                  tuned_stream stream, const void *const *args, const serve_own *own,
                  tuned_error *error) {
  serve *s;
  tuned_kernel *k = !own && serve_is_open(ctx, &s)
                        ? serve_table_get(&((serve_front *)s)->kernels, key, nbytes)
                        : NULL;
  return __builtin_expect(k != NULL, 1) ? serve_call_known(k, stream, args, error)
                                        : serve_call_new(ctx, call, key, stream, args, own, error);
}

#endif
