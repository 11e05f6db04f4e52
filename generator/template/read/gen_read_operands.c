/* gen_read_operands.c -- see gen_read_operands.h. */
#define _GNU_SOURCE
#include "gen_read_operands.h"

#include <lauxlib.h>
#include <string.h>

static bool is_arg(const gen_template *t, const char *name, uint32_t *index) {
  const gen_arg *a = gen_arg_find(t, name);
  *index = a ? (uint32_t)(a - t->args) : 0;
  return a;
}

bool gen_workspace_find(const gen_program *p, const char *name, uint32_t *index) {
  for (size_t i = 0; i < p->n_workspaces; i++) {
    if (!strcmp(p->workspaces[i].name, name)) {
      *index = (uint32_t)i;
      return true;
    }
  }
  return false;
}

/* Launches see what is kept, the preparation sees its scratch, too. */
static bool find_prepared(const gen_scope *s, const char *name, uint32_t *index) {
  const tmpl *t = s->r->t;
  const bool sees = s->in_prepare || s->program == &t->program;
  for (size_t i = 0; sees && i < t->pub.n_prepared; i++) {
    if ((s->in_prepare || t->pub.prepared[i].kept) && !strcmp(t->pub.prepared[i].name, name)) {
      *index = (uint32_t)i;
      return true;
    }
  }
  return false;
}

gen_element gen_operand_element(const gen_scope *s, const gen_stage_operand *o) {
  return o->from == GEN_FROM_ARG        ? s->r->t->args[o->index].element
         : o->from == GEN_FROM_PREPARED ? s->r->t->prepare.buffers[o->index].element
                                        : s->program->workspaces[o->index].element;
}

/* An argument, a workspace or what was prepared, by its name. */
gen_stage_operand gen_operand_find(gen_scope *s, const char *name) {
  const gen_template *t = &s->r->t->pub;
  gen_stage_operand o = {.from = GEN_FROM_ARG};
  if (is_arg(t, name, &o.index)) {
    return o;
  }
  o.from = GEN_FROM_WORKSPACE;
  if (gen_workspace_find(s->program, name, &o.index)) {
    return o;
  }
  o.from = GEN_FROM_PREPARED;
  if (find_prepared(s, name, &o.index)) {
    return o;
  }
  const char *names[160];
  size_t n = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    names[n++] = t->args[i].name;
  }
  for (size_t i = 0; i < s->program->n_workspaces; i++) {
    names[n++] = s->program->workspaces[i].name;
  }
  for (size_t i = 0; i < t->n_prepared; i++) {
    names[n++] = t->prepared[i].name;
    if (!strcmp(t->prepared[i].name, name)) {
      gen_bad(s->r, "'%s' is %s", name,
              t->prepared[i].kept ? "of the preparation, which the reference does not see"
                                  : "scratch of the preparation; launches take its outputs");
    }
  }
  gen_bad(s->r, "there is no argument or workspace '%s'%s", name,
          gen_suggestion(name, names, n).text);
}

/* { tensor = "A", dims = { "m", "k" }, strides = { "lda" }, box = { 64, "BK" }, swizzle = 128 } */

/* A scalar argument's value at the launch, or an expression. */
static gen_stage_operand read_stride(gen_scope *s) {
  gen_reader *r = s->r;
  gen_stage_operand o = {.from = GEN_FROM_ARG};
  if (gen_is_text(r) && is_arg(&r->t->pub, gen_text(r, "a stride"), &o.index) &&
      r->t->pub.args[o.index].dir == GEN_SCALAR && !r->t->args[o.index].is_field) {
    const gen_element type = r->t->args[o.index].element;
    if (type.field >= 0 || dtype_is_float(type.type)) {
      gen_bad(r, "a stride is a whole number; '%s' is none", r->t->pub.args[o.index].name);
    }
    return o;
  }
  return (gen_stage_operand){.from = GEN_FROM_VALUE,
                             .element = {.type = DTYPE_i64, .field = -1},
                             .value = gen_numeric(r, s->kinds)};
}

