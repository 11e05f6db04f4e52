#include "gen_order.h"

#include <math.h>
#include <string.h>

enum { MAX_PARTS = 64, MAX_VISITS = 1000000 };

typedef struct estimate {
  const gen_template *t;
  const expr_term *const *tests;
  size_t n_tests;
  uint64_t singles;         /* parameters that are parts by themselves */
  uint64_t sums[MAX_PARTS]; /* what the other parts read */
  size_t n_sums;
  size_t n_visits;
} estimate;

static size_t n_values(const estimate *m, size_t param) {
  return m->t->params[param].n;
}

static void note(void *ud, const expr_part *part) {
  estimate *m = ud;
  uint64_t reads = part->x->reads & part->known;
  m->n_visits += 4;
  if (!(reads & (reads - 1))) {
    m->singles |= reads;
    return;
  }
  for (size_t i = 0; i < m->n_sums; i++) {
    if (m->sums[i] == reads) {
      return;
    }
  }
  if (m->n_sums < MAX_PARTS) {
    m->sums[m->n_sums++] = reads;
  } else {
    m->singles |= reads;
  }
}

/* Sums and products of several parameters have fewer values than combinations; how many fewer is
 * not known before they are computed, so a root is taken. Base 2. */
static double log_values(const estimate *m, uint64_t reads) {
  double all = 0;
  for (size_t i = 0; i < m->t->n_params; i++) {
    all += reads >> i & 1 ? log2((double)n_values(m, i)) : 0;
  }
  return reads & (reads - 1) ? 0.6 * all : all;
}

/* Of the nodes of the layer where these parameters are known. Base 2. */
static double log_nodes(estimate *m, uint64_t known) {
  m->singles = m->n_sums = 0;
  for (size_t i = 0; i < m->n_tests; i++) {
    m->n_visits++;
    if (m->tests[i]->reads & ~known) {
      expr_parts(m->tests[i], known, note, m);
    }
  }
  double all = 0;
  for (size_t i = 0; i < m->t->n_params; i++) {
    all += m->singles >> i & 1 ? log2((double)n_values(m, i)) : 0;
  }
  for (size_t i = 0; i < m->n_sums; i++) {
    all += log_values(m, m->sums[i] & ~m->singles);
  }
  return all;
}

/* Of the whole order: evaluations. */
static double cost(estimate *m, const size_t *order) {
  double sum = 0;
  uint64_t known = 0;
  for (size_t i = 0; i < m->t->n_params; i++) {
    sum += exp2(log_nodes(m, known)) * (double)n_values(m, order[i]);
    known |= (uint64_t)1 << order[i];
  }
  return sum;
}

static void greedy(estimate *m, size_t *order) {
  uint64_t known = 0;
  for (size_t i = 0; i < m->t->n_params; i++) {
    double least = INFINITY;
    for (size_t p = 0; p < m->t->n_params; p++) {
      double nodes = known >> p & 1 ? INFINITY : log_nodes(m, known | (uint64_t)1 << p);
      if (nodes < least) {
        least = nodes;
        order[i] = p;
      }
    }
    known |= (uint64_t)1 << order[i];
  }
}

static void move(size_t *order, size_t from, size_t to) {
  size_t p = order[from];
  if (from < to) {
    memmove(order + from, order + from + 1, (to - from) * sizeof *order);
  } else {
    memmove(order + to + 1, order + to, (from - to) * sizeof *order);
  }
  order[to] = p;
}

/* Each parameter to its best place among the others, as long as one of them gains. */
static double sift(estimate *m, size_t *order, double best) {
  size_t n = m->t->n_params;
  bool gained = true;
  while (gained && m->n_visits < MAX_VISITS) {
    gained = false;
    for (size_t from = 0; from < n; from++) {
      for (size_t to = 0; to < n && m->n_visits < MAX_VISITS; to++) {
        move(order, from, to);
        double c = cost(m, order);
        if (c < 0.999 * best) {
          best = c;
          gained = true;
          from = to;
        } else {
          move(order, to, from);
        }
      }
    }
  }
  return best;
}

void gen_order(const gen_template *t, const expr_term *const *tests, size_t n_tests,
               size_t *order) {
  estimate m = {.t = t, .tests = tests, .n_tests = n_tests};
  size_t declared[GEN_MAX_PARAMS];
  for (size_t i = 0; i < t->n_params; i++) {
    declared[i] = i;
  }
  greedy(&m, order);
  double as_declared = sift(&m, declared, cost(&m, declared));
  m.n_visits = 0;
  if (as_declared <= sift(&m, order, cost(&m, order))) {
    memcpy(order, declared, t->n_params * sizeof *order);
  }
}
