/* same_images.h -- variants of a plain CUDA file that should differ and do not. */
#ifndef REPORT_SAME_IMAGES_H
#define REPORT_SAME_IMAGES_H

#include "db.h"
#include "gen.h"

/* same_images -- append a line if configurations have one machine code and one launch: then a parameter
 * does not reach the text, or the text does not depend on it.
 *   in  g     of the problem
 *       rows  its trials */
int same_images(db *d, const gen_template *t, gen_instance *g, const db_result *rows, size_t n,
                str *out, err *e);

#endif
