#include "choose_state.h"

#include <math.h>
#include <string.h>

#include "adapt.h"
#include "serve_distance.h"

/* What is added to the distance of a result from elsewhere, in octaves: a neighbour tuned here and
 * twice as large in one field counts as much as the same size tuned on another device. */
static const double charge_of[] = {[TUNED_EXACT] = 0,
                                   [TUNED_PORTFOLIO] = 0,
                                   [TUNED_NEAREST] = 0,
                                   [TUNED_OTHER_DEVICE] = 1,
                                   [TUNED_PRESET] = 1.25};

enum { LOOK_MOST = 48 }; /* candidates whose requirements are evaluated, at up to 20 us each */

static const double SAME_DISTANCE = 1e-9, ADAPTED_CHARGE = 1;
/* In octaves, of multiprocessors and bandwidth: 7 %. */
static const double SAME_DEVICE = 0.1;

/* In octaves. Of a template with suggestions, they or its default, where none of their conditions
 * holds, precede neighbours farther away than this; a suggestion precedes all that had to be adapted. */
static const double SUGGESTED_CHARGE = 4;

/* A result is passed over when one at most ODD_OCTAVES farther away is ODD_RATIO times as fast,
 * both relative to the least time that launches and peak rates allow: its own search went wrong. */
static const double ODD_RATIO = 4, ODD_OCTAVES = 1;

typedef struct serve_adapted {
  gen_config config;
  int changed;
} adapted;

static double device_distance(const serve_known_row *row) {
  return fabs(log2(row->sms)) + fabs(log2(row->bandwidth));
}

static double distance_of(const serve_choose *c, const serve_known_row *row) {
  return sqrt(serve_distance_squared(c->t, c->octaves, row->octaves, INFINITY)) +
         device_distance(row) + charge_of[row->origin];
}

/* It was the exact candidate. */
static bool was_exact(const serve_choose *c, const serve_known_row *row) {
  return row->origin == TUNED_NEAREST && row->problem.n == strlen(c->problem) &&
         !memcmp(row->problem.p, c->problem, row->problem.n);
}

/* Computed once, and not at all where the portfolio serves. */
static int measure_distances(serve_choose *c, err *e) {
  if (c->distance) {
    return 0;
  }
  c->distance = ARENA_ARRAY(c->memory, double, c->known->n + 1);
  c->adapted = ARENA_ARRAY(c->memory, adapted *, c->known->n + 1);
  for (size_t i = 0; c->distance && i < c->known->n; i++) {
    const serve_known_row *row = &c->known->rows[i];
    c->distance[i] = was_exact(c, row) ? INFINITY : distance_of(c, row);
  }
  return c->distance && c->adapted ? 0 : err_nomem(e);
}

/* A walk for each candidate: mostly the first one serves. */
static size_t nearest(const serve_choose *c) {
  size_t best = c->known->n;
  double least = INFINITY;
  for (size_t i = 0; i < c->known->n; i++) {
    if (c->distance[i] < least) {
      least = c->distance[i];
      best = i;
    }
  }
  return best;
}

static bool valid_row(serve_choose *c, size_t i, gen_config *config) {
  if (c->adapted[i]) {
    *config = c->adapted[i]->config;
    return true;
  }
  c->n_looked++;
  return choose_parse_config(c, &c->known->rows[i], config) &&
         !gen_config_check(c->g, config, NULL);
}

/* A row that is not valid here is adapted and put farther away, or dropped. */
static void adapt_or_drop(serve_choose *c, size_t i) {
  adapted *a = c->n_adapted++ < CHOOSE_ADAPT_MOST ? ARENA_ARRAY(c->memory, adapted, 1) : NULL;
  if (a && choose_parse_config(c, &c->known->rows[i], &a->config) &&
      adapt_config(c->t, c->g, &a->config, &a->changed)) {
    c->adapted[i] = a;
    c->distance[i] += ADAPTED_CHARGE;
  } else {
    c->distance[i] = INFINITY;
  }
}

/* Of row i and those at the same distance: the one closest to its device's peak. */
static size_t fastest_beside(serve_choose *c, size_t i, gen_config *config) {
  double least = 0;
  const double near = c->distance[i];
  for (size_t j = i + 1; j < c->known->n && c->n_looked < LOOK_MOST; j++) {
    gen_config other;
    if (fabs(c->distance[j] - near) > SAME_DISTANCE || !valid_row(c, j, &other)) {
      continue;
    }
    const double slow = choose_slowness(c, &c->known->rows[j], &other);
    least = least > 0 ? least : choose_slowness(c, &c->known->rows[i], config);
    if (slow > 0 && (slow < least || !(least > 0))) {
      least = slow;
      i = j;
      *config = other;
    }
  }
  return i;
}

