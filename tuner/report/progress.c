#define _GNU_SOURCE
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_writer.h"
#include "print.h"
#include "file.h"

static const double EVERY_SEC[] = {[PROGRESS_LINE] = 0.1, [PROGRESS_PLAIN] = 10};

void progress_init(progress *p, bool json, bool quiet) {
  const bool terminal = is_terminal(stderr);
  *p = (progress){.shown_best = INFINITY};
  p->kind = json       ? PROGRESS_JSON
            : quiet    ? PROGRESS_NONE
            : terminal ? PROGRESS_LINE
                       : PROGRESS_PLAIN;
}

static void add_total(str *s, const tune_state *t) {
  double total = (double)t->tally->valid;
  if (t->budget.trials && (double)t->budget.trials < total) {
    total = (double)t->budget.trials;
  }
  format_count(s, (double)(t->known + t->tried));
  str_add(s, " of ");
  format_count(s, total);
}

/* Time left: by the budget in seconds, else by the rate of trials so far. */
static double left_sec(const tune_state *t) {
  double by_clock = t->budget.sec > 0 ? t->budget.sec - t->sec_before - t->sec : INFINITY;
  double total = t->budget.trials && t->budget.trials < t->tally->valid ? (double)t->budget.trials
                                                                        : (double)t->tally->valid;
  double by_pace =
      t->tried ? (total - (double)(t->known + t->tried)) * t->sec / (double)t->tried : INFINITY;
  double left = by_clock < by_pace ? by_clock : by_pace;
  return left > 0 ? left : 0;
}

/* The larger share of the budget that is spent: of trials or seconds. */
static double spent(const tune_state *t) {
  const double total = t->budget.trials && t->budget.trials < t->tally->valid
                           ? (double)t->budget.trials
                           : (double)t->tally->valid;
  const double by_trials = total > 0 ? (double)(t->known + t->tried) / total : 1;
  const double by_clock = t->budget.sec > 0 ? (t->sec_before + t->sec) / t->budget.sec : 0;
  return fmin(1, fmax(by_trials, by_clock));
}

/* "[######--------------]  30 %, 42 s left  " */
static void add_bar(str *s, const tune_state *t) {
  enum { WIDTH = 20 };
  const double share = strcmp(t->phase, "finals") ? spent(t) : 1, left = left_sec(t);
  const int n = (int)(share * WIDTH);
  str_addf(s, "[%.*s%.*s] %3.0f %%", n, "####################", WIDTH - n, "--------------------",
           100 * share);
  if (share < 1 && isfinite(left)) {
    str_addf(s, ", %.0f s left", left);
  }
  str_add(s, "  ");
}

static void add_line(str *s, const tune_state *t, bool bar) {
  if (bar) {
    add_bar(s, t);
  }
  if (!strcmp(t->phase, "finals")) {
    str_add(s, "finals: timing the fastest and the default interleaved");
    return;
  }
  str_add(s, "trial ");
  add_total(s, t);
  uint64_t failed = t->tried - t->failed[DB_OK];
  if (failed) {
    str_addf(s, ", %llu failed", (unsigned long long)failed);
  }
  str_addf(s, ", %llu compiled ahead", (unsigned long long)t->compiled_ahead);
  if (isfinite(t->best_sec)) {
    str_add(s, t->device->modelled ? ", best modelled " : ", best ");
    format_sec(s, t->best_sec);
    str_add(s, " (");
    format_rate(s, t->device, t->flops, t->bytes, t->best_sec);
    str_add(s, ")");
  }
  double left = left_sec(t);
  if (isfinite(left) && !bar) {
    str_addf(s, ", %.0f s left", left);
  }
}

static void show_line(const progress *p, const tune_state *t) {
  auto_str s = {0};
  add_line(&s, t, p->kind == PROGRESS_LINE);
  if (p->kind == PROGRESS_LINE) {
    fprintf(stderr, "\r\033[K%.*s", (int)terminal_width(stderr) - 1, str_text(&s));
  } else {
    fprintf(stderr, "%s\n", str_text(&s));
  }
  fflush(stderr);
}

/* The state of the device, where it is known. */
static void add_sample(str *s, const measured *m) {
  const rt_health *h = &m->health;
  jw_text(s, "ended", rt_ended_name(m->times.ended));
  if (h->clock_mhz > 0) {
    jw_fixed(s, "clock_mhz", 0, h->clock_mhz);
    jw_fixed(s, "power_w", 1, h->power_w);
    jw_fixed(s, "temperature_c", 0, h->temperature_c);
    jw_integer(s, "held", (int64_t)h->throttle);
  }
  if (m->retaken) {
    jw_integer(s, "retaken", m->retaken);
  }
  if (m->energy_j > 0) {
    jw_real(s, "joules", 6, m->energy_j);
  }
}

static void print_json(const tune_state *t, const db_result *trial) {
  str s = {0};
  jw_event(&s, "trial");
  jw_text(&s, "problem", t->problem);
  jw_integer(&s, "trial", (int64_t)(t->known + t->tried));
  jw_text(&s, "config", trial->t.config);
  jw_text(&s, "status", db_status_name(trial->t.status));
  if (trial->t.status == DB_OK) {
    jw_seconds(&s, t->device->modelled, trial->median);
    jw_real(&s, "spread", 3, trial->spread);
    jw_real(&s, "error", 6, trial->t.error);
    add_sample(&s, t->measured);
  } else {
    jw_text(&s, "reason", trial->t.reason ? trial->t.reason : "");
  }
  jw_end_line(&s);
  print_str(&s);
  fflush(stdout);
}

void progress_report(void *self, const tune_state *t, const db_result *trial) {
  progress *p = self;
  if (p->kind == PROGRESS_NONE) {
    return;
  }
  if (p->kind == PROGRESS_JSON) {
    if (trial) {
      print_json(t, trial);
    }
    return;
  }
  double now = now_sec();
  bool news = t->best_sec < p->shown_best && p->kind == PROGRESS_PLAIN;
  bool phase = !trial && !strcmp(t->phase, "finals");
  if (news || phase || now - p->shown_at >= EVERY_SEC[p->kind]) {
    show_line(p, t);
    p->shown_at = now;
    p->shown_best = t->best_sec;
  }
}

void progress_end(progress *p) {
  if (p->kind == PROGRESS_LINE) {
    fprintf(stderr, "\r\033[K");
  }
  p->shown_best = INFINITY;
  p->shown_at = 0;
}
