/* export_run.c -- what an exported portfolio launches: workspaces, arguments, grids and blocks as
 * expressions over the problem. */
#include <string.h>

#include "export_page.h"

size_t export_kernel_number(const page *p, size_t stage) {
  const char *kernel = stage < p->texts.n ? p->texts.launches[stage].kernel : NULL;
  size_t n = 0;
  for (size_t i = 0; i < stage; i++) {
    const char *other = p->texts.launches[i].kernel;
    bool first = other;
    for (size_t j = 0; first && j < i; j++) {
      first = !p->texts.launches[j].kernel || strcmp(p->texts.launches[j].kernel, other) != 0;
    }
    if (other && kernel && !strcmp(other, kernel)) {
      return n;
    }
    n += first;
  }
  return n;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static int scalar_type(const page *p, const gen_arg *a, dtype *type) {
  return dtype_parse(a->type, type)
             ? 0
             : err_set(p->e, ERR_USAGE,
                       "export: the type of %s depends on %s, so a portfolio of %s can't be "
                       "exported; export its problems one by one",
                       a->name, a->type, p->t->name);
}

static int add_parameters(page *p) {
  for (size_t i = 0; i < p->t->n_args; i++) {
    const gen_arg *a = &p->t->args[i];
    dtype type = DTYPE_f32;
    if (!export_is_buffer(a)) {
      TRY(scalar_type(p, a, &type));
    }
    if (!export_is_fixed(a)) {
      str_addf(p->out, ",\n    %s ", export_is_buffer(a) ? "CUdeviceptr" : dtype_c_name(type));
      export_id(p->out, a->name);
    }
  }
  return 0;
}

int export_run_prototype(page *p) {
  str_addf(p->out,
           "CUresult %s_run(const %s_portfolio *k, CUstream stream, const %s_problem *p,\n"
           "    CUdeviceptr workspace",
           p->name, p->name, p->name);
  TRY(add_parameters(p));
  str_add(p->out, ")");
  return 0;
}

static int add_fixed_args(page *p) {
  for (size_t i = 0; i < p->t->n_args; i++) {
    const gen_arg *a = &p->t->args[i];
    dtype type;
    if (!export_is_fixed(a)) {
      str_add(p->out, "  (void)");
      export_id(p->out, a->name);
      str_add(p->out, ";\n");
      continue;
    }
    TRY(scalar_type(p, a, &type));
    str_addf(p->out, "  %s arg_%s = (%s)", dtype_c_name(type), a->name, dtype_c_name(type));
    TRY(export_put(p, "(", a->value, "0", ");\n"));
    str_addf(p->out, "  (void)arg_%s;\n", a->name);
  }
  return 0;
}

/* Of a type that is fixed, or chosen by a field. */
static void add_element_nbytes(const page *p, dtype fixed, int field) {
  if (field < 0) {
    str_addf(p->out, "%zu", dtype_nbytes(fixed));
    return;
  }
  const gen_field *f = &p->t->fields[field];
  for (size_t i = 0; i < f->n_names; i++) {
    dtype type = DTYPE_f64;
    dtype_parse(f->names[i], &type);
    str_add(p->out, "(p->");
    export_id(p->out, f->name);
    str_add(p->out, " == ");
    export_choice(p, f->names[i], strlen(f->names[i]), p->out);
    str_addf(p->out, " ? %zu : ", dtype_nbytes(type));
  }
  str_add(p->out, "8");
  for (size_t i = 0; i < f->n_names; i++) {
    str_add(p->out, ")");
  }
}

/* Where each workspace begins in the one that the caller gives, and after the last, its size. */
int export_workspaces(page *p) {
  str_add(p->out, "static void place_workspaces(const portfolio_state *k, const problem *p,\n"
                  "                             const struct config *c, uint64_t *at) {\n"
                  "  const struct derived v = derive(k, p, c);\n  (void)v;\n  at[0] = 0;\n");
  for (size_t i = 0; i < p->texts.n_workspaces; i++) {
    str_addf(p->out, "  at[%zu] = at[%zu] + (uint64_t)tuned_roundup((", i + 1, i);
    TRY(export_put(p, "", p->texts.workspaces[i].count, "0", ") * "));
    add_element_nbytes(p, p->texts.workspaces[i].type, p->texts.workspaces[i].field);
    str_add(p->out, ", 256);\n");
  }
  str_add(p->out, "}\n\n");
  return 0;
}

/* ---- operands ------------------------------------------------------------------------------- */

static void add_operand_name(const page *p, const gen_operand_text *o, size_t i) {
  if (o->from == GEN_FROM_ARG) {
    const gen_arg *a = &p->t->args[o->index];
    str_add(p->out, export_is_fixed(a) ? "arg_" : "");
    export_is_fixed(a) ? str_add(p->out, a->name) : export_id(p->out, a->name);
  } else if (o->from == GEN_FROM_VALUE) {
    str_addf(p->out, "value_%zu", i);
  } else if (o->from == GEN_FROM_TENSOR) {
    str_addf(p->out, "tensor_%zu", i);
  } else {
    str_addf(p->out, "workspaces[%u]", o->index);
  }
}

static int add_extent(page *p, const char *const x[3], const char *name) {
  for (int i = 0; i < 3; i++) {
    str_addf(p->out, "    const int64_t %s_%c", name, "xyz"[i]);
    TRY(export_put(p, " = ", x[i], "1", ";\n"));
  }
  return 0;
}

static int add_value_operands(page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < l->n_operands; i++) {
    const gen_operand_text *o = &l->operands[i];
    if (o->from == GEN_FROM_VALUE) {
      str_addf(p->out, "    %s value_%zu = (%s)", dtype_c_name(o->type), i, dtype_c_name(o->type));
      TRY(export_put(p, "(", o->value, "0", ");\n"));
    }
  }
  return 0;
}

