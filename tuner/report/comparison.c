#include "comparison.h"

#include <math.h>
#include <string.h>

#include "arena.h"
#include "break_even.h"
#include "json_writer.h"
#include "print.h"
#include "plot.h"

enum { BAR = 32 };

size_t comparison_best(const comparison *l) {
  size_t best = l->n;
  for (size_t i = 0; i < l->n; i++) {
    if (l->steps[i].sec > 0 && (best == l->n || l->steps[i].sec < l->steps[best].sec)) {
      best = i;
    }
  }
  return best;
}

double comparison_gain(const comparison *l, size_t i) {
  size_t before = i;
  while (before > 0 && !(l->steps[--before].sec > 0)) {
  }
  return before < i && l->steps[before].sec > 0 && l->steps[i].sec > 0
             ? l->steps[before].sec / l->steps[i].sec
             : 0;
}

static double longest(const comparison *l) {
  double most = 0;
  for (size_t i = 0; i < l->n; i++) {
    most = fmax(most, l->steps[i].sec);
  }
  return most;
}

static int width_of(const comparison_head *h, const comparison *l) {
  size_t most = strlen(h->parameter);
  for (size_t i = 0; i < l->n; i++) {
    most = strlen(l->steps[i].value) > most ? strlen(l->steps[i].value) : most;
  }
  return (int)most;
}

static const char *note(const comparison_head *h) {
  return h->modelled ? " (emulated: times are modelled, not measured)" : "";
}

/* ---- one problem ----------------------------------------------------------------------------- */

static void add_bar(double sec, double most, str *out) {
  int n = most > 0 ? (int)ceil(BAR * sec / most - 1e-9) : 0;
  for (int i = 0; i < BAR; i++) {
    str_add(out, i < n ? "#" : " ");
  }
}

static void add_step(const comparison *l, size_t i, int width, double most, str *out) {
  const comparison_step *s = &l->steps[i];
  const double gain = comparison_gain(l, i);
  auto_str time = {0};
  if (!(s->sec > 0)) {
    str_addf(out, "  %-*s  %9s  %s\n", width, s->value, "-", s->why ? s->why : "");
    return;
  }
  format_sec(&time, s->sec);
  str_addf(out, "%c %-*s  %9s  ", comparison_best(l) == i ? '*' : ' ', width, s->value,
           str_text(&time));
  add_bar(s->sec, most, out);
  if (gain > 0) {
    str_addf(out, " %6.2f x", gain);
  } else {
    str_addf(out, " %8s", "");
  }
  if (s->n_trials) {
    str_addf(out, " %4zu trials", s->n_trials);
  } else {
    str_addf(out, " %11s", "");
  }
  str_addf(out, "  %s\n", s->words ? s->words : s->config);
}

static prepared_time time_of(const comparison_step *s) {
  return (prepared_time){s->value, s->sec, s->prepare_sec};
}

static void add_preparations(const comparison *l, str *out) {
  enum { MOST = 64 };
  prepared_time list[MOST];
  const size_t n = l->n < MOST ? l->n : MOST;
  for (size_t i = 0; i < n; i++) {
    list[i] = time_of(&l->steps[i]);
  }
  break_even_text(list, n, l->uses, out);
}

void comparison_text(const comparison_head *h, const comparison *l, str *out) {
  const int width = width_of(h, l);
  const double most = longest(l);
  str_addf(out, "%s by %s on %s%s\n", l->problem, h->parameter, h->device, note(h));
  str_addf(out, "  %-*s  %9s  %-*s %8s\n", width, h->parameter, "best", BAR, "time", "x before");
  for (size_t i = 0; i < l->n; i++) {
    add_step(l, i, width, most, out);
  }
  add_preparations(l, out);
}

/* ---- several --------------------------------------------------------------------------------- */

static void add_cell(const comparison *l, size_t i, int width, str *out) {
  auto_str time = {0};
  if (l->steps[i].sec > 0) {
    format_sec(&time, l->steps[i].sec);
    str_addf(&time, "%s", comparison_best(l) == i ? "*" : " ");
  } else {
    str_add(&time, "- ");
  }
  str_addf(out, "  %*s", width, str_text(&time));
}

