/* export_header.c -- a tuned kernel as files that need neither libtuned nor Lua, SQLite or NVRTC.
 *
 * The image is written as it is. The header carries what the image does not say: which kernels, in
 * which order, with how many threads and how much shared memory, and the arguments that the problem
 * fixes. Everything is a constant; the driver API is all that it needs. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "c_name.h"
#include "export_parts.h"
#include "export_plan.h"

typedef struct sheet { /* the header being written */
  const gen_template *t;
  const gen_plan *plan;
  const export_info *x;
  const char *name;        /* prefix */
  char upper[EXPORT_NAME]; /* the same in capitals */
  str *out;
} sheet;

/* ---- provenance ----------------------------------------------------------------------------- */

static void add_time(str *s, const export_info *x) {
  const bool micro = x->sec < 1e-3;
  str_addf(s, "; %.4g %s a launch, %s", x->sec * (micro ? 1e6 : 1e3),
           micro ? "microseconds" : "milliseconds", x->measured ? "measured" : "modelled");
}

void export_provenance(str *s, const export_info *x, const char *start) {
  str_addf(s, "%smade by: %s\n", start, x->command ? x->command : "autotune export");
  str_addf(s, "%scompiled for %s", start, x->arch ? x->arch : "any device");
  if (x->nvrtc) {
    str_addf(s, " by NVRTC %d.%d", x->nvrtc / 1000, x->nvrtc % 1000 / 10);
  }
  if (x->options) {
    str_addf(s, "\n%swith %s", start, x->options);
  }
  str_addf(s, "\n%s%s%s", start, x->device ? "tuned on " : "the template's default, not tuned",
           x->device ? x->device : "");
  if (x->device && x->sec > 0) {
    add_time(s, x);
  }
  str_add(s, "\n");
}

/* ---- names and types ------------------------------------------------------------------------ */

int export_name(const gen_template *t, const export_info *x, const char **name,
                char upper[EXPORT_NAME], err *e) {
  *name = x->name ? x->name : t->name;
  const size_t n = strlen(*name);
  bool ok = n > 0 && n < EXPORT_NAME && !isdigit((unsigned char)(*name)[0]);
  for (size_t i = 0; ok && i <= n; i++) {
    const char c = (*name)[i];
    ok = !c || c_name_has(c);
    upper[i] = (char)toupper((unsigned char)c);
  }
  return ok ? 0
            : err_set(e, ERR_USAGE,
                      "export: \"%s\" can't begin names in C; give letters, digits and _", *name);
}

/* The field's value in the problem's canonical text, "sgemm m=4096 ta=n". */
static bool field_value(const sheet *h, const char *field, char *value, size_t size) {
  const size_t n = strlen(field);
  for (const char *p = h->x->problem; p; p = strchr(p + 1, ' ')) {
    if (*p == ' ' && !strncmp(p + 1, field, n) && p[n + 1] == '=') {
      snprintf(value, size, "%.*s", (int)strcspn(p + n + 2, " "), p + n + 2);
      return true;
    }
  }
  return false;
}

/* An argument's type is named by the template, or by the problem's value of a field. */
static bool type_of(const sheet *h, const gen_arg *a, dtype *type) {
  char value[80];
  return dtype_parse(a->type, type) ||
         (field_value(h, a->type, value, sizeof value) && dtype_parse(value, type));
}

static int check_types(const sheet *h, err *e) {
  dtype type;
  for (size_t i = 0; i < h->t->n_args; i++) {
    if (!type_of(h, &h->t->args[i], &type)) {
      return err_set(e, ERR_USAGE, "export: \"%s\" does not say the type of %s", h->x->problem,
                     h->t->args[i].name);
    }
  }
  return 0;
}

static dtype known_type(const sheet *h, const gen_arg *a) {
  dtype type = DTYPE_f32;
  type_of(h, a, &type); /* check_types has asked */
  return type;
}

