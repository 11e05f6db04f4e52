/* serve_presets.h -- results that the library ships with: the files of db/presets, text as
 * db_text.h has it; configurations and portfolios, no images. */
#ifndef SERVE_PRESETS_H
#define SERVE_PRESETS_H

#include "gen.h"

extern const gen_file serve_presets[]; /* built in; ends with a NULL name */

#endif
