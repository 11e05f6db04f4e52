/* serve_plan.h -- plans: what a kernel has prepared of some inputs, and launches that read that.
 *
 * A run takes no lock, as a launch; preparing takes the context's lock while it asks the template, and
 * the device's turn, inside of it, while it uses the device. Of one plan, changes of what was prepared
 * (values, renewals) and runs follow each other: the caller sees to it, as for any buffer. */
#ifndef SERVE_PLAN_H
#define SERVE_PLAN_H

#include "err.h"
#include "tuned.h"

/* serve_plan_new -- of a problem's kernel; or, where that one cannot prepare these inputs (a count beyond
 * its bound, not enough memory), of the template's default configuration. Waits for the stream.
 *   in   args  per argument of the template; those of the run are not read
 *   out  *plan  belongs to the context */
int serve_plan_new(tuned_kernel *k, tuned_stream stream, const void *const *args, tuned_plan **plan,
                   err *e);
/* serve_plan_free -- waits for the device where it releases memory */
void serve_plan_free(tuned_plan *plan);
/* serve_plans_free -- of a context that is being closed */
void serve_plans_free(tuned_plan *first);

/* serve_plan_run -- in args, those of the run are read */
int serve_plan_run(tuned_plan *plan, tuned_stream stream, const void *const *args, err *e);
/* serve_plan_values -- in args, values that are not NULL are other addresses; asynchronous */
int serve_plan_values(tuned_plan *plan, tuned_stream stream, const void *const *args, err *e);
/* serve_plan_renew -- in args, inputs that are not NULL are other addresses. With the newest kernel.
 * After an error the plan does not run */
int serve_plan_renew(tuned_plan *plan, tuned_stream stream, const void *const *args, err *e);
int serve_plan_seconds(tuned_plan *plan, double *prepare, double *run, err *e);
/* serve_plan_mark -- keep a pointer with the plan; serve_plan_marked -- the last one; NULL: none */
void serve_plan_mark(tuned_plan *plan, const void *mark);
const void *serve_plan_marked(const tuned_plan *plan);
tuned_kernel *serve_plan_kernel(const tuned_plan *plan);

#endif
