/* fuzz_template.c -- libFuzzer target: a template's text goes down the street as far as it gets, within
 * small limits; the same text is read as a plain CUDA file. tests/fuzz.sh builds and runs it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "gen_plain.h"
#include "h200.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void walk(gen_template *t) {
  gen_problem p;
  gen_instance *g = NULL;
  gen_config c;
  arena a = {0};
  str out = {0};
  size_t body;
  const gen_plan *plan;
  err e = {0};
  if (!gen_problem_parse(t, "", &p, &e) && !gen_instance_new(t, &p, h200, N_H200, &g, &e)) {
    gen_config_default(t, &c);
    gen_source_make(g, &c, &out, &body, &e);
    gen_plan_make(g, &c, &a, &plan, NULL);
  }
  gen_instance_free(g);
  str_clear(&out);
  arena_clear(&a);
}

static void read_plain(const char *text) {
  gen_plain *x = calloc(1, sizeof *x);
  arena a = {0};
  str lua = {0}, device = {0};
  gen_plain_place *places;
  size_t n;
  err e = {0};
  if (x && !gen_plain_parse("fuzz.cu", text, NULL, 0, &a, x, &e)) {
    gen_plain_lua(x, &a, &lua, &places, &n, &e);
  }
  gen_plain_device_text(text, strlen(text), NULL, 0, &device);
  str_clear(&lua);
  str_clear(&device);
  arena_clear(&a);
  free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const gen_options tight = {
      .max_instructions = 50000, .max_nbytes = 8 << 20, .max_source_nbytes = 100000};
  gen_template *t;
  err e = {0};
  if (!gen_open_text(&tight, "fuzz.lua", (const char *)data, n, &t, &e)) {
    walk(t);
    gen_close(t);
  }
  char *text = calloc(1, n + 1);
  if (text) {
    memcpy(text, data, n);
    read_plain(text);
  }
  free(text);
  return 0;
}
