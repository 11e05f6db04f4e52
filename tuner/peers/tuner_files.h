/* tuner_files.h -- texts built into autotune: tuner/peers/suites/, claims and the peers' device
 * code. */
#ifndef TUNE_FILES_H
#define TUNE_FILES_H

#include <string.h>

#include "gen.h"

extern const gen_file tuner_files[]; /* ends with a NULL name */

/* tuner_file -- by name; NULL: there is none */
static inline const gen_file *tuner_file(const char *name) {
  const gen_file *f = tuner_files;
  while (f->name && strcmp(f->name, name)) {
    f++;
  }
  return f->name ? f : NULL;
}

#endif
