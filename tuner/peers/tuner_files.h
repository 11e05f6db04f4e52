/* tuner_files.h -- texts built into autotune: tuner/peers/suites/, claims and the peers' device
 * code. */
#ifndef TUNE_FILES_H
#define TUNE_FILES_H

#include "gen.h"

extern const gen_file tuner_files[]; /* ends with a NULL name */

#endif
