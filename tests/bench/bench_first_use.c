/* bench_first_use.c -- the time a new process takes until its first kernel has run, and the memory
 * of a context.
 *
 *   bench_first_use [--device 0|emu] [FIELD=VALUE ...]      (default m=1024 n=1024 k=1024)
 *
 * Two lines: warm, with the database and the cache of images of the environment, of 15 runs; and
 * cold, with neither, in folders that the program makes and deletes, of 5. For the former tune the
 * problem first: autotune sgemm m=1024 n=1024 k=1024. Each run is a process. On a GPU it first makes
 * the primary context by the driver, as a program that uses CUDA has done. A line has separate times
 * for that, for opening a libtuned context, and for the first call until its result is there; of the
 * latter also those for finding the kernel and for reading the template. All are medians in
 * milliseconds.
 *
 * The heap is what malloc has handed out: after opening a context, and after its first kernel.
 *
 * Prints lines of JSON; exit status 1 when libtuned, warm, takes 10 ms or more, or the context 2 MB
 * or more. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_tools.h"
#include "serve_find.h"
#include "file.h"

enum { WARM_RUNS = 15, COLD_RUNS = 5, BUFFER = 4 << 20 }; /* bytes: 1024 x 1024 floats */

typedef struct use { /* one process's */
  double driver_ms, open_ms, template_ms, find_ms, call_ms, again_us;
  double open_kb, call_kb;
  int origin;
} use;

static tuned_error failure;

#define must(rc, what) bench_must(rc, what, failure.message)

static double heap_kb(void) {
  const struct mallinfo2 m = mallinfo2();
  return (double)(m.uordblks + m.hblkhd) / 1024;
}

static int64_t field(const char *problem, const char *name) {
  const char *at = strstr(problem, name);
  return at ? atoll(at + strlen(name)) : 1024;
}

static void call(tuned_context *ctx, const char *problem, float *buffers[3]) {
  const int64_t m = field(problem, " m="), n = field(problem, " n="), k = field(problem, " k=");
  must(tuned_sgemm(ctx, NULL, 'n', 'n', m, n, k, 1, buffers[0], m, buffers[1], k, 0, buffers[2], m,
                   &failure),
       "tuned_sgemm");
  must(tuned_sync(ctx, NULL, &failure), "waiting");
}

/* As tuned_find does first. */
static void read_template(tuned_context *ctx) {
  serve *s;
  serve_family *f;
  err e = {0};
  if (serve_of(ctx, &s, &e) || serve_family_get(s, "sgemm", &f, &e)) {
    bench_give_up("reading the template", e.message);
  }
}

/* The buffers belong to the program and do not count. */
static use run_once(const char *device, const char *problem) {
  use u;
  tuned_context *ctx;
  tuned_kernel *kernel;
  tuned_kernel_info info;
  float *buffers[3];
  const tuned_options o = {.device = strcmp(device, "emu") ? NULL : "emu"};
  float *zeros = calloc(BUFFER, 1);
  const double from = now_sec();
  bench_open_driver(device);
  const double begin = now_sec(), heap = heap_kb();
  must(tuned_open(&ctx, &o, &failure), "tuned_open");
  const double opened = now_sec();
  u.open_kb = heap_kb() - heap;
  for (int i = 0; i < 3; i++) {
    void *p;
    must(tuned_alloc(ctx, BUFFER, &p, &failure), "tuned_alloc");
    must(tuned_copy_to_device(ctx, p, zeros, BUFFER, &failure), "tuned_copy_to_device");
    buffers[i] = p;
  }
  const double before = now_sec(), heap_before = heap_kb();
  read_template(ctx);
  u.template_ms = 1e3 * (now_sec() - before);
  must(tuned_find(ctx, problem, &kernel, &failure), "tuned_find");
  u.find_ms = 1e3 * (now_sec() - before);
  call(ctx, problem, buffers);
  const double done = now_sec();
  u.call_kb = heap_kb() - heap_before + u.open_kb;
  call(ctx, problem, buffers);
  u.again_us = 1e6 * (now_sec() - done);
  must(tuned_info(kernel, &info, &failure), "tuned_info");
  u.origin = (int)info.origin;
  u.driver_ms = 1e3 * (begin - from);
  u.open_ms = 1e3 * (opened - begin);
  u.call_ms = 1e3 * (done - before);
  tuned_close(ctx);
  free(zeros);
  return u;
}

