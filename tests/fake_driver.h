/* fake_driver.h -- how a test holds the fake driver (fake_driver.c): its exported state. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

typedef struct fake_driver {
  int calls, fail_at; /* the call of this number fails; 0: none */
  int result;         /* ... with this CUresult */
  int dead;           /* a sticky error: every later call fails with it */
  int live;           /* what was made and not yet given back */
  int switches;       /* how often a thread's context was changed */
  int capturing;      /* between the begin and the end of a graph's recording */
  double clock;       /* milliseconds, counted by launches */
  int smem;           /* dynamic shared memory that kernels are allowed */
  int overlapping;    /* launches that were let start before the one ahead ended */
} fake_driver;

#endif
