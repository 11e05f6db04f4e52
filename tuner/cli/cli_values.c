/* cli_values.c -- the values of options that several verbs take. */
#define _GNU_SOURCE
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

int cli_timeout(const cli *c, int64_t most, int64_t *sec, err *e) {
  char digits[24];
  const size_t n = c->timeout ? strlen(c->timeout) : 0;
  const char *value = c->timeout;
  if (n > 1 && n <= sizeof digits && value[n - 1] == 's') {
    value = memcpy(digits, value, n - 1);
    digits[n - 1] = 0;
  }
  return cli_number("timeout", value, 1, most, 0, sec, e);
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

int cli_no_action(const cli *c, err *e) {
  enum { MOST = 16 };
  auto_arena a = {0};
  const char *names[MOST];
  size_t n = 0;
  char what[64], *rest = NULL;
  char *list = arena_text(&a, cli_find_verb(c->verb)->actions);
  for (char *w = list ? strtok_r(list, " ", &rest) : NULL; w && n < MOST;) {
    names[n++] = w;
    w = strtok_r(NULL, " ", &rest);
  }
  snprintf(what, sizeof what,
           c->n_words ? "autotune %s has no action" : "name an action of autotune %s,", c->verb);
  return err_unknown(e, what, c->n_words ? c->words[0] : NULL, names, n);
}
