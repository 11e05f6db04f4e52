/* bench_same.c -- whether the emulated device computes what a GPU computes, bit by bit.
 *
 *   build/tests/bench/bench_same [--device 0] [--against emu] [--sample N] [--seconds S]
 *                                [--work LOG2] [--answers FILE [--record]] [FAMILY...]
 *
 * Every family at its emu and test sizes, its default and N points drawn from its space: the same
 * inputs on both devices, all outputs compared as bytes. Where a GPU differs from itself in a
 * second run (atomics on floating-point numbers), it is listed as such. One line for each
 * configuration that differs and one for each family; exit status 1 for a difference that is not
 * the GPU's own.
 *
 * The emulated device takes seconds where a GPU takes microseconds, so its answers can be recorded:
 * --record runs it alone and appends digests of its outputs to FILE; later runs with --answers
 * emulate only what FILE lacks or what differs. --work bounds what is emulated to problems of
 * 2^LOG2 operations and bytes; larger ones are compared only where FILE has the answer. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_outputs.h"
#include "emu.h"
#include "file.h"
#include "gen.h"
#include "hash.h"
#include "open_device.h"
#include "random.h"

enum { WORK_LOG2 = 24 }; /* what the emulated device does in a second */

typedef struct side { /* one of the two devices */
  rt_device *d;
  rt_checker *checker;
  gen_number limits[RT_NUMBERS];
  gen_instance *g;
  rt_harness *bench;
  struct image { /* compiled: many sizes share a text */
    char key[HASH_TEXT];
    str bytes;
  } * images;
  size_t n_images;
} side;

typedef struct answer { /* of the emulated device: the digest of a case's outputs */
  char key[HASH_TEXT], outputs[HASH_TEXT];
} answer;

typedef struct tally {
  size_t same, other, varies, skipped, failed;
} tally;

typedef struct run {
  side sides[2];
  rt_compiler *c;
  gen_template *t;
  const char *problem;
  uint64_t random;
  size_t sample;
  double until, work;
  const char *path; /* of answers */
  answer *answers;
  size_t n_answers;
  bool record, big; /* big: the problem is too large to be emulated */
  err e;
} run;

static size_t draw(run *r, size_t n) {
  return random_below(&r->random, n);
}

static void need(run *r, int rc) {
  if (rc) {
    fprintf(stderr, "bench_same: %s%s%s\n", r->e.place, r->e.place[0] ? ": " : "", r->e.message);
    exit(2);
  }
}

/* ---- answers ---- */