static int add_list(page *p, const char *type, const char *name, size_t i, const char *const *x,
                    size_t n) {
  str_addf(p->out, "      const %s %s_%zu[] = {", type, name, i);
  for (size_t d = 0; d < n; d++) {
    str_addf(p->out, "%s(%s)", d ? ", " : "", type);
    TRY(export_put(p, "(", x[d], "0", ")"));
  }
  str_add(p->out, "};\n");
  return 0;
}

/* A zero ends the strides, so that a tensor of one dimension has some, too. */
static int add_strides(page *p, const gen_tensor_text *x, size_t i) {
  str_addf(p->out, "      const cuuint64_t strides_%zu[] = {", i);
  for (size_t d = 0; d + 1 < x->rank; d++) {
    str_add(p->out, "(cuuint64_t)(");
    if (x->strides[d].from == GEN_FROM_ARG) {
      add_operand_name(p, &x->strides[d], i);
    } else {
      TRY(export_expression(p, x->strides[d].value));
    }
    str_add(p->out, "), ");
  }
  str_add(p->out, "0};\n");
  return 0;
}

static int add_tensor(page *p, const gen_tensor_text *x, size_t i) {
  TRY(add_list(p, "cuuint64_t", "dims", i, x->dims, x->rank));
  TRY(add_list(p, "cuuint32_t", "box", i, x->box, x->rank));
  TRY(add_strides(p, x, i));
  str_addf(p->out,
           "      if (rc == CUDA_SUCCESS) {\n"
           "        rc = tuned_tensor_map(&tensor_%zu, (unsigned)(",
           i);
  add_element_nbytes(p, x->type, x->field);
  str_addf(p->out, "), %zu, ", x->rank);
  add_operand_name(p, &x->at, i);
  str_addf(p->out, ", dims_%zu, strides_%zu, box_%zu, (int)(", i, i, i);
  return export_put(p, "", x->swizzle, "0", "));\n      }\n");
}

static int add_tensors(page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < l->n_operands; i++) {
    if (l->operands[i].from == GEN_FROM_TENSOR) {
      TRY(add_tensor(p, l->operands[i].tensor, i));
    }
  }
  return 0;
}

static void add_operands(const page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < l->n_operands; i++) {
    if (l->operands[i].from == GEN_FROM_TENSOR) {
      str_addf(p->out, "    CUtensorMap tensor_%zu;\n", i);
    }
  }
  str_add(p->out, "    void *operands[] = {");
  for (size_t i = 0; i < l->n_operands; i++) {
    str_add(p->out, i ? ", (void *)&" : "(void *)&");
    add_operand_name(p, &l->operands[i], i);
  }
  str_add(p->out, l->n_operands ? "};\n" : "NULL};\n");
}