/* The value as a C literal. */
static void add_value(str *s, dtype type, uint64_t bits) {
  if (type == DTYPE_f16 || type == DTYPE_bf16) {
    str_addf(s, "0x%04x", (unsigned)bits);
  } else if (dtype_is_float(type)) {
    str_addf(s, "%a%s", dtype_decode(type, bits), type == DTYPE_f32 ? "f" : "");
  } else if (type == DTYPE_u64) {
    str_addf(s, "UINT64_C(%llu)", (unsigned long long)bits);
  } else if (type == DTYPE_i64) {
    /* the most negative number has no literal */
    str_addf(s, "(int64_t)UINT64_C(%llu)", (unsigned long long)bits);
  } else {
    str_addf(s, "%lld", (long long)dtype_decode(type, bits));
  }
}

/* ---- the top of the header ------------------------------------------------------------------ */

static void add_field(const sheet *h, const gen_field *f) {
  char value[80];
  int64_t number;
  if (!field_value(h, f->name, value, sizeof value)) {
    return;
  }
  const char *quote = text_integer(value, &number) ? "" : "\"";
  str_addf(h->out, "#define %s_%s %s%s%s\n", h->upper, f->name, quote, value, quote);
}

static void add_top(const sheet *h) {
  str *s = h->out;
  str_addf(s,
           "/* %s -- %s\n * A kernel of autotune for the CUDA driver API; it needs no library.\n",
           h->name, h->t->brief ? h->t->brief : h->t->name);
  export_provenance(s, h->x, " *   ");
  str_addf(s, " *   %s\n *   %s\n */\n", h->x->problem, h->x->config);
  str_addf(s, "#ifndef %s_KERNEL_H\n#define %s_KERNEL_H\n\n", h->upper, h->upper);
  static const char *const headers[] = {"cuda.h", "stddef.h", "stdint.h"};
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    str_addf(s, "#include <%s>\n", headers[i]);
  }
  str_add(s, "\n");
  str_addf(s, "#define %s_ARCH \"%s\"\n", h->upper, h->x->arch ? h->x->arch : "");
  for (size_t i = 0; i < h->t->n_fields; i++) {
    add_field(h, &h->t->fields[i]);
  }
}

/* ---- what of it is used --------------------------------------------------------------------- */

static bool is_operand(const gen_operand *o, gen_from from, size_t index) {
  const bool contents = from == GEN_FROM_ARG && o->from == GEN_FROM_CONTENTS;
  return (o->from == from || contents) && o->index == index;
}

static bool operand_reads(const gen_operand *o, gen_from from, size_t index) {
  if (o->from != GEN_FROM_TENSOR) {
    return is_operand(o, from, index);
  }
  bool does = is_operand(&o->tensor->at, from, index);
  for (size_t i = 0; i + 1 < o->tensor->rank; i++) {
    does = does || is_operand(&o->tensor->strides[i], from, index);
  }
  return does;
}

static bool reads(const sheet *h, gen_from from, size_t index) {
  for (size_t i = 0; i < h->plan->n; i++) {
    const gen_launch *l = &h->plan->launches[i];
    for (size_t j = 0; j < l->n_operands; j++) {
      if (operand_reads(&l->operands[j], from, index)) {
        return true;
      }
    }
  }
  return false;
}

static bool reads_empty_workspace(const sheet *h) {
  for (size_t i = 0; i < h->plan->n_workspaces; i++) {
    if (!h->plan->workspaces[i] && reads(h, GEN_FROM_WORKSPACE, i)) {
      return true;
    }
  }
  return false;
}

/* ---- workspaces ----------------------------------------------------------------------------- */

static void add_workspaces(const sheet *h) {
  const gen_plan *plan = h->plan;
  str_addf(h->out, "#define %s_N_WORKSPACES %zu\n\n", h->upper, plan_count_workspaces(plan));
  str_addf(h->out,
           "/* %s_workspace_nbytes -- how large workspace i is: device memory, zeroed once, that "
           "no two\n"
           " * launches use at the same time */\n"
           "static inline size_t %s_workspace_nbytes(int i) {\n  switch (i) {\n",
           h->name, h->name);
  for (size_t i = 0; i < plan->n_workspaces; i++) {
    if (plan->workspaces[i]) {
      str_addf(h->out, "  case %zu: return %lluu;\n", plan_workspace_number(plan, i),
               (unsigned long long)plan->workspaces[i]);
    }
  }
  str_add(h->out, "  default: return 0;\n  }\n}\n\n");
}

/* ---- finding the kernels -------------------------------------------------------------------- */