static void read_answers(run *r) {
  str text = {0};
  char *rest = NULL;
  if (file_read(r->path, 256 << 20, &text, NULL)) {
    return; /* none yet */
  }
  for (char *line = strtok_r(text.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    answer x;
    if (sscanf(line, "%32s %32s", x.key, x.outputs) == 2) {
      answer *more = realloc(r->answers, (r->n_answers + 1) * sizeof *more);
      if (!more) {
        break;
      }
      r->answers = more;
      r->answers[r->n_answers++] = x;
    }
  }
  str_clear(&text);
}

static const char *find_answer(const run *r, const char *key) {
  for (size_t i = 0; i < r->n_answers; i++) {
    if (!strcmp(r->answers[i].key, key)) {
      return r->answers[i].outputs;
    }
  }
  return NULL;
}

/* The key of a case: everything that determines its outputs. */
static int key_of(run *r, const gen_config *config, size_t i, char key[HASH_TEXT]) {
  str text = {0};
  size_t body;
  int rc = gen_source_make(r->sides[0].g, config, &text, &body, &r->e);
  str_addf(&text, "\n%s %s\n%zu ", r->t->name, r->problem, i);
  gen_config_text(r->t, config, &text);
  hash_bytes(str_text(&text), text.n, key);
  str_clear(&text);
  return rc;
}

static int append_answer(run *r, const char *key, const str *outputs) {
  char digest[HASH_TEXT];
  hash_bytes(str_text(outputs), outputs->n, digest);
  FILE *f = fopen(r->path, "a");
  bool written = f && fprintf(f, "%s %s\n", key, digest) > 0;
  written &= f && !fclose(f);
  return written ? 0 : err_set(&r->e, ERR_IO, "can't write %s", r->path);
}

static bool agrees(const char *known, const str *outputs) {
  char digest[HASH_TEXT];
  hash_bytes(str_text(outputs), outputs->n, digest);
  return known && !strcmp(digest, known);
}

/* ---- one configuration on one device ---- */

/* the image of a text, compiled once */
static int image_of(run *r, side *s, const rt_source *source, arena *a, const str **out) {
  char key[HASH_TEXT];
  rt_image image;
  rt_image_key(r->c, source, key);
  for (size_t i = 0; i < s->n_images; i++) {
    if (!strcmp(s->images[i].key, key)) {
      *out = &s->images[i].bytes;
      return 0;
    }
  }
  struct image *more = realloc(s->images, (s->n_images + 1) * sizeof *more);
  if (!more) {
    return err_set(&r->e, ERR_NOMEM, "out of memory");
  }
  s->images = more;
  rt_image_init(&image);
  int rc = rt_compile(r->c, source, a, &image, &r->e);
  if (!rc) {
    struct image *made = &s->images[s->n_images++];
    const str *bytes = s->d->info.format == RT_CUBIN ? &image.cubin : &image.ptx;
    *made = (struct image){0};
    memcpy(made->key, key, sizeof key);
    str_add_n(&made->bytes, str_text(bytes), bytes->n);
    *out = &made->bytes;
  }
  rt_image_clear(&image);
  return rc;
}

static int load(run *r, side *s, const gen_config *config, arena *a, rt_loaded **out) {
  str text = {0};
  const str *bytes = NULL;
  const gen_plan *plan;
  rt_source source = {.arch = s->d->info.arch};
  int rc = gen_source_make(s->g, config, &text, &source.body, &r->e);
  source.text = str_text(&text);
  rc = rc ? rc : image_of(r, s, &source, a, &bytes);
  rc = rc ? rc : gen_plan_make(s->g, config, a, &plan, &r->e);
  rc = rc ? rc : rt_loaded_new(s->d, str_text(bytes), bytes->n, r->t, plan, out, &r->e);
  str_clear(&text);
  return rc;
}

static int outputs(run *r, side *s, rt_loaded *l, size_t i, str *out) {
  return bench_outputs(s->bench, l, &s->bench->cases[i], out, &r->e);
}

/* ---- what differs ---- */

/* steps between two floating-point numbers of one type */
static double steps_between(dtype t, uint64_t a, uint64_t b) {
  unsigned bits = 8 * (unsigned)dtype_nbytes(t);
  int64_t sign = (int64_t)1 << (bits - 1), x = (int64_t)a, y = (int64_t)b;
  if (bits < 64) {
    x = x & sign ? sign - x : x;
    y = y & sign ? sign - y : y;
  }
  return fabs((double)x - (double)y);
}

static void describe(run *r, size_t i, const str *x, const str *y) {
  const gen_data *data = r->sides[0].bench->cases[i].data;
  size_t at = 0;
  for (size_t arg = 0; arg < r->t->n_args; arg++) {
    const gen_datum *m = &data->args[arg];
    size_t size = dtype_nbytes(m->type), n = 0, first = 0;
    double most = 0;
    if (r->t->args[arg].dir != GEN_OUT && r->t->args[arg].dir != GEN_INOUT) {
      continue;
    }
    uint64_t a = 0, b = 0, a0 = 0, b0 = 0;
    for (size_t k = 0; k < m->count; k++, at += size) {
      memcpy(&a, x->p + at, size);
      memcpy(&b, y->p + at, size);
      if (a != b) {
        first = n++ ? first : k;
        a0 = n == 1 ? a : a0;
        b0 = n == 1 ? b : b0;
        double apart = dtype_is_float(m->type) ? steps_between(m->type, a, b) : 0;
        most = apart > most ? apart : most;
      }
    }
    if (n) {
      printf("    %s: %zu of %llu differ, by at most %.0f ulp; [%zu] is %.9g and %.9g\n",
             r->t->args[arg].name, n, (unsigned long long)m->count, most, first,
             dtype_decode(m->type, a0), dtype_decode(m->type, b0));
    }
  }
}

static void say(run *r, const gen_config *config, const char *what) {
  str text = {0};
  gen_config_text(r->t, config, &text);
  printf("  %s %s --config %s: %s\n", r->t->name, r->problem, str_text(&text), what);
  str_clear(&text);
}

/* Runs the case on the emulated device; loads the configuration at the first one. */
static int emulate(run *r, const gen_config *config, rt_loaded **l, size_t i, arena *a, str *out) {
  side *s = &r->sides[1];
  int rc = *l ? 0 : load(r, s, config, a, l);
  return rc ? rc : outputs(r, s, *l, i, out);
}

static int record_case(run *r, const gen_config *config, rt_loaded *l[2], size_t i, arena *a,
                       tally *sum) {
  char key[HASH_TEXT];
  str y = {0};
  TRY(key_of(r, config, i, key));
  sum->same++;
  if (find_answer(r, key)) {
    return 0;
  }
  int rc = emulate(r, config, &l[1], i, a, &y);
  rc = rc ? rc : append_answer(r, key, &y);
  str_clear(&y);
  return rc;
}

static int compare_case(run *r, const gen_config *config, rt_loaded *l[2], size_t i, arena *a,
                        tally *sum) {
  char key[HASH_TEXT];
  str x = {0}, again = {0}, y = {0};
  TRY(key_of(r, config, i, key));
  const char *known = find_answer(r, key);
  if (!known && (r->big || now_sec() > r->until)) {
    sum->skipped++;
    return 0;
  }
  int rc = l[0] ? 0 : load(r, &r->sides[0], config, a, &l[0]);
  rc = rc ? rc : outputs(r, &r->sides[0], l[0], i, &x);
  if (!rc && agrees(known, &x)) {
    sum->same++;
    str_clear(&x);
    return 0;
  }
  rc = rc ? rc : outputs(r, &r->sides[0], l[0], i, &again);
  bool varies = !rc && !bench_outputs_equal(&x, &again);
  rc = rc || (varies && known) ? rc : emulate(r, config, &l[1], i, a, &y);
  if (!rc && bench_outputs_equal(&x, &y)) {
    sum->same++;
  } else if (varies) {
    sum->varies++;
  } else if (!rc) {
    sum->other++;
    say(r, config, "differs");
    describe(r, i, &x, &y);
  }
  str_clear(&x);
  str_clear(&again);
  str_clear(&y);
  return rc;
}

static void compare_config(run *r, const gen_config *config, tally *sum) {
  rt_loaded *l[2] = {NULL, NULL};
  arena a = {0};
  err_clear(&r->e);
  int rc = gen_config_check(r->sides[0].g, config, &r->e);
  for (size_t i = 0; i < r->sides[0].bench->n_cases && !rc; i++) {
    rc = r->record ? record_case(r, config, l, i, &a, sum) : compare_case(r, config, l, i, &a, sum);
  }
  if (rc) {
    sum->failed++;
    say(r, config, r->e.message);
  }
  rt_loaded_free(l[0]);
  rt_loaded_free(l[1]);
  arena_clear(&a);
}

/* ---- problems, families ---- */

static void compare_points(run *r, tally *sum) {
  gen_config config;
  gen_space *space;
  need(r, gen_space_new(r->sides[1].g, &space, &r->e));
  gen_config_default(r->t, &config);
  compare_config(r, &config, sum);
  for (size_t i = 0; i < r->sample && now_sec() < r->until && gen_space_count(space); i++) {
    gen_space_at(space, draw(r, gen_space_count(space)), &config);
    compare_config(r, &config, sum);
  }
  gen_space_free(space);
}

static bool too_big(run *r, gen_instance *g) {
  arena a = {0};
  const gen_plan *plan;
  need(r, gen_reference_plan(g, &a, &plan, &r->e));
  bool is = plan->flops > r->work || plan->bytes > r->work;
  arena_clear(&a);
  return is;
}

static void open_bench(run *r, side *s) {
  need(r, rt_harness_new(s->d, r->c, s->checker, r->t, s->g, &s->bench, &r->e));
  for (size_t arg = 0; arg < r->t->n_args; arg++) { /* nothing is filled yet */
    s->bench->filled[arg] = (gen_datum){.count = UINT64_MAX};
  }
}

static void compare_problem(run *r, const char *words, tally *sum) {
  gen_problem p;
  r->problem = words;
  need(r, gen_problem_parse(r->t, words, &p, &r->e));
  for (int i = 0; i < 2; i++) {
    side *s = &r->sides[i];
    need(r, gen_instance_new(r->t, &p, s->limits, RT_NUMBERS, &s->g, &r->e));
  }
  char seed[HASH_TEXT]; /* the points do not depend on the other problems */
  hash_bytes(words, strlen(words), seed);
  r->random = strtoull(seed + 16, NULL, 16);
  r->big = too_big(r, r->sides[0].g);
  if ((r->big && (r->record || !r->n_answers)) || now_sec() > r->until) {
    sum->skipped++;
  } else {
    open_bench(r, &r->sides[0]);
    open_bench(r, &r->sides[1]);
    compare_points(r, sum);
    rt_harness_free(r->sides[0].bench);
    rt_harness_free(r->sides[1].bench);
  }
  gen_instance_free(r->sides[0].g);
  gen_instance_free(r->sides[1].g);
}

static void add(tally *to, const tally *from) {
  to->same += from->same;
  to->other += from->other;
  to->varies += from->varies;
  to->skipped += from->skipped;
  to->failed += from->failed;
}

static void compare_family(run *r, const char *name, tally *all) {
  tally sum = {0};
  need(r, gen_open(NULL, name, &r->t, &r->e));
  for (size_t i = 0; i < r->t->n_sizes_emu; i++) {
    compare_problem(r, r->t->sizes_emu[i], &sum);
  }
  for (size_t i = 0; i < r->t->n_sizes_test; i++) {
    compare_problem(r, r->t->sizes_test[i], &sum);
  }
  printf("%-12s %zu the same, %zu different, %zu vary on %s itself, %zu failed, %zu skipped\n",
         name, sum.same, sum.other, sum.varies, r->sides[0].d->info.name, sum.failed, sum.skipped);
  fflush(stdout);
  add(all, &sum);
  gen_close(r->t);
}

static void open_side(run *r, side *s, const char *name) {
  need(r, rt_device_open(name, &s->d, &r->e));
  rt_numbers(&s->d->info, s->limits);
  need(r, rt_checker_new(s->d, r->c, &s->checker, &r->e));
  if (rt_emu_is(s->d)) {
    rt_emu_set_checks(s->d, false);
  }
}

static void close_side(side *s) {
  for (size_t i = 0; i < s->n_images; i++) {
    str_clear(&s->images[i].bytes);
  }
  free(s->images);
  rt_checker_free(s->checker);
  s->d->ops->close(s->d);
}

int main(int argc, char **argv) {
  run r = {.sample = 3, .work = 1 << WORK_LOG2};
  arena a = {0};
  const char *names[2] = {"0", "emu"}, *const * families;
  const char *chosen[64];
  size_t n = 0, n_families;
  double seconds = 600;
  tally all = {0};
  setvbuf(stdout, NULL, _IOLBF, 0); /* lines appear at once, even if time runs out */
  for (int i = 1; i < argc; i++) {
    bool valued = i + 1 < argc;
    if (!strcmp(argv[i], "--device") && valued) {
      names[0] = argv[++i];
    } else if (!strcmp(argv[i], "--against") && valued) {
      names[1] = argv[++i];
    } else if (!strcmp(argv[i], "--sample") && valued) {
      r.sample = (size_t)strtoul(argv[++i], NULL, 10);
    } else if (!strcmp(argv[i], "--seconds") && valued) {
      seconds = strtod(argv[++i], NULL);
    } else if (!strcmp(argv[i], "--work") && valued) {
      r.work = exp2(strtod(argv[++i], NULL));
    } else if (!strcmp(argv[i], "--answers") && valued) {
      r.path = argv[++i];
    } else if (!strcmp(argv[i], "--record")) {
      r.record = true;
    } else if (argv[i][0] == '-' || n == 64) {
      fprintf(stderr, "usage: bench_same [--device 0] [--against emu] [--sample N] [--seconds S] "
                      "[--work LOG2] [--answers FILE [--record]] [FAMILY...]\n");
      return 2;
    } else {
      chosen[n++] = argv[i];
    }
  }
  if (r.record) {
    names[0] = names[1];
  }
  if (r.path) {
    read_answers(&r);
  }
  need(&r, rt_compiler_open(&r.c, &r.e));
  need(&r, gen_families(NULL, &a, &families, &n_families, &r.e));
  open_side(&r, &r.sides[0], names[0]);
  open_side(&r, &r.sides[1], names[1]);
  size_t n_all = n ? n : n_families;
  double start = now_sec();
  for (size_t i = 0; i < n_all; i++) { /* an equal share of the time for each */
    r.until = start + seconds * (double)(i + 1) / (double)n_all;
    compare_family(&r, n ? chosen[i] : families[i], &all);
  }
  printf("%s against %s: %zu the same, %zu different, %zu vary, %zu failed\n", names[0], names[1],
         all.same, all.other, all.varies, all.failed);
  close_side(&r.sides[0]);
  close_side(&r.sides[1]);
  rt_compiler_close(r.c);
  arena_clear(&a);
  free(r.answers);
  return all.other || all.failed;
}