static use run_in_process(char *self, const char *device, const char *problem) {
  use u;
  int fds[2];
  char fd[16];
  if (pipe(fds)) {
    exit(1);
  }
  snprintf(fd, sizeof fd, "%d", fds[1]);
  const pid_t child = fork();
  if (!child) {
    execl(self, self, "--child", fd, device, problem, (char *)NULL);
    _exit(1);
  }
  close(fds[1]);
  const bool ok = read(fds[0], &u, sizeof u) == sizeof u;
  close(fds[0]);
  int status;
  waitpid(child, &status, 0);
  if (!ok || status) {
    bench_give_up("a process", "failed");
  }
  return u;
}

/* ---- many processes ------------------------------------------------------------------------- */

typedef struct runs {
  const char *device, *problem, *state;
  use u[WARM_RUNS];
  int n;
} runs;

/* Each time with a database and a cache that are not there. */
static void run_cold(runs *r) {
  char folder[] = "/tmp/bench_first_use.XXXXXX", path[64], command[64];
  for (r->n = 0; r->n < COLD_RUNS; r->n++) {
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (!mkdtemp(folder)) {
      bench_give_up("a folder", strerror(errno));
    }
    snprintf(path, sizeof path, "%s/none.db", folder);
    setenv("TUNED_DB", path, 1);
    setenv("TUNED_CACHE", folder, 1);
    r->u[r->n] = run_in_process("/proc/self/exe", r->device, r->problem);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
  }
}

static void run_warm(runs *r) {
  for (r->n = 0; r->n < WARM_RUNS; r->n++) {
    r->u[r->n] = run_in_process("/proc/self/exe", r->device, r->problem);
  }
}

static double median(const runs *r, size_t offset) {
  double list[WARM_RUNS];
  for (int i = 0; i < r->n; i++) {
    memcpy(&list[i], (const char *)&r->u[i] + offset, sizeof list[i]);
  }
  return bench_median(list, (size_t)r->n);
}

#define MEDIAN(what) median(r, offsetof(use, what))

static double ours_ms(const runs *r) {
  return MEDIAN(open_ms) + MEDIAN(call_ms);
}

static void print_runs(const runs *r) {
  printf("{\"bench\": \"first_use\", \"state\": \"%s\", \"device\": \"%s\", "
         "\"problem\": \"%s\", \"origin\": \"%s\", "
         "\"driver_ms\": %.2f, \"open_ms\": %.2f, \"template_ms\": %.2f, \"find_ms\": %.2f, "
         "\"first_call_ms\": %.2f, "
         "\"second_call_us\": %.1f, "
         "\"ours_ms\": %.2f, \"context_kb\": %.0f, \"with_kernel_kb\": %.0f}\n",
         r->state, r->device, r->problem, tuned_origin_name((tuned_origin)r->u[0].origin),
         MEDIAN(driver_ms), MEDIAN(open_ms), MEDIAN(template_ms), MEDIAN(find_ms), MEDIAN(call_ms),
         MEDIAN(again_us), ours_ms(r), MEDIAN(open_kb), MEDIAN(call_kb));
  fflush(stdout);
}

int main(int argc, char **argv) {
  static runs cold, warm;
  char problem[400] = "sgemm";
  const char *device = "0";
  if (argc == 5 && !strcmp(argv[1], "--child")) {
    const use mine = run_once(argv[3], argv[4]);
    return write(atoi(argv[2]), &mine, sizeof mine) == sizeof mine ? 0 : 1;
  }
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--device") && i + 1 < argc) {
      device = argv[++i];
    } else {
      snprintf(problem + strlen(problem), sizeof problem - strlen(problem), " %s", argv[i]);
    }
  }
  if (!strchr(problem, '=')) {
    strcat(problem, " m=1024 n=1024 k=1024");
  }
  warm = (runs){.device = device, .problem = problem, .state = "warm"};
  cold = (runs){.device = device, .problem = problem, .state = "cold"};
  run_warm(&warm);
  print_runs(&warm);
  run_cold(&cold); /* last: it changes the environment */
  print_runs(&cold);
  return ours_ms(&warm) < 10 && median(&warm, offsetof(use, call_kb)) < 2048 ? 0 : 1;
}
