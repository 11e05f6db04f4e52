/* gen_fixture.h -- what the tests of the generator share: a small template to bend, a folder to put
 * it in, and the limits of a device. */
#ifndef GEN_FIXTURE_H
#define GEN_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "file.h"
#include "gen.h"

static const gen_number h200[] = {{"dev_cc", 90},
                                  {"dev_sms", 132},
                                  {"dev_threads_block", 1024},
                                  {"dev_threads_sm", 2048},
                                  {"dev_blocks_sm", 32},
                                  {"dev_regs_block", 65536},
                                  {"dev_regs_sm", 65536},
                                  {"dev_smem_block", 232448},
                                  {"dev_smem_sm", 233472},
                                  {"dev_smem_reserved", 1024},
                                  {"dev_l2", 52428800},
                                  {"dev_memory", 150000000000},
                                  {"dev_warp", 32}};
enum { N_H200 = sizeof h200 / sizeof *h200 };

#define MINI_BODY                                                                                  \
  "first @{B}\n@ for i = 1, 2 do\n  repeated @{i} @{kind}\n@ end\nlast TILE MODE_wide\n"

/* Every key that is needed, one to a line, so that the line of an error can be told. */
static const char mini_text[] =
    "return {\n"                                                                  /* 1 */
    "  name = 'mini',\n"                                                          /* 2 */
    "  version = 3,\n"                                                            /* 3 */
    "  brief = 'y = factor x',\n"                                                 /* 4 */
    "  problem = {\n"                                                             /* 5 */
    "    { 'n', 0, 2^33, default = 100 },\n"                                      /* 6 */
    "    { 'kind', { 'fast', 'safe' }, default = 'fast' },\n"                     /* 7 */
    "    { 'type', { 'f32', 'f64' }, default = \"sel(n > 5, 'f32', 'f64')\" },\n" /* 8 */
    "  },\n"                                                                      /* 9 */
    "  args = {\n"                                                                /* 10 */
    "    { 'n', 'i64', value = 'n' },\n"                                          /* 11 */
    "    { 'factor', 'type', sample = 2 },\n"                                     /* 12 */
    "    { 'x', 'type', 'in', count = 'n', fill = { 'uniform', -1, 1 } },\n"      /* 13 */
    "    { 'y', 'type', 'out', count = 'n' },\n"                                  /* 14 */
    "  },\n"                                                                      /* 15 */
    "  space = {\n"                                                               /* 16 */
    "    { 'B', { 32, 64, 128 } },\n"                                             /* 17 */
    "    { 'MODE', { 'plain', 'wide' } },\n"                                      /* 18 */
    "  },\n"                                                                      /* 19 */
    "  derive = { { 'TILE', \"B * sel(MODE == 'wide', 4, 1)\" } },\n"             /* 20 */
    "  require = { { 'too wide', 'TILE <= 256' } },\n"                            /* 21 */
    "  default = { B = 32, MODE = 'plain' },\n"                                   /* 22 */
    "  workspace = { { 'sums', 'u32', 'ceildiv(n, TILE)' } },\n"                  /* 23 */
    "  stages = {\n"                                                              /* 24 */
    "    { memset = 'sums', value = 255, when = \"kind == 'safe'\" },\n"          /* 25 */
    "    { kernel = 'twice', grid = 'ceildiv(n, TILE)', block = { 'B', 1 }, smem = '4 * B',\n" /* 26
                                                                                                */
    "      args = { 'n', 'factor', 'x', 'y', 'sums', { 'i32', 'TILE' } } },\n" /* 27 */
    "  },\n"                                                                   /* 28 */
    "  source = [[\n"                                                          /* 29 */
    MINI_BODY                                                                  /* 30 */
    "]],\n"                                                                    /* 35 */
    "  reference = {\n"                                                        /* 36 */
    "    stages = { { kernel = 'slow', grid = 'n', block = 1, args = { 'n', 'factor', 'x', 'y' } } "
    "},\n"
    "    source = 'reference @{n}',\n"                                  /* 38 */
    "  },\n"                                                            /* 39 */
    "  cases = { {}, { factor = 'n / 8' } },\n"                         /* 40 */
    "  tolerance = { abs = '2^-24 * sqrt(n)', rel = 0 },\n"             /* 41 */
    "  flops = 'n',\n"                                                  /* 42 */
    "  bytes = '8 * n',\n"                                              /* 43 */
    "  sizes = { emu = { 'n=10' }, bench = { 'n=2^20 kind=safe' } },\n" /* 44 */
    "}\n";

static char folder[64]; /* of this run; removed at its end */

static inline int folder_make(void **state) {
  (void)state;
  strcpy(folder, "/tmp/test_gen.XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove(void **state) {
  (void)state;
  char command[96];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static inline const char *folder_path(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static inline void folder_write(const char *name, const char *text, size_t n) {
  err e = {0};
  assert_ok(file_write(folder_path(name), text, n, &e), &e);
}

/* The small template with its first `what` replaced; *out is the caller's. */
static inline void mini_with(const char *what, const char *with, str *out) {
  const char *at = strstr(mini_text, what);
  assert_non_null(at);
  str_reset(out);
  str_add_n(out, mini_text, (size_t)(at - mini_text));
  str_add(out, with);
  str_add(out, at + strlen(what));
}

static inline int mini_open(const gen_options *o, const char *what, const char *with,
                            gen_template **t, err *e) {
  str text = {0};
  mini_with(what, with, &text);
  folder_write("mini.lua", text.p, text.n);
  str_clear(&text);
  return gen_open(o, folder_path("mini.lua"), t, e);
}

typedef struct street { /* template, problem, device; the default configuration */
  gen_template *t;
  gen_problem p;
  gen_instance *g;
  gen_config c;
  arena a;
  err e;
} street;

static inline void street_start(street *s, const char *problem) {
  assert_ok(gen_problem_parse(s->t, problem, &s->p, &s->e), &s->e);
  assert_ok(gen_instance_new(s->t, &s->p, h200, N_H200, &s->g, &s->e), &s->e);
  gen_config_default(s->t, &s->c);
}

static inline street street_open(const char *name, const char *problem) {
  street s = {0};
  assert_ok(gen_open(NULL, name, &s.t, &s.e), &s.e);
  street_start(&s, problem);
  return s;
}

static inline street street_mini(const char *what, const char *with, const char *problem) {
  street s = {0};
  assert_ok(mini_open(NULL, what, with, &s.t, &s.e), &s.e);
  street_start(&s, problem);
  return s;
}

static inline void street_close(street *s) {
  arena_clear(&s->a);
  gen_instance_free(s->g);
  gen_close(s->t);
}

#endif
