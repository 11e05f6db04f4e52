#define _GNU_SOURCE
#include "budget.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

enum { SEC_MOST = 100000000 };

/* "90s", "1.5s"; overwrites the s */
static bool take_seconds(char *p, double *sec) {
  size_t n = strlen(p);
  char *end;
  if (n < 2 || p[n - 1] != 's' || p[0] < '0' || p[0] > '9') {
    return false;
  }
  p[n - 1] = 0;
  *sec = strtod(p, &end);
  return !*end && *sec >= 0.1 && *sec <= SEC_MOST;
}

int budget_parse(const char *option, const char *text, arena *a, tune_budget *b, err *e) {
  char *copy = arena_text(a, text), *rest = NULL;
  *b = (tune_budget){0};
  for (char *p = copy ? strtok_r(copy, ",", &rest) : NULL; p; p = strtok_r(NULL, ",", &rest)) {
    int64_t v = 0;
    if (!b->sec && take_seconds(p, &b->sec)) {
      continue;
    }
    if (b->trials || !text_integer(p, &v) || v < 1 || v > INT32_MAX) {
      return err_set(
          e, ERR_USAGE,
          "--%s '%s': give trials (200), at least 1, seconds (90s), at least 0.1s, or both "
          "(200,90s)",
          option, text);
    }
    b->trials = (uint64_t)v;
  }
  return b->sec > 0 || b->trials
             ? 0
             : err_set(e, ERR_USAGE, "--%s is empty: 200 | 90s | 200,90s", option);
}
