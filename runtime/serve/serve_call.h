/* serve_call.h -- what the typed calls are made of.
 *
 * The typed calls (tuned_calls.c, written by typed_calls.c at build time) check their arguments, gather
 * the problem's fields into a key of 64-bit words, and end in serve_call_launch. What a call costs
 * beyond the driver's launch is spent here: hash the key, read the table, fill the operands. */
#ifndef SERVE_CALL_H
#define SERVE_CALL_H

#include "serve_front.h"
#include "serve_key.h"

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

/* serve_call_new -- find the kernel of a new problem and launch it; also every launch in the
 * caller's own scratch memory.
 *   in  key   the address of `call`, then a word per field, in call->fields' order
 *       args  as for tuned_launch
 *       own   NULL: the context's scratch memory */
int serve_call_new(tuned_context *ctx, const serve_call *call, const int64_t *key,
                   tuned_stream stream, const void *const *args, const serve_own *own,
                   tuned_error *err);
/* serve_call_plan -- of a family that prepares: a plan of that problem; serve_call_run, serve_call_values --
 * with a plan of that family */
int serve_call_plan(tuned_context *ctx, const serve_call *call, const int64_t *key,
                    tuned_stream stream, const void *const *args, tuned_plan **plan,
                    tuned_error *err);
int serve_call_run(tuned_plan *plan, const serve_call *call, tuned_stream stream,
                   const void *const *args, tuned_error *err);
int serve_call_values(tuned_plan *plan, const serve_call *call, tuned_stream stream,
                      const void *const *args, tuned_error *err);
/* The value of a buffer argument that the call leaves out. */
extern const void *const serve_no_buffer;
/* Errors that a typed call reports before it looks for a kernel. */
int serve_refuse_range(tuned_error *err, const char *function, const char *arg, int64_t value,
                       int64_t min, int64_t max) __attribute__((cold));
int serve_refuse_requirement(tuned_error *err, const char *function, const char *reason,
                             const char *expression) __attribute__((cold));

/* serve_call_launch -- the end of every typed call; inlined, so that the key's size is constant */
static inline __attribute__((always_inline)) int
serve_call_launch(tuned_context *ctx, const serve_call *call, const int64_t *key, size_t nbytes,
                  tuned_stream stream, const void *const *args, const serve_own *own,
                  tuned_error *error) {
  serve *s;
  tuned_kernel *k = !own && serve_is_open(ctx, &s)
                        ? serve_table_get(&((serve_front *)s)->kernels, key, nbytes)
                        : NULL;
  return __builtin_expect(k != NULL, 1) ? serve_launch_known(k, stream, args, error)
                                        : serve_call_new(ctx, call, key, stream, args, own, error);
}

#endif
