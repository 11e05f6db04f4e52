/* compile_exit.h -- the end of the program while threads compile: NVRTC's destructors would crash
 * them, so compilations are asked to end, and the end waits for them. */
#ifndef RT_COMPILE_EXIT_H
#define RT_COMPILE_EXIT_H

#include <stdbool.h>

/* compile_exit_watch -- once NVRTC is loaded: what is registered later runs before its destructors */
void compile_exit_watch(void);
/* compile_exit_enter -- before a compilation; false: the program is ending, do not begin */
bool compile_exit_enter(void);
void compile_exit_leave(void);
/* compile_exit_began -- the program is ending */
bool compile_exit_began(void);

#endif
