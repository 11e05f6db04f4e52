/* bench_tune.h -- tune a problem for some seconds, in a process of its own, and say what it found. */
#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include <sys/wait.h>
#include <unistd.h>

#include "bench_tools.h"
#include "gen.h"
#include "tuned.h"

/* bench_tool -- build/autotune, which lies above the folders of this program */
static inline void bench_tool(char out[300]) {
  char self[256];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = 0;
  for (int up = 0; up < 3; up++) {
    char *slash = strrchr(self, '/');
    *(slash ? slash : self) = 0;
  }
  snprintf(out, 300, "%s/autotune", self);
}

typedef struct bench_tuning {
  const char *device;
  const char *db, *cache; /* files of its own: what is served must not find them */
  double sec;             /* of a problem */
} bench_tuning;

/* bench_tune -- before this process opens the device. A problem that the database has is not tuned
 * again; false: it failed */
static inline bool bench_tune(const bench_tuning *x, const char *problem) {
  char tool[300], budget[40];
  bench_tool(tool);
  snprintf(budget, sizeof budget, "%gs", x->sec);
  const pid_t pid = fork();
  if (!pid) {
    char *words = strdup(problem), *list[64] = {tool};
    int n = 1;
    for (char *w; n < 50 && (w = strsep(&words, " "));) {
      list[n++] = w;
    }
    char *options[] = {"--device", (char *)x->device, "--budget", budget,
                       "--db",     (char *)x->db,     "--quiet"};
    memcpy(list + n, options, sizeof options);
    setenv("TUNED_CACHE", x->cache, 1);
    if (freopen("/dev/null", "w", stdout)) {
      execv(tool, list);
    }
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (status) {
    fprintf(stderr, "%s: tuning %s failed\n", program_invocation_short_name, problem);
  }
  return !status;
}

/* bench_tuned_config -- what tuning found. err ERR_NOTFOUND  it was not tuned */
static inline int bench_tuned_config(const bench_tuning *x, const gen_template *t,
                                     const char *problem, gen_config *out, err *e) {
  tuned_context *ctx = NULL;
  tuned_kernel *k;
  tuned_kernel_info info;
  tuned_error why = {0};
  const tuned_options o = {.device = x->device, .database = x->db, .wait = 1, .threads = -1};
  int rc = tuned_open(&ctx, &o, &why);
  rc = rc ? rc : tuned_find(ctx, problem, &k, &why);
  rc = rc ? rc : tuned_info(k, &info, &why);
  rc = rc                           ? err_set(e, rc, "%s", why.message)
       : info.origin != TUNED_EXACT ? err_set(e, ERR_NOTFOUND, "%s was not tuned", problem)
                                    : gen_config_parse(t, info.config, out, e);
  tuned_close(ctx);
  return rc;
}

#endif
