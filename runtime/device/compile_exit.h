/* compile_exit.h -- the end of the program while threads compile: NVRTC's destructors would crash
 * them, so compilations are asked to end, and the end waits for them.
 *
 * At an exit the destructors of the calling thread's own variables come first, then functions
 * registered by atexit and the destructors of static variables, the latest first; and NVRTC makes
 * static variables until its first compilation is done. */
#ifndef RT_COMPILE_EXIT_H
#define RT_COMPILE_EXIT_H

#include <stdbool.h>

/* compile_exit_watch -- before threads that compile are started: in the main thread, its end stops
 * and waits for them before everything else */
void compile_exit_watch(void);
/* compile_exit_enter -- before NVRTC is loaded, and before a compilation; false: the program is ending,
 * do not begin
 *   in  behind  on a thread that nobody waits for */
bool compile_exit_enter(bool behind);
void compile_exit_leave(void);
/* compile_exit_register -- once NVRTC is loaded, and while it compiles: now and then, so that what it
 * has made since is destroyed later */
void compile_exit_register(void);
/* compile_exit_began -- the program is ending */
bool compile_exit_began(bool behind);

#endif