static void add_struct(const sheet *h) {
  str_addf(h->out, "typedef struct %s_kernels {\n", h->name);
  for (size_t i = 0; i < h->plan->n; i++) {
    if (plan_is_first_kernel(h->plan, i)) {
      str_addf(h->out, "  CUfunction %s;\n", h->plan->launches[i].kernel);
    } else if (plan_is_first_symbol(h->plan, i)) {
      str_addf(h->out, "  CUdeviceptr %s; /* a __constant__ variable */\n",
               h->plan->launches[i].symbol);
    }
  }
  if (plan_overlaps(h->plan)) {
    str_add(h->out, "  int overlaps; /* they may start before those ahead of them have ended */\n");
  }
  if (!plan_uses_module(h->plan)) {
    str_add(h->out, "  int none; /* an empty problem: nothing to launch */\n");
  }
  str_addf(h->out, "} %s_kernels;\n\n", h->name);
}

/* A call of the driver, unless one before it failed; the caller adds the rest of it. */
static void add_call(const sheet *h, const char *call) {
  str_addf(h->out, "  rc = rc ? rc : %s", call);
}

/* Kernels of one module wait alike for the kernel ahead of them. */
static void add_find_overlap(const sheet *h) {
  for (size_t i = 0; i < h->plan->n; i++) {
    if (h->plan->launches[i].overlap) {
      add_call(h, "tuned_find_overlap");
      str_addf(h->out, "(kernels->%s, &kernels->overlaps);\n", h->plan->launches[i].kernel);
      return;
    }
  }
}

static void add_load(const sheet *h) {
  str_addf(h->out,
           "/* %s_load -- find the kernels in a module loaded from the exported image */\n"
           "static inline CUresult %s_load(CUmodule module, %s_kernels *kernels) {\n"
           "  CUresult rc = CUDA_SUCCESS;\n%s",
           h->name, h->name, h->name,
           plan_uses_module(h->plan) ? "" : "  (void)module;\n  (void)kernels;\n");
  for (size_t i = 0; i < h->plan->n; i++) {
    const gen_launch *l = &h->plan->launches[i];
    if (plan_is_first_kernel(h->plan, i)) {
      add_call(h, "tuned_find_kernel");
      str_addf(h->out, "(module, \"%s\", %u, &kernels->%s);\n", l->kernel,
               plan_most_smem(h->plan, l), l->kernel);
    } else if (plan_is_first_symbol(h->plan, i)) {
      add_call(h, "tuned_find_variable");
      str_addf(h->out, "(module, \"%s\", %lluu, &kernels->%s);\n", l->symbol,
               (unsigned long long)plan_most_nbytes(h->plan, l->symbol), l->symbol);
    }
  }
  add_find_overlap(h);
  str_add(h->out, "  return rc;\n}\n\n");
}

/* ---- launching ------------------------------------------------------------------------------ */

static void add_name(const sheet *h, const gen_arg *a) {
  char name[C_NAME];
  c_name(a->name, name);
  str_add(h->out, name);
}

static const char *parameter_type(const sheet *h, size_t i) {
  const gen_arg *a = &h->t->args[i];
  return h->plan->on_host[i]   ? a->dir == GEN_IN ? "const void *" : "void *"
         : export_is_buffer(a) ? "CUdeviceptr "
                               : dtype_c_name(known_type(h, a));
}

static void add_parameters(const sheet *h) {
  for (size_t i = 0; i < h->t->n_args; i++) {
    const gen_arg *a = &h->t->args[i];
    if (!export_is_fixed(a)) {
      str_addf(h->out, ",\n    %s%s", parameter_type(h, i), export_is_buffer(a) ? "" : " ");
      add_name(h, a);
      if (a->brief) {
        str_addf(h->out, " /* %s */", a->brief);
      }
    }
  }
}

/* The arguments that the problem fixes; those of the caller that no kernel reads are named, so that
 * compilers don't complain. */
