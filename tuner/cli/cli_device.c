/* cli_device.c -- which device to use, and the signals that stop a run on it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "emu.h"

enum { GRACE_SEC = 2 };

static volatile sig_atomic_t stop_flag, is_time_up, is_ending;
static bool is_catching, runs_kernels;

static void on_signal(int number) {
  stop_flag = 1;
  signal(number, SIG_DFL); /* the second one ends the program */
  if (runs_kernels) {
    is_ending = 1;
    alarm(GRACE_SEC);
  }
}

const volatile sig_atomic_t *cli_catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll returns */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  is_catching = true;
  return &stop_flag;
}

/* A compiler or a GPU's kernel does not look at the flag. */
static void on_alarm(int number) {
  static const char late[] = "autotune: stopped at the end of --timeout\n";
  static const char interrupted[] = "autotune: interrupted\n";
  (void)number;
  if (is_ending) {
    (void)!(is_time_up ? write(STDERR_FILENO, late, sizeof late - 1)
                       : write(STDERR_FILENO, interrupted, sizeof interrupted - 1));
    _exit(is_time_up ? 1 : 130);
  }
  stop_flag = is_time_up = is_ending = 1;
  alarm(GRACE_SEC);
}

int cli_limit_time(const cli *c, const volatile sig_atomic_t **stop, err *e) {
  struct sigaction action = {.sa_handler = on_alarm};
  int64_t sec;
  sigaction(SIGALRM, &action, NULL);
  runs_kernels = true;
  *stop = cli_catch_signals();
  TRY(cli_timeout(c, 1000000, &sec, e));
  alarm((unsigned)sec);
  return 0;
}

bool cli_time_is_up(void) {
  return is_time_up;
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
  const char *from_environment = secure_getenv("TUNED_DEVICE");
  if (c->device) {
    return c->device;
  }
  if (from_environment && from_environment[0]) {
    return from_environment;
  }
  return is_gpu_here() ? "0" : "emu";
}

int cli_profile_of(int cc, rt_info *out) {
  for (const char *const *p = rt_emu_profiles(); *p; p++) {
    rt_device *d;
    TRY(rt_emu_open(*p, &d, NULL));
    *out = d->info;
    d->ops->close(d);
    if (out->cc == cc) {
      return 0;
    }
  }
  return ERR_NOTFOUND;
}
