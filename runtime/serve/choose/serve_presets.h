/* serve_presets.h -- the results that the library ships with: the files of db/presets, as text
 * (db_text.h); configurations and portfolios, no images. */
#ifndef SERVE_PRESETS_H
#define SERVE_PRESETS_H

#include "gen.h"

extern const gen_file serve_presets[]; /* built in; ends with a NULL name */

#endif
