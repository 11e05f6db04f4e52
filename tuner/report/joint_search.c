#include "joint_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_writer.h"
#include "print.h"

static bool is_faster(const joint_space *s, size_t a, size_t b) {
  return s->points[a].sec > 0 &&
         (b == s->n || !(s->points[b].sec > 0) || s->points[a].sec < s->points[b].sec);
}

/* Do they differ in no axis but this? */
static bool in_line(const joint_space *s, size_t a, size_t b, size_t axis) {
  bool same = true;
  for (size_t k = 0; k < s->n_axes; k++) {
    same &= k == axis || s->points[a].index[k] == s->points[b].index[k];
  }
  return same;
}

size_t joint_by_axes(const joint_space *s, size_t from) {
  size_t at = from;
  for (size_t axis = 0; axis < s->n_axes; axis++) {
    size_t best = at;
    for (size_t i = 0; i < s->n; i++) {
      if (in_line(s, i, at, axis) && is_faster(s, i, best)) {
        best = i;
      }
    }
    at = best;
  }
  return at;
}

bool joint_is_left(const joint_space *s, size_t i) {
  const joint_point *p = &s->points[i];
  bool left = p->sec > 0;
  for (const joint_point *q = s->points; left && q < s->points + s->n; q++) {
    const bool covers = q->instructions <= p->instructions && q->warps >= p->warps;
    left = !(q->sec > 0 && covers && (q->instructions < p->instructions || q->warps > p->warps));
  }
  return left;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Over the best, from every point that a pass from leads to one that works. */
static void summarise_passes(const joint_space *s, joint_summary *out) {
  double ratios[JOINT_POINTS] = {0};
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++) {
    const double sec = s->points[joint_by_axes(s, i)].sec;
    if (sec > 0) {
      ratios[n++] = sec / s->points[out->best].sec;
    }
  }
  qsort(ratios, n, sizeof *ratios, by_value);
  out->by_axes_median = ratios[n / 2];
  out->by_axes_worst = ratios[n - 1];
}

void joint_summarise(const joint_space *s, joint_summary *out) {
  *out = (joint_summary){.best = s->n, .best_left = s->n, .by_axes = s->n};
  for (size_t i = 0; i < s->n; i++) {
    const bool left = joint_is_left(s, i);
    out->failed += !(s->points[i].sec > 0);
    out->front += left;
    out->best = is_faster(s, i, out->best) ? i : out->best;
    out->best_left = left && is_faster(s, i, out->best_left) ? i : out->best_left;
  }
  if (out->best < s->n) {
    out->by_axes = joint_by_axes(s, s->start < s->n ? s->start : 0);
    summarise_passes(s, out);
  }
}

/* ---- text ---------------------------------------------------------------------------------- */

static void add_values(const joint_space *s, size_t i, str *out) {
  for (size_t k = 0; k < s->n_axes; k++) {
    str_addf(out, "%s%s=%s", k ? "," : "", s->axes[k].name,
             s->axes[k].values[s->points[i].index[k]]);
  }
}

static double ratio(const joint_space *s, const joint_summary *of, size_t i) {
  return i < s->n && s->points[i].sec > 0 ? s->points[i].sec / s->points[of->best].sec : NAN;
}

static void add_line(const joint_space *s, const joint_summary *of, const char *how, size_t i,
                     str *out) {
  auto_str time = {0};
  if (i == s->n || !(s->points[i].sec > 0)) {
    str_addf(out, "  %-19s %9s\n", how, "failed");
    return;
  }
  format_sec(&time, s->points[i].sec);
  str_addf(out, "  %-19s %9s  %5.2f x  ", how, str_text(&time), ratio(s, of, i));
  add_values(s, i, out);
  str_add(out, "\n");
}

static void add_head(const joint_space *s, const joint_summary *of, str *out) {
  str_addf(out, "%s on %s%s\n%zu points of ", s->problem, s->device,
           s->modelled ? " (emulated: times are modelled, not measured)" : "", s->n);
  for (size_t k = 0; k < s->n_axes; k++) {
    str_addf(out, "%s%s", k ? " x " : "", s->axes[k].name);
  }
  str_addf(out, ", %zu failed\n", of->failed);
}

void joint_text(const joint_space *s, const joint_summary *of, str *out) {
  add_head(s, of, out);
  if (of->best == s->n) {
    return;
  }
  add_line(s, of, "every point", of->best, out);
  add_line(s, of, "one axis at a time", of->by_axes, out);
  add_line(s, of, "Pareto filter", of->best_left, out);
  str_addf(
      out,
      "  one axis at a time from each point: %.2f x in the median, %.2f x at worst\n"
      "  (Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 17.3.4: 1.20 x for fhd)\n"
      "  the filter by instructions and warps leaves %zu of %zu; the best point is %s\n",
      of->by_axes_median, of->by_axes_worst, of->front, s->n - of->failed,
      joint_is_left(s, of->best) ? "among them" : "lost");
}

static void add_json_line(const joint_space *s, const joint_summary *of, const char *how, size_t i,
                          str *out) {
  auto_str values = {0};
  jw_open(out, how);
  if (i < s->n && s->points[i].sec > 0) {
    add_values(s, i, &values);
    jw_text(out, "config", str_text(&values));
    jw_seconds(out, s->modelled, s->points[i].sec);
  }
  jw_real(out, "ratio", 4, ratio(s, of, i));
  jw_close(out);
}

void joint_json(const joint_space *s, const joint_summary *of, str *out) {
  jw_event(out, "joint_search");
  jw_text(out, "problem", s->problem);
  jw_text(out, "device", s->device);
  jw_integer(out, "points", (int64_t)s->n);
  jw_integer(out, "failed", (int64_t)of->failed);
  if (of->best < s->n) {
    add_json_line(s, of, "joint", of->best, out);
    add_json_line(s, of, "by_axes", of->by_axes, out);
    add_json_line(s, of, "filtered", of->best_left, out);
    jw_real(out, "by_axes_median", 4, of->by_axes_median);
    jw_real(out, "by_axes_worst", 4, of->by_axes_worst);
    jw_integer(out, "left", (int64_t)of->front);
    jw_bool(out, "best_is_left", joint_is_left(s, of->best));
  }
  jw_end_line(out);
}
