/* online_agree.h -- do two kernels agree in what they wrote? */
#ifndef ONLINE_AGREE_H
#define ONLINE_AGREE_H

#include <stdbool.h>

#include "gen.h"

/* online_agree -- both lie within the template's tolerance of the truth, so they differ by twice
 * that at most. The absolute part of a tolerance is given for data of order one; for other data it
 * is scaled with the largest of `ref`.
 *   in  x, ref  the elements of the datum, aligned to 4 bytes */
bool online_agree(const gen_data *data, const gen_datum *d, const unsigned char *x,
                  const unsigned char *ref);

#endif
