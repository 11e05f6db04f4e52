/* fuzz_texts.c -- libFuzzer target: the texts that the program reads beside templates and results
 * of other tools. The first byte says which, B to L: lines of results, a portfolio, claims, a
 * suite, fields of a problem, a configuration, a budget, a list of captured problems, a compiler's
 * log, #include lines, a .npy file or a matrix, configurations to try first. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "budget.h"
#include "capture_list.h"
#include "claims.h"
#include "compile_include.h"
#include "compile_log.h"
#include "data_file.h"
#include "db_text.h"
#include "initial_configs_file.h"
#include "matrix_market.h"
#include "portfolio.h"
#include "suite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct input {
  gen_template *t;
  arena *a;
  char *text; /* ends with a NUL */
  size_t n;
  char path[40]; /* of a file that holds it */
} input;

static void results(input *x, err *e) {
  db_line l;
  bool none, closed;
  size_t number;
  auto_str out = {0};
  db_text_check(x->text, x->n, &closed, &number, e);
  for (char *line = x->text, *end; line < x->text + x->n; line = end + 1) {
    end = memchr(line, '\n', (size_t)(x->text + x->n - line));
    end = end ? end : x->text + x->n;
    if (!db_text_read(line, (size_t)(end - line), x->a, &l, &none, NULL) && !none) {
      db_text_write(&l, &out);
    }
  }
}

/* One that can be read is written and read again. */
static void portfolios(input *x, err *e) {
  portfolio p, again;
  auto_str out = {0};
  gen_problem asked;
  portfolio_read(x->t, x->text, x->a, &p, e);
  if (portfolio_read_all(x->t, x->text, x->a, &p, e)) {
    return;
  }
  if (!gen_problem_parse(x->t, "m=100 n=100 k=100", &asked, e)) {
    int64_t values[GEN_MAX_FIELDS];
    for (size_t i = 0; i < x->t->n_fields; i++) {
      values[i] = asked.values[i].i;
    }
    portfolio_take_alike(x->t, &p, values);
    portfolio_leaf(x->t, &p, values);
  }
  portfolio_text(x->t, &p, &out);
  if (portfolio_read_all(x->t, str_text(&out), x->a, &again, e)) {
    abort();
  }
}

static void claim_lines(input *x, err *e) {
  claim *list;
  size_t n;
  claims_read(x->text, "fuzz", x->a, &list, &n, e);
}

static void suites(input *x, err *e) {
  suite s = {0};
  suite_read(x->t, x->path, "", x->a, &s, e);
}

static void fields(input *x, err *e) {
  gen_problem p, again;
  auto_str text = {0};
  if (!gen_problem_parse(x->t, x->text, &p, e)) {
    gen_problem_text(x->t, &p, &text);
    if (gen_problem_parse(x->t, strchr(str_text(&text), ' '), &again, e)) {
      abort();
    }
  }
}

static void configurations(input *x, err *e) {
  gen_config c, again;
  auto_str text = {0};
  if (!gen_config_parse(x->t, x->text, &c, e)) {
    gen_config_text(x->t, &c, &text);
    if (gen_config_parse(x->t, str_text(&text), &again, e)) {
      abort();
    }
  }
}

static void budgets(input *x, err *e) {
  tune_budget b;
  budget_parse("--budget", x->text, x->a, &b, e);
}

static void captured(input *x, err *e) {
  capture_lines more = {0};
  (void)e;
  capture_lines_add(&more, "saxpy n=1", 9, 1, NULL, 0);
  capture_list_add(x->path, &more);
  capture_lines_clear(&more);
}

static void logs(input *x, err *e) {
  const rt_kernel_info *kernels;
  size_t n;
  log_kernels(x->text, x->a, &kernels, &n, e);
  log_error(x->text, "nothing", e);
  include_check(x->text, e);
}

static void arrays(input *x, err *e) {
  float numbers[16];
  gen_datum d = {.type = DTYPE_f32, .count = 16, .file = x->path};
  matrix m;
  data_file_read(&d, "x", numbers, e);
  d.part = MATRIX_PART_values;
  data_file_read(&d, "x", numbers, e);
  matrix_market_parse("x", x->text, x->n, &m, e);
  matrix_clear(&m);
}

static void initial(input *x, err *e) {
  initial_configs c;
  initial_configs_read(x->t, x->path, x->a, &c, e);
}

static int write_file(input *x) {
  const int fd = memfd_create("fuzz.npy", 0);
  if (fd < 0 || write(fd, x->text, x->n) != (ssize_t)x->n) {
    abort();
  }
  snprintf(x->path, sizeof x->path, "/proc/self/fd/%d", fd);
  return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static void (*const readers[])(input *, err *) = {results, portfolios,     claim_lines, suites,
                                                    fields,  configurations, budgets,     captured,
                                                    logs,    arrays,         initial};
  static gen_template *t;
  auto_arena a = {0};
  err e = {0};
  if (!n || (!t && gen_open(NULL, "sgemm", &t, &e))) {
    return 0;
  }
  input x = {.t = t, .a = &a, .text = arena_text_n(&a, (const char *)data + 1, n - 1), .n = n - 1};
  const int fd = write_file(&x);
  readers[data[0] % (sizeof readers / sizeof *readers)](&x, &e);
  close(fd);
  return 0;
}
