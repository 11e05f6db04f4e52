#include "bench_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "json_writer.h"
#include "print.h"
#include "plot.h"

/* ---- arithmetic ------------------------------------------------------------------------------ */

static const bench_time *other(const bench_report *r, const bench_row *row) {
  return r->peer ? &row->peer : &row->plain;
}

/* Speed of ours over the other's; 0: nothing to compare with. */
static double ratio_of(const bench_report *r, const bench_row *row) {
  const bench_time *them = other(r, row);
  return row->ours.sec > 0 && them->sec > 0 ? them->sec / row->ours.sec : 0;
}

void bench_report_count(bench_report *r, const bench_row *row) {
  double ratio = ratio_of(r, row);
  if (!(ratio > 0)) {
    return;
  }
  r->sum += log(ratio);
  r->n_ahead += ratio >= 1;
  if (!r->n++ || ratio < r->worst) {
    r->worst = ratio;
    snprintf(r->worst_label, sizeof r->worst_label, "%s", row->label);
  }
}

double bench_report_mean(const bench_report *r) {
  return r->n ? exp(r->sum / (double)r->n) : NAN;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *them(const bench_report *r) {
  return r->peer ? r->peer : "default";
}

void bench_report_head(const bench_report *r, str *out) {
  str_addf(out, "%s on %s, %s L2%s%s; %s%s\n", r->family, r->device, r->hot ? "hot" : "cold",
           r->graph ? ", in CUDA graphs" : "", r->modelled ? ", emulated: times are modelled" : "",
           r->version && r->version[0] ? r->version : them(r),
           r->modelled ? "" : ", interleaved; medians, +- half the interquartile range");
  str_addf(out, "%-*s  %-12s %15s %9s %15s %7s", r->width, "problem", "origin", "ours", "of floor",
           them(r), "ratio");
  str_addf(out, "%s\n", r->errors ? "   error: ours, theirs (1: the tolerance)" : "");
}

static void add_time(str *out, const bench_time *t) {
  auto_str time = {0};
  if (t->sec > 0) {
    format_sec(&time, t->sec);
    str_addf(out, " %9s +-%2.0f%%", str_text(&time), 50 * t->spread);
  } else {
    str_addf(out, " %15s", "-");
  }
}

static void add_error(str *out, double error) {
  if (isnan(error)) {
    str_addf(out, " %8s", "-");
  } else {
    str_addf(out, " %8.2g", error);
  }
}

/* Three significant digits. */
static void add_ratio(str *out, double ratio) {
  str_addf(out, " %7.*f", ratio >= 100 ? 0 : ratio >= 0.1 ? 2 : 4, ratio);
}

void bench_report_differs(const bench_report *r, const bench_row *row, str *out) {
  if (row->differs) {
    str_addf(out, "  %s is less exact: error %.2g, ours %.2g (1: the tolerance); %s\n", them(r),
             row->peer.error, row->ours.error, row->differs);
  }
}

void bench_report_row(const bench_report *r, const bench_row *row, str *out) {
  double ratio = ratio_of(r, row);
  str_addf(out, "%-*s  %-12s", r->width, row->label, row->origin);
  add_time(out, &row->ours);
  str_addf(out, " %7.0f %%", row->ours.sec > 0 ? 100 * row->floor_sec / row->ours.sec : 0);
  add_time(out, other(r, row));
  if (ratio > 0) {
    add_ratio(out, ratio);
  } else {
    str_addf(out, " %7s", "-");
  }
  if (r->errors) {
    str_add(out, "  ");
    add_error(out, row->ours.error);
    add_error(out, other(r, row)->sec > 0 ? other(r, row)->error : NAN);
  }
  str_add(out, "\n");
  bench_report_differs(r, row, out);
}

void bench_report_end(const bench_report *r, str *out) {
  if (r->n) {
    str_addf(out, "geometric mean of %zu: %.2f x %s; at least as fast in %zu; worst %.2g at %s\n",
             r->n, bench_report_mean(r), them(r), r->n_ahead, r->worst, r->worst_label);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_json_time(const bench_report *r, const char *name, const bench_time *t, str *out) {
  if (t->sec > 0) {
    jw_open(out, name);
    jw_seconds(out, r->modelled, t->sec);
    jw_real(out, "spread", 3, t->spread);
    jw_real(out, "error", 6, t->error);
    jw_close(out);
  }
}

static void add_json_text(const char *name, const char *text, str *out) {
  if (text) {
    jw_text(out, name, text);
  }
}

void bench_report_row_json(const bench_report *r, const bench_row *row, str *out) {
  double ratio = ratio_of(r, row);
  jw_event(out, "bench");
  jw_text(out, "problem", row->problem);
  add_json_text("device", r->device, out);
  jw_bool(out, "cold", !r->hot);
  jw_text(out, "timing", r->graph ? "graph" : "stream");
  add_json_text("origin", row->origin, out);
  add_json_text("tuned_for", row->tuned_for, out);
  add_json_text("config", row->config, out);
  add_json_time(r, "tuned", &row->ours, out);
  add_json_time(r, "default", &row->plain, out);
  add_json_time(r, "given", &row->given, out);
  add_json_time(r, "peer", &row->peer, out);
  if (row->peer.sec > 0) {
    add_json_text("peer_version", r->version, out);
    add_json_text("peer_differs", row->differs, out);
  }
  jw_real(out, "floor_seconds", 9, row->floor_sec);
  if (ratio > 0) {
    jw_real(out, "ratio", 6, ratio);
  }
  jw_end_line(out);
}

void bench_report_end_json(const bench_report *r, str *out) {
  jw_event(out, "bench_summary");
  jw_open(out, "summary");
  jw_text(out, "family", r->family);
  jw_integer(out, "n", (int64_t)r->n);
  jw_integer(out, "ahead", (int64_t)r->n_ahead);
  jw_real(out, "geometric_mean", 6, bench_report_mean(r));
  if (r->n) {
    jw_real(out, "worst", 6, r->worst);
    jw_text(out, "worst_problem", r->worst_label);
  }
  jw_text(out, "against", them(r));
  jw_close(out);
  jw_end_line(out);
}

/* ---- picture --------------------------------------------------------------------------------- */

void bench_report_plot(const bench_report *r, const bench_row *rows, size_t n, str *out) {
  auto_arena a = {0};
  plot_bar *bars = ARENA_ARRAY(&a, plot_bar, n + 1);
  size_t n_bars = 0;
  auto_str title = {0};
  for (size_t i = 0; bars && i < n; i++) {
    double ratio = ratio_of(r, &rows[i]);
    if (ratio > 0) {
      bars[n_bars++] = (plot_bar){.label = rows[i].label,
                                  .value = ratio,
                                  .text = arena_format(&a, "%.2f", ratio),
                                  .colour = ratio >= 1 ? 0 : 1};
    }
  }
  str_addf(&title, "%s on %s%s: times as fast as %s", r->family, r->device,
           r->modelled ? " (modelled)" : "", r->version && r->version[0] ? r->version : them(r));
  plot_ratios(bars, bars ? n_bars : 0, str_text(&title), out);
  out->failed |= !bars;
}
