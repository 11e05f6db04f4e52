/* base_path.h -- where the base set of the library lies. */
#ifndef RT_BASE_PATH_H
#define RT_BASE_PATH_H

#include "arena.h"
#include "err.h"

/* base_path_find -- in the arena. err ERR_NOTFOUND: there is none; says where it would be */
int base_path_find(arena *a, const char **path, err *e);

#endif
