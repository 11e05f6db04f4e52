/* cli_open.c -- open what verbs work with: device, database, template, problem, kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "open_device.h"
#include "run.h"
#include "serve_former.h"

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

/* In a child process: workers forked after the driver was started here could not use it. */
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

static int follow(db *d, err *e) {
  const int rc = serve_follow(d, e);
  if (rc) {
    db_close(d);
  }
  return rc;
}

int cli_open_db(const cli *c, db_mode mode, db **out, err *e) {
  arena a = {0};
  const char *path = c->db;
  int rc = path ? 0 : db_default_path(&a, &path, e);
  rc = rc ? rc : db_open(path, mode, out, e);
  rc = rc ? rc : follow(*out, e);
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
