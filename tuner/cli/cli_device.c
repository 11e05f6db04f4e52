/* cli_device.c -- which device to use, and the signals that stop a run on it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t stop_flag;
static bool is_catching;

static void on_signal(int number) {
  stop_flag = 1;
  signal(number, SIG_DFL); /* the second one ends the program */
}

const volatile sig_atomic_t *cli_catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll returns */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  is_catching = true;
  return &stop_flag;
}

const volatile sig_atomic_t *cli_stop_flag(void) {
  return is_catching ? &stop_flag : NULL;
}

static bool count_gpus(void) {
  int n = 0;
  return !rt_cuda_count(&n, NULL) && n > 0;
}

/* In a child process: workers forked after the driver was started here could not use it. */
static bool is_gpu_here(void) {
  static enum { UNKNOWN, NO, YES } known;
  if (known == UNKNOWN) {
    int status = 1;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
      _exit(count_gpus() ? 0 : 1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    known = child > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? YES : NO;
  }
  return known == YES;
}

const char *cli_device(const cli *c) {
  const char *from_environment = getenv("TUNED_DEVICE");
  if (c->device) {
    return c->device;
  }
  if (from_environment && from_environment[0]) {
    return from_environment;
  }
  return is_gpu_here() ? "0" : "emu";
}
