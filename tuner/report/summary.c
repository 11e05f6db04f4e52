#include "summary.h"

#include <math.h>

#include "print.h"

void summary_start(summary *t, size_t n_problems) {
  summary_clear(t);
  t->wanted = n_problems;
}

void summary_clear(summary *t) {
  str_clear(&t->rows);
  *t = (summary){0};
}

static void add_totals(summary *t, const tune_state *s, double best, double def) {
  t->n++;
  t->trials += s->tried;
  t->sec += s->sec;
  t->n_settled += s->settled > 0;
  t->settled += s->settled;
  if (best > 0 && def > 0) {
    t->sum_vs_default += log(def / best);
    t->n_vs_default++;
  }
}

void summary_add(summary *t, const tune_state *s, double best, double def) {
  auto_str time = {0}, rate = {0}, ratio = {0}, settled = {0};
  add_totals(t, s, best, def);
  if (best > 0) {
    format_sec(&time, best);
    format_rate(&rate, s->device, s->flops, s->bytes, best);
  } else {
    str_add(&time, "none works");
  }
  if (best > 0 && def > 0) {
    str_addf(&ratio, "%.2f", def / best);
  }
  if (s->settled) {
    str_addf(&settled, "%llu", (unsigned long long)s->settled);
  }
  str_addf(&t->rows, "  %10s  %-26s %9s %7llu %8s %6.1f s  %s\n", str_text(&time), str_text(&rate),
           str_text(&ratio), (unsigned long long)(s->known + s->tried), str_text(&settled), s->sec,
           s->problem);
}

void summary_failed(summary *t, const char *problem, const char *why) {
  t->n_failed++;
  str_addf(&t->rows, "  %10s  %s: %s\n", "failed", problem, why);
}

void summary_print(summary *t) {
  str s = {0};
  if (t->wanted < 2) {
    return;
  }
  str_addf(&s, "\n  %10s  %-26s %9s %7s %8s %8s\n", "best", "rate", "x default", "trials",
           "within 3%", "spent");
  str_add(&s, str_text(&t->rows));
  str_addf(&s, "  %zu problems, %llu new trials in %.0f s", t->n, (unsigned long long)t->trials,
           t->sec);
  if (t->n_vs_default) {
    str_addf(&s, "; %.2f x the default, geometric mean",
             exp(t->sum_vs_default / (double)t->n_vs_default));
  }
  if (t->n_settled) {
    str_addf(&s, "; within 3 %% of the best after %.0f trials on average",
             (double)t->settled / (double)t->n_settled);
  }
  str_add(&s, "\n");
  print_str(&s);
}