void comparison_table(const comparison_head *h, const comparison *l, size_t n, str *out) {
  int label = 7;
  const int cell = width_of(h, &l[0]) > 9 ? width_of(h, &l[0]) + 1 : 10;
  for (size_t k = 0; k < n; k++) {
    label = (int)strlen(l[k].label) > label ? (int)strlen(l[k].label) : label;
  }
  str_addf(out, "%s by %s on %s%s; * is the best\n%-*s", h->family, h->parameter, h->device,
           note(h), label, "problem");
  for (size_t i = 0; i < l[0].n; i++) {
    str_addf(out, "  %*s ", cell - 1, l[0].steps[i].value);
  }
  str_add(out, "\n");
  for (size_t k = 0; k < n; k++) {
    str_addf(out, "%-*s", label, l[k].label);
    for (size_t i = 0; i < l[k].n; i++) {
      add_cell(&l[k], i, cell, out);
    }
    str_add(out, "\n");
  }
}

/* ---- for machines, and a picture ------------------------------------------------------------- */

static void add_step_json(const comparison_head *h, const comparison *l, size_t i, str *out) {
  const comparison_step *s = &l->steps[i];
  jw_event(out, "comparison");
  jw_text(out, "problem", l->problem);
  jw_text(out, "device", h->device);
  jw_text(out, "parameter", h->parameter);
  jw_text(out, "value", s->value);
  jw_integer(out, "trials", (int64_t)s->n_trials);
  jw_integer(out, "failed", (int64_t)s->n_failed);
  if (s->sec > 0) {
    jw_seconds(out, h->modelled, s->sec);
    jw_real(out, "spread", 3, s->spread);
    if (s->prepare_sec > 0) {
      const prepared_time t = time_of(s);
      jw_real(out, "prepare_seconds", 6, s->prepare_sec);
      jw_real(out, "run_seconds", 6, run_sec(&t, l->uses));
    }
    jw_bool(out, "best", comparison_best(l) == i);
    jw_text(out, "config", s->config);
  } else {
    jw_text(out, "reason", s->why ? s->why : "");
  }
  if (comparison_gain(l, i) > 0) {
    jw_real(out, "ratio_to_previous", 6, comparison_gain(l, i));
  }
  jw_end_line(out);
}

void comparison_json(const comparison_head *h, const comparison *l, str *out) {
  for (size_t i = 0; i < l->n; i++) {
    add_step_json(h, l, i, out);
  }
}

/* Relative to the best of each problem: absolute times would hide small problems. */
static void add_bars(const comparison *l, size_t colour, arena *a, plot_bar *bars, size_t *n) {
  const size_t best = comparison_best(l);
  for (size_t i = 0; i < l->n; i++) {
    auto_str time = {0};
    if (l->steps[i].sec > 0) {
      format_sec(&time, l->steps[i].sec);
      bars[(*n)++] = (plot_bar){.label = arena_format(a, "%s  %s", l->label, l->steps[i].value),
                                .value = l->steps[i].sec / l->steps[best].sec,
                                .text = arena_text(a, str_text(&time)),
                                .colour = colour};
    }
  }
}

void comparison_plot(const comparison_head *h, const comparison *l, size_t n, str *out) {
  auto_arena a = {0};
  size_t n_bars = 0;
  auto_str title = {0};
  plot_bar *bars = ARENA_ARRAY(&a, plot_bar, n * l[0].n + 1);
  for (size_t k = 0; bars && k < n; k++) {
    add_bars(&l[k], k, &a, bars, &n_bars);
  }
  str_addf(&title, "%s by %s on %s: time, beside the best of each problem%s", h->family,
           h->parameter, h->device, h->modelled ? ", modelled" : "");
  plot_bars(bars, n_bars, str_text(&title), out);
  out->failed |= !bars;
}
