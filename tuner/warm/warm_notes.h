/* warm_notes.h -- notes for serving processes, beside the images (serve_notes.h). */
#ifndef TUNE_WARM_NOTES_H
#define TUNE_WARM_NOTES_H

#include "gen.h"

/* warm_notes_write -- which texts the template was found to make: those of gen_source_rows_new
 *   err  ERR_DB  the cache cannot be opened or written */
int warm_notes_write(gen_template *t, err *e);

#endif