static void add_arg(const sheet *h, size_t i) {
  const gen_arg *a = &h->t->args[i];
  const bool used = reads(h, GEN_FROM_ARG, i);
  if (export_is_fixed(a) && used) {
    str_addf(h->out, "  %s ", dtype_c_name(known_type(h, a)));
    add_name(h, a);
    str_add(h->out, " = ");
    add_value(h->out, known_type(h, a), h->plan->values[i]);
    str_add(h->out, ";\n");
  } else if (!export_is_fixed(a) && !used) {
    str_add(h->out, "  (void)");
    add_name(h, a);
    str_add(h->out, ";\n");
  }
}

static void add_locals(const sheet *h) {
  for (size_t i = 0; i < h->t->n_args; i++) {
    add_arg(h, i);
  }
  if (reads_empty_workspace(h)) {
    str_add(h->out,
            "  CUdeviceptr none = 0; /* a workspace that this configuration doesn't use */\n");
  }
  str_add(h->out, plan_count_workspaces(h->plan) ? "" : "  (void)workspaces;\n");
  const bool used = plan_uses_module(h->plan);
  str_add(h->out, used ? "" : "  (void)kernels;\n");
  str_addf(h->out, "%s  CUresult rc = CUDA_SUCCESS;\n", h->plan->n ? "" : "  (void)stream;\n");
}

/* The operand as a C expression. */
static void add_operand(const sheet *h, const gen_operand *o, size_t stage, size_t i) {
  if (o->from == GEN_FROM_ARG || o->from == GEN_FROM_CONTENTS) {
    add_name(h, &h->t->args[o->index]);
  } else if (o->from == GEN_FROM_VALUE) {
    str_addf(h->out, "value%zu_%zu", stage, i);
  } else if (o->from == GEN_FROM_TENSOR) {
    str_addf(h->out, "tensor%zu_%zu", stage, i);
  } else if (h->plan->workspaces[o->index]) {
    str_addf(h->out, "workspaces[%zu]", plan_workspace_number(h->plan, o->index));
  } else {
    str_add(h->out, "none");
  }
}

static void add_extents(const sheet *h, const char *what, size_t stage, size_t i, size_t n,
                        uint64_t (*extent)(const gen_tensor *x, size_t d), const gen_tensor *x) {
  str_addf(h->out, "  const cuuint%d_t %s%zu_%zu[] = {", *what == 'b' ? 32 : 64, what, stage, i);
  for (size_t d = 0; d < n; d++) {
    str_addf(h->out, "%s%lluu", d ? ", " : "", (unsigned long long)extent(x, d));
  }
  str_add(h->out, "};\n");
}

static uint64_t dim_of(const gen_tensor *x, size_t d) {
  return x->dims[d];
}

static uint64_t side_of(const gen_tensor *x, size_t d) {
  return x->box[d];
}

/* A zero ends the strides, so that a tensor of one dimension has some, too. */
static void add_strides(const sheet *h, const gen_tensor *x, size_t stage, size_t i) {
  str_addf(h->out, "  const cuuint64_t strides%zu_%zu[] = {", stage, i);
  for (size_t d = 0; d + 1 < x->rank; d++) {
    const gen_operand *o = &x->strides[d];
    str_add(h->out, "(cuuint64_t)");
    o->from == GEN_FROM_ARG ? add_operand(h, o, stage, i)
                            : str_addf(h->out, "%lluu", (unsigned long long)o->bits);
    str_add(h->out, ", ");
  }
  str_add(h->out, "0};\n");
}

static void add_tensor(const sheet *h, const gen_tensor *x, size_t stage, size_t i) {
  add_extents(h, "dims", stage, i, x->rank, dim_of, x);
  add_extents(h, "box", stage, i, x->rank, side_of, x);
  add_strides(h, x, stage, i);
  str_addf(h->out, "  CUtensorMap tensor%zu_%zu;\n", stage, i);
  add_call(h, "tuned_tensor_map");
  str_addf(h->out, "(&tensor%zu_%zu, %zu, %zu, ", stage, i, dtype_nbytes(x->type), x->rank);
  add_operand(h, &x->at, stage, i);
  str_addf(h->out, ", dims%zu_%zu, strides%zu_%zu,\n                   box%zu_%zu, %u);\n", stage,
           i, stage, i, stage, i, x->swizzle);
}

