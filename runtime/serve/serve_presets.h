/* serve_presets.h -- results that the library ships with (db/presets/, text as db_text.h has it): a
 * configuration each, no image. */
#ifndef SERVE_PRESETS_H
#define SERVE_PRESETS_H

#include "gen.h"

extern const gen_file serve_presets[]; /* built in; ends with a NULL name */

struct serve;
struct serve_known;
/* serve_presets_read -- add those of this family for devices of this compute capability. Lines that
 * can't be read, and those made for another version of the template, are left out. */
int serve_presets_read(struct serve *s, gen_template *t, struct serve_known *k, err *e);

#endif
