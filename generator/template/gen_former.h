/* gen_former.h -- what a template was called before: digests of its former texts whose results still
 * hold, and parameters and values by the names they had then. From templates/digests.txt, which is
 * built in; it says what its lines mean. */
#ifndef GEN_FORMER_H
#define GEN_FORMER_H

#include "gen.h"

enum { GEN_MAX_NAME = 64 };

typedef struct gen_setting { /* NAME=VALUE of a configuration */
  char name[GEN_MAX_NAME], value[GEN_MAX_NAME];
} gen_setting;

/* gen_setting_update -- to the present names, one step; false: it has them, or none are known */
bool gen_setting_update(const char *family, gen_setting *s);

#endif
