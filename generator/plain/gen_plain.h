/* gen_plain.h -- a plain CUDA file as a template: its comment lines, and its text.
 *
 * Lines that start with //@ say how a file's kernels are tuned: problem, param, require, kernel,
 * grid, block, arg, ... (templates/README.md). Options of the command line are such lines, too, and
 * one parser reads both. What they say becomes the table of a template, as Lua text, and from there
 * on a plain file is like any template.
 *
 * The file's text is compiled as it is, but for what only a host compiler understands, and with
 * kernels under their plain names.
 */
#ifndef GEN_PLAIN_H
#define GEN_PLAIN_H

#include "arena.h"
#include "err.h"
#include "gen.h"
#include "str.h"

enum { GEN_PLAIN_MAX = 64 }; /* things of a kind */

typedef struct gen_plain_place { /* where a line of a template comes from */
  const char *option;            /* of the command line, as typed; NULL: in the file */
  int line, column;              /* of the file; the column in the option's value */
} gen_plain_place;

typedef struct gen_plain_text { /* a part of a line; p NULL: there is none */
  const char *p;
  gen_plain_place at;
} gen_plain_text;

typedef struct gen_plain_field {
  gen_plain_text name, values, preset;
} gen_plain_field;

typedef struct gen_plain_arg {
  gen_plain_text name, count, value, fill;
  dtype type;
  const char *dir;         /* NULL: a scalar */
  gen_plain_text expected; /* file of the results that an output must have */
  bool is_constant;        /* fills the __constant__ variable of its name */
} gen_plain_arg;

typedef struct gen_plain_pair {
  gen_plain_text name, text;
} gen_plain_pair;

typedef struct gen_plain_stage {
  gen_plain_text kernel; /* or memset; as written, with template arguments */
  gen_plain_text grid, block, shared, args, when, memset, value;
} gen_plain_stage;

typedef enum gen_plain_reference {
  GEN_PLAIN_NONE,  /* variants are compared with the default one */
  GEN_PLAIN_FIRST, /* the same, by the author's choice */
  GEN_PLAIN_KERNEL,
  GEN_PLAIN_FILES
} gen_plain_reference;

typedef struct gen_plain { /* what the lines say */
  const char *path, *text; /* of the file */
  gen_plain_text name, brief, flops, bytes, tolerance_abs, tolerance_rel;
  gen_plain_field fields[GEN_PLAIN_MAX], params[GEN_PLAIN_MAX];
  gen_plain_arg args[GEN_PLAIN_MAX];
  gen_plain_pair defines[GEN_PLAIN_MAX], scratch[GEN_PLAIN_MAX];
  gen_plain_text requires[GEN_PLAIN_MAX], sizes[GEN_PLAIN_MAX], folders[GEN_PLAIN_MAX],
      options[GEN_PLAIN_MAX], replaced[GEN_PLAIN_MAX];
  gen_plain_stage stages[GEN_PLAIN_MAX], references[GEN_PLAIN_MAX];
  size_t n_fields, n_params, n_args, n_defines, n_scratch, n_requires, n_sizes, n_folders,
      n_options, n_replaced, n_stages, n_references;
  gen_plain_reference reference;
} gen_plain;

/* gen_plain_parse -- read the lines.
 *   in   path, text  of the file
 *        lines       of the command line, "param BLOCK=1,2"; with a ? in front, a field that counts
 *                    only where no line declares any; may be NULL
 *   out  x           texts in the arena
 *   err  ERR_TEMPLATE, for lines of the command line ERR_USAGE; place is file:line:column */
int gen_plain_parse(const char *path, const char *text, const char *const *lines, size_t n_lines,
                    arena *a, gen_plain *x, err *e);
/* gen_plain_fail -- the failure at that place */
int gen_plain_fail(const gen_plain *x, gen_plain_place at, err *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* gen_plain_expression -- append an expression of a line, in Lua: C's && || ! != and the / of whole
 * numbers become Lua's. x not NULL: with the parameters' defaults in place of the parameters */
void gen_plain_expression(const char *text, const gen_plain *x, str *out);
/* gen_plain_preset -- a parameter's default */
int gen_plain_preset(const gen_plain *x, const gen_plain_field *param, arena *a, const char **out,
                     err *e);

/* gen_plain_lua -- append the template.
 *   out  places  in the arena: where each line of the Lua text comes from */
int gen_plain_lua(const gen_plain *x, arena *a, str *out, gen_plain_place **places, size_t *n,
                  err *e);

/* gen_plain_device_text -- append the text for NVRTC: functions of the host and headers of the host
 * compiler are blanked, kernels get their plain names, kernels that are C++ templates become device
 * functions. Lines stay where they are.
 *   in  replaced  macros whose #define is blanked, too */
void gen_plain_device_text(const char *text, size_t n, const char *const *replaced,
                           size_t n_replaced, str *out);
/* gen_plain_check_macros -- refuse #define and #undef of a macro that is tuned where no #ifndef of it
 * encloses them.
 *   in   text  with #line directives
 *        other  a macro that is defined, too: what #ifndef of it encloses is not compiled; NULL: none
 *   err  ERR_TEMPLATE  place is the file:line that they say */
int gen_plain_check_macros(const char *text, const char *const *names, size_t n, const char *other,
                           err *e);

#endif
