#include "phases.h"

/* names in JSON and in tune_phases */
#define PHASES(X)                                                                                  \
  X(setup) X(generate) X(search) X(store) X(wait) X(compile) X(load) X(check) X(measure) X(finals)

static double share(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

void phases_text(str *s, const tune_phases *p, double sec) {
  str_addf(s, "  compiling: %zu processes %.0f %% busy, %.1f s in all\n", p->jobs,
           share(p->compile, sec * (double)p->jobs), p->compile);
  str_addf(s,
           "  measuring: %.0f %% busy; setup %.2f, load %.2f, check %.2f, measure %.2f, finals "
           "%.2f s\n",
           share(p->setup + p->load + p->check + p->measure + p->finals, sec), p->setup, p->load,
           p->check, p->measure, p->finals);
  str_addf(s, "  searching: search %.2f, generate %.2f, store %.2f, wait %.2f s\n", p->search,
           p->generate, p->store, p->wait);
}

void phases_json(str *s, const tune_phases *p) {
  str_addf(s, "{\"jobs\":%zu", p->jobs);
#define ADD(name) str_addf(s, ",\"" #name "\":%.4g", p->name);
  PHASES(ADD)
#undef ADD
  str_add(s, "}");
}
