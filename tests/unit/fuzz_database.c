/* fuzz_database.c -- libFuzzer target: a database of two results whose bytes are changed in
 * places, four bytes of the input each (three say where, one the value), and one cut short. It
 * is verified, read, exported, merged into another and pruned; every way out is an error or a
 * result. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"
#include "db_text.h"
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char path[64], other[64];
static str whole;

static void must(int rc, const err *e) {
  if (rc) {
    fprintf(stderr, "%s\n", e->message);
    abort();
  }
}

static void put_result(db *d, const char *problem, int64_t template, int64_t device) {
  err e = {0};
  int64_t id;
  const db_trial t = {.problem = problem, .config = "BLOCK=64", .status = DB_OK, .error = 0.5};
  const db_sample s = {.stage = DB_FINAL, .median = 1e-3, .launches = 10, .cold = true};
  must(db_trial_put(d, template, device, &t, &id, &e), &e);
  must(db_sample_put(d, id, &s, &e), &e);
  must(db_estimate_put(d, id, "emu:h200 1", 1e-3, &e), &e);
}

static void make_whole(void) {
  const db_device card = {"H200 sm_90 132", "NVIDIA H200", 90, 132};
  const db_template saxpy = {"saxpy", "0123456789abcdef0123456789abcdef", "saxpy.lua", 1};
  db *d;
  int64_t device, template;
  err e = {0};
  snprintf(path, sizeof path, "/dev/shm/fuzz_database.%d", (int)getpid());
  snprintf(other, sizeof other, "/dev/shm/fuzz_other.%d", (int)getpid());
  unlink(path);
  unlink(other);
  must(db_open(path, DB_WRITE, &d, &e), &e);
  must(db_device_put(d, &card, &device, &e), &e);
  must(db_template_put(d, &saxpy, &template, &e), &e);
  put_result(d, "saxpy n=1000", template, device);
  put_result(d, "saxpy n=2000", template, device);
  db_close(d);
  must(file_read(path, 1 << 24, &whole, &e), &e);
}

static void read_all(void) {
  auto_arena a = {0};
  db *d;
  db_line *lines;
  db_problem *problems;
  db_result *rows, best;
  db_stats stats;
  size_t n;
  if (!db_open(path, DB_READ, &d, NULL)) {
    db_verify(d, NULL);
    db_stat(d, &stats, NULL);
    db_lines(d, NULL, NULL, &a, &lines, &n, NULL);
    db_problems(d, NULL, &a, &problems, &n, NULL);
    db_results(d, 1, 1, "saxpy n=1000", &a, &rows, &n, NULL);
    db_best(d, "0123456789abcdef0123456789abcdef", "H200 sm_90 132", "saxpy n=1000", &a, &best,
            NULL);
    db_close(d);
  }
}

static void write_all(void) {
  db *d;
  int64_t n;
  if (!db_open(other, DB_WRITE, &d, NULL)) {
    db_merge(d, path, NULL);
    db_close(d);
  }
  if (!db_open(path, DB_WRITE, &d, NULL)) {
    db_prune(d, 1, &n, NULL);
    db_close(d);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (!whole.n) {
    make_whole();
  }
  uint8_t *bytes = malloc(whole.n);
  if (!bytes || n < 4) {
    return free(bytes), 0;
  }
  memcpy(bytes, whole.p, whole.n);
  for (size_t i = 0; i + 4 <= n; i += 4) {
    bytes[(data[i] | data[i + 1] << 8 | data[i + 2] << 16) % whole.n] = data[i + 3];
  }
  FILE *f = fopen(path, "wb");
  if (f) {
    fwrite(bytes, 1, data[3] == 255 ? whole.n * data[0] / 255 : whole.n, f);
    fclose(f);
    read_all();
    write_all();
  }
  free(bytes);
  return 0;
}
