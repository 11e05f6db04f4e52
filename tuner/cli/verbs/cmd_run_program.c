/* cmd_run_program.c -- autotune run-program: run a CUDA program on the emulated device.
 *
 * The program starts with libtuned_emu_cudart.so in the place of the CUDA runtime (runtime/cudart), which
 * reports on standard error and counts in memory that both share. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "cudart_counts.h"
#include "emu.h"
#include "json_writer.h"
#include "print.h"
#include "open_device.h"
#include "program_file.h"
#include "verbs.h"

static const char shim[] = "libtuned_emu_cudart.so";
static const char *const names[] = {"libcudart.so.12", "libcudart.so.13"};
enum { N_NAMES = sizeof names / sizeof *names };

typedef struct program {
  const cli *c;
  const char *device;
  char library[PATH_MAX], folder[PATH_MAX]; /* folder: links by the runtime's names */
  cudart_counts *counts;
  int fd;
} program;

/* Beside this program, or installed. */
static int find_library(program *p, err *e) {
  static const char *const places[] = {"", "../lib/"};
  char own[PATH_MAX], path[PATH_MAX + 64];
  const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
  own[n < 0 ? 0 : n] = 0;
  char *slash = strrchr(own, '/');
  if (slash) {
    slash[1] = 0;
  }
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s%s%s", own, places[i], shim);
    if (realpath(path, p->library)) {
      return 0;
    }
  }
  return err_set(e, ERR_NOTFOUND, "there is no %s in %s or %s../lib/: make all, or make install",
                 shim, own, own);
}

/* A wrong device is reported here rather than in the program. */
static int check_device(program *p, err *e) {
  const char *from_environment = secure_getenv("TUNED_DEVICE");
  rt_device *d;
  p->device = p->c->device ? p->c->device : from_environment;
  if (!p->device || (!p->c->device && !rt_names_emulator(p->device))) {
    p->device = "emu";
  }
  if (!rt_names_emulator(p->device)) {
    return err_set(e, ERR_USAGE,
                   "run-program runs on the emulated device: --device emu or emu:PROFILE");
  }
  TRY(rt_device_open(p->device, &d, e));
  d->ops->close(d);
  return 0;
}