static void add_operands(const sheet *h, const gen_launch *l, size_t stage) {
  for (size_t i = 0; i < l->n_operands; i++) {
    const gen_operand *o = &l->operands[i];
    if (o->from == GEN_FROM_VALUE) {
      str_addf(h->out, "  uint%u_t value%zu_%zu = UINT64_C(%llu);\n", 8 * o->nbytes, stage, i,
               (unsigned long long)o->bits);
    } else if (o->from == GEN_FROM_TENSOR) {
      add_tensor(h, o->tensor, stage, i);
    }
  }
  str_addf(h->out, "  void *operands%zu[] = {", stage);
  for (size_t i = 0; i < l->n_operands; i++) {
    str_addf(h->out, "%s(void *)%s",
             !i      ? ""
             : i % 6 ? ", "
                     : ",\n                       ",
             l->operands[i].from == GEN_FROM_CONTENTS ? "" : "&");
    add_operand(h, &l->operands[i], stage, i);
  }
  str_add(h->out, l->n_operands ? "};\n" : "NULL};\n");
}

static void add_launch(const sheet *h, const gen_launch *l, size_t stage) {
  add_operands(h, l, stage);
  str_addf(h->out, "  const unsigned grid%zu[] = {%u, %u, %u}, block%zu[] = {%u, %u, %u};\n", stage,
           l->grid[0], l->grid[1], l->grid[2], stage, l->block[0], l->block[1], l->block[2]);
  if (l->cooperative) {
    add_call(h, "cuLaunchCooperativeKernel");
    str_addf(h->out,
             "(kernels->%s, grid%zu[0], grid%zu[1], grid%zu[2], block%zu[0],\n%38sblock%zu[1], "
             "block%zu[2], %u, stream, operands%zu);\n",
             l->kernel, stage, stage, stage, stage, "", stage, stage, l->smem, stage);
    return;
  }
  add_call(h, "tuned_launch_kernel");
  str_addf(h->out, "(kernels->%s, grid%zu, block%zu, %u, stream,\n%22soperands%zu, %s);\n",
           l->kernel, stage, stage, l->smem, "", stage, l->overlap ? "kernels->overlaps" : "0");
}

static bool is_host(const sheet *h, const gen_operand *o) {
  return o->from == GEN_FROM_ARG && h->plan->on_host[o->index];
}

static void add_start(const sheet *h, uint64_t at) {
  if (at) {
    str_addf(h->out, " + %llu", (unsigned long long)at);
  }
}

/* The i-th operand of a copy, its target (to) or source, from a byte of it on. */
static void add_place(const sheet *h, const gen_launch *l, size_t stage, size_t i, bool to) {
  const gen_operand *o = &l->operands[i];
  const uint64_t at = l->at[!to];
  str_add(h->out, at && is_host(h, o) ? to ? "(char *)" : "(const char *)" : "");
  add_operand(h, o, stage, i);
  add_start(h, at);
}

static void add_copy(const sheet *h, const gen_launch *l, size_t stage) {
  const gen_operand *source = &l->operands[l->copy];
  add_call(h, is_host(h, source)        ? "cuMemcpyHtoDAsync"
              : is_host(h, l->operands) ? "cuMemcpyDtoHAsync"
                                        : "cuMemcpyDtoDAsync");
  if (l->copy) {
    str_add(h->out, "(");
    add_place(h, l, stage, 0, true);
  } else {
    str_addf(h->out, "(kernels->%s", l->symbol);
    add_start(h, l->at[0]);
  }
  str_add(h->out, ", ");
  add_place(h, l, stage, l->copy, false);
  str_addf(h->out, ", %lluu, stream);\n", (unsigned long long)l->nbytes);
}

static void add_memory(const sheet *h, const gen_launch *l, size_t stage) {
  add_call(h, "cuMemsetD8Async(");
  add_operand(h, &l->operands[0], stage, 0);
  str_addf(h->out, ", %u, %lluu, stream);\n", l->fill, (unsigned long long)l->nbytes);
}

static void add_stage(const sheet *h, size_t i) {
  const gen_launch *l = &h->plan->launches[i];
  l->kernel ? add_launch(h, l, i) : l->symbol || l->copy ? add_copy(h, l, i) : add_memory(h, l, i);
}

