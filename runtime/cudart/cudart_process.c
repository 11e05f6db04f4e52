/* cudart_process.c -- see cudart_process.h. */
#define _GNU_SOURCE
#include "cudart_process.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cudart_counts.h"
#include "emu.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static cudart process;
static cudart_counts own_counts, *counts = &own_counts;
static bool checks = true;
static _Thread_local cudaError_t last_error;

/* ---- settings and ends ----------------------------------------------------------------------- */

void cudart_ends(const char *format, ...) {
  va_list args;
  fflush(stdout);
  fputs("autotune: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  _exit(CUDART_CANNOT_RUN);
}

/* The counters that autotune run-program reads; without it the program counts for itself. */
__attribute__((constructor)) static void take_settings(void) {
  const char *text = secure_getenv(CUDART_VARIABLE);
  int fd, with_checks;
  if (!text || sscanf(text, "%d %d", &fd, &with_checks) != 2) {
    return;
  }
  checks = with_checks;
  void *shared = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  counts = shared == MAP_FAILED ? &own_counts : shared;
}

static void print_text(void *context, const char *text) {
  (void)context;
  fputs(text, stdout);
}

/* The host uses memory of the device: say which, and let the program end as it would on a GPU's machine. */
static void on_fault(int number, siginfo_t *info, void *context) {
  const rt_ptr at = cudart_address(info->si_addr);
  err e = {0};
  (void)context;
  if (process.d && rt_emu_is_address(process.d, at)) {
    err_set(&e, ERR_LAUNCH,
            "the host uses address 0x%llx of the device's memory: copy it with cudaMemcpy, or "
            "allocate it with cudaMallocManaged or cudaHostAlloc",
            (unsigned long long)at);
    cudart_finding(&e, "");
  }
  signal(number, SIG_DFL); /* the instruction is repeated */
}

/* Unless the program has a handler of its own. */
static void catch_faults(void) {
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  struct sigaction old;
  if (!sigaction(SIGSEGV, NULL, &old) && old.sa_handler == SIG_DFL) {
    sigaction(SIGSEGV, &action, NULL);
  }
}

static void open_device(cudart *c) {
  const char *name = secure_getenv("TUNED_DEVICE");
  const char *profile = name && !strncmp(name, "emu:", 4) ? name + 4 : NULL;
  err e = {0};
  if (rt_emu_open(profile, &c->d, &e)) {
    cudart_ends("%s", e.message);
  }
  rt_emu_set_checks(c->d, checks);
  rt_emu_set_print(c->d, print_text, NULL);
  catch_faults();
  c->generation++;
}

/* ---- calls ----------------------------------------------------------------------------------- */

void cudart_lock(void) {
  pthread_mutex_lock(&lock);
}

void cudart_unlock(void) {
  pthread_mutex_unlock(&lock);
}

cudart *cudart_enter(void) {
  cudart_lock();
  if (!process.d) {
    atomic_fetch_add(&counts->programs, process.generation == 0);
    open_device(&process);
  }
  return &process;
}

cudaError_t cudart_leave(cudart *c, cudaError_t error) {
  (void)c;
  if (error) {
    last_error = error;
  }
  cudart_unlock();
  return error;
}

cudaError_t cudart_invalid(void) {
  cudart_lock();
  return cudart_leave(&process, cudaErrorInvalidValue);
}

void cudart_reset(cudart *c) {
  c->d->ops->close(c->d);
  c->n_graph_memory = 0;
  c->d = NULL;
  c->sticky = cudaSuccess;
}

cudaError_t cudart_last_error(bool forget) {
  cudart_lock();
  const cudaError_t error = process.sticky ? process.sticky : last_error;
  cudart_unlock();
  if (forget) {
    last_error = cudaSuccess;
  }
  return error;
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Where the program made the call: frames that are not of this library. */
static void print_callers(void) {
  enum { MOST = 24, SHOWN = 4 };
  void *frames[MOST];
  const int n = backtrace(frames, MOST);
  char **names = backtrace_symbols(frames, n);
  int shown = 0;
  for (int i = 0; names && i < n && shown < SHOWN; i++) {
    const char *name = strrchr(names[i], '/');
    name = name ? name + 1 : names[i];
    if (!strstr(names[i], "libtuned_emu_cudart") && !strstr(names[i], "libc.so")) {
      fprintf(stderr, "=========     called by %s\n", name);
      shown++;
    }
  }
  free(names);
}

static void keep_report(unsigned long long number, const err *why, const char *what) {
  if (number < CUDART_REPORTS) {
    cudart_report *to = &counts->reports[number];
    snprintf(to->place, sizeof to->place, "%s", why->place);
    snprintf(to->message, sizeof to->message, "%s", why->message);
    snprintf(to->what, sizeof to->what, "%s", what);
  }
}

void cudart_finding(const err *why, const char *what) {
  fflush(stdout);
  keep_report(atomic_fetch_add(&counts->findings, 1), why, what);
  fprintf(stderr, "========= %s%s%s\n", why->place, *why->place ? ": " : "", why->message);
  if (*what) {
    fprintf(stderr, "=========     in %s\n", what);
  }
  print_callers();
}

void cudart_note(const char *text) {
  fprintf(stderr, "========= note: %s\n", text);
}

void cudart_count_launch(void) {
  atomic_fetch_add(&counts->launches, 1);
}
