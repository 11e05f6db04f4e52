/* gen_algorithms.h -- a template of several algorithms, each with a space, derived values, requirements,
 * stages and device code of its own:
 *
 *   space = { { "ALG", { "tiles", "vectors" } }, ... },
 *   algorithms = { tiles = { space = ..., require = ..., source = "tiles.cu" }, vectors = { ... } },
 *
 * The first parameter chooses: its values are the keys. One table may stand under several of them.
 * What an algorithm has applies where it is chosen: its parameters keep their defaults elsewhere, its
 * requirements hold. A derived value that several give is that of the one chosen.
 */
#ifndef GEN_ALGORITHMS_H
#define GEN_ALGORITHMS_H

#include "gen_reader.h"

enum { GEN_MAX_ALGORITHMS = 16 };

/* gen_algorithms_read -- which there are; the first parameter is known */
void gen_algorithms_read(gen_reader *r);

/* gen_part_enter -- from the template's table to that key of an algorithm's, or, where it has no
 * value, of the template's own; false, and nothing moved, when there is none */
bool gen_part_enter(gen_reader *r, const gen_algorithm *of, const char *key);
void gen_part_need(gen_reader *r, const gen_algorithm *of, const char *key);
void gen_part_leave(gen_reader *r, const gen_algorithm *of);

#endif
