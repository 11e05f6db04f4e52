#define _GNU_SOURCE
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "open_device.h"
#include "run.h"

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct option {
  const char *name, *value, *text;
  size_t offset; /* of the field in cli */
} option;

static const option options[] = {
#define CLI_ROW(name, value, text) {#name, value, text, offsetof(cli, name)},
    CLI_OPTIONS(CLI_ROW)
#undef CLI_ROW
};

enum { N_OPTIONS = sizeof options / sizeof *options };

/* A name as typed: the fields of cli spell - as _. */
static void spell(const char *name, char *out, size_t n) {
  snprintf(out, n, "%s", name);
  for (char *p = out; (p = strchr(p, '_'));) {
    *p = '-';
  }
}

static bool takes(const cli_verb *verb, const char *name) {
  char word[32];
  snprintf(word, sizeof word, " %s ", name);
  return !strcmp(name, "help") || strstr(verb->options, word);
}

static int unknown_option(const cli_verb *verb, const char *name, err *e) {
  const char *names[N_OPTIONS];
  size_t n = 0;
  for (size_t i = 0; i < N_OPTIONS; i++) {
    if (takes(verb, options[i].name)) {
      names[n++] = options[i].name;
    }
  }
  const char *near = text_nearest(name, names, n);
  return err_set(e, ERR_USAGE, "`autotune %s` takes no option --%s%s%s%s; see autotune %s --help",
                 verb->name, name, near ? ", did you mean --" : "", near ? near : "",
                 near ? "?" : "", verb->name);
}

static int find_option(const cli_verb *verb, const char *name, const option **out, err *e) {
  for (size_t i = 0; i < N_OPTIONS; i++) {
    char typed[32];
    spell(options[i].name, typed, sizeof typed);
    if (!strcmp(typed, name) && takes(verb, options[i].name)) {
      *out = &options[i];
      return 0;
    }
  }
  return unknown_option(verb, name, e);
}

/* One option at argv[*i]; moves *i over a value that stands apart. */
static int parse_option(const cli_verb *verb, int argc, char **argv, int *i, cli *c, err *e) {
  char name[32] = "";
  const char *text = argv[*i] + 2;
  const char *equals = strchr(text, '=');
  size_t n = equals ? (size_t)(equals - text) : strlen(text);
  if (n < sizeof name) {
    memcpy(name, text, n);
  }
  const option *o = NULL;
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
  *(const char **)((char *)c + o->offset) = value ? value : "";
  return 0;
}

/* --emu-memory becomes part of the device's name, so that every process that opens it obeys */
static int bound_memory(cli *c, arena *a, err *e) {
  const char *base = c->device ? c->device : "emu";
  str name = {0};
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
  str_clear(&name);
  return c->device ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

int cli_parse(const cli_verb *verb, int argc, char **argv, arena *a, cli *c, err *e) {
  const char **words = ARENA_ARRAY(a, const char *, (size_t)argc + 1);
  *c = (cli){.verb = verb->name, .words = words};
  for (int i = 0; i < argc; i++) {
    if (!strcmp(argv[i], "-h")) {
      c->help = "";
    } else if (!strncmp(argv[i], "--", 2) && argv[i][2]) {
      TRY(parse_option(verb, argc, argv, &i, c, e));
    } else if (argv[i][0] == '-') {
      return err_set(e, ERR_USAGE, "'%s' is neither a word nor an option; options start with --",
                     argv[i]);
    } else {
      words[c->n_words++] = argv[i];
    }
  }
  return bound_memory(c, a, e);
}

void cli_print_help(FILE *f, const cli_verb *verb) {
  fprintf(f, "usage: autotune %s\n\n%s\n\n", verb->usage, verb->brief);
  if (verb->details) {
    fprintf(f, "%s\n", verb->details);
  }
  fprintf(f, "options:\n");
  for (size_t i = 0; i < N_OPTIONS; i++) {
    if (takes(verb, options[i].name)) {
      char typed[32], left[80];
      spell(options[i].name, typed, sizeof typed);
      snprintf(left, sizeof left, "--%s %s", typed, options[i].value ? options[i].value : "");
      fprintf(f, "  %-18s %s\n", left, options[i].text);
    }
  }
}

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

/* ---- what verbs share ------------------------------------------------------------------------ */

static volatile sig_atomic_t stop_flag;
static bool catching;

static void on_signal(int number) {
  stop_flag = 1;
  signal(number, SIG_DFL); /* the second one ends the program */
}

const volatile sig_atomic_t *cli_catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll returns */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  catching = true;
  return &stop_flag;
}

static bool count_gpus(void) {
  int n = 0;
  return !rt_cuda_count(&n, NULL) && n > 0;
}

/* Asked in a process of its own: those forked after this one had started the driver, to measure
 * say, could not use it. */