/* Row i, or one hardly farther away if row i is far slower. */
static size_t sound_beside(serve_choose *c, size_t i, gen_config *config) {
  const double near = c->distance[i], late = choose_lateness(c, &c->known->rows[i], config);
  double least = late / ODD_RATIO;
  for (size_t j = 0; late > ODD_RATIO && j < c->known->n && c->n_looked < LOOK_MOST; j++) {
    gen_config other;
    if (c->distance[j] - near > ODD_OCTAVES || !valid_row(c, j, &other)) {
      continue;
    }
    const double its = choose_lateness(c, &c->known->rows[j], &other);
    if (its > 0 && its < least) {
      least = its;
      i = j;
      *config = other;
    }
  }
  return i;
}

static void take_row(serve_choose *c, size_t i, const gen_config *config, serve_pick *pick) {
  serve_known_row *row = &c->known->rows[i];
  const double slow = choose_slowness(c, row, config);
  const double least = slow > 0 ? choose_floor(c, config) : 0;
  *pick = (serve_pick){.config = *config,
                       .origin = row->origin,
                       .problem = choose_text(c, &row->problem),
                       .device_key = row->device_key,
                       .image = row->image,
                       .sec = slow * least,
                       .measured = row->measured,
                       .changed = c->adapted[i] ? c->adapted[i]->changed : 0};
  c->distance[i] = INFINITY;
}

/* How far apart their classes and like names are, the problem and the row's, where all else is the
 * same; else infinite. */
static double class_distance(const serve_choose *c, const serve_known_row *row) {
  double apart = 0;
  for (size_t i = 0; i < c->t->n_fields; i++) {
    const double d = fabs(c->octaves[i] - row->octaves[i]);
    const gen_field *f = &c->t->fields[i];
    const bool other = f->is_promise ? row->octaves[i] > c->octaves[i]
                       : f->names    ? serve_names_differ(f, row->octaves[i], c->octaves[i])
                                     : !(d <= SAME_DISTANCE);
    if (other) {
      return INFINITY;
    }
    apart += d;
  }
  return apart;
}

/* In which order rows of the same problem are taken: of its own class first, then of this device.
 * Infinite: it is another problem, the exact one, or tried already: then its distance is infinite
 * or, if it is not valid here, negative. */
static double order_of(const serve_choose *c, size_t i) {
  enum { FROM_ELSEWHERE = 1000 };
  const serve_known_row *row = &c->known->rows[i];
  const double apart = class_distance(c, row);
  if (isinf(apart) || was_exact(c, row) || device_distance(row) >= SAME_DEVICE ||
      (c->distance && (isinf(c->distance[i]) || c->distance[i] < 0))) {
    return INFINITY;
  }
  return apart < SAME_DISTANCE ? 0 : apart + (row->origin == TUNED_NEAREST ? 0 : FROM_ELSEWHERE);
}

static size_t first_same(const serve_choose *c) {
  size_t best = c->known->n;
  double least = INFINITY;
  for (size_t i = 0; i < c->known->n && least > 0; i++) {
    const double order = order_of(c, i);
    if (order < least) {
      least = order;
      best = i;
    }
  }
  return best;
}

static int next_same(serve_choose *c, serve_pick *pick, bool *found, err *e) {
  size_t i;
  while (!*found && (i = first_same(c)) < c->known->n) {
    gen_config config;
    TRY(measure_distances(c, e));
    if (valid_row(c, i, &config)) {
      take_row(c, i, &config, pick);
      *found = true;
    } else {
      c->distance[i] = -1 - c->distance[i];
    }
  }
  return 0;
}

int choose_same(serve_choose *c, serve_pick *pick, bool *found, err *e) {
  const int rc = next_same(c, pick, found, e);
  for (size_t i = 0; c->distance && i < c->known->n; i++) {
    c->distance[i] = c->distance[i] < 0 ? -1 - c->distance[i] : c->distance[i];
  }
  return rc;
}

static bool is_suggested(serve_choose *c) {
  gen_config config;
  bool suggested;
  return !gen_config_untuned(c->g, &config, &suggested, NULL) && suggested;
}

static bool next_nearest(serve_choose *c, serve_pick *pick) {
  size_t i;
  while (c->n_looked < LOOK_MOST && (i = nearest(c)) < c->known->n) {
    gen_config config;
    if ((c->distance[i] > SUGGESTED_CHARGE && gen_has_untuned(c->t)) ||
        (c->adapted[i] && is_suggested(c))) {
      return false;
    }
    if (valid_row(c, i, &config)) {
      i = fastest_beside(c, i, &config);
      take_row(c, sound_beside(c, i, &config), &config, pick);
      return true;
    }
    adapt_or_drop(c, i);
  }
  return false;
}

int choose_nearest(serve_choose *c, serve_pick *pick, bool *found, err *e) {
  TRY(measure_distances(c, e));
  *found = next_nearest(c, pick);
  return 0;
}
