#include "effort.h"

#include <string.h>

static const tune_effort table[] = {
    {"measure", {.sec = 60}, 6, 15},
    {"estimate", {.trials = 8}, 4, 9},
    {"patient", {.sec = 600}, 12, 25},
    {"exhaustive", {0}, 12, 25},
};

enum { COUNT = sizeof table / sizeof *table };

int tune_effort_find(const char *name, const tune_effort **out, err *e) {
  const char *names[COUNT];
  *out = &table[0];
  if (!name) {
    return 0;
  }
  for (size_t i = 0; i < COUNT; i++) {
    names[i] = table[i].name;
    if (!strcmp(name, names[i])) {
      *out = &table[i];
      return 0;
    }
  }
  return err_unknown(e, "no effort", name, names, COUNT);
}
