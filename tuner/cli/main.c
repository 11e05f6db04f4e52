/* main.c -- autotune: find the verb, run it, and report its error and exit status. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "threads.h"
#include "verbs.h"

static void complain(const err *e) {
  fprintf(stderr, "%sautotune:%s %s%s%s\n", style(stderr, STYLE_BAD), style_end(stderr), e->place,
          e->place[0] ? ": " : "", e->message[0] ? e->message : err_name(e->code));
}

/* With --json, wherever it stands: the line may be too wrong to be parsed. */
static bool is_json(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--json")) {
      return true;
    }
  }
  return false;
}

static int exit_status(int code) {
  return code == ERR_INTERRUPTED ? 130 : code == ERR_USAGE ? 2 : 1;
}

static void complain_json(const err *e) {
  str s = {0};
  jw_event(&s, "error");
  jw_text(&s, "code", err_name(e->code));
  jw_text(&s, "place", e->place);
  jw_text(&s, "message", e->message);
  jw_integer(&s, "status", exit_status(e->code));
  jw_end_line(&s);
  print_str(&s);
}

/* The output must be complete. A positive rc is a status that the verb asks for. */
static int finish(int rc, bool json, err *e) {
  if (rc > 0) {
    return rc;
  }
  if (!rc && (fflush(stdout) || ferror(stdout))) {
    rc = err_set(e, ERR_IO, "cannot write to standard output");
  }
  if (rc == ERR_INTERRUPTED && cli_time_is_up()) {
    err_clear(e);
    rc = err_set(e, ERR_LIMIT, "stopped at the end of --timeout");
  }
  if (rc) {
    complain(e);
  }
  if (rc && json) {
    complain_json(e);
  }
  return rc ? exit_status(rc) : 0;
}

static int run(const cli_verb *verb, int argc, char **argv, bool json) {
  cli c;
  err e = {0};
  auto_arena a = {0};
  int rc = cli_parse(verb, argc, argv, &a, &c, &e);
  if (!rc && verb == cli_verbs) {
    rc = cli_check_word(&c, &e);
  }
  if (!rc && c.help) {
    rc = verb == cli_verbs && c.n_words ? cli_print_family(&c, &e)
                                        : (cli_print_help(stdout, verb), 0);
  } else if (!rc) {
    rc = verb->run(&c, &e);
  }
  return finish(rc, json, &e);
}

/* Of a verb, a family, or all. */
static int help(const char *word) {
  err e = {0};
  const cli_verb *about = word ? cli_find_verb(word) : NULL;
  if (word && !about) {
    const cli c = {.verb = "help", .words = &word, .n_words = 1};
    int rc = cli_check_word(&c, &e);
    return finish(rc ? rc : cli_print_family(&c, &e), false, &e);
  }
  about ? cli_print_help(stdout, about) : cli_print_usage(stdout);
  return finish(0, false, &e);
}

typedef struct command_line {
  int argc, status;
  char **argv;
} command_line;

static int run_words(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* at the file size limit a write fails with an error instead */
  const char *word = argc > 1 ? argv[1] : "";
  if (!word[0]) {
    cli_print_usage(stderr);
    return 2;
  }
  if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
    return help(argc > 2 ? argv[2] : NULL);
  }
  if (!strcmp(word, "--version")) {
    err e = {0};
    printf("autotune %s\n", TUNED_VERSION);
    return finish(0, false, &e);
  }
  const cli_verb *verb = cli_find_verb(word);
  const bool json = is_json(argc, argv);
  return verb ? run(verb, argc - 2, argv + 2, json) : run(&cli_verbs[0], argc - 1, argv + 1, json);
}

static void *run_command(void *self) {
  command_line *c = self;
  c->status = run_words(c->argc, c->argv);
  return NULL;
}

/* With a small limit of the stack, as after `ulimit -s 64`, the program runs on a thread's. */
int main(int argc, char **argv) {
  enum { STACK_LEAST = 1 << 20 };
  command_line c = {.argc = argc, .argv = argv};
  struct rlimit limit = {0};
  pthread_t thread;
  getrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur >= STACK_LEAST || threads_start(&thread, run_command, &c)) {
    run_command(&c);
  } else {
    pthread_join(thread, NULL);
  }
  return c.status;
}