static bool is_gpu_here(void) {
  static enum { UNKNOWN, NO, YES } known;
  if (known == UNKNOWN) {
    int status = 1;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
      _exit(count_gpus() ? 0 : 1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    known = child > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? YES : NO;
  }
  return known == YES;
}

const char *cli_device(const cli *c) {
  const char *from_environment = getenv("TUNED_DEVICE");
  if (c->device) {
    return c->device;
  }
  if (from_environment && from_environment[0]) {
    return from_environment;
  }
  return is_gpu_here() ? "0" : "emu";
}

int cli_open_db(const cli *c, db_mode mode, db **out, err *e) {
  arena a = {0};
  const char *path = c->db;
  int rc = path ? 0 : db_default_path(&a, &path, e);
  rc = rc ? rc : db_open(path, mode, out, e);
  if (!rc && db_note(*out)) {
    fprintf(stderr, "autotune: %s\n", db_note(*out));
  }
  arena_clear(&a);
  return rc;
}

static int check_folder(const char *path, err *e) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode)
             ? 0
             : err_set(e, ERR_USAGE, "--templates %s: there is no such folder", path);
}

int cli_template_options(const cli *c, arena *a, gen_options *out, err *e) {
  enum { MAX_FOLDERS = 64 };
  const char **folders = ARENA_ARRAY(a, const char *, MAX_FOLDERS);
  const char *variable = getenv("TUNED_TEMPLATES");
  *out = (gen_options){.folders = folders, .stop = catching ? &stop_flag : NULL};
  if (c->templates) {
    TRY(check_folder(c->templates, e));
    folders[out->n_folders++] = c->templates;
  }
  char *list = variable ? arena_text(a, variable) : NULL, *rest = NULL;
  for (char *p = list ? strtok_r(list, ":", &rest) : NULL; p; p = strtok_r(NULL, ":", &rest)) {
    if (out->n_folders == MAX_FOLDERS) {
      return err_set(e, ERR_LIMIT, "TUNED_TEMPLATES names more than %d folders", MAX_FOLDERS - 1);
    }
    folders[out->n_folders++] = p;
  }
  return 0;
}

int cli_open_template(const cli *c, arena *a, gen_template **t, err *e) {
  gen_options o;
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name a family or a template file: autotune %s sgemm ...",
                   c->verb);
  }
  TRY(cli_template_options(c, a, &o, e));
  return gen_open(&o, c->words[0], t, e);
}

int cli_problem(const cli *c, gen_template *t, gen_problem *p, err *e) {
  str text = {0};
  for (size_t i = 1; i < c->n_words; i++) {
    str_addf(&text, "%s ", c->words[i]);
  }
  int rc = gen_problem_parse(t, str_text(&text), p, e);
  str_clear(&text);
  return rc;
}

static int open_parts(const cli *c, cli_kernel *k, err *e) {
  gen_number numbers[RT_NUMBERS];
  TRY(cli_open_template(c, &k->memory, &k->t, e));
  TRY(cli_problem(c, k->t, &k->problem, e));
  gen_problem_text(k->t, &k->problem, &k->problem_text);
  TRY(rt_device_open(cli_device(c), &k->device, e));
  rt_numbers(&k->device->info, numbers);
  TRY(gen_instance_new(k->t, &k->problem, numbers, RT_NUMBERS, &k->g, e));
  return gen_config_parse(k->t, c->config ? c->config : "", &k->config, e);
}

int cli_kernel_open(const cli *c, cli_kernel *k, err *e) {
  *k = (cli_kernel){0};
  return open_parts(c, k, e);
}

void cli_kernel_close(cli_kernel *k) {
  gen_instance_free(k->g);
  if (k->device) {
    k->device->ops->close(k->device);
  }
  gen_close(k->t);
  str_clear(&k->problem_text);
  arena_clear(&k->memory);
}

int cli_kernel_compile(const cli *c, cli_kernel *k, const gen_config *config, rt_compiler *compiler,
                       bool registers, str *source, size_t *body, rt_image *image, err *e) {
  TRY(gen_source_make(k->g, config, source, body, e));
  rt_source s = {.text = str_text(source),
                 .body = *body,
                 .arch = c->arch ? c->arch : k->device->info.arch,
                 .lineinfo = !c->arch && k->device->info.format == RT_PTX,
                 .registers = registers};
  return rt_compile(compiler, &s, &k->memory, image, e);
}

static int add_words(gen_template *t, const rt_info *device, const char *problem,
                     const char *config, str *out) {
  gen_number numbers[RT_NUMBERS];
  gen_problem p;
  gen_config c;
  gen_instance *g;
  rt_numbers(device, numbers);
  TRY(gen_problem_parse(t, problem, &p, NULL));
  TRY(gen_config_parse(t, config, &c, NULL));
  TRY(gen_instance_new(t, &p, numbers, RT_NUMBERS, &g, NULL));
  const int rc = gen_config_words(g, &c, out, NULL);
  gen_instance_free(g);
  return rc;
}

void cli_config_words(gen_template *t, const rt_info *device, const char *problem,
                      const char *config, str *out) {
  str words = {0};
  str_add(out, add_words(t, device, problem, config, &words) ? config : str_text(&words));
  str_clear(&words);
}
