/* gen_former.h -- what a template was called before: digests of its former texts whose results still
 * hold, and parameters, fields and values by the names they had then. From templates/digests.txt,
 * which is built in; it says what its lines mean. */
#ifndef GEN_FORMER_H
#define GEN_FORMER_H

#include "gen.h"

/* gen_setting_update -- to the present names, one step; false: it has them, or none are known */
bool gen_setting_update(const char *family, gen_setting *s);
/* gen_problem_update_by -- gen_problem_update with the lines of another table */
void gen_problem_update_by(const char *table, const char *family, const char *problem, str *out);

#endif
