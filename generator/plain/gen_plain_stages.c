/* The stages of a plain CUDA file's kernels as Lua text: launches, memsets and the contents of
 * __constant__ variables. */
#include <string.h>

#include "gen_plain_value.h"
#include "gen_plain_writer.h"

/* "X, Y, Z", which may stand in parentheses */
static int add_extent(gen_plain_writer *w, const char *key, const gen_plain_text *from,
                      bool presets, const gen_plain_stage *stage) {
  if (!from->p) {
    return gen_plain_fail(w->x, stage->kernel.at, w->e, "the %s of %s is missing: %s", key,
                          stage->kernel.p,
                          *key == 'g' ? "//@ grid ceildiv(n, BLOCK)" : "//@ block BLOCK");
  }
  str_addf(w->out, "%s = { ", key);
  for (const char *p = from->p;;) {
    p += strspn(p, " \t");
    const size_t n = gen_plain_part_length(p);
    char *part = arena_text_n(w->a, p, n);
    TRY(part ? 0 : err_nomem(w->e));
    gen_plain_add_expression(w, part, presets);
    if (!p[n]) {
      str_add(w->out, " },");
      return 0;
    }
    str_add(w->out, ", ");
    p += n + 1;
  }
}

/* A name, or TYPE:EXPRESSION */
static int add_operand(gen_plain_writer *w, const gen_plain_text *from, const char *p, size_t n,
                       bool presets) {
  const char *colon = memchr(p, ':', n);
  dtype type;
  char *word = arena_text_n(w->a, p, n);
  TRY(word ? 0 : err_nomem(w->e));
  for (size_t i = n; i && word[i - 1] == ' '; i--) {
    word[i - 1] = 0;
  }
  if (!colon) {
    gen_plain_quote(w->out, word);
    return 0;
  }
  word[colon - p] = 0;
  if (!dtype_parse(word, &type)) {
    return gen_plain_fail(w->x, from->at, w->e,
                          "'%s' is not an element type; an argument is a name or i32:EXPRESSION",
                          word);
  }
  str_addf(w->out, "{ \"%s\", ", word);
  gen_plain_add_expression(w, word + (colon - p) + 1, presets);
  str_add(w->out, " }");
  return 0;
}

static int add_operands(gen_plain_writer *w, const gen_plain_stage *s, bool presets) {
  str_add(w->out, "args = { ");
  if (s->args.p) {
    for (const char *p = s->args.p;;) {
      p += strspn(p, " \t");
      const size_t n = gen_plain_part_length(p);
      TRY(add_operand(w, &s->args, p, n, presets));
      if (!p[n]) {
        break;
      }
      str_add(w->out, ", ");
      p += n + 1;
    }
  } else {
    bool any = false;
    for (size_t i = 0; i < w->x->n_args; i++) {
      if (!w->x->args[i].is_constant) {
        str_addf(w->out, "%s\"%s\"", any ? ", " : "", w->x->args[i].name.p);
        any = true;
      }
    }
  }
  str_add(w->out, " }");
  return 0;
}

static int add_memset(gen_plain_writer *w, const gen_plain_stage *s) {
  gen_plain_start(w, s->memset.at);
  str_addf(w->out, "    { memset = \"%s\", value = %s", s->memset.p, s->value.p ? s->value.p : "0");
  for (size_t i = 0; i < w->x->n_args; i++) {
    const gen_plain_arg *arg = &w->x->args[i];
    if (!strcmp(arg->name.p, s->memset.p) && arg->count.p) {
      auto_str s2 = {0};
      gen_plain_expression(arg->count.p, NULL, &s2);
      str_addf(w->out, ", nbytes = \"%zu * (%s)\"", dtype_nbytes(arg->type), str_text(&s2));
    }
  }
  str_add(w->out, " },\n");
  return 0;
}

/* A mistake in what follows is told where it was written. */
static void next_part(gen_plain_writer *w, gen_plain_place at) {
  str_add(w->out, "\n      ");
  gen_plain_start(w, at);
}

static int add_launch(gen_plain_writer *w, const gen_plain_stage *s, size_t i, bool presets) {
  const size_t n = strcspn(s->kernel.p, "< ");
  gen_plain_start(w, s->kernel.at);
  str_addf(w->out, "    { kernel = \"%.*s", (int)n, s->kernel.p);
  if (!s->kernel.p[n]) {
    str_add(w->out, "\",");
  } else { /* a kernel of that name calls the instance */
    str_addf(w->out, "_instance%zu\", instance = ", i + 1);
    gen_plain_quote(w->out, s->kernel.p);
    str_add(w->out, ",");
  }
  next_part(w, s->grid.p ? s->grid.at : s->kernel.at);
  TRY(add_extent(w, "grid", &s->grid, presets, s));
  next_part(w, s->block.p ? s->block.at : s->kernel.at);
  TRY(add_extent(w, "block", &s->block, presets, s));
  if (s->shared.p) {
    next_part(w, s->shared.at);
    str_add(w->out, "smem = ");
    gen_plain_add_expression(w, s->shared.p, presets);
    str_add(w->out, ",");
  }
  if (s->when.p) {
    auto_str x = {0};
    next_part(w, s->when.at);
    str_add(w->out, "when = ");
    gen_plain_expression(s->when.p, presets ? w->x : NULL, &x);
    gen_plain_quote(w->out, str_text(&x));
    str_add(w->out, ",");
  }
  next_part(w, s->args.p ? s->args.at : s->kernel.at);
  TRY(add_operands(w, s, presets));
  str_add(w->out, " },\n");
  return 0;
}

int gen_plain_add_stages(gen_plain_writer *w, const gen_plain_stage *list, size_t n, bool presets) {
  gen_plain_line(w, "  stages = {");
  for (size_t i = 0; i < w->x->n_args; i++) {
    if (w->x->args[i].is_constant) {
      gen_plain_start(w, w->x->args[i].name.at);
      auto_str count = {0};
      gen_plain_expression(w->x->args[i].count.p, NULL, &count);
      str_addf(w->out, "    { constant = \"%s\", from = \"%s\", nbytes = \"%zu * (%s)\" },\n",
               w->x->args[i].name.p, w->x->args[i].name.p, dtype_nbytes(w->x->args[i].type),
               str_text(&count));
    }
  }
  for (size_t i = 0; i < n; i++) {
    TRY(list[i].memset.p ? add_memset(w, &list[i]) : add_launch(w, &list[i], i, presets));
  }
  gen_plain_line(w, "  },");
  return 0;
}
