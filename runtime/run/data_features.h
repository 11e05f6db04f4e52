/* data_features.h -- features of the data, which kernels of the template compute, as fields of the problem. */
#ifndef RT_DATA_FEATURES_H
#define RT_DATA_FEATURES_H

#include "run.h"

typedef struct rt_features { /* the kernels that were used last; zero at first */
  char form[HASH_TEXT];
  rt_loaded *loaded;
} rt_features;

void rt_features_clear(rt_features *kept);

/* rt_features_compute -- from buffers on the device; waits for the stream.
 *   in   kept  of this template and device; NULL: none
 *        args  per argument of the template, as for a launch; those that the kernels take are read
 *        p     complete
 *   out  *p    its features
 *   err  those of compiling and launching; ERR_TEMPLATE */
int rt_features_compute(rt_features *kept, rt_device *d, rt_compiler *c, gen_template *t,
                        rt_stream s, const void *const *args, gen_problem *p, err *e);
/* rt_features_find -- from the matrix that the problem names, where it leaves features open; else *p stays */
int rt_features_find(rt_device *d, rt_compiler *c, gen_template *t, gen_problem *p, err *e);

#endif