static size_t enter_extents(gen_scope *s, const char *key, size_t least, size_t most) {
  gen_need(s->r, key);
  const size_t n = gen_bounded_list(s->r, key, GEN_MAX_RANK);
  if (n < least || n > most) {
    gen_bad(s->r,
            "'%s' has %zu entries; a tensor has 1 to %d dimensions, a stride for each but the "
            "first, and a box of as many",
            key, n, GEN_MAX_RANK);
  }
  return n;
}

static size_t read_extents(gen_scope *s, const char *key, size_t least, size_t most,
                           const gen_expr **out) {
  const size_t n = enter_extents(s, key, least, most);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(s->r, (int64_t)i + 1, "an extent");
    out[i] = gen_numeric(s->r, s->kinds);
    gen_leave(s->r);
  }
  gen_leave(s->r);
  return n;
}

bool gen_has_entry(gen_reader *r, const char *key) {
  const bool has = gen_is_table(r) && gen_enter(r, key);
  if (has) {
    gen_leave(r);
  }
  return has;
}

static void read_strides(gen_scope *s, gen_stage_tensor *x) {
  if (x->rank == 1 && !gen_has_entry(s->r, "strides")) {
    return;
  }
  enter_extents(s, "strides", x->rank - 1, x->rank - 1);
  for (size_t i = 0; i + 1 < x->rank; i++) {
    gen_need_at(s->r, (int64_t)i + 1, "a stride");
    x->strides[i] = read_stride(s);
    gen_leave(s->r);
  }
  gen_leave(s->r);
}

static gen_stage_operand find_buffer(gen_scope *s, const char *what, gen_element *element) {
  const gen_stage_operand o = gen_operand_find(s, gen_text(s->r, what));
  const bool is_arg = o.from == GEN_FROM_ARG;
  if (is_arg && s->r->t->pub.args[o.index].dir == GEN_SCALAR) {
    gen_bad(s->r, "'%s' is a scalar; a %s is in a buffer or workspace",
            s->r->t->pub.args[o.index].name, what);
  }
  *element = gen_operand_element(s, &o);
  return o;
}

static gen_stage_operand read_tensor(gen_scope *s) {
  static const char *const keys[] = {"tensor", "dims", "strides", "box", "swizzle", NULL};
  gen_reader *r = s->r;
  gen_stage_tensor *x = GEN_MAKE(r, gen_stage_tensor, 1);
  gen_keys(r, keys);
  gen_need(r, "tensor");
  x->at = find_buffer(s, "tensor", &x->element);
  gen_leave(r);
  x->rank = read_extents(s, "dims", 1, GEN_MAX_RANK, x->dims);
  read_extents(s, "box", x->rank, x->rank, x->box);
  read_strides(s, x);
  x->swizzle = gen_numeric_at(r, "swizzle", s->kinds);
  return (gen_stage_operand){.from = GEN_FROM_TENSOR, .tensor = x};
}

/* ---- textures -------------------------------------------------------------------------------- */

/* Which of the words is at this key? The first where the key is absent. */
static int read_word(gen_reader *r, const char *key, const char *const *words) {
  const char *word = gen_text_at(r, key);
  for (int i = 0; word && words[i]; i++) {
    if (!strcmp(word, words[i])) {
      return i;
    }
  }
  if (word) {
    gen_bad(r, "%s is '%s' or '%s', not '%s'", key, words[0], words[1], word);
  }
  return 0;
}

static gen_edge read_edge(gen_reader *r) {
  static const char *const names[] = {"wrap", "clamp", "mirror", "border"};
  const char *word = gen_text(r, "address");
  for (int i = 0; i < 4; i++) {
    if (!strcmp(word, names[i])) {
      return (gen_edge)i;
    }
  }
  gen_bad(r, "address is 'clamp', 'border', 'wrap' or 'mirror', not '%s'", word);
}