/* Stages [from, from + n), indented. */
static void add_indented(const sheet *h, size_t from, size_t n, const char *indent) {
  auto_str body = {0};
  sheet inner = *h;
  inner.out = &body;
  for (size_t i = from; i < from + n; i++) {
    add_stage(&inner, i);
  }
  for (const char *line = str_text(&body), *end; (end = strchr(line, '\n')); line = end + 1) {
    str_addf(h->out, "%s%.*s\n", indent, (int)(end - line), line);
  }
  h->out->failed |= body.failed;
}

/* The stages of the loop that begins at stage i; returns how many there are. */
static size_t add_loop(const sheet *h, size_t i) {
  const gen_loop *loop = h->plan->launches[i].loop;
  str_addf(h->out, "  for (unsigned step%zu = 0; !rc && step%zu < %lluu; step%zu++) {\n", i, i,
           (unsigned long long)loop->times, i);
  if (loop->n_odd) {
    str_addf(h->out, "    if (step%zu %% 2 == 0) {\n", i);
    add_indented(h, i, loop->n, "    ");
    str_add(h->out, "    } else {\n");
    add_indented(h, i + loop->n, loop->n_odd, "    ");
    str_add(h->out, "    }\n");
  } else {
    add_indented(h, i, loop->n, "  ");
  }
  str_add(h->out, "  }\n");
  return loop->n + loop->n_odd;
}

static void add_launches(const sheet *h) {
  str_addf(h->out,
           "/* %s_launch -- asynchronous, on the stream.\n"
           " *   in  workspaces  %s_N_WORKSPACES addresses; NULL when that is 0 */\n"
           "static inline CUresult %s_launch(\n    const %s_kernels *kernels, CUstream stream, "
           "const CUdeviceptr *workspaces",
           h->name, h->upper, h->name, h->name);
  add_parameters(h);
  str_add(h->out, ") {\n");
  add_locals(h);
  for (size_t i = 0; i < h->plan->n;) {
    if (h->plan->launches[i].loop) {
      i += add_loop(h, i);
    } else {
      add_stage(h, i++);
    }
  }
  str_add(h->out, "  return rc;\n}\n\n");
}

int export_header(const gen_template *t, const gen_plan *plan, const export_info *x, str *out,
                  err *e) {
  sheet h = {.t = t, .plan = plan, .x = x, .out = out};
  TRY(export_name(t, x, &h.name, h.upper, e));
  TRY(check_types(&h, e));
  if (plan_has(plan, GEN_FROM_PREPARED)) {
    return err_set(e, ERR_USAGE, "%s prepares buffers, which exported C cannot do", t->name);
  }
  if (plan_has(plan, GEN_FROM_TEXTURE)) {
    return err_set(e, ERR_USAGE, "exported C cannot make the textures that %s reads", t->name);
  }
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].pool) {
      return err_set(e, ERR_USAGE,
                     "exported C cannot raise the limit of pending launches for %s, which launches "
                     "kernels; export --cubin",
                     plan->launches[i].kernel);
    }
  }
  if (plan_has_while(plan)) {
    return err_set(e, ERR_USAGE,
                   "exported C cannot drive a loop until a word is 0 yet; export %s with another "
                   "LOOP, or --cubin",
                   t->name);
  }
  add_top(&h);
  add_workspaces(&h);
  if (plan_uses_module(plan)) {
    export_text(export_texts, "exported_launch.h", out);
  }
  if (plan_has(plan, GEN_FROM_TENSOR)) {
    export_text(export_texts, "exported_tensor.h", out);
  }
  add_struct(&h);
  add_load(&h);
  add_launches(&h);
  if (x->embedded) {
    str_addf(out,
             "/* %s_load_module -- the embedded image that suits the device */\n"
             "CUresult %s_load_module(CUdevice device, CUmodule *module);\n\n",
             h.name, h.name);
  }
  str_add(out, "#endif\n");
  return out->failed ? err_nomem(e) : 0;
}

int export_source(const gen_template *t, const char *source, const export_info *x, str *out,
                  err *e) {
  str_addf(out, "// %s\n", t->brief ? t->brief : t->name);
  export_provenance(out, x, "// ");
  str_addf(out, "// %s\n// %s\n%s", x->problem, x->config, source);
  return out->failed ? err_nomem(e) : 0;
}
