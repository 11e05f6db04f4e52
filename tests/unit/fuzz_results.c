/* fuzz_results.c -- libFuzzer target: files of other tools. Results (CSV, Kernel Tuner's caches,
 * T4) become a recorded space; T1 becomes a space, and one of a few thousand points is enumerated
 * in two ways, which must agree.
 *
 *   S='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'
 *   I="$(find runtime generator db tuner -name '*.h' -printf '-I%h ') -isystem /usr/include/lua5.4"
 *   L='build/libtuned.a -ljansson -lz -llua5.4 -lsqlite3 -lm -ldl -lpthread'
 *   make build/libtuned.a && mkdir -p build-fuzz
 *   for f in runtime/base/[a-z]*.c $(find generator tuner/formats -name '*.c'); do
 *     clang $S $I -c $f -o build-fuzz/$(basename $f .c).o
 *   done
 *   clang ${S/-no-link/} $I tests/unit/fuzz_results.c build-fuzz/[a-z]*.o $L \
 *     -o build-fuzz/fuzz_results
 *   build-fuzz/fuzz_results -max_len=6000 CORPUS */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen_diagram.h"
#include "gen_space.h"
#include "recorded.h"
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

static double candidates(const gen_template *t) {
  double n = 1;
  for (size_t i = 0; i < t->n_params; i++) {
    n *= (double)t->params[i].n;
  }
  return n;
}

/* The diagram has the points that the loops have; either may find an expression that fails where
 * the other does not evaluate it. */
static void compare(spec *s) {
  gen_space *space = NULL;
  gen_diagram *d = NULL;
  double *rejected = calloc(s->t->n_search_requirements + 1, sizeof *rejected);
  err e = {0};
  int rc = gen_space_by_loops(s->g, &space, &e);
  bool listed = !rc || !strncmp(e.message, "no configuration", 16);
  if (listed && !gen_diagram_new(s->g, rejected, &d, NULL)) {
    size_t n = space ? gen_space_count(space) : 0, found;
    uint64_t i;
    gen_config c;
    if (gen_diagram_count(d) != n) {
      abort();
    }
    for (size_t k = 0; k < n; k++) {
      gen_diagram_at(d, k, &c);
      if (!gen_space_find(space, &c, &found) || !gen_diagram_find(d, &c, &i) || i != k) {
        abort();
      }
    }
  }
  gen_diagram_free(d);
  gen_space_free(space);
  free(rejected);
}

/* Opening evaluates the lists of values, within the limits of the sandbox. */
static void read_spec(const char *text, size_t n) {
  spec s;
  err e = {0};
  if (!spec_parse("fuzz", text, n, &s, &e) && candidates(s.t) < 5000) {
    compare(&s);
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