static int make_counts(program *p, err *e) {
  p->fd = memfd_create("counts of run-program", 0);
  if (p->fd < 0 || ftruncate(p->fd, sizeof *p->counts)) {
    return err_set(e, ERR_IO, "cannot share memory with the program: %s", strerror(errno));
  }
  void *at = mmap(NULL, sizeof *p->counts, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
  if (at == MAP_FAILED) {
    return err_nomem(e);
  }
  p->counts = at;
  return 0;
}

/* The runtime that the program was linked with need not be installed. */
static int make_links(program *p, err *e) {
  const char *temporary = secure_getenv("TMPDIR");
  char path[PATH_MAX + 64];
  snprintf(p->folder, sizeof p->folder, "%s/autotune-XXXXXX",
           temporary && *temporary ? temporary : "/tmp");
  if (!mkdtemp(p->folder)) {
    const int why = errno;
    p->folder[0] = 0;
    return err_set(e, ERR_IO, "cannot make a temporary folder: %s", strerror(why));
  }
  for (int i = 0; i < N_NAMES; i++) {
    snprintf(path, sizeof path, "%s/%s", p->folder, names[i]);
    if (symlink(p->library, path)) {
      return err_at(e, ERR_IO, path, "cannot be made: %s", strerror(errno));
    }
  }
  return 0;
}

static void cleanup(program *p) {
  char path[PATH_MAX + 64];
  for (int i = 0; *p->folder && i < N_NAMES; i++) {
    snprintf(path, sizeof path, "%s/%s", p->folder, names[i]);
    unlink(path);
  }
  if (*p->folder) {
    rmdir(p->folder);
  }
  if (p->counts) {
    munmap(p->counts, sizeof *p->counts);
  }
  if (p->fd >= 0) {
    close(p->fd);
  }
}

/* ---- the child ------------------------------------------------------------------------------- */

/* "FIRST:what was there" */
static void prepend(const char *variable, const char *first) {
  const char *old = secure_getenv(variable);
  char *joined = NULL;
  if (!old || !*old) {
    setenv(variable, first, 1);
  } else if (asprintf(&joined, "%s:%s", first, old) > 0) {
    setenv(variable, joined, 1);
    free(joined);
  }
}

_Noreturn static void start(const program *p) {
  char settings[40];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  snprintf(settings, sizeof settings, "%d %d", p->fd, !p->c->no_checks);
  setenv(CUDART_VARIABLE, settings, 1);
  setenv("TUNED_DEVICE", p->device, 1);
  if (p->c->json) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  prepend("LD_PRELOAD", p->library);
  prepend("LD_LIBRARY_PATH", p->folder);
  execvp(p->c->words[0], (char *const *)(uintptr_t)p->c->words);
  fprintf(stderr, "autotune: cannot run '%s': %s\n", p->c->words[0], strerror(errno));
  _exit(CUDART_CANNOT_RUN);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static int wait_for(pid_t child, const volatile sig_atomic_t *stop, int *status, err *e) {
  bool stopped = false;
  while (waitpid(child, status, 0) < 0) {
    if (errno != EINTR) {
      return err_set(e, ERR_IO, "cannot wait for the program: %s", strerror(errno));
    }
    if (*stop) {
      kill(child, SIGKILL);
      stopped = true;
    }
  }
  return stopped ? err_set(e, ERR_INTERRUPTED, "interrupted") : 0;
}

static void print_json(const program *p, int status) {
  auto_str s = {0};
  const unsigned long long findings = p->counts->findings;
  jw_event(&s, "program");
  jw_text(&s, "program", p->c->words[0]);
  jw_text(&s, "device", p->device);
  jw_bool(&s, "checks", !p->c->no_checks);
  jw_integer(&s, "status", status);
  jw_integer(&s, "launches", (int64_t)p->counts->launches);
  jw_integer(&s, "findings", (int64_t)findings);
  jw_open_list(&s, "reports");
  for (unsigned long long i = 0; i < findings && i < CUDART_REPORTS; i++) {
    const cudart_report *x = &p->counts->reports[i];
    jw_open(&s, NULL);
    jw_text(&s, "place", x->place);
    jw_text(&s, "message", x->message);
    jw_text(&s, "in", x->what);
    jw_close(&s);
  }
  jw_close_list(&s);
  jw_end_line(&s);
  print_str(&s);
}

static void print_summary(const program *p, int status) {
  const unsigned long long findings = p->counts->findings, launches = p->counts->launches;
  if (p->c->json) {
    print_json(p, status);
    return;
  }
  if (!p->counts->programs) {
    fprintf(stderr, "========= the program made no call of the CUDA runtime\n");
  } else if (findings || !p->c->quiet) {
    fprintf(stderr, "========= %llu finding%s; %llu launch%s passed%s on %s\n", findings,
            findings == 1 ? "" : "s", launches, launches == 1 ? "" : "es",
            p->c->no_checks ? " without checks" : "", p->device);
  }
}

static int run_it(program *p, err *e) {
  const volatile sig_atomic_t *stop;
  int status = 0;
  TRY(cli_limit_time(p->c, &stop, e));
  fflush(NULL);
  const pid_t child = fork();
  if (!child) {
    start(p);
  }
  if (child < 0) {
    return err_set(e, ERR_IO, "cannot start a process: %s", strerror(errno));
  }
  TRY(wait_for(child, stop, &status, e));
  const int own = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (own != CUDART_CANNOT_RUN) {
    print_summary(p, own);
  }
  return p->counts->findings ? CUDART_FINDINGS : own;
}

int cmd_run_program(const cli *c, err *e) {
  program p = {.c = c, .fd = -1};
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name the program: autotune run-program ./a.out [ARGUMENTS]");
  }
  int rc = program_check(c->words[0], e);
  rc = rc ? rc : check_device(&p, e);
  rc = rc ? rc : find_library(&p, e);
  rc = rc ? rc : make_counts(&p, e);
  rc = rc ? rc : make_links(&p, e);
  rc = rc ? rc : run_it(&p, e);
  cleanup(&p);
  return rc;
}
