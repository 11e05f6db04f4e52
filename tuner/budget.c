#define _GNU_SOURCE
#include "budget.h"

#include <string.h>

int budget_parse(const char *option, const char *text, arena *a, tune_budget *b, err *e) {
  char *copy = arena_text(a, text), *rest = NULL;
  *b = (tune_budget){0};
  for (char *p = copy ? strtok_r(copy, ",", &rest) : NULL; p; p = strtok_r(NULL, ",", &rest)) {
    size_t n = strlen(p);
    bool seconds = n > 1 && p[n - 1] == 's';
    int64_t v;
    p[seconds ? n - 1 : n] = 0;
    if (!text_integer(p, &v) || v < 1 || v > INT32_MAX) {
      return err_set(e, ERR_USAGE,
                     "--%s '%s' is not a number of trials (200), of seconds (90s) or both "
                     "(200,90s), at least 1",
                     option, text);
    }
    if (seconds) {
      b->sec = (double)v;
    } else {
      b->trials = (uint64_t)v;
    }
  }
  return b->sec > 0 || b->trials
             ? 0
             : err_set(e, ERR_USAGE, "--%s is empty: 200 | 90s | 200,90s", option);
}
