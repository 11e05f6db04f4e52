#define _GNU_SOURCE
#include "cli.h"

#include <string.h>

#include "open_device.h"

/* ---- parsing --------------------------------------------------------------------------------- */

const cli_option cli_options[] = {
#define CLI_ROW(name, value, text) {#name, value, text, offsetof(cli, name)},
    CLI_OPTIONS(CLI_ROW)
#undef CLI_ROW
        {NULL}};

enum { N_OPTIONS = sizeof cli_options / sizeof *cli_options - 1 };

void cli_spell(const char *name, char *out, size_t n) {
  const size_t length = strlen(name);
  snprintf(out, n, "%.*s", (int)(length - (length && name[length - 1] == '_')), name);
  for (char *p = out; (p = strchr(p, '_'));) {
    *p = '-';
  }
}

bool cli_takes(const cli_verb *verb, const cli_option *o) {
  char word[32];
  snprintf(word, sizeof word, " %s ", o->name);
  return !strcmp(o->name, "help") || strstr(verb->options, word);
}

static int unknown_option(const cli_verb *verb, const char *name, err *e) {
  const char *names[N_OPTIONS + CLI_PLAIN_MOST];
  size_t n = cli_plain_names(verb, names);
  for (size_t i = 0; i < N_OPTIONS; i++) {
    if (cli_takes(verb, &cli_options[i])) {
      names[n++] = cli_options[i].name;
    }
  }
  const char *near = text_nearest(name, names, n);
  return err_set(e, ERR_USAGE, "`autotune %s` takes no option --%s%s%s%s; see autotune %s --help",
                 verb->name, name, near ? ", did you mean --" : "", near ? near : "",
                 near ? "?" : "", verb->name);
}

static int find_option(const cli_verb *verb, const char *name, const cli_option **out, err *e) {
  for (size_t i = 0; i < N_OPTIONS; i++) {
    char typed[32];
    cli_spell(cli_options[i].name, typed, sizeof typed);
    if (!strcmp(typed, name) && cli_takes(verb, &cli_options[i])) {
      *out = &cli_options[i];
      return 0;
    }
  }
  return unknown_option(verb, name, e);
}

/* WORDS of an option that is given several times add up. */
static int take_value(const cli_option *o, const char *value, arena *a, cli *c, err *e) {
  const char **field = (const char **)((char *)c + o->offset);
  const bool adds = o->value && !strcmp(o->value, "WORDS") && *field;
  *field = adds ? arena_format(a, "%s %s", *field, value) : value ? value : "";
  return *field ? 0 : err_nomem(e);
}

/* Parse the option at argv[*i]; *i moves past a value that is a word of its own. */
static int parse_option(const cli_verb *verb, int argc, char **argv, int *i, arena *a, cli *c,
                        err *e) {
  char name[32] = "";
  const char *text = argv[*i] + 2;
  const char *equals = strchr(text, '=');
  size_t n = equals ? (size_t)(equals - text) : strlen(text);
  if (n < sizeof name) {
    memcpy(name, text, n);
  }
  const cli_option *o = NULL;
  TRY(find_option(verb, n < sizeof name ? name : text, &o, e));
  const char *value = equals ? equals + 1 : NULL;
  if (!o->value && value) {
    return err_set(e, ERR_USAGE, "--%s takes no value", name);
  }
  if (o->value && !value) {
    if (*i + 1 >= argc) {
      return err_set(e, ERR_USAGE, "--%s needs a value: --%s %s", name, name, o->value);
    }
    value = argv[++*i];
  }
  return take_value(o, value, a, c, e);
}

/* --emu-memory becomes part of the device's name, so that it applies in every process that opens
 * the device. */
static int bound_memory(cli *c, arena *a, err *e) {
  const char *base = c->device ? c->device : "emu";
  auto_str name = {0};
  int64_t nbytes;
  if (!c->emu_memory) {
    return 0;
  }
  TRY(cli_number("emu-memory", c->emu_memory, 1, INT64_MAX, 0, &nbytes, e));
  if (!rt_names_emulator(base)) {
    return err_set(e, ERR_USAGE, "--emu-memory bounds the emulated device's memory: --device emu");
  }
  str_addf(&name, "%s%s,memory=%lld", base, base[3] ? "" : ":", (long long)nbytes);
  c->device = arena_text(a, str_text(&name));
  return c->device ? 0 : err_nomem(e);
}

int cli_parse(const cli_verb *verb, int argc, char **argv, arena *a, cli *c, err *e) {
  const char **words = ARENA_ARRAY(a, const char *, (size_t)argc + 1);
  bool plain;
  *c = (cli){.verb = verb->name, .words = words};
  c->lines = ARENA_ARRAY(a, const char *, (size_t)argc + 1);
  TRY(words && c->lines ? 0 : err_nomem(e));
  for (int i = 0; i < argc; i++) {
    if (c->n_words && !strcmp(verb->name, "run-program")) { /* the program's own */
      words[c->n_words++] = argv[i];
      continue;
    }
    TRY(cli_plain_parse(verb, argc, argv, &i, a, c, &plain, e));
    if (plain) {
      continue;
    }
    if (!strcmp(argv[i], "-h")) {
      c->help = "";
    } else if (!strncmp(argv[i], "--", 2) && argv[i][2]) {
      TRY(parse_option(verb, argc, argv, &i, a, c, e));
    } else if (argv[i][0] == '-') {
      return err_set(e, ERR_USAGE, "'%s' is not an option; options start with --", argv[i]);
    } else {
      words[c->n_words++] = argv[i];
    }
  }
  return bound_memory(c, a, e);
}
