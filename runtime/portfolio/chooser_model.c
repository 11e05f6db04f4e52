#include <math.h>
#include <string.h>

#include "chooser_model.h"

/* By how much the sum of costs is wrong, a logarithm: as a rule, and at most. */
static const double CHOOSER_OFF = 0.3, CHOOSER_OFF_MOST = 3;

/* The logarithm of a time that was measured nowhere near grows by this much per distance. */
static const double CHOOSER_DOUBT = 0.5;

/* libtuned is compiled with -fopenmp-simd; other compilers may not know the pragma. */
#ifdef CHOOSER_EXPORTED
#define CHOOSER_SIMD(text)
#else
#define CHOOSER_SIMD(text) _Pragma(text)
#endif

static double chooser_square(double x) {
  return x * x;
}

/* ---- costs ---------------------------------------------------------------------------------- */

/* Launches that set, scale or pack an operand take no shared memory. */
void chooser_add_launch(chooser_work *w, double blocks, double threads, double smem,
                        const double *each) {
  w->launches += blocks > 0;
  if (blocks > 0 &&
      (!(w->blocks > 0) ||
       (smem != w->smem ? smem > w->smem : blocks * threads > w->blocks * w->threads))) {
    w->blocks = blocks;
    w->threads = threads;
    w->smem = smem;
    memcpy(w->each, each, sizeof w->each);
  }
}

static double chooser_rounds(const chooser_costs *c, double blocks) {
  return ceil(blocks / (c->at_once * c->sms));
}

/* Where the template does not count the work of a block, the fields stand for its length:
 * operations per block are fewer where tiles hang over edges. */
void chooser_cost_terms(const chooser_fields *fields, const chooser_costs *c, const int64_t *values,
                        const chooser_work *w, double *x) {
  const double one = ceil(w->blocks / c->sms), rounds = chooser_rounds(c, w->blocks);
  size_t n = 8;
  memset(x, 0, CHOOSER_COSTS * sizeof *x);
  x[0] = w->launches;
  x[1] = one;
  x[2] = rounds;
  x[3] = one * (w->flops / w->blocks);
  x[4] = rounds * (w->flops / w->blocks);
  x[5] = w->flops;
  x[6] = w->bytes;
  x[7] = w->blocks;
  for (size_t i = 0; i < fields->n && n + 1 < CHOOSER_PLAIN; i++) {
    if (!(fields->names >> i & 1)) {
      x[n++] = one * (double)values[i];
      x[n++] = rounds * (double)values[i];
    }
  }
  for (size_t i = 0; i < CHOOSER_WORK; i++) {
    x[CHOOSER_PLAIN + 3 * i] = one * w->each[i];
    x[CHOOSER_PLAIN + 3 * i + 1] = rounds * w->each[i];
    x[CHOOSER_PLAIN + 3 * i + 2] = w->blocks * w->each[i];
  }
}

double chooser_cost_sum(const chooser_fields *fields, const chooser_costs *c, const int64_t *values,
                        const chooser_work *w) {
  double x[CHOOSER_COSTS], sum = 0;
  chooser_cost_terms(fields, c, values, w, x);
  for (size_t i = 0; i < CHOOSER_COSTS; i++) {
    sum += c->cost[i] * x[i];
  }
  return sum;
}

/* ---- distances ------------------------------------------------------------------------------ */

void chooser_octaves(const chooser_fields *fields, const int64_t *values, double *octaves) {
  for (size_t i = 0; i < fields->n; i++) {
    octaves[i] = fields->names >> i & 1 ? (double)values[i] : log2(fmax(1, (double)values[i]));
  }
}

double chooser_field_distance(const chooser_fields *fields, const double *octaves,
                              const double *other) {
  double names = 0, numbers = 0;
  for (size_t i = 0; i < fields->n; i++) {
    const double d = octaves[i] - other[i];
    if (fields->names >> i & 1) {
      names += d != 0;
    } else {
      numbers += d * d;
    }
  }
  return names / chooser_square(CHOOSER_NAME_SCALE) + numbers / chooser_square(CHOOSER_FIELD_SCALE);
}

static void chooser_add_distances(bool name, const chooser_levels *octaves, float here, size_t n,
                                  float *out) {
  const float number = (float)(1 / chooser_square(CHOOSER_FIELD_SCALE));
  const float other = (float)(1 / chooser_square(CHOOSER_NAME_SCALE));
  const float from = octaves->from - here, step = octaves->step;
  const uint16_t *level = octaves->level;
  if (name) {
    CHOOSER_SIMD("omp simd")
    for (size_t i = 0; i < n; i++) {
      out[i] += from + (float)level[i] != 0 ? other : 0;
    }
  } else {
    CHOOSER_SIMD("omp simd")
    for (size_t i = 0; i < n; i++) {
      const float x = from + step * (float)level[i];
      out[i] += number * x * x;
    }
  }
}

/* Fields that are the same at all sizes are as far from all of them as from the first. */
void chooser_size_distances(const chooser_sizes *s, const int64_t *values, float *out) {
  double here[CHOOSER_FIELDS], first[CHOOSER_FIELDS];
  if (!s->n) {
    return;
  }
  chooser_octaves(&s->fields, values, here);
  memcpy(first, s->first, s->fields.n * sizeof *first);
  for (size_t i = 0; i < s->n_varying; i++) {
    first[s->field[i]] = here[s->field[i]];
  }
  const float same = (float)chooser_field_distance(&s->fields, here, first);
  for (size_t i = 0; i < s->n; i++) {
    out[i] = same;
  }
  for (size_t i = 0; i < s->n_varying; i++) {
    const size_t f = s->field[i];
    chooser_add_distances(s->fields.names >> f & 1, &s->octaves[i], (float)here[f], s->n, out);
  }
}

double chooser_thread_length(double threads) {
  return log2(threads) / CHOOSER_THREADS_SCALE;
}

chooser_load chooser_load_of(const chooser_costs *c, double flops, double blocks) {
  const double rounds = chooser_rounds(c, blocks);
  chooser_load load;
  load.length = log2(fmax(1, flops) / blocks) / CHOOSER_LENGTH_SCALE;
  load.tail = log2(rounds * c->at_once * c->sms / blocks) / CHOOSER_TAIL_SCALE;
  return load;
}

double chooser_load_distance(const chooser_load *a, const chooser_load *b) {
  return chooser_square(a->length - b->length) + chooser_square(a->tail - b->tail);
}

/* The rational quadratic: it needs no exponential, and of two far sizes the farther one still
 * counts less. */
double chooser_covariance(double distance) {
  return CHOOSER_OFF * CHOOSER_OFF / (1 + distance / 2);
}

/* ---- times ---------------------------------------------------------------------------------- */

static void chooser_variant_distances(const chooser_rows *r, double threads, const uint16_t *differ,
                                      float *out) {
  const float length = (float)chooser_thread_length(threads);
  const float each = (float)(1 / chooser_square(CHOOSER_PARAMETER_SCALE));
  CHOOSER_SIMD("omp simd")
  for (size_t i = 0; i < r->n_variants; i++) {
    const float off = r->threads[i] - length;
    out[i] = each * (float)differ[i] + off * off;
  }
}

/* Of the rows, by the fields and the variant. */
static void chooser_row_distances(const chooser_rows *r, const chooser_work *w,
                                  const uint16_t *differ, const float *sizes, float *out) {
  float variants[CHOOSER_SIZES];
  size_t next = 0;
  chooser_variant_distances(r, w->threads, differ, variants);
  for (size_t i = 0; i < r->n; i++) {
    next += r->size[i] / CHOOSER_NEXT;
    out[i] = sizes[r->size[i] % CHOOSER_NEXT] + variants[next - 1];
  }
}

/* The sum over the rows, to whose distances that of the load is added. As chooser_covariance;
 * single precision is a hundred times as good as the weights' five digits. */
static double chooser_sum(const chooser_rows *r, const chooser_load *load, float *distance) {
  const uint16_t *length = r->length.level, *tail = r->tail.level;
  const float *weight = r->weight;
  const float from_x = r->length.from - (float)load->length, step_x = r->length.step;
  const float from_y = r->tail.from - (float)load->tail, step_y = r->tail.step;
  float sum = 0;
  CHOOSER_SIMD("omp simd reduction(+ : sum)")
  for (size_t i = 0; i < r->n; i++) {
    const float x = from_x + step_x * (float)length[i], y = from_y + step_y * (float)tail[i];
    const float d = distance[i] + x * x + y * y;
    distance[i] = d;
    sum += weight[i] / (1 + d / 2);
  }
  return CHOOSER_OFF * CHOOSER_OFF * (double)sum;
}

/* Of two variants that wait for the host alike, the faster one is still the better one. */
static double chooser_with_launches(const chooser_work *w, double sec) {
  return w->launches > 1 ? fmax(sec, CHOOSER_LAUNCH * w->launches + sec / 1000) : sec;
}

/* rows: of the rows, their distances */
static double chooser_ask(const chooser_fields *fields, const chooser_fit *fit,
                          const int64_t *values, const chooser_work *w, const uint16_t *differ,
                          const float *distances, float *rows) {
  double off = 0;
  if (!(w->blocks > 0)) {
    return INFINITY;
  }
  if (fit->rows.n) {
    const chooser_load load = chooser_load_of(&fit->costs, w->flops, w->blocks);
    chooser_row_distances(&fit->rows, w, differ, distances, rows);
    off = fmax(-CHOOSER_OFF_MOST, fmin(CHOOSER_OFF_MOST, chooser_sum(&fit->rows, &load, rows)));
  }
  const double sum = chooser_cost_sum(fields, &fit->costs, values, w);
  return sum > 0 ? chooser_with_launches(w, sum * exp(off)) : INFINITY;
}

double chooser_seconds(const chooser_fields *fields, const chooser_fit *fit, const int64_t *values,
                       const chooser_work *w, const uint16_t *differ, const float *distances) {
  float rows[CHOOSER_SIZES];
  return chooser_ask(fields, fit, values, w, differ, distances, rows);
}

double chooser_cautious_seconds(const chooser_fields *fields, const chooser_fit *fit,
                                const int64_t *values, const chooser_work *w,
                                const uint16_t *differ, const float *distances) {
  float rows[CHOOSER_SIZES], least = INFINITY;
  const double sec = chooser_ask(fields, fit, values, w, differ, distances, rows);
  if (!fit->rows.n || !(w->blocks > 0)) {
    return sec;
  }
  CHOOSER_SIMD("omp simd reduction(min : least)")
  for (size_t i = 0; i < fit->rows.n; i++) {
    least = rows[i] < least ? rows[i] : least;
  }
  return sec * exp(CHOOSER_DOUBT * (double)least);
}
