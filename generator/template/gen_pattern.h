/* gen_pattern.h -- Lua's patterns, whose work is charged to the budget step by step.
 *
 * Lua's own matcher backtracks in C, where no hook ends it: a pattern of 30 characters can run for
 * years. This one stops at the limit of the budget, and when the run is interrupted. */
#ifndef GEN_PATTERN_H
#define GEN_PATTERN_H

#include <lua.h>

/* gen_pattern_functions -- set find, gmatch, gsub and match in the table on top */
void gen_pattern_functions(lua_State *L);

#endif