/* One word for all dimensions, or a list; they clamp where there is none. */
static void read_edges(gen_reader *r, size_t rank, gen_edge edge[GEN_TEXTURE_RANK]) {
  for (size_t i = 0; i < GEN_TEXTURE_RANK; i++) {
    edge[i] = GEN_CLAMP;
  }
  if (!gen_enter(r, "address")) {
    return;
  }
  const bool several = gen_is_table(r);
  if (several && gen_bounded_list(r, "address", GEN_TEXTURE_RANK) != rank) {
    gen_bad(r, "address has one entry for each of the %zu dimensions", rank);
  }
  for (size_t i = 0; i < rank; i++) {
    if (several) {
      gen_need_at(r, (int64_t)i + 1, "an address mode");
    }
    edge[i] = read_edge(r);
    if (several) {
      gen_leave(r);
    }
  }
  gen_leave(r);
}

static void read_reading(gen_reader *r, size_t rank, gen_reading *how) {
  static const char *const filters[] = {"nearest", "linear", NULL},
                           *const coordinates[] = {"texels", "normalized", NULL},
                           *const values[] = {"elements", "normalized", NULL};
  how->linear = read_word(r, "filter", filters);
  how->normalized_coords = read_word(r, "coordinates", coordinates);
  how->normalized = read_word(r, "values", values);
  read_edges(r, rank, how->edge);
  for (size_t i = 0; i < rank; i++) {
    if (!how->normalized_coords && (how->edge[i] == GEN_WRAP || how->edge[i] == GEN_MIRROR)) {
      gen_bad(r, "address 'wrap' and 'mirror' need coordinates = 'normalized'");
    }
  }
}

static void read_texture_dims(gen_scope *s, gen_stage_texture *x) {
  gen_need(s->r, "dims");
  x->rank = gen_bounded_list(s->r, "dims", GEN_TEXTURE_RANK);
  if (!x->rank) {
    gen_bad(s->r, "a texture has 1 to %d dimensions", GEN_TEXTURE_RANK);
  }
  for (size_t i = 0; i < x->rank; i++) {
    gen_need_at(s->r, (int64_t)i + 1, "an extent");
    x->dims[i] = gen_numeric(s->r, s->kinds);
    gen_leave(s->r);
  }
  gen_leave(s->r);
}

/* Rows and slices follow each other where no strides are given. */
static void read_texture_strides(gen_scope *s, gen_stage_texture *x) {
  gen_reader *r = s->r;
  x->dense = !gen_has_entry(r, "strides");
  if (x->dense) {
    return;
  }
  gen_need(r, "strides");
  if (gen_bounded_list(r, "strides", GEN_TEXTURE_RANK) != x->rank - 1) {
    gen_bad(r, "strides has an entry for each dimension but the first");
  }
  for (size_t i = 0; i + 1 < x->rank; i++) {
    gen_need_at(r, (int64_t)i + 1, "a stride");
    x->strides[i] = read_stride(s);
    gen_leave(r);
  }
  gen_leave(r);
}

/* { texture = "image", dims = { "width", "height" }, filter = "linear", array = true } */
static gen_stage_operand read_texture(gen_scope *s) {
  static const char *const keys[] = {"texture", "dims",        "strides", "channels", "array",
                                     "filter",  "coordinates", "values",  "address",  NULL};
  gen_reader *r = s->r;
  gen_stage_texture *x = GEN_MAKE(r, gen_stage_texture, 1);
  gen_keys(r, keys);
  gen_need(r, "texture");
  x->at = find_buffer(s, "texture", &x->element);
  gen_leave(r);
  read_texture_dims(s, x);
  read_texture_strides(s, x);
  x->channels = gen_numeric_at(r, "channels", s->kinds);
  x->array = gen_condition_at(r, "array", s->kinds);
  if (x->rank == 3 && !x->array) {
    gen_bad(r, "a texture of three dimensions needs array = true");
  }
  read_reading(r, x->rank, &x->how);
  return (gen_stage_operand){.from = GEN_FROM_TEXTURE, .texture = x};
}

