#define _GNU_SOURCE
#include "checker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, KEPT_MOST = 8 };

typedef struct kept_image {
  char key[HASH_TEXT];
  str bytes;
} kept_image;

struct rt_checker {
  rt_device *d;
  rt_module *module;
  rt_function *fill, *generate, *compare, *sum, *differ, *canaries, *records;
  kept_image kept[KEPT_MOST];
  size_t n_kept; /* in all; the oldest of KEPT_MOST is replaced */
};

/* ---- compiling ----------------------------------------------------------------------------- */

/* The constants that host and kernels share, then the kernels. */
static void fill_check_source(str *out) {
#define DEFINE(name, nbytes, cuda, kind)                                                           \
  str_addf(out, "#define DTYPE_%s %d\n", #name, DTYPE_##name);
  DTYPE_LIST(DEFINE)
#undef DEFINE
  str_addf(out, "#define GEN_FILL_UNIFORM %d\n", GEN_FILL_UNIFORM);
  str_addf(out, "#define GEN_FILL_NORMAL %d\n", GEN_FILL_NORMAL);
  str_addf(out, "#define GEN_FILL_CONSTANT %d\n", GEN_FILL_CONSTANT);
  str_addf(out, "#define GEN_FILL_BITS %d\n", GEN_FILL_BITS);
  str_addf(out, "#define GEN_FILL_RAMP %d\n", GEN_FILL_RAMP);
  str_addf(out, "#define GEN_FILL_SORTED %d\n", GEN_FILL_SORTED);
#define DEFINE(name, ...) str_addf(out, "#define GEN_%s %d\n", #name, GEN_##name);
  GEN_PATTERN_LIST(DEFINE)
  GEN_PATTERN_NUMBERS(DEFINE)
#undef DEFINE
  for (const gen_file *f = rt_fill_check; f->name; f++) {
    str_addf(out, "#line 1 \"%s\"\n", f->name);
    str_add_n(out, f->text, f->n);
  }
}

static int load(rt_checker *k, const rt_image *image, err *e) {
  const str *bytes = k->d->info.format == RT_CUBIN ? &image->cubin : &image->ptx;
  const struct {
    const char *name;
    rt_function **function;
  } list[] = {{"fill", &k->fill},
              {"generate", &k->generate},
              {"compare", &k->compare},
              {"sum_errors", &k->sum},
              {"find_differences", &k->differ},
              {"check_canaries", &k->canaries},
              {"sum_records", &k->records}};
  TRY(k->d->ops->module_load(k->d, str_text(bytes), bytes->n, &k->module, e));
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    TRY(k->d->ops->function(k->d, k->module, list[i].name, list[i].function, e));
  }
  return 0;
}

static int compile_and_load(rt_checker *k, rt_compiler *c, err *e) {
  rt_image image;
  auto_arena a = {0};
  auto_str text = {0};
  rt_image_init(&image);
  fill_check_source(&text);
  rt_source source = {.text = str_text(&text), .arch = k->d->info.arch};
  int rc = text.failed ? err_nomem(e) : rt_compile(c, &source, &a, &image, e);
  rc = rc ? rc : load(k, &image, e);
  rt_image_clear(&image);
  return rc;
}

int rt_checker_new(rt_device *d, rt_compiler *c, rt_checker **out, err *e) {
  *out = NULL;
  rt_checker *k = calloc(1, sizeof *k);
  if (!k) {
    return err_nomem(e);
  }
  k->d = d;
  int rc = compile_and_load(k, c, e);
  if (rc) {
    rt_checker_free(k);
    return rc;
  }
  *out = k;
  return 0;
}

void rt_checker_free(rt_checker *k) {
  if (k) {
    if (k->module) {
      k->d->ops->module_unload(k->d, k->module);
    }
    for (size_t i = 0; i < KEPT_MOST; i++) {
      str_clear(&k->kept[i].bytes);
    }
    free(k);
  }
}

static int compile_and_keep(rt_checker *k, rt_compiler *c, const rt_source *s, const str **bytes,
                            err *e) {
  rt_image image;
  auto_arena a = {0};
  rt_image_init(&image);
  const int rc = rt_compile(c, s, &a, &image, e);
  if (!rc) {
    kept_image *to = &k->kept[k->n_kept++ % KEPT_MOST];
    str *from = k->d->info.format == RT_CUBIN ? &image.cubin : &image.ptx;
    str_clear(&to->bytes);
    to->bytes = *from;
    *from = (str){0};
    memcpy(to->key, image.key, sizeof to->key);
    *bytes = &to->bytes;
  }
  rt_image_clear(&image);
  return rc;
}

int rt_checker_compile(rt_checker *k, rt_compiler *c, const rt_source *s, const str **bytes,
                       err *e) {
  char key[HASH_TEXT];
  rt_image_key(c, s, key);
  for (size_t i = 0; i < KEPT_MOST; i++) {
    if (!strcmp(k->kept[i].key, key)) {
      *bytes = &k->kept[i].bytes;
      return 0;
    }
  }
  return compile_and_keep(k, c, s, bytes, e);
}

/* ---- launching ----------------------------------------------------------------------------- */

/* Blocks for n threads, at most as many as fill the device: each thread strides over the rest. */
static int launch(rt_checker *k, rt_function *f, uint64_t n, void **args, err *e) {
  uint64_t blocks = (n + BLOCK - 1) / BLOCK, most = 8 * (uint64_t)k->d->info.sms;
  const uint32_t grid[3] = {(uint32_t)(blocks < most ? blocks : most), 1, 1};
  const uint32_t block[3] = {BLOCK, 1, 1};
  return n ? k->d->ops->launch(k->d, f, grid, block, 0, NULL, args, e) : 0;
}

