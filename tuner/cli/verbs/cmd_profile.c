/* cmd_profile.c -- autotune profile: the counters of the emulated device for each launch. */
#include <string.h>

#include "cached_compiler.h"
#include "cli.h"
#include "emu.h"
#include "print.h"
#include "run_candidate.h"
#include "emu_report.h"
#include "verbs.h"

enum { SAMPLED_BLOCKS = 16 };

typedef struct profiler {
  const cli *c;
  cli_kernel k;
  rt_compiler *compiler;
  rt_checker *checker;
  rt_harness *bench;
  rt_candidate candidate;
} profiler;

/* A plan of one stage, so that the counters are of this launch alone. */
static int profile_stage(profiler *x, const gen_plan *plan, size_t i, err *e) {
  rt_stage stage;
  rt_times times;
  rt_timing how = {0};
  rt_emu_stats stats;
  str s = {0};
  if (!plan->launches[i].kernel) {
    return 0;
  }
  TRY(rt_stage_open(&stage, &x->candidate, x->k.t, plan, i, e));
  int rc = rt_harness_time_contender(x->bench, rt_stage_contender(&stage), &how, &times, e);
  rt_emu_last_stats(x->k.device, &stats);
  rt_stage_close(&stage);
  TRY(rc);
  (x->c->json ? emu_report_json : emu_report_text)(&s, plan->launches[i].kernel, &stats);
  print_str(&s);
  return 0;
}

/* Counts are known after a preparation. */
static int load(profiler *x, const str *ptx, const gen_plan **plan, err *e) {
  rt_times times;
  TRY(gen_plan_make(x->k.g, &x->k.config, &x->k.memory, plan, e));
  TRY(rt_candidate_load(&x->candidate, x->k.device, ptx, x->k.t, x->k.g, &x->k.config, *plan, e));
  TRY(x->candidate.prepared
          ? rt_harness_time_contender(x->bench, rt_candidate_contender(&x->candidate),
                                      &(rt_timing){0}, &times, e)
          : 0);
  return rt_candidate_plan(&x->candidate, x->k.g, &x->k.config, &x->k.memory, plan, e);
}

static int profile_plan(profiler *x, const str *ptx, err *e) {
  const gen_plan *plan;
  TRY(load(x, ptx, &plan, e));
  rt_emu_set_checks(x->k.device, false);
  rt_emu_set_sample(x->k.device, SAMPLED_BLOCKS);
  for (size_t i = 0; i < plan->n; i++) {
    const gen_loop *loop = plan->launches[i].loop;
    TRY(profile_stage(x, plan, i, e));
    const bool ends =
        loop && loop->n_odd && i + 1 >= loop->n && plan->launches[i + 1 - loop->n].loop == loop;
    i += ends ? loop->n_odd : 0; /* odd iterations are like even ones */
  }
  return 0;
}

static void print_head(const profiler *x) {
  auto_str config = {0};
  gen_config_words(x->k.g, &x->k.config, &config, NULL);
  printf("%s on %s\n%s\n", str_text(&x->k.problem_text), x->k.device->info.name, str_text(&config));
}

static int profile(profiler *x, err *e) {
  auto_str source = {0};
  size_t body;
  auto_image image = {0};
  const volatile sig_atomic_t *stop;
  TRY(cli_limit_time(x->c, &stop, e));
  TRY(cli_kernel_open_to_run(x->c, &x->k, e));
  if (!rt_emu_is(x->k.device)) {
    return err_set(e, ERR_USAGE,
                   "profile counts on the emulated device: --device emu; on a GPU use ncu");
  }
  rt_emu_set_stop(x->k.device, stop);
  TRY(gen_config_check(x->k.g, &x->k.config, e));
  TRY(cached_compiler_open(&x->compiler, e));
  TRY(rt_checker_new(x->k.device, x->compiler, &x->checker, e));
  TRY(rt_harness_new(x->k.device, x->compiler, x->checker, x->k.t, x->k.g, &x->bench, e));
  if (!x->c->json) {
    print_head(x);
  }
  TRY(cli_kernel_compile(x->c, &x->k, &x->k.config, x->compiler, true, &source, &body, &image, e));
  return profile_plan(x, &image.ptx, e);
}

int cmd_profile(const cli *c, err *e) {
  profiler x = {.c = c};
  int rc = profile(&x, e);
  rt_candidate_clear(&x.candidate);
  rt_harness_free(x.bench);
  rt_checker_free(x.checker);
  rt_compiler_close(x.compiler);
  cli_kernel_close(&x.k);
  return rc;
}
