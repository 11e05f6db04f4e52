#include "break_even.h"

#include <math.h>

#include "print.h"

double run_sec(const prepared_time *t, double uses) {
  return uses > 0 ? fmax(0, t->sec - t->prepare_sec / uses) : t->sec;
}

double break_even_runs(const prepared_time *one, const prepared_time *other, double uses) {
  const double more = one->prepare_sec - other->prepare_sec;
  const double less = run_sec(other, uses) - run_sec(one, uses);
  return more <= 0 && less >= 0 ? 0 : less > 0 ? ceil(more / less) : INFINITY;
}

/* Which prepares in the least time; of several, the one that runs fastest. */
static const prepared_time *least(const prepared_time *list, size_t n, double uses) {
  const prepared_time *best = NULL;
  for (const prepared_time *t = list; t < list + n; t++) {
    const bool first = !best || t->prepare_sec < best->prepare_sec;
    if (t->sec > 0 && (first || (t->prepare_sec == best->prepare_sec &&
                                 run_sec(t, uses) < run_sec(best, uses)))) {
      best = t;
    }
  }
  return best;
}

static void add_line(const prepared_time *t, const prepared_time *base, double uses, str *out) {
  auto_str prepare = {0}, run = {0};
  const double runs = break_even_runs(t, base, uses);
  format_sec(&prepare, t->prepare_sec);
  format_sec(&run, run_sec(t, uses));
  str_addf(out, "  %s: ", t->name);
  if (t->prepare_sec > 0) {
    str_addf(out, "prepares in %s, ", str_text(&prepare));
  }
  str_addf(out, "runs in %s", str_text(&run));
  if (t->prepare_sec == base->prepare_sec) {
    str_add(out, "\n");
    return;
  }
  if (isfinite(runs)) {
    str_addf(out, ", pays off against %s after %.0f run%s", base->name, fmax(runs, 1),
             runs > 1 ? "s" : "");
  } else {
    str_addf(out, ", never pays off against %s", base->name);
  }
  str_add(out, "\n");
}

void break_even_text(const prepared_time *list, size_t n, double uses, str *out) {
  const prepared_time *base = least(list, n, uses);
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    any = any || list[i].prepare_sec > 0;
  }
  for (size_t i = 0; any && i < n; i++) {
    if (list[i].sec > 0) {
      add_line(&list[i], base, uses, out);
    }
  }
}