typedef struct filling { /* as in fill_check.cu */
  int32_t type, kind;
  uint64_t bits, span;
  double offset, scale;
  uint64_t seed;
} filling;

/* A double as an integer, clamped to 64 bits of the type's signedness. */
static uint64_t whole(dtype t, double value) {
  if (dtype_is_signed(t)) {
    return value >= 0x1p63   ? (uint64_t)INT64_MAX
           : value < -0x1p63 ? (uint64_t)INT64_MIN
                             : (uint64_t)(int64_t)value;
  }
  return value >= 0x1p64 ? UINT64_MAX : value < 0 ? 0 : (uint64_t)value;
}

static filling make_filling(const gen_datum *m, uint64_t seed) {
  filling f = {.type = (int32_t)m->type, .kind = (int32_t)m->fill, .seed = seed};
  switch (m->fill) {
  case GEN_FILL_FILE:
  case GEN_FILL_LUA: break; /* the host's */
  case GEN_FILL_MATRIX:
  case GEN_FILL_PATTERN: break;
  case GEN_FILL_CONSTANT: f.bits = dtype_encode(m->type, m->a); break;
  case GEN_FILL_NORMAL: f.offset = m->a, f.scale = m->b; break;
  case GEN_FILL_BITS: f.span = (uint64_t)m->a; break;
  case GEN_FILL_RAMP:
    f.offset = m->a, f.scale = m->b;
    f.bits = whole(DTYPE_i64, m->a), f.span = whole(DTYPE_i64, m->b);
    break;
  case GEN_FILL_SORTED:
  case GEN_FILL_UNIFORM:
    f.offset = m->a, f.scale = m->b - m->a;
    f.bits = whole(m->type, m->a);
    f.span = whole(m->type, m->b) - f.bits + 1;
    break;
  }
  return f;
}

typedef struct generating { /* as in generate.cu */
  uint64_t seed;
  gen_generator g;
  int32_t type, n_parts;
} generating;

static int generate(rt_checker *k, const gen_datum *datum, uint64_t seed, rt_ptr p, err *e) {
  generating f = {.seed = seed, .g = datum->generator, .type = (int32_t)datum->type};
  uint64_t n = datum->count;
  void *args[] = {&p, &n, &f};
  f.n_parts = (int32_t)strlen(f.g.parts);
  return launch(k, k->generate, n, args, e);
}

int rt_checker_fill(rt_checker *k, const gen_datum *datum, uint64_t seed, rt_ptr p, err *e) {
  if (datum->fill == GEN_FILL_PATTERN) {
    return generate(k, datum, seed, p, e);
  }
  filling f = make_filling(datum, seed);
  uint64_t n = datum->count;
  void *args[] = {&p, &n, &f};
  return launch(k, k->fill, n, args, e);
}

int rt_checker_compare(rt_checker *k, const rt_comparison *c, rt_ptr finding, err *e) {
  rt_comparison v = *c;
  int32_t type = (int32_t)v.type, poisoned = v.poisoned, bound_type = (int32_t)v.bound_type;
  void *args[] = {&v.x,     &v.ref,      &v.count,  &type,     &v.tolerance_abs, &v.tolerance_rel,
                  &v.bound, &bound_type, &v.poison, &poisoned, &finding};
  return launch(k, k->compare, v.count, args, e);
}

int rt_checker_sum(rt_checker *k, const rt_comparison *c, rt_ptr finding, err *e) {
  rt_comparison v = *c;
  int32_t type = (int32_t)v.type, poisoned = v.poisoned;
  void *args[] = {&v.x, &v.ref, &v.count, &type, &v.poison, &poisoned, &finding};
  return launch(k, k->sum, v.count, args, e);
}

static double sum_of(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

double rt_sums_error(const rt_finding *f, gen_error_kind kind, uint64_t count, double abs,
                     double rel) {
  const double diff = sqrt(sum_of(f->last)), ref = sqrt(sum_of(f->worst));
  const double allowed =
      kind == GEN_ERROR_NORM2 ? rel * ref : abs / pow(10, rel / 20) * sqrt((double)count);
  return f->n ? INFINITY : diff == 0 ? 0 : allowed > 0 ? diff / allowed : INFINITY;
}

int rt_checker_records(rt_checker *k, const rt_comparison *c, uint64_t nbytes, rt_ptr finding,
                       err *e) {
  rt_comparison v = *c;
  uint64_t n = v.count * dtype_nbytes(v.type) / nbytes;
  void *args[] = {&v.x, &v.ref, &n, &nbytes, &finding};
  return launch(k, k->records, n, args, e);
}

int rt_checker_differ(rt_checker *k, rt_ptr a, rt_ptr b, uint64_t nbytes, rt_ptr finding, err *e) {
  void *args[] = {&a, &b, &nbytes, &finding};
  return launch(k, k->differ, nbytes / 8 + nbytes % 8, args, e);
}

int rt_checker_canaries(rt_checker *k, rt_ptr zones, size_t n, uint8_t canary, rt_ptr findings,
                        err *e) {
  uint32_t byte = canary;
  void *args[] = {&zones, &byte, &findings};
  const uint32_t grid[3] = {(uint32_t)n, 1, 1}, block[3] = {BLOCK, 1, 1};
  return n ? k->d->ops->launch(k->d, k->canaries, grid, block, 0, NULL, args, e) : 0;
}
