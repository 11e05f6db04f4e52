/* compile_signals.h -- SIGINT and SIGTERM while NVRTC compiles. Its front end has handlers of its
 * own, which call exit wherever they are; so, where NVRTC can be stopped, the thread that compiles
 * holds the signals back. One that comes stops the compilation, which begins anew if the program
 * goes on after it. */
#ifndef RT_COMPILE_SIGNALS_H
#define RT_COMPILE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

typedef struct compile_signals {
  sigset_t before; /* what the thread held back anyway */
  bool came;
} compile_signals;

void compile_signals_hold(compile_signals *s);
/* compile_signals_came -- notes it, too */
bool compile_signals_came(compile_signals *s);
/* compile_signals_release -- runs the handlers of those that came */
void compile_signals_release(const compile_signals *s);

#endif
