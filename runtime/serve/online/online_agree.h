/* online_agree.h -- do the results of two kernels agree? */
#ifndef ONLINE_AGREE_H
#define ONLINE_AGREE_H

#include <stdbool.h>

#include "gen.h"

/* online_agree -- do they differ by at most twice the template's tolerance, as two correct results
 * may? The absolute part of a tolerance is given for data of order one; it is scaled with the
 * largest magnitude in `ref`.
 *   in  x, ref  the elements of the datum, aligned to 4 bytes */
bool online_agree(const gen_datum *of, const unsigned char *x, const unsigned char *ref);

#endif
