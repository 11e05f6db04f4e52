/* bench_forms.c -- how many images the sizes of a program need: kernels with equal source share one.
 *
 *   bench_forms [--family sgemm] [--sizes 200] [--seed 1] [--least 16] [--most 8192]
 *               [--with "dtype=f16"] [--why] [--rows FILE]
 *
 * Draws problems of a family with fields m, n and k: those three log-uniformly from LEAST to MOST, a
 * quarter of each operand transposed, three tenths with padded leading dimensions. Alignments are
 * what a typed call computes for buffers from an allocator. Each problem is decided as libtuned does
 * on an H200 where nothing is tuned: by the shipped portfolio and presets. Needs no GPU.
 *
 * Prints one line of JSON: the problems, the distinct sources that serve them, the sources of 100
 * problems (the mean over the sequence cut into hundreds), and the mean and the worst of the
 * predicted time over that of the portfolio's fastest candidate, as shares.
 *
 * --why: for each constant of the sources, how many sources would remain without it, then how many
 * without the one that counts most, that and the next, and so on. "(text)" is what the script wrote.
 * --rows: a line for each candidate of each problem in the order of the choice: problem, predicted
 * seconds, digest of the source, configuration. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "hash.h"
#include "open_device.h"
#include "random.h"
#include "run.h"
#include "serve_choose.h"

enum { SIZES_MOST = 20000, NAMES_MOST = 256, HUNDRED = 100 };

/* As libtuned names the card of the shipped portfolio. */
static const char *const H200 = "NVIDIA H200|sm_90|132|6016|1980|3201";

typedef struct form { /* the source of one problem */
  char hash[HASH_TEXT];
  uint64_t constant[NAMES_MOST]; /* digest of its value; 0: the source lacks it */
} form;

typedef struct bench {
  const char *family, *with;
  int64_t least, most;
  uint64_t seed;
  rt_info device;
  serve_sources from;
  serve_known known;
  gen_template *t;
  form *forms;
  size_t n, n_portfolio, n_names;
  char *names[NAMES_MOST];
  double lost, worst;
  FILE *rows;
  err e;
} bench;

static void must(bench *b, int rc) {
  bench_must(rc, b->family, b->e.message);
}

/* ---- problems ------------------------------------------------------------------------------- */

static int64_t side(bench *b) {
  const double octaves = log2((double)b->most / (double)b->least);
  return (int64_t)floor((double)b->least * exp2(random_unit(&b->seed) * octaves));
}

static int64_t leading(bench *b, int64_t extent, bool padded) {
  return padded ? extent + 1 + (int64_t)random_below(&b->seed, 64) : extent;
}

/* The largest of the field's numbers that divides them all. */
static void add_alignment(const bench *b, const char *name, int64_t x, int64_t y, int64_t z,
                          str *out) {
  int64_t best = 0;
  const gen_field *f = gen_field_find(b->t, name, strlen(name));
  for (size_t i = 0; f && i < f->n_choices; i++) {
    const int64_t c = f->choices[i];
    best = x % c == 0 && y % c == 0 && z % c == 0 && c > best ? c : best;
  }
  if (best) {
    str_addf(out, " %s=%lld", name, (long long)best);
  }
}

static void draw(bench *b, str *out) {
  const int64_t m = side(b), n = side(b), k = side(b);
  const bool ta = random_unit(&b->seed) < 0.25, tb = random_unit(&b->seed) < 0.25;
  const bool padded = random_unit(&b->seed) < 0.3;
  const int64_t lda = leading(b, ta ? k : m, padded), ldb = leading(b, tb ? n : k, padded);
  const int64_t ldc = leading(b, m, padded);
  str_addf(out, "m=%lld n=%lld k=%lld ta=%c tb=%c", (long long)m, (long long)n, (long long)k,
           ta ? 't' : 'n', tb ? 't' : 'n');
  if (gen_field_find(b->t, "align_a", 7)) {
    add_alignment(b, "align", ldc, ldc, ldc, out);
    add_alignment(b, "align_a", lda, lda, lda, out);
    add_alignment(b, "align_b", ldb, ldb, ldb, out);
  } else {
    add_alignment(b, "align", lda, ldb, ldc, out);
  }
  str_addf(out, " %s", b->with);
}

