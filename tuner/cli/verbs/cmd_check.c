/* cmd_check.c -- autotune check: compare the results of configurations with the reference. Nothing
 * is timed or stored. */
#include <string.h>

#include "cached_compiler.h"
#include "cli.h"
#include "emu.h"
#include "json_writer.h"
#include "print.h"
#include "run_candidate.h"
#include "verbs.h"

typedef struct checker {
  const cli *c;
  cli_kernel k;
  rt_compiler *compiler;
  rt_checker *checker;
  rt_harness *bench;
  const volatile sig_atomic_t *stop;
  size_t passed, failed, refused; /* refused: formats that these data do not fit */
  err mistake;                    /* in the template, reported last */
} checker;

static int run_one(checker *x, const gen_config *config, rt_check *check, err *e) {
  auto_str source = {0};
  size_t body;
  auto_image image = {0};
  const gen_plan *plan;
  rt_candidate candidate = {0};
  auto_arena a = {0};
  int rc = cli_kernel_compile(x->c, &x->k, config, x->compiler, false, &source, &body, &image, e);
  rc = rc ? rc : gen_plan_make(x->k.g, config, &a, &plan, e);
  const str *bytes = x->k.device->info.format == RT_PTX ? &image.ptx : &image.cubin;
  rc = rc ? rc : rt_candidate_load(&candidate, x->k.device, bytes, x->k.t, x->k.g, config, plan, e);
  rc = rc ? rc : rt_harness_check_contender(x->bench, rt_candidate_contender(&candidate), check, e);
  rt_candidate_clear(&candidate);
  return rc;
}

/* A mistake in the template, which every configuration may meet, is reported once. */
static bool reported(checker *x, const err *why) {
  const bool again = why->code == ERR_TEMPLATE && !strcmp(why->message, x->mistake.message) &&
                     !strcmp(why->place, x->mistake.place);
  if (why->code == ERR_TEMPLATE) {
    x->mistake = *why;
  }
  return again && !x->c->json;
}

static void report(const checker *x, const gen_config *config, const rt_check *check,
                   const err *why) {
  auto_str text = {0}, words = {0};
  str s = {0};
  gen_config_text(x->k.t, config, &text);
  if (x->c->json) {
    jw_event(&s, "check");
    jw_text(&s, "config", str_text(&text));
    jw_bool(&s, "ok", !why->code);
    jw_real(&s, "error", 3, check->error);
    jw_text(&s, "reason", why->message);
    jw_end_line(&s);
  } else if (why->code) {
    config_words(x->k.t, &x->k.device->info, str_text(&x->k.problem_text), str_text(&text), &words);
    str_addf(&s, "%sFAIL%s %s\n     %s%s%s\n", style(stdout, STYLE_BAD), style_end(stdout),
             str_text(&words), why->place, why->place[0] ? ": " : "", why->message);
  } else if (!x->c->quiet) {
    config_words(x->k.t, &x->k.device->info, str_text(&x->k.problem_text), str_text(&text), &words);
    str_addf(&s, "%sok%s   error %5.3f of the tolerance  %s\n", style(stdout, STYLE_GOOD),
             style_end(stdout), check->error, str_text(&words));
    fit_line(&s, 0);
  }
  print_str(&s);
  fflush(stdout);
}

static int check_one(checker *x, const gen_config *config, err *e) {
  rt_check check = {0};
  err why = {0};
  const int rc = run_one(x, config, &check, &why);
  if (rc == ERR_INTERRUPTED) {
    return err_copy(e, rc, &why);
  }
  if (rc == ERR_USAGE && x->k.t->n_counts && !x->c->config) {
    x->refused++;
    return 0;
  }
  if (rc) {
    x->failed++;
  } else {
    x->passed++;
  }
  if (!reported(x, &why)) {
    report(x, config, &check, &why);
  }
  if (x->k.device->dead) {
    return err_set(e, ERR_LAUNCH,
                   "the last configuration destroyed the device's context; %zu were checked",
                   x->passed + x->failed);
  }
  return 0;
}

/* Check the first n points in the order of a strategy. */
static int check_many(checker *x, const search_strategy *order, size_t n, uint64_t seed, err *e) {
  auto_space *space = NULL;
  search_space view;
  void *self = NULL;
  size_t point;
  TRY(gen_space_new(x->k.g, &space, e));
  search_space_view(space, x->k.t, &view);
  int rc = search_strategy_open(order, &view, seed, &self, e);
  for (size_t i = 0; !rc && i < n && order->ask(self, &point); i++) {
    gen_config config;
    gen_space_at(space, point, &config);
    rc = *x->stop ? err_set(e, ERR_INTERRUPTED, "interrupted") : check_one(x, &config, e);
  }
  if (self) {
    search_strategy_close(order, self);
  }
  return rc;
}

static int choose_checks(checker *x, err *e) {
  if (rt_emu_is(x->k.device)) {
    rt_emu_set_stop(x->k.device, x->stop);
  }
  if (x->c->no_checks && !rt_emu_is(x->k.device)) {
    return err_set(e, ERR_USAGE, "--no-checks is for the emulated device: a GPU has no checks");
  }
  if (x->c->no_checks) {
    rt_emu_set_checks(x->k.device, false);
  }
  return 0;
}

static int check(checker *x, err *e) {
  int64_t n, seed;
  TRY(cli_number("sample", x->c->sample, 1, INT32_MAX, 20, &n, e));
  TRY(cli_number("seed", x->c->seed, 0, INT64_MAX, 1, &seed, e));
  TRY(cli_limit_time(x->c, &x->stop, e));
  TRY(cli_kernel_open_to_run(x->c, &x->k, e));
  TRY(choose_checks(x, e));
  TRY(cached_compiler_open(&x->compiler, e));
  TRY(rt_checker_new(x->k.device, x->compiler, &x->checker, e));
  TRY(rt_harness_new(x->k.device, x->compiler, x->checker, x->k.t, x->k.g, &x->bench, e));
  if (x->c->config) {
    TRY(gen_config_check(x->k.g, &x->k.config, e));
    TRY(check_one(x, &x->k.config, e));
  } else if (x->c->all) {
    TRY(check_many(x, &search_exhaustive, SIZE_MAX, 0, e));
  } else {
    TRY(check_many(x, &search_random, (size_t)n, (uint64_t)seed, e));
  }
  if (!x->c->json) {
    printf("%s on %s: %zu right, %zu wrong", str_text(&x->k.problem_text), x->k.device->info.name,
           x->passed, x->failed);
    if (x->refused) {
      printf(", %zu do not fit these data", x->refused);
    }
    putchar('\n');
    if (x->k.t->self_checked) {
      puts("there is no reference: results are compared with the default's, which nothing checks");
    }
  }
  return x->failed ? err_set(e, ERR_WRONG, "%zu of %zu configurations failed the check", x->failed,
                             x->passed + x->failed)
                   : 0;
}

int cmd_check(const cli *c, err *e) {
  checker x = {.c = c};
  int rc = check(&x, e);
  rt_harness_free(x.bench);
  rt_checker_free(x.checker);
  rt_compiler_close(x.compiler);
  cli_kernel_close(&x.k);
  return rc;
}
