#include "objective.h"

#include <string.h>

static const char *const names[] = {
    [TUNE_TIME] = "time", [TUNE_ENERGY] = "energy", [TUNE_EDP] = "edp"};

const char *tune_objective_name(tune_objective o) {
  return names[o];
}

int tune_objective_find(const char *name, tune_objective *out, err *e) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!strcmp(name, names[i])) {
      *out = (tune_objective)i;
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "--objective '%s' is none of: time, energy, edp", name);
}

double scorer_score(const scorer *s, double sec, double joules) {
  if (s->objective == TUNE_TIME) {
    return sec;
  }
  if (!(joules > 0)) {
    joules = sec * (s->watts > 0 ? s->watts : 1);
  }
  return s->objective == TUNE_ENERGY ? joules : joules * sec;
}

void scorer_note(scorer *s, double sec, double joules) {
  s->watts = joules > 0 ? joules / sec : s->watts;
}
