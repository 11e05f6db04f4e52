/* What a template launches, as the expressions it was written with. */
#include "gen_tmpl.h"

static const char *text_of(const gen_expr *x) {
  return x ? x->text : NULL;
}

static gen_operand_text operand(const gen_stage_operand *from) {
  return (gen_operand_text){.from = from->from,
                            .index = from->index,
                            .type = from->element.type,
                            .value = text_of(from->value)};
}

static const gen_tensor_text *tensor(const gen_stage_tensor *from, arena *a) {
  gen_tensor_text *x = ARENA_ARRAY(a, gen_tensor_text, 1);
  if (!x) {
    return NULL;
  }
  *x = (gen_tensor_text){.at = operand(&from->at),
                         .type = from->element.type,
                         .field = from->element.field,
                         .rank = from->rank,
                         .swizzle = text_of(from->swizzle)};
  for (size_t i = 0; i < x->rank; i++) {
    x->dims[i] = text_of(from->dims[i]);
    x->box[i] = text_of(from->box[i]);
  }
  for (size_t i = 0; i + 1 < x->rank; i++) {
    x->strides[i] = operand(&from->strides[i]);
  }
  return x;
}

static int operands(const tmpl *t, const gen_stage *s, arena *a, gen_launch_text *out, err *e) {
  gen_operand_text *o = ARENA_ARRAY(a, gen_operand_text, s->n_operands + 1);
  if (!o) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < s->n_operands; i++) {
    const gen_stage_operand *from = &s->operands[i];
    if (from->from == GEN_FROM_VALUE && from->element.field >= 0) {
      return err_set(e, ERR_USAGE, "%s: the type of a value that %s is launched with depends on %s",
                     t->pub.name, s->kernel ? s->kernel : "a stage",
                     t->pub.fields[from->element.field].name);
    }
    if (from->from == GEN_FROM_CONTENTS) {
      return err_set(e, ERR_USAGE,
                     "a portfolio in C cannot pass %s by value; export problems of %s one by one, "
                     "with --header",
                     t->pub.args[from->index].name, t->pub.name);
    }
    if (from->from == GEN_FROM_PREPARED) {
      return err_set(e, ERR_USAGE, "a portfolio in C cannot prepare buffers, as %s does",
                     t->pub.name);
    }
    if (from->from == GEN_FROM_TEXTURE) {
      return err_set(e, ERR_USAGE, "exported C cannot make the textures that %s reads",
                     t->pub.name);
    }
    o[i] = operand(from);
    if (from->from == GEN_FROM_TENSOR && !(o[i].tensor = tensor(from->tensor, a))) {
      return err_nomem(e);
    }
  }
  out->operands = o;
  out->n_operands = s->n_operands;
  return 0;
}

static int launch(const tmpl *t, const gen_stage *s, arena *a, gen_launch_text *out, err *e) {
  if (s->symbol) {
    return err_set(
        e, ERR_USAGE,
        "a portfolio in C cannot set the __constant__ variable %s; export problems of %s one by "
        "one, with --header",
        s->symbol, t->pub.name);
  }
  if (s->copy) {
    return err_set(e, ERR_USAGE,
                   "a portfolio in C cannot copy buffers as %s does; export its problems one by "
                   "one, with --header",
                   t->pub.name);
  }
  if (s->loop) {
    return err_set(e, ERR_USAGE,
                   "a portfolio in C cannot repeat the stages of %s; export its problems one by "
                   "one, with --header",
                   t->pub.name);
  }
  if (s->pool) {
    return err_set(e, ERR_USAGE, "a portfolio in C cannot launch %s, which launches kernels",
                   s->kernel);
  }
  if (s->cooperative) {
    return err_set(e, ERR_USAGE,
                   "a portfolio in C cannot launch %s cooperatively; export problems of %s one by "
                   "one, with --header",
                   s->kernel, t->pub.name);
  }
  *out = (gen_launch_text){.kernel = s->kernel,
                           .when = text_of(s->when),
                           .overlap = text_of(s->overlap),
                           .early = text_of(s->early),
                           .smem = text_of(s->smem),
                           .fill = text_of(s->fill),
                           .nbytes = text_of(s->nbytes)};
  for (int i = 0; i < 3; i++) {
    out->grid[i] = text_of(s->grid[i]);
    out->block[i] = text_of(s->block[i]);
  }
  for (int i = 0; i < GEN_MAX_WORK; i++) {
    out->work[i] = text_of(s->work[i]);
  }
  return operands(t, s, a, out, e);
}

int gen_texts_make(const gen_template *pub, arena *a, gen_texts *out, err *e) {
  const tmpl *t = gen_tmpl(pub);
  const gen_program *p = &t->program;
  gen_launch_text *launches = ARENA_ARRAY(a, gen_launch_text, p->n_stages + 1);
  gen_workspace_text *workspaces = ARENA_ARRAY(a, gen_workspace_text, p->n_workspaces + 1);
  if (!launches || !workspaces) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < p->n_stages; i++) {
    TRY(launch(t, &p->stages[i], a, &launches[i], e));
  }
  for (size_t i = 0; i < p->n_workspaces; i++) {
    const gen_workspace *w = &p->workspaces[i];
    workspaces[i] = (gen_workspace_text){
        .count = w->count->text, .type = w->element.type, .field = w->element.field};
  }
  *out = (gen_texts){.launches = launches,
                     .n = p->n_stages,
                     .workspaces = workspaces,
                     .n_workspaces = p->n_workspaces,
                     .flops = text_of(t->flops),
                     .bytes = text_of(t->bytes)};
  return 0;
}

/* ---- as C ------------------------------------------------------------------------------------ */

static int write_c(const expr_scope *scope, const expr_node *const *derived, const char *text,
                   const char *(*name)(void *, const char *), void *ud, str *out, err *e) {
  auto_arena a = {0};
  const expr_node *x;
  err why = {0};
  int rc = expr_parse(scope, &a, text, NULL, &x, &why);
  rc = rc ? rc : expr_print_c(x, derived, name, ud, out, &why);
  return rc ? err_set(e, rc, "%s, in \"%s\"", why.message, text) : 0;
}

int gen_expression_c(const char *text, const char *(*name)(void *, const char *), void *ud,
                     str *out, err *e) {
  static const expr_scope anything;
  return write_c(&anything, NULL, text, name, ud, out, e);
}

int gen_expression_c_of(const gen_template *t, const char *text,
                        const char *(*name)(void *, const char *), void *ud, str *out, err *e) {
  const expr_scope scope = {&gen_tmpl(t)->symbols, ~0u};
  const expr_node *derived[GEN_MAX_DERIVED];
  for (size_t i = 0; i < t->n_derived; i++) {
    derived[i] = gen_tmpl(t)->derived[i]->tree;
  }
  return write_c(&scope, derived, text, name, ud, out, e);
}

bool gen_derived_is_condition(const gen_template *t, size_t i) {
  return gen_tmpl(t)->derived[i]->tree->types == EXPR_CONDITION;
}