/* ---- stages --------------------------------------------------------------------------------- */

static int add_kernel(page *p, const gen_launch_text *l, size_t stage) {
  TRY(add_extent(p, l->grid, "grid"));
  TRY(add_extent(p, l->block, "block"));
  TRY(add_value_operands(p, l));
  add_operands(p, l);
  str_add(p->out, "    if (grid_x > 0 && grid_y > 0 && grid_z > 0) {\n");
  TRY(add_tensors(p, l));
  str_addf(
      p->out,
      "      if (rc == CUDA_SUCCESS) {\n"
      "        const unsigned grid[] = {(unsigned)grid_x, (unsigned)grid_y, "
      "(unsigned)grid_z};\n"
      "        const unsigned block[] = {(unsigned)block_x, (unsigned)block_y, "
      "(unsigned)block_z};\n"
      "        rc = tuned_launch_kernel(k->functions[c->source][%zu], grid, block, (unsigned)(",
      export_kernel_number(p, stage));
  TRY(export_put(p, "", l->smem, "0", "), stream, operands,\n          k->overlaps && ("));
  /* early: it may overlap whatever the caller launched; overlap: the kernel of ours ahead of it */
  TRY(export_put(p, "ahead == NOTHING ? (", l->early, "0", ")"));
  TRY(export_put(p, " : ahead == KERNEL && (", l->overlap, "0", ")"));
  str_add(p->out, "));\n        ahead = KERNEL;\n      }\n    }\n");
  return 0;
}

static int add_memory(page *p, const gen_launch_text *l) {
  const gen_operand_text *o = &l->operands[0];
  if (l->nbytes) {
    TRY(export_put(p, "    const int64_t nbytes = ", l->nbytes, "", ""));
  } else {
    str_addf(p->out, "    const int64_t nbytes = (int64_t)(at[%u] - at[%u])", o->index + 1,
             o->index);
  }
  str_add(p->out, ";\n    if (nbytes > 0) {\n      rc = cuMemsetD8Async(");
  add_operand_name(p, o, 0);
  return export_put(p, ", (unsigned char)(", l->fill, "0",
                    "), (size_t)nbytes, stream);\n      ahead = MEMORY;\n    }\n");
}

static int add_stage(page *p, size_t i) {
  const gen_launch_text *l = &p->texts.launches[i];
  TRY(export_put(p, "  if (rc == CUDA_SUCCESS && (", l->when, "1", ")) {\n"));
  TRY(l->kernel ? add_kernel(p, l, i) : add_memory(p, l));
  str_add(p->out, "  }\n");
  return 0;
}

int export_run(page *p) {
  TRY(export_run_prototype(p));
  str_addf(
      p->out,
      " {\n  CUresult rc = CUDA_SUCCESS;\n  uint64_t at[N_WORKSPACES + 1];\n"
      "  CUdeviceptr workspaces[N_WORKSPACES + 1];\n"
      "  enum { NOTHING, MEMORY, KERNEL } ahead = NOTHING;\n"
      "  const int chosen = %s_choose(k, p);\n"
      "  if (chosen < 0) {\n    return CUDA_ERROR_INVALID_VALUE;\n  }\n"
      "  const struct config *c = &configs[chosen];\n"
      "  const struct derived v = derive(k, p, c);\n  (void)v;\n"
      "  place_workspaces(k, p, c, at);\n"
      "  if (at[N_WORKSPACES] > 0 && !workspace) {\n    return CUDA_ERROR_INVALID_VALUE;\n  }\n"
      "  for (int i = 0; i <= N_WORKSPACES; i++) {\n    workspaces[i] = workspace + at[i];\n  }\n"
      "  (void)workspaces;\n  (void)ahead;\n",
      p->name);
  TRY(add_fixed_args(p));
  for (size_t i = 0; i < p->texts.n; i++) {
    TRY(add_stage(p, i));
  }
  str_add(p->out, "  return rc;\n}\n");
  return 0;
}
