#define _GNU_SOURCE
#include "compile_signals.h"

static const int held[] = {SIGINT, SIGTERM};
enum { N_HELD = sizeof held / sizeof *held };

void compile_signals_hold(compile_signals *s) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < N_HELD; i++) {
    sigaddset(&set, held[i]);
  }
  s->came = false;
  pthread_sigmask(SIG_BLOCK, &set, &s->before);
}

bool compile_signals_came(compile_signals *s) {
  sigset_t pending;
  sigpending(&pending);
  for (int i = 0; i < N_HELD; i++) {
    s->came |= sigismember(&pending, held[i]) == 1 && sigismember(&s->before, held[i]) == 0;
  }
  return s->came;
}

void compile_signals_release(const compile_signals *s) {
  pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
