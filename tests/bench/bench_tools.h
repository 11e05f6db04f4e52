/* bench_tools.h -- what the benchmarks share: options, medians, giving up, and the driver. */
#ifndef BENCH_TOOLS_H
#define BENCH_TOOLS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* bench_option -- the word after `name`, or `otherwise` */
static inline const char *bench_option(int argc, char **argv, const char *name,
                                       const char *otherwise) {
  for (int i = 1; i + 1 < argc; i++) {
    if (!strcmp(argv[i], name)) {
      return argv[i + 1];
    }
  }
  return otherwise;
}

static inline bool bench_has(int argc, char **argv, const char *name) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], name)) {
      return true;
    }
  }
  return false;
}

/* bench_give_up -- "PROGRAM: what: why" on standard error; exits with 1 */
_Noreturn static inline void bench_give_up(const char *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
  exit(1);
}

/* bench_must -- give up unless rc is 0 */
static inline void bench_must(int rc, const char *what, const char *why) {
  if (rc) {
    bench_give_up(what, why);
  }
}

/* bench_open_driver -- make a context current, as a program that uses CUDA has done; nothing for the
 * emulated device */
static inline void bench_open_driver(const char *device) {
  void *driver = strncmp(device, "emu", 3) ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) : NULL;
  int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
  int (*retain)(void **, int) =
      driver ? (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain") : NULL;
  int (*set)(void *) = driver ? (int (*)(void *))dlsym(driver, "cuCtxSetCurrent") : NULL;
  void *context;
  if (driver && (init(0) || retain(&context, atoi(device)) || set(context))) {
    bench_give_up("the driver", "refused a context");
  }
}

static inline int bench_by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* bench_percentile -- sorts the list; 0 when it is empty */
static inline double bench_percentile(double *list, size_t n, size_t percent) {
  qsort(list, n, sizeof *list, bench_by_value);
  return n ? list[n * percent / 100] : 0;
}

static inline double bench_median(double *list, size_t n) {
  return bench_percentile(list, n, 50);
}

#endif