/* { parameter = "f", count = "(2*r+1)^2" } */
static gen_stage_operand read_contents(gen_scope *s) {
  static const char *const keys[] = {"parameter", "count", NULL};
  gen_reader *r = s->r;
  gen_stage_operand o = {0};
  gen_keys(r, keys);
  gen_need(r, "parameter");
  const char *name = gen_text(r, "parameter");
  if (s->program != &r->t->program) {
    gen_bad(r, "the reference takes the address of '%s', which is on the device for it", name);
  }
  if (!is_arg(&r->t->pub, name, &o.index) || !r->t->pub.args[o.index].host ||
      r->t->pub.args[o.index].dir != GEN_IN || r->t->pub.args[o.index].optional) {
    gen_bad(
        r,
        "'%s' cannot be passed by value: this needs an argument { \"%s\", type, \"in\", count = "
        "..., host = true }, of host memory",
        name, name);
  }
  gen_leave(r);
  o.from = GEN_FROM_CONTENTS;
  o.element = r->t->args[o.index].element;
  o.value = gen_numeric_at(r, "count", s->kinds);
  if (!o.value) {
    gen_bad(r, "'count' is missing here: how many elements the kernel takes");
  }
  return o;
}

/* { expected = "y" }: the output as the reference computes it */
static gen_stage_operand read_expected(gen_scope *s) {
  static const char *const keys[] = {"expected", NULL};
  gen_reader *r = s->r;
  gen_stage_operand o = {.from = GEN_FROM_EXPECTED};
  gen_keys(r, keys);
  gen_need(r, "expected");
  const char *name = gen_text(r, "expected");
  if (!s->in_check) {
    gen_bad(r, "only checks read what the reference computes");
  }
  if (!is_arg(&r->t->pub, name, &o.index) || r->t->pub.args[o.index].dir < GEN_OUT ||
      !r->t->reference.n_stages) {
    gen_bad(r, "'%s' is no output that the reference computes", name);
  }
  gen_leave(r);
  return o;
}

/* { loop = "state" }: what a kernel needs to go on with the loop whose word this is, or to give it up */
static gen_stage_operand read_loop_operand(gen_scope *s) {
  static const char *const keys[] = {"loop", NULL};
  gen_reader *r = s->r;
  gen_stage_operand o = {0};
  gen_keys(r, keys);
  gen_need(r, "loop");
  const char *name = gen_text(r, "loop");
  if (!gen_workspace_find(s->program, name, &o.index)) {
    gen_bad(r, "'%s' is no workspace; loop names the one whose first element ends a loop", name);
  }
  gen_leave(r);
  o.from = GEN_FROM_LOOP;
  return o;
}

static gen_stage_operand read_operand(gen_scope *s) {
  gen_reader *r = s->r;
  const char *type;
  if (gen_is_text(r)) {
    return gen_operand_find(s, gen_text(r, "an operand"));
  }
  if (gen_has_entry(r, "tensor")) {
    return read_tensor(s);
  }
  if (gen_has_entry(r, "texture")) {
    return read_texture(s);
  }
  if (gen_has_entry(r, "parameter")) {
    return read_contents(s);
  }
  if (gen_has_entry(r, "expected")) {
    return read_expected(s);
  }
  if (gen_has_entry(r, "loop")) {
    return read_loop_operand(s);
  }
  if (!gen_is_table(r) || gen_list(r, "an operand", NULL) != 2) {
    gen_bad(r, "an operand is the name of an argument or workspace, { type, expression }, "
               "{ tensor = ... }, { texture = ... } or { parameter = ... }");
  }
  gen_stage_operand o = {.from = GEN_FROM_VALUE};
  gen_need_at(r, 1, "the type");
  o.element = gen_read_element(r, &type);
  gen_leave(r);
  gen_need_at(r, 2, "the expression");
  o.value = gen_numeric(r, s->kinds);
  gen_leave(r);
  return o;
}

void gen_operands_read(gen_scope *s, gen_stage *stage) {
  gen_reader *r = s->r;
  gen_need(r, "args");
  size_t n = gen_bounded_list(r, "args", GEN_MAX_OPERANDS);
  gen_stage_operand *o = GEN_MAKE(r, gen_stage_operand, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an operand");
    o[i] = read_operand(s);
    gen_leave(r);
  }
  stage->operands = o;
  stage->n_operands = n;
  gen_leave(r);
}
