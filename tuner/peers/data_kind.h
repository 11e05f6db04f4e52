/* data_kind.h -- kinds of data on which the time of a sort or a histogram depends. */
#ifndef TUNE_DATA_KIND_H
#define TUNE_DATA_KIND_H

#include "gen.h"

/* data_kind_names -- uniform, equal, sorted, reversed, few, small, nearly, zipf; ends with NULL */
extern const char *const data_kind_names[];

/* data_kind_fill -- the elements of a buffer, within the range of its fill. Data that ascend do so
 * in every kind. false: no such kind, or data of another fill, which stay as they are
 *   out  bytes  m->count elements, not touched if false */
bool data_kind_fill(const char *kind, const gen_datum *m, uint64_t seed, unsigned char *bytes);
/* data_kind_applies -- would data_kind_fill fill it? */
bool data_kind_applies(const char *kind, const gen_datum *m);

#endif
