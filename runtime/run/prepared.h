/* prepared.h -- the preparation of a configuration on a device (gen_prepare.h), what it leaves, and
 * launches that read that.
 *
 * Preparing goes part by part: rt_prepared_plan asks the template, rt_prepared_step uses the device, so
 * that a caller can hold a lock around the one, and another around the other. rt_prepared_make is both,
 * until the end. Sizes and launches of a former preparation are kept for one with the same counts.
 *
 * Launches take the template's arguments. Scratch memory of preparing is released by rt_prepared_trim.
 */
#ifndef RT_PREPARED_H
#define RT_PREPARED_H

#include "checker.h"

typedef struct rt_prepared rt_prepared;

/* rt_prepared_new -- of a configuration whose image `same` has loaded; t and g must outlive it.
 * Nothing is prepared yet */
int rt_prepared_new(rt_loaded *same, const gen_template *t, gen_instance *g, const gen_config *c,
                    rt_prepared **out, err *e);
void rt_prepared_free(rt_prepared *p);

/* rt_prepared_begin -- what was prepared is not valid any more; the device must not use it */
void rt_prepared_begin(rt_prepared *p);
/* rt_prepared_plan -- the next part; *more false: the last part was the last one, and launches are planned
 *   err  ERR_TEMPLATE */
int rt_prepared_plan(rt_prepared *p, bool *more, err *e);
/* rt_prepared_step -- after rt_prepared_plan: run the part, and wait for the counts that it leaves; without
 * one, load the launches and wait for all.
 *   in   args  as of a launch
 *   err  ERR_USAGE  a count is above its bound; ERR_NOMEM */
int rt_prepared_step(rt_prepared *p, bool more, rt_stream s, const void *const *args, err *e);
int rt_prepared_make(rt_prepared *p, rt_stream s, const void *const *args, err *e);
/* rt_prepared_detach -- forget the instance: rt_prepared_plan must not be called again. _attach undoes it */
void rt_prepared_detach(rt_prepared *p);
void rt_prepared_attach(rt_prepared *p, gen_instance *g);
/* rt_prepared_sec -- seconds that the last preparation took; of a modelled device, modelled */
double rt_prepared_sec(const rt_prepared *p);
uint64_t rt_prepared_nbytes(const rt_prepared *p); /* of device memory, scratch left out */
void rt_prepared_trim(rt_prepared *p);

/* rt_prepared_values -- the stages that run when only values change; asynchronous, in all copies */
int rt_prepared_values(rt_prepared *p, rt_stream s, const void *const *args, err *e);

/* rt_prepared_launch_in -- as rt_loaded_launch_in */
int rt_prepared_launch_in(rt_prepared *p, rt_stream s, const void *const *args, rt_ptr workspace,
                          err *e);
size_t rt_prepared_workspace_nbytes(const rt_prepared *p);

/* rt_prepared_args -- the arguments of a launch, and behind them where what was prepared is; for launches
 * of other plans over the same image */
enum { RT_ARGS_MOST = 128 };
void rt_prepared_args(const rt_prepared *p, const void *const *args,
                      const void *full[RT_ARGS_MOST]);
/* rt_prepared_counts -- those that the last preparation read */
const gen_counts *rt_prepared_counts(const rt_prepared *p);

/* rt_prepared_spread -- n copies of what was prepared, which launches then take in turn; as many as fit in
 * a quarter of the free memory */
int rt_prepared_spread(rt_prepared *p, uint64_t n, err *e);

/* rt_prepared_contender -- prepares, in any number of copies, and launches */
rt_contender rt_prepared_contender(rt_prepared *p);

#endif
