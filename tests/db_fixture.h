/* db_fixture.h -- what the database's tests share: a scratch folder, and rows to store. */
#ifndef DB_FIXTURE_H
#define DB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db.h"
#include "file.h"
#include "hash.h"

typedef struct scratch {
  char folder[64];
  char path[96]; /* FOLDER/tuned.db */
  arena a;
  err e;
} scratch;

static inline int scratch_setup(void **state) {
  scratch *s = calloc(1, sizeof *s);
  /* in memory where there is such a folder: thousands of small files, none worth a disk */
  snprintf(s->folder, sizeof s->folder, "%s/test_db.XXXXXX",
           access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->path, sizeof s->path, "%s/tuned.db", s->folder);
  *state = s;
  return 0;
}

static inline int scratch_remove(const char *path, const struct stat *st, int type, struct FTW *f) {
  (void)st, (void)type, (void)f;
  return remove(path);
}

static inline int scratch_teardown(void **state) {
  scratch *s = *state;
  chmod(s->folder, 0700);
  nftw(s->folder, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
  arena_clear(&s->a);
  free(s);
  return 0;
}

/* Did it work? Prints the message when not. */
#define OK(s, call)                                                                                \
  do {                                                                                             \
    err_clear(&(s)->e);                                                                            \
    int code_ = (call);                                                                            \
    if (code_) {                                                                                   \
      fail_msg("%s: %s: %s", #call, err_name(code_), (s)->e.message);                              \
    }                                                                                              \
  } while (0)

/* Did it fail so, with one line that holds `words`? */
#define FAILS(s, expected, words, call)                                                            \
  do {                                                                                             \
    err_clear(&(s)->e);                                                                            \
    int code_ = (call);                                                                            \
    if (code_ != (expected) || !strstr((s)->e.message, words) || strchr((s)->e.message, '\n')) {   \
      fail_msg("%s: got %s: \"%s\", wanted %s: \"%s\"", #call, err_name(code_), (s)->e.message,    \
               err_name(expected), words);                                                         \
    }                                                                                              \
  } while (0)

static const db_device card = {
    .key = "H200 sm_90 132", .name = "NVIDIA H200", .cc = 90, .sms = 132};
static const db_template saxpy = {.family = "saxpy",
                                  .hash = "0123456789abcdef0123456789abcdef",
                                  .path = "saxpy.lua",
                                  .version = 1};
static const char *const saxpy_problem = "saxpy n=1000";
static const char image_key[] = "00000000000000000000000000000abc";

static inline db_image image_of(const char *key, const void *cubin, size_t n) {
  return (db_image){.key = key,
                    .arch = "sm_90",
                    .source = "__global__ void k() {}",
                    .log = "fine",
                    .nvrtc = 13000,
                    .regs = 32,
                    .spill = 8,
                    .smem = 1024,
                    .cubin = cubin,
                    .n_cubin = n,
                    .ptx = ".version",
                    .n_ptx = 8,
                    .sec = 0.25};
}

static inline db_sample sample_of(db_stage stage, double median) {
  return (db_sample){.stage = stage,
                     .median = median,
                     .spread = 0.01,
                     .launches = 100,
                     .cold = true,
                     .driver = 13000,
                     .uuid = "GPU-1",
                     .clock_mhz = 1980};
}

static inline db_trial trial_of(const char *config) {
  return (db_trial){.problem = saxpy_problem, .config = config, .status = DB_OK, .error = 0.5};
}

/* A writer with the device and template stored; their ids are 1. */
static inline db *open_writer(scratch *s) {
  db *d;
  int64_t id;
  OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
  OK(s, db_device_put(d, &card, &id, &s->e));
  OK(s, db_template_put(d, &saxpy, &id, &s->e));
  return d;
}

/* An ok trial without times; its id. */
static inline int64_t put_trial(scratch *s, db *d, const char *config) {
  int64_t id;
  db_trial t = trial_of(config);
  OK(s, db_trial_put(d, 1, 1, &t, &id, &s->e));
  return id;
}

static inline void put_sample(scratch *s, db *d, int64_t trial, db_stage stage, double median) {
  db_sample row = sample_of(stage, median);
  OK(s, db_sample_put(d, trial, &row, &s->e));
}

/* fork_child -- run a function in a child, which ends with what it returns */
static inline pid_t fork_child(int (*child)(scratch *), scratch *s) {
  fflush(NULL);
  pid_t pid = fork();
  if (!pid) {
    _exit(child(s));
  }
  return pid;
}

static inline int child_status(pid_t pid) {
  int status;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif
