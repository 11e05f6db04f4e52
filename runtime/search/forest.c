#include "forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SPLIT = 3 };
static const double PARAMS = 0.7;

typedef struct growth { /* one tree while it grows */
  history *h;
  const float *target;
  forest_node *nodes;
  size_t n_nodes;
} growth;

typedef struct cut {
  double gain;
  size_t param, value; /* values up to this one go left */
} cut;

int forest_init(forest *f, size_t n_trees, err *e) {
  *f = (forest){.n_trees = n_trees, .trees = calloc(n_trees, sizeof *f->trees)};
  return f->trees ? 0 : err_nomem(e);
}

void forest_clear(forest *f) {
  for (size_t i = 0; f->trees && i < f->n_trees; i++) {
    free(f->trees[i]);
  }
  free(f->trees);
  free(f->rows);
}

static bool reserve(forest *f, size_t n) {
  if (n <= f->capacity) {
    return true;
  }
  size_t capacity = 2 * n;
  bool ok = true;
  for (size_t i = 0; i < f->n_trees; i++) {
    free(f->trees[i]);
    f->trees[i] = malloc((2 * capacity + 1) * sizeof **f->trees);
    ok = ok && f->trees[i];
  }
  free(f->rows);
  f->rows = malloc(capacity * sizeof *f->rows);
  f->capacity = ok && f->rows ? capacity : 0;
  return f->capacity != 0;
}

typedef struct histogram { /* of a parameter's values; longer lists share bins */
  double sum[1024];
  size_t count[1024];
  size_t bin, n; /* values a bin; bins */
} histogram;

static void count(const growth *g, const size_t *rows, size_t n, size_t p, histogram *h) {
  enum { MAX = sizeof h->sum / sizeof *h->sum };
  size_t n_values = g->h->space->n_values[p];
  h->bin = (n_values + MAX - 1) / MAX;
  h->n = (n_values + h->bin - 1) / h->bin;
  memset(h->sum, 0, h->n * sizeof *h->sum);
  memset(h->count, 0, h->n * sizeof *h->count);
  for (size_t i = 0; i < n; i++) {
    size_t b = g->h->coordinates[rows[i]][p] / h->bin;
    h->sum[b] += g->target[rows[i]];
    h->count[b]++;
  }
}

/* A random place between two values that were seen: nothing is known of those in between. */
static size_t border(const growth *g, const histogram *h, size_t b) {
  size_t next = b + 1;
  while (!h->count[next]) {
    next++;
  }
  return (b + rng_below(&g->h->rng, next - b) + 1) * h->bin - 1;
}

/* Find the cut of this parameter that explains most of the targets' variance; keep it if it beats
 * *best. */
static void try_param(const growth *g, const size_t *rows, size_t n, double total, size_t p,
                      cut *best) {
  histogram h;
  double left = 0;
  size_t n_left = 0;
  count(g, rows, n, p, &h);
  for (size_t b = 0; n_left + h.count[b] < n; b++) {
    if (!h.count[b]) {
      continue;
    }
    left += h.sum[b];
    n_left += h.count[b];
    double right = total - left;
    double gain = left * left / (double)n_left + right * right / (double)(n - n_left);
    if (gain > best->gain) {
      *best = (cut){gain, p, border(g, &h, b)};
    }
  }
}

/* Try a random share PARAMS of the parameters, and more while none of them can be cut. */
static bool best_cut(const growth *g, const size_t *rows, size_t n, double total, cut *best) {
  size_t order[GEN_MAX_PARAMS], n_free = g->h->n_free;
  size_t wanted = (size_t)ceil(PARAMS * (double)n_free);
  double uncut = total * total / (double)n + 1e-9; /* rounding errors are not a gain */
  *best = (cut){.gain = uncut};
  memcpy(order, g->h->free, sizeof order);
  for (size_t i = 0; i < n_free && (i < wanted || best->gain == uncut); i++) {
    size_t j = i + rng_below(&g->h->rng, n_free - i), p = order[j];
    order[j] = order[i];
    try_param(g, rows, n, total, p, best);
  }
  return best->gain > uncut;
}

static size_t partition(const growth *g, size_t *rows, size_t n, const cut *c) {
  size_t n_left = 0;
  for (size_t i = 0; i < n; i++) {
    if (g->h->coordinates[rows[i]][c->param] <= c->value) {
      size_t row = rows[i];
      rows[i] = rows[n_left];
      rows[n_left++] = row;
    }
  }
  return n_left;
}

static void grow(growth *g, size_t node, size_t *rows, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += g->target[rows[i]];
  }
  g->nodes[node] = (forest_node){.value = (float)(sum / (double)n)};
  cut c;
  if (n < MIN_SPLIT || !best_cut(g, rows, n, sum, &c)) {
    return;
  }
  size_t left = g->n_nodes, n_left = partition(g, rows, n, &c);
  g->n_nodes += 2;
  g->nodes[node].left = (uint32_t)left;
  g->nodes[node].param = (uint16_t)c.param;
  g->nodes[node].cut = (uint16_t)c.value;
  grow(g, left, rows, n_left);
  grow(g, left + 1, rows + n_left, n - n_left);
}

bool forest_fit(forest *f, history *h, const float *target) {
  size_t n = h->n;
  if (!n || !reserve(f, n)) {
    return false;
  }
  for (size_t i = 0; i < f->n_trees; i++) {
    growth g = {.h = h, .target = target, .nodes = f->trees[i], .n_nodes = 1};
    for (size_t k = 0; k < n; k++) {
      f->rows[k] = rng_below(&h->rng, n);
    }
    grow(&g, 0, f->rows, n);
  }
  return true;
}

static float predict(const forest_node *nodes, const uint16_t *coordinates) {
  const forest_node *node = nodes;
  while (node->left) {
    node = nodes + node->left + (coordinates[node->param] > node->cut);
  }
  return node->value;
}

void forest_predict(const forest *f, const uint16_t *coordinates, double *mean, double *deviation) {
  double sum = 0, squares = 0, n = (double)f->n_trees;
  for (size_t i = 0; i < f->n_trees; i++) {
    double v = predict(f->trees[i], coordinates);
    sum += v;
    squares += v * v;
  }
  *mean = sum / n;
  *deviation = sqrt(fmax(0, squares / n - *mean * *mean));
}
