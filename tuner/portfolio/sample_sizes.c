/* sample_sizes.c -- sizes drawn at random from ranges, to make a portfolio for and to test it
 * on. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "sizes.h"

typedef struct axis { /* a field and what it is drawn from */
  const char *name;
  const char *values[64]; /* a list; n 0: the range */
  size_t n;
  int64_t least, most;
} axis;

typedef struct drawer {
  gen_template *t;
  axis axes[GEN_MAX_FIELDS];
  size_t n_axes;
  uint64_t state;
  str text;
} drawer;

/* src: Vigna, xorshift64* */
static uint64_t draw(drawer *d) {
  d->state ^= d->state >> 12;
  d->state ^= d->state << 25;
  d->state ^= d->state >> 27;
  return d->state * UINT64_C(2685821657736338717);
}

static double uniform(drawer *d) {
  return (double)(draw(d) >> 11) * 0x1p-53;
}

/* ---- the grid ------------------------------------------------------------------------------- */

static int read_range(axis *x, char *dots, err *e) {
  char *from = (char *)x->values[0], *to = dots + 2;
  *dots = 0;
  if (!text_integer(from, &x->least) || !text_integer(to, &x->most) || x->least < 1 ||
      x->most < x->least) {
    return err_set(e, ERR_USAGE, "--grid: %s: a range is LEAST..MOST, such as 16..8192, from 1 on",
                   x->name);
  }
  x->n = 0;
  return 0;
}

static int read_axis(drawer *d, char *word, err *e) {
  char *rest = strchr(word, '=');
  axis *x = &d->axes[d->n_axes];
  if (!rest || d->n_axes == GEN_MAX_FIELDS) {
    return err_set(e, ERR_USAGE, "--grid: '%s' is not FIELD=VALUES, such as m=16..8192", word);
  }
  *rest++ = 0;
  *x = (axis){.name = word};
  d->n_axes++;
  for (char *v; (v = strsep(&rest, ","));) {
    if (x->n == sizeof x->values / sizeof *x->values) {
      return err_set(e, ERR_USAGE, "--grid: %s has more than %zu values", word, x->n);
    }
    x->values[x->n++] = v;
  }
  char *dots = strstr((char *)x->values[0], "..");
  return dots && x->n == 1 ? read_range(x, dots, e) : 0;
}

static int read_grid(drawer *d, char *text, err *e) {
  for (char *word; (word = strsep(&text, " \t\n"));) {
    if (*word && strcmp(word, d->t->name) != 0) {
      TRY(read_axis(d, word, e));
    }
  }
  return d->n_axes ? 0 : err_set(e, ERR_USAGE, "--grid names no field: --grid \"m=16..8192 ...\"");
}

/* ---- problems ------------------------------------------------------------------------------- */

/* To a multiple of this, or of an eighth of the power of two below where that is less. */
static int64_t round_to(int64_t most, int64_t v) {
  int64_t step = 1;
  while (step <= v / 16 && step < most) {
    step *= 2;
  }
  return (v + step / 2) / step * step;
}

/* step 0: any number */
static int64_t draw_number(drawer *d, const axis *x, int64_t step) {
  const double low = log((double)x->least), high = log((double)x->most + 1);
  int64_t v = (int64_t)exp(low + uniform(d) * (high - low));
  v = step ? round_to(step, v) : v;
  return v < x->least ? x->least : v > x->most ? x->most : v;
}

static int draw_problem(drawer *d, bool rounded, gen_problem *p, err *e) {
  static const int64_t steps[] = {4, 16, 64, 1024};
  const int64_t step = rounded ? steps[draw(d) % (sizeof steps / sizeof *steps)] : 0;
  str_reset(&d->text);
  for (size_t i = 0; i < d->n_axes; i++) {
    const axis *x = &d->axes[i];
    str_addf(&d->text, "%s=", x->name);
    if (x->n) {
      str_addf(&d->text, "%s ", x->values[draw(d) % x->n]);
    } else {
      str_addf(&d->text, "%lld ", (long long)draw_number(d, x, step));
    }
  }
  memset(p, 0, sizeof *p);
  return gen_problem_parse(d->t, str_text(&d->text), p, e);
}

static int draw_all(drawer *d, size_t n, bool rounded, sizes *out, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(draw_problem(d, rounded && i % 2, &out->p[out->n], e));
    out->n += !sizes_hold(d->t, out, &out->p[out->n]);
  }
  return 0;
}

int sample_sizes(gen_template *t, const char *grid, size_t n, uint64_t seed, bool rounded, arena *a,
                 sizes *out, err *e) {
  drawer d = {.t = t, .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
  char *copy = arena_text(a, grid);
  *out = (sizes){.p = ARENA_ARRAY(a, gen_problem, n + 1)};
  TRY(copy && out->p ? 0 : err_nomem(e));
  int rc = read_grid(&d, copy, e);
  rc = rc ? rc : draw_all(&d, n, rounded, out, e);
  str_clear(&d.text);
  return rc;
}
