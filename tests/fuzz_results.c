/* fuzz_results.c -- libFuzzer target: files of other tools. Results (CSV, Kernel Tuner's caches,
 * T4) to a recorded space; T1 to a space of at most a few thousand points.
 *
 *   make fuzz FUZZ=results && build-fuzz/fuzz_results -max_len=4096 CORPUS
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_table.h"
#include "spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_results(const char *text, size_t n) {
  recorded *r;
  uint16_t places[GEN_MAX_PARAMS];
  size_t found;
  err e = {0};
  if (recorded_parse("fuzz", text, n, &r, &e)) {
    return;
  }
  for (size_t i = 0; i < r->view.n; i++) {
    r->view.at(r, i, places);
    if (!r->view.find(r, places, &found) || found != i) {
      abort();
    }
  }
  recorded_close(r);
}

/* Opening runs the lists of values; the limits of the sandbox must hold. */
static void read_spec(const char *text, size_t n) {
  spec s;
  gen_space *space;
  err e = {0};
  if (!spec_parse("fuzz", text, n, &s, &e)) {
    double candidates = 1;
    for (size_t i = 0; i < s.t->n_params; i++) {
      candidates *= (double)s.t->params[i].n;
    }
    if (candidates < 5000 && !gen_space_new(s.g, &space, &e)) {
      gen_space_free(space);
    }
  }
  spec_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  char *text = malloc(n + 1);
  if (text) {
    memcpy(text, data, n);
    text[n] = 0;
    read_results(text, n);
    read_spec(text, n);
  }
  free(text);
  return 0;
}
