/* measured.h -- what the measuring process is sent, and what it answers. */
#ifndef TUNE_MEASURED_H
#define TUNE_MEASURED_H

#include "db.h"
#include "nvml.h"
#include "run.h"
#include "wire.h"

enum { MEASURE_RACERS = 16 }; /* most in one race */

typedef struct measure_how { /* the same for all candidates of a session */
  rt_replay replay;
  double energy_sec; /* measure the energy over this time; 0: not at all */
  size_t draws;      /* of the data that finalists are timed on; 0: 16, on the emulated device 1 */
  unsigned kinds;    /* of these, bits of rt_kind; 0: those of the template */
} measure_how;

typedef struct measured {
  db_status status;
  err why;      /* when status is not DB_OK */
  double error; /* as in rt_check */
  rt_times times;
  rt_health health;                     /* while it ran */
  uint32_t retaken;                     /* repeats because the clocks were held back badly */
  double energy_j;                      /* per launch; 0: not measured */
  double load_sec, check_sec, time_sec; /* spent by the measuring process */
  bool dead;                            /* the device's context is lost: measurer_restart */
} measured;

typedef struct measure_image {
  gen_config config;
  const void *bytes;
  size_t n;
} measure_image;

/* as frames; a reader that runs past the end fails, see wire.h */
void measured_put(str *s, const measured *m);
void measured_get(wire_reader *r, measured *m);
void measured_put_image(str *s, const measure_image *image);
void measured_get_image(wire_reader *r, measure_image *image); /* borrows from the frame */

#endif