/* ---- sources -------------------------------------------------------------------------------- */

static size_t name_of(bench *b, const char *name, size_t n) {
  size_t i = 0;
  while (i < b->n_names && (strlen(b->names[i]) != n || strncmp(b->names[i], name, n) != 0)) {
    i++;
  }
  if (i == b->n_names) {
    bench_must(i == NAMES_MOST, b->family, "too many constants");
    b->names[b->n_names++] = strndup(name, n);
  }
  return i;
}

/* "constexpr int BM = 128;" */
static void read_constant(bench *b, const char *line, size_t n, form *f) {
  const char *equals = memmem(line, n, " = ", 3), *name = equals;
  while (name && name > line && name[-1] != ' ') {
    name--;
  }
  if (name) {
    f->constant[name_of(b, name, (size_t)(equals - name))] =
        hash_more(1, equals, n - (size_t)(equals - line));
  }
}

/* The constants come first, enumerations among them. */
static void read_source(bench *b, const char *text, form *f) {
  hash_bytes(text, strlen(text), f->hash);
  for (const char *end; *text; text = end + (*end != 0)) {
    end = strchrnul(text, '\n');
    if (!strncmp(text, "constexpr ", 10)) {
      read_constant(b, text, (size_t)(end - text), f);
    } else if (strncmp(text, "enum {", 6) != 0) {
      break;
    }
  }
  f->constant[name_of(b, "(text)", 6)] = hash_more(1, text, strlen(text));
}

static void make_form(bench *b, gen_instance *g, const gen_config *c, form *f) {
  auto_str text = {0};
  size_t body;
  must(b, gen_source_make(g, c, &text, &body, &b->e));
  read_source(b, str_text(&text) + body, f);
}

/* ---- decisions ------------------------------------------------------------------------------ */

static void write_row(bench *b, gen_instance *g, const char *problem, const serve_pick *pick) {
  form f;
  auto_str config = {0};
  if (b->rows) {
    make_form(b, g, &pick->config, &f);
    gen_config_text(b->t, &pick->config, &config);
    fprintf(b->rows, "%s\t%.6g\t%s\t%s\n", problem, pick->sec, f.hash, str_text(&config));
  }
}

/* What the first choice loses against the portfolio's candidate of the least predicted time. */
static void add_loss(bench *b, serve_choose *c, const serve_pick *first) {
  double least = first->sec;
  serve_pick pick;
  while (!serve_choose_next(c, &pick, &b->e) && pick.origin == TUNED_PORTFOLIO) {
    least = fmin(least, pick.sec);
    write_row(b, c->g, c->problem, &pick);
  }
  const double loss = first->sec / least - 1;
  b->n_portfolio++;
  b->lost += loss;
  b->worst = fmax(b->worst, loss);
}

static void decide(bench *b, const char *words) {
  gen_problem p;
  gen_number limits[RT_NUMBERS];
  auto_instance *g = NULL;
  auto_arena memory = {0};
  auto_str problem = {0};
  serve_pick pick;
  rt_numbers(&b->device, limits);
  must(b, gen_problem_parse(b->t, words, &p, &b->e));
  gen_problem_text(b->t, &p, &problem);
  must(b, gen_instance_new(b->t, &p, limits, RT_NUMBERS, &g, &b->e));
  serve_choose c = {.from = &b->from,
                    .t = b->t,
                    .p = &p,
                    .g = g,
                    .problem = str_text(&problem),
                    .known = &b->known,
                    .memory = &memory};
  must(b, serve_choose_next(&c, &pick, &b->e));
  make_form(b, g, &pick.config, &b->forms[b->n++]);
  write_row(b, g, c.problem, &pick);
  if (pick.origin == TUNED_PORTFOLIO) {
    add_loss(b, &c, &pick);
  }
}

