/* cli_values.c -- the values of options that several verbs take. */
#include <string.h>

#include "cli.h"

int cli_number(const char *name, const char *value, int64_t least, int64_t most, int64_t other,
               int64_t *out, err *e) {
  *out = other;
  if (!value) {
    return 0;
  }
  if (!text_integer(value, out) || *out < least || *out > most) {
    return err_set(e, ERR_USAGE, "--%s '%s' is not a whole number from %lld to %lld", name, value,
                   (long long)least, (long long)most);
  }
  return 0;
}

int cli_words_most(const cli *c, size_t most, err *e) {
  return c->n_words <= most
             ? 0
             : err_set(e, ERR_USAGE, "`autotune %s` takes no word '%s'; see autotune %s --help",
                       c->verb, c->words[most], c->verb);
}

int cli_timing(const cli *c, rt_replay *out, err *e) {
  *out = c->timing && !strcmp(c->timing, "graph") ? RT_GRAPH : RT_STREAM;
  return !c->timing || *out == RT_GRAPH || !strcmp(c->timing, "stream")
             ? 0
             : err_set(e, ERR_USAGE, "--timing '%s' is neither stream nor graph", c->timing);
}

int cli_race(const cli *c, int64_t rounds, int64_t *n, rt_timing *how, err *e) {
  TRY(cli_number("rounds", c->rounds, 1, 10000, rounds, n, e));
  TRY(cli_timing(c, &how->replay, e));
  how->hot = c->hot != NULL;
  return 0;
}
