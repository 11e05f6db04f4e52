/* Kernels of a template that judge what launches leave, where no single result is right. */
#include <string.h>

#include "gen_read_operands.h"

enum { MAX_CHECKS = 8 };

static const gen_expr *two(gen_reader *r) {
  return gen_expr_new(r->b, r->a, "2", gen_here(r), &r->t->symbols, GEN_READS_DEVICE);
}

/* What its kernels report in; arguments of these names would hide it. */
static void add_reports(gen_reader *r, gen_program *p) {
  gen_workspace *w = GEN_MAKE(r, gen_workspace, GEN_CHECK_WORKSPACES);
  w[GEN_CHECK_WRONG] = (gen_workspace){"wrong", {DTYPE_u64, -1}, two(r)};
  w[GEN_CHECK_SUMS] = (gen_workspace){"sums", {DTYPE_f64, -1}, two(r)};
  p->workspaces = w;
  p->n_workspaces = GEN_CHECK_WORKSPACES;
  for (size_t i = 0; i < GEN_CHECK_WORKSPACES; i++) {
    if (gen_arg_find(&r->t->pub, w[i].name)) {
      gen_bad(r, "checks report in \"%s\", which is an argument here; rename that", w[i].name);
    }
  }
}

static void judge(gen_reader *r, const char *name) {
  gen_arg *arg = (gen_arg *)gen_arg_find(&r->t->pub, name);
  if (!arg || arg->dir < GEN_OUT) {
    gen_bad(r,
            "'%s' is no output; 'of' names outputs, which the check judges instead of a comparison",
            name);
  }
  arg->judged = true;
}

/* of = "x", or a list: outputs that checks judge alone */
static bool read_of(gen_reader *r) {
  if (!gen_enter(r, "of")) {
    return false;
  }
  const size_t n = gen_is_text(r) ? 0 : gen_list(r, "of", NULL);
  if (!n) {
    judge(r, gen_text(r, "of"));
  }
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an output");
    judge(r, gen_text(r, "an output"));
    gen_leave(r);
  }
  gen_leave(r);
  return true;
}

static bool takes(const gen_program *p, uint32_t workspace) {
  bool does = false;
  for (const gen_stage *s = p->stages; s < p->stages + p->n_stages; s++) {
    for (size_t i = 0; i < s->n_operands; i++) {
      const gen_stage_operand *o = &s->operands[i];
      does |= s->kernel && o->from == GEN_FROM_WORKSPACE && o->index == workspace;
    }
  }
  return does;
}

/* { "sorted", of = "keys", kernel = "is_sorted", grid = ..., block = ..., args = { ..., "wrong" } } */
static void read_one(gen_reader *r, gen_check *check, gen_check_rule *rule) {
  static const char *const keys[] = {"of",    "residual", "workspace", "kernel", "grid",
                                     "block", "smem",     "args",      NULL},
                           *const staged[] = {"of", "residual", "workspace", "stages", NULL};
  if (gen_list(r, "a check", gen_has_entry(r, "stages") ? staged : keys) != 1) {
    gen_bad(r, "a check is { name, kernel = ..., grid = ..., block = ..., args = ... }");
  }
  check->name = gen_first_name(r, "a check's name");
  check->of_outputs = read_of(r);
  rule->residual = gen_numeric_at(r, "residual", GEN_READS_PROBLEM);
  check->residual = rule->residual;
  add_reports(r, &rule->program);
  gen_read_check(r, &rule->program, GEN_READS_DEVICE);
  const uint32_t report = check->residual ? GEN_CHECK_SUMS : GEN_CHECK_WRONG;
  if (!takes(&rule->program, report)) {
    gen_bad(r, "the check '%s' never fails: no kernel takes \"%s\"", check->name,
            rule->program.workspaces[report].name);
  }
}

/* An output that nothing judges is a mistake. */
static void check_reference(gen_reader *r) {
  const gen_template *t = &r->t->pub;
  for (size_t i = 0; i < t->n_args && !r->t->reference.n_stages; i++) {
    if (t->args[i].dir >= GEN_OUT && !t->args[i].judged) {
      gen_bad(r, "the reference has no stages, and no check is of the output '%s'",
              t->args[i].name);
    }
  }
}

void gen_read_checks(gen_reader *r) {
  if (!gen_enter(r, "checks")) {
    return;
  }
  const size_t n = gen_bounded_list(r, "checks", MAX_CHECKS);
  gen_check *checks = GEN_MAKE(r, gen_check, n);
  gen_check_rule *rules = GEN_MAKE(r, gen_check_rule, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a check");
    read_one(r, &checks[i], &rules[i]);
    gen_leave(r);
  }
  r->t->pub.checks = checks;
  r->t->pub.n_checks = n;
  r->t->checks = rules;
  check_reference(r);
  gen_leave(r);
}