/* ---- counting ------------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y) {
  const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

/* Of forms from..to, where these constants are not in the text. */
static size_t count(const bench *b, size_t from, size_t to, const bool *without) {
  static uint64_t digest[SIZES_MOST];
  size_t n = 0;
  for (size_t i = from; i < to; i++) {
    digest[i] = 0;
    for (size_t k = 0; k < b->n_names; k++) {
      const uint64_t value = without[k] ? 0 : b->forms[i].constant[k];
      digest[i] = hash_more(digest[i], &value, sizeof value);
    }
  }
  qsort(digest + from, to - from, sizeof *digest, by_number);
  for (size_t i = from; i < to; i++) {
    n += i == from || digest[i] != digest[i - 1];
  }
  return n;
}

static double of_a_hundred(const bench *b) {
  const bool none[NAMES_MOST] = {false};
  size_t n = 0, parts = 0;
  for (; (parts + 1) * HUNDRED <= b->n; parts++) {
    n += count(b, parts * HUNDRED, (parts + 1) * HUNDRED, none);
  }
  return parts ? (double)n / (double)parts : 0;
}

static size_t most_telling(const bench *b, bool *without, size_t *left) {
  size_t best = b->n_names;
  for (size_t k = 0; k < b->n_names; k++) {
    if (without[k]) {
      continue;
    }
    without[k] = true;
    const size_t n = count(b, 0, b->n, without);
    without[k] = false;
    if (n < *left) {
      *left = n;
      best = k;
    }
  }
  return best;
}

static void tell_why(const bench *b, size_t images) {
  bool without[NAMES_MOST] = {false};
  printf("without         images\n");
  for (size_t k = 0; k < b->n_names; k++) {
    without[k] = true;
    const size_t n = count(b, 0, b->n, without);
    without[k] = false;
    if (n < images) {
      printf("%-16s %5zu\n", b->names[k], n);
    }
  }
  printf("without this and those above\n");
  for (size_t left = images, k; (k = most_telling(b, without, &left)) < b->n_names;) {
    without[k] = true;
    printf("%-16s %5zu\n", b->names[k], left);
  }
}

/* ---- main ----------------------------------------------------------------------------------- */

static void open_sources(bench *b) {
  rt_device *d;
  must(b, rt_device_open("emu:h200", &d, &b->e));
  b->device = d->info;
  b->device.modelled = false;
  d->ops->close(d);
  b->from = (serve_sources){.device = &b->device,
                            .device_key = H200,
                            .presets = serve_presets,
                            .portfolios = serve_portfolios};
}

int main(int argc, char **argv) {
  static bench b;
  const bool none[NAMES_MOST] = {false};
  const size_t sizes = (size_t)atoi(bench_option(argc, argv, "--sizes", "200"));
  const char *rows = bench_option(argc, argv, "--rows", NULL);
  b.family = bench_option(argc, argv, "--family", "sgemm");
  b.with = bench_option(argc, argv, "--with", "");
  b.seed = (uint64_t)atoll(bench_option(argc, argv, "--seed", "1"));
  b.least = atoll(bench_option(argc, argv, "--least", "16"));
  b.most = atoll(bench_option(argc, argv, "--most", "8192"));
  b.rows = rows ? fopen(rows, "w") : NULL;
  b.forms = calloc(SIZES_MOST, sizeof *b.forms);
  bench_must(sizes > SIZES_MOST || !b.forms || (rows && !b.rows), "bench_forms",
             "too many sizes, or --rows cannot be written");
  open_sources(&b);
  must(&b, gen_open(NULL, b.family, &b.t, &b.e));
  while (b.n < sizes) {
    auto_str words = {0};
    draw(&b, &words);
    decide(&b, str_text(&words));
  }
  const size_t images = count(&b, 0, b.n, none);
  const double of = b.n_portfolio ? (double)b.n_portfolio : 1;
  printf("{\"bench\": \"forms\", \"family\": \"%s\", \"sizes\": %zu, \"portfolio\": %zu, "
         "\"images\": %zu, \"images_of_100\": %.1f, \"predicted_loss\": %.4f, "
         "\"predicted_worst\": %.4f}\n",
         b.family, b.n, b.n_portfolio, images, of_a_hundred(&b), b.lost / of, b.worst);
  if (bench_has(argc, argv, "--why")) {
    tell_why(&b, images);
  }
  if (b.rows) {
    fclose(b.rows);
  }
  serve_known_clear(&b.known);
  gen_close(b.t);
  free(b.forms);
  return 0;
}
