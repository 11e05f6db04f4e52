/* gen.h -- the generator: from a template and a problem to its space, and from a configuration to
 * CUDA source and a launch plan.
 *
 * Pure: the same template text, problem, device limits and configuration give the same bytes. No
 * CUDA, no SQL, no clock. Lua runs the templates in a sandbox; each gen_template owns one Lua
 * state, so different templates may be used from different threads, one template from one at a
 * time.
 *
 * The street inside:   gen_open -> gen_problem_parse -> gen_instance_new -> gen_space_new
 *                      -> gen_config -> gen_source_make, gen_plan_make
 *
 * Plans are in gen_plan.h, preparations in gen_prepare.h, the arguments of tests and timing in
 * gen_data.h; this header includes them.
 *
 * templates/saxpy/saxpy.lua, the smallest real template, explains what a template file contains.
 */
#ifndef GEN_H
#define GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "gen_data.h"
#include "gen_plan.h"
#include "gen_prepare.h"
#include "hash.h"
#include "str.h"

enum { GEN_MAX_FIELDS = 32, GEN_MAX_PARAMS = 48, GEN_MAX_DERIVED = 64, GEN_MAX_NAME = 64 };

/* ---- where templates come from --------------------------------------------------------------- */

typedef struct gen_file {
  const char *name; /* "sgemm.lua" */
  const char *text;
  size_t n;
  const char *path; /* "templates/sgemm/sgemm.lua" */
} gen_file;

typedef struct gen_options {
  const char *const *folders; /* searched first, in this order; may be NULL */
  size_t n_folders;
  const char
      *data; /* folder of files of test data that are not beside their template; may be NULL */
  uint64_t max_instructions; /* Lua instructions per evaluation; 0 takes 20 million */
  size_t max_nbytes;         /* Lua memory of one template; 0 takes 512 MiB */
  size_t max_source_nbytes;  /* one generated source; 0 takes 4 MiB */
  bool lazy; /* Lua compiles a source when it is first needed, so that mistakes only Lua's compiler
                sees come then, not when the template is opened; the lists of sizes are not checked */
  bool names_only; /* the name comes from a file, which must not say which path's template runs:
                      gen_open refuses paths with ERR_USAGE */
  bool no_inputs;  /* problems may not name a matrix as input: it would be read or made */
  bool trust;      /* use templates that anybody can write to as they are */
  const volatile int *stop; /* not 0: end what is being evaluated, ERR_INTERRUPTED; may be NULL */
  uint64_t fail_at;         /* for tests: Lua's allocations fail from this one on; 0: none does */
  const char *const *lines; /* of a plain CUDA file, beside its own: "param BLOCK=1,2"; with ? in
                               front, a field that counts only where no line declares any */
  size_t n_lines;
} gen_options;

/* The templates that come with the library, built into it; ends with a NULL name. */
extern const gen_file gen_builtin[];

typedef struct gen_value { /* of a field or a parameter */
  int64_t i;               /* an integer, or the index of the name below */
  const char *s;           /* NULL for an integer */
} gen_value;

/* gen_add_value -- append it as text */
void gen_add_value(const gen_value *v, str *out);

enum { GEN_UNKNOWN = -1 }; /* a feature of data that nobody looked at */

typedef struct gen_field { /* one typed field of a problem */
  const char *name, *brief;
  int64_t min, max;         /* integers: inclusive range */
  const char *const *names; /* enumerations: the values; NULL for an integer */
  size_t n_names;
  const int64_t *choices; /* integers of which only some are allowed: these; NULL for a range */
  size_t n_choices;
  const char *preset; /* expression over the fields before it */
  const uint8_t
      *like; /* [n_names], NULL: none: results of this value serve where a name has none */
  const char
      *feature;  /* the output of `features` that it is computed from; NULL: it is none. Numbers are
                          rounded (gen_feature.h), or GEN_UNKNOWN, which canonical texts leave out */
  bool is_class; /* of an argument: kernels are the same, and tuned for it; values are ordered */
  bool is_promise; /* a class that kernels and requirements read; a later value promises more, so
                         valid results of an earlier one serve it, but not the other way round */
} gen_field;

typedef struct gen_param { /* one dimension of the space, values in declaration order */
  const char *name, *brief;
  const gen_value *values;
  size_t n;
} gen_param;

typedef enum gen_dir { GEN_SCALAR, GEN_IN, GEN_OUT, GEN_INOUT } gen_dir;

/* Of a template with a preparation: what an argument is given for. */
typedef enum gen_role {
  GEN_OF_RUN,
  GEN_OF_PLAN,  /* the preparation reads it; other contents need another one */
  GEN_OF_VALUES /* the preparation reads its numbers only, in stages of their own */
} gen_role;

typedef struct gen_arg { /* one argument of the family: a buffer or a scalar */
  const char *name, *brief;
  const char *type; /* a dtype's name, or the name of a field whose values are such names */
  gen_dir dir;
  const char *value; /* scalars: an expression when fixed by problem and configuration, else NULL */
  const char *sample; /* scalars the caller gives: what tests and timing pass (expression) */
  bool optional;      /* buffers: may be NULL in some problems; so a typed call may leave it out */
  bool host;          /* buffers: in the host's memory in some problems */
  bool judged;        /* outputs: by the template's checks alone */
  gen_role role;
} gen_arg;

typedef struct gen_prepared { /* a buffer of the preparation */
  const char *name;
  bool kept; /* launches read it; else it is scratch */
} gen_prepared;

typedef struct gen_check { /* kernels that judge what a launch leaves */
  const char *name;
  bool of_outputs; /* it judges outputs that are not compared with the reference */
  bool residual;   /* its kernels add up squares; else they count wrong elements */
} gen_check;

typedef struct gen_pair { /* a derived value or a requirement */
  const char *name;       /* derive: the name; require: the reason a rejected point reports */
  const char *expression;
} gen_pair;

typedef struct gen_template { /* read-only for everyone outside generator/ */
  const char *name, *brief, *cite;
  int64_t version;
  const char *path;     /* as error messages and #line name it */
  char hash[HASH_TEXT]; /* of the file and everything it includes */
  const gen_field *fields;
  size_t n_fields;
  const gen_arg *args;
  size_t n_args;
  const gen_param *params;
  size_t n_params;
  bool has_algorithms; /* the first parameter chooses one of several */
  const gen_pair *derived;
  size_t n_derived;
  const gen_pair *requirements;
  size_t n_requirements;        /* of every valid configuration */
  size_t n_search_requirements; /* with those behind that only spaces heed */
  const char *const *call;      /* order of the typed call's arguments: names of fields and args */
  size_t n_call;
  const gen_pair *call_fields; /* fields the typed call computes: expression over call arguments */
  size_t n_call_fields;
  const gen_pair *call_requirements; /* what the call checks: reason, and expression likewise */
  size_t n_call_requirements;
  size_t n_workspaces;          /* scratch buffers of its kernels */
  bool has_prepare;             /* stages that run when inputs change: gen_prepare.h */
  const gen_prepared *prepared; /* behind the arguments in launches */
  size_t n_prepared;
  const char *const *counts; /* that the preparation reads back: names */
  size_t n_counts;
  size_t n_cases;          /* argument values to check with; at least 1, the first is timed */
  const gen_pair *metrics; /* name, expression */
  size_t n_metrics;
  const char *const *sizes_emu, *const *sizes_test, *const *sizes_bench; /* problem texts */
  size_t n_sizes_emu, n_sizes_test, n_sizes_bench;
  bool counts_wrong; /* the reference's kernels count the wrong elements of what a launch leaves, in
                        the first 8 bytes of its workspaces */
  const gen_check *checks;
  size_t n_checks;
  bool partial;      /* of an output, not all elements count, or their order does not */
  bool is_plain;     /* made from a plain CUDA file */
  bool has_features; /* fields are computed from the data */
  bool self_checked; /* there is no reference: results are compared with the default's */
} gen_template;

/* gen_open -- load a template.
 *   in   name  a family ("sgemm": NAME.lua in the folders, then built in), or a path ending in .lua
 *              or .cu, a plain CUDA file with //@ lines (plain/gen_plain.h)
 *   out  *t    gen_close
 *   err  ERR_NOTFOUND  no such family; the message suggests the nearest
 *        ERR_TEMPLATE  what is wrong with the file; place is file:line
 *        ERR_LIMIT     it ran or allocated past the limits */
int gen_open(const gen_options *options, const char *name, gen_template **t, err *e);
/* gen_open_text -- the same from text; `path` is for messages */
int gen_open_text(const gen_options *options, const char *path, const char *text, size_t n,
                  gen_template **t, err *e);
/* gen_plain_template -- append the template that a plain CUDA file stands for */
int gen_plain_template(const gen_options *options, const char *path, str *out, err *e);
void gen_close(gen_template *t);
static inline void gen_template_leave(gen_template **t) {
  gen_close(*t);
}
/* auto_template -- a pointer, NULL at first, closed at the end of its block */
#define auto_template __attribute__((cleanup(gen_template_leave))) gen_template

/* gen_digest_is -- is it the digest of the template, or one it had before whose results still hold?
 */
bool gen_digest_is(const gen_template *t, const char *digest);
typedef struct gen_former {
  const char *family, *digest, *present;
} gen_former;
/* gen_former_list -- all such digests of built-in templates; out in the arena */
int gen_former_list(arena *a, gen_former **list, size_t *n, err *e);
/* gen_problem_update -- append the problem of a former text with present names, and with the fields
 * that it lacks; canonical if it was */
void gen_problem_update(const char *family, const char *problem, str *out);
typedef struct gen_setting { /* NAME=VALUE of a configuration or a problem */
  char name[GEN_MAX_NAME], value[GEN_MAX_NAME];
} gen_setting;
/* gen_field_added -- the i-th field that problems of former texts lack, and the value that they have
 * of it; false: there are no more */
bool gen_field_added(const char *family, size_t i, gen_setting *s);

/* gen_families -- every family that gen_open would find by name, sorted, each once.
 *   out  names in the arena */
int gen_families(const gen_options *options, arena *a, const char *const **names, size_t *n,
                 err *e);

/* gen_field_find, gen_param_find, gen_arg_find -- by name; NULL: there is none. A field's name has n
 * bytes */
const gen_field *gen_field_find(const gen_template *t, const char *name, size_t n);
const gen_param *gen_param_find(const gen_template *t, const char *name);
const gen_arg *gen_arg_find(const gen_template *t, const char *name);
/* gen_field_choice, gen_param_choice -- the place of a name among a field's, of a text among a
 * parameter's values; false: it is not among them */
bool gen_field_choice(const gen_field *f, const char *name, size_t *i);
bool gen_param_choice(const gen_param *p, const char *text, uint16_t *i);
/* gen_setting_find -- the places of a field and of its name in "ta=t", by their present or former
 * names; the field's has n bytes. false: there is none */
bool gen_setting_find(const gen_template *t, const char *name, size_t n, const char *value,
                      size_t *field, size_t *choice);
/* gen_field_choices -- append the names or numbers that a field is one of */
void gen_field_choices(const gen_field *f, const char *between, str *out);

/* ---- problems and configurations ------------------------------------------------------------- */

typedef struct gen_problem {
  gen_value values[GEN_MAX_FIELDS]; /* in field order */
  const char
      *input; /* the matrix that the text names, "zipf rows=1048576 ...", as long as the template;
                        NULL: none. No part of the canonical text */
  uint64_t open; /* bits of the features that nobody has given or computed */
} gen_problem;

/* gen_problem_parse -- "m=4096 n=4096 ta=t"; fields in any order, separated by white space, the
 * family's name in front is allowed; fields not given take their preset. Names that fields and
 * values had before are taken, too. Of templates with the key `matrix`, "matrix=zipf exponent=1.8 ..." or
 * "matrix=file:a.mtx" gives the counts.
 *   err  ERR_USAGE  unknown field (suggests the nearest), not a number, out of range, given twice
 */
int gen_problem_parse(gen_template *t, const char *text, gen_problem *p, err *e);
/* gen_problem_read -- the same without the presets of fields not given, for gen_problem_complete
 *   out  given[GEN_MAX_FIELDS]  set for those that are; false before */
int gen_problem_read(gen_template *t, const char *text, gen_problem *p, bool *given, err *e);
/* gen_problem_complete -- the same from values: given[i] says whether p->values[i].i is set already */
int gen_problem_complete(gen_template *t, gen_problem *p, const bool *given, err *e);
/* gen_problem_text -- THE canonical form: "sgemm m=4096 n=4096 k=4096 ta=n tb=n", every field in
 * declaration order */
void gen_problem_text(const gen_template *t, const gen_problem *p, str *out);
/* gen_problem_full_text -- the same with the matrix, where the problem names one: what another process needs
 * to have the same data */
void gen_problem_full_text(const gen_template *t, const gen_problem *p, str *out);
/* gen_features_read -- do the kernels of gen_features_plan take the argument? */
bool gen_features_read(const gen_template *t, size_t arg);
/* gen_features_set -- the fields of features, from what the kernels of gen_features_plan left.
 *   in   outputs, counts  of each workspace of that plan
 *   err  ERR_TEMPLATE  a field is of an element that is not there */
int gen_features_set(const gen_template *t, const double *const *outputs, const size_t *counts,
                     gen_problem *p, err *e);
bool gen_problem_equal(const gen_template *t, const gen_problem *a, const gen_problem *b);
/* gen_problem_promise_most -- set the fields that are promises to what promises most, so that what is
 * valid for the problem serves every other promise, too; false: they have these values already */
bool gen_problem_promise_most(const gen_template *t, gen_problem *p);

typedef struct gen_config {
  uint16_t index[GEN_MAX_PARAMS]; /* into each parameter's values */
} gen_config;

void gen_config_default(const gen_template *t, gen_config *c);
/* gen_config_base -- the i-th configuration whose kernels are compiled when the library is built: one
 * text for all sizes, that of the problem that promises most if the configuration is valid for it. The
 * first that is valid for a problem serves it where nothing better is at hand; the last is the
 * default. False: there are at most i. */
bool gen_config_base(const gen_template *t, size_t i, gen_config *c);
/* gen_config_textbook -- the i-th configuration that a textbook prints: the first that is valid for a
 * problem is timed. False: there are at most i. */
bool gen_config_textbook(const gen_template *t, size_t i, gen_config *c);
/* gen_config_parse -- "BM=128,BN=64"; separated by commas or white space; parameters not named take
 * the template's default. Names that parameters and values had before are taken, too.
 *   err  ERR_USAGE  unknown parameter (suggests the nearest) or a value outside the space (lists
 * it) */
int gen_config_parse(const gen_template *t, const char *text, gen_config *c, err *e);
/* gen_config_set -- one parameter, "BM=128", by its present or a former name; false: there is none,
 * or it has no such value */
bool gen_config_set(const gen_template *t, const char *setting, gen_config *c);
/* gen_config_text -- every parameter, in declaration order: "BM=128,BN=64,..." */
void gen_config_text(const gen_template *t, const gen_config *c, str *out);
bool gen_config_equal(const gen_template *t, const gen_config *a, const gen_config *b);

/* ---- a problem on a device ------------------------------------------------------------------- */

/* The device limits that expressions may read; an instance needs all of them. */
#define GEN_DEVICE_LIST(X)                                                                         \
  X(dev_cc, "compute capability, 90 for 9.0")                                                      \
  X(dev_sms, "multiprocessors")                                                                    \
  X(dev_threads_block, "threads a block may have")                                                 \
  X(dev_threads_sm, "threads a multiprocessor may have")                                           \
  X(dev_blocks_sm, "blocks a multiprocessor may have")                                             \
  X(dev_regs_block, "32-bit registers a block may have")                                           \
  X(dev_regs_sm, "32-bit registers of a multiprocessor")                                           \
  X(dev_smem_block, "bytes of shared memory a block may opt in to")                                \
  X(dev_smem_sm, "bytes of shared memory of a multiprocessor")                                     \
  X(dev_smem_reserved, "bytes of shared memory per block that the system takes")                   \
  X(dev_l2, "bytes of second-level cache")                                                         \
  X(dev_memory, "bytes of memory")                                                                 \
  X(dev_links, "1: kernels that launch kernels can be built, else 0")                              \
  X(dev_warp, "threads of a warp")

typedef struct gen_number { /* a device limit that expressions may read, see expr.h */
  const char *name;         /* "dev_smem_block" */
  int64_t value;
} gen_number;

typedef struct gen_instance gen_instance; /* a template bound to a problem and a device's limits */

/* gen_instance_new -- `device` is copied; the template must outlive the instance.
 *   err  ERR_TEMPLATE  an expression that depends on nothing else failed */
int gen_instance_new(gen_template *t, const gen_problem *p, const gen_number *device,
                     size_t n_device, gen_instance **out, err *e);
void gen_instance_free(gen_instance *g);
static inline void gen_instance_leave(gen_instance **g) {
  gen_instance_free(*g);
}
/* auto_instance -- a pointer, NULL at first, freed at the end of its block */
#define auto_instance __attribute__((cleanup(gen_instance_leave))) gen_instance

/* gen_config_check -- is the point valid for this problem and device? It may yet lie outside the space,
 * which leaves out what only gains nothing.
 *   err  ERR_USAGE     a requirement fails; the message is its reason and expression
 *        ERR_TEMPLATE  an expression could not be evaluated */
int gen_config_check(gen_instance *g, const gen_config *c, err *e);
/* gen_config_words -- append its short form: without the parameters that have no effect in it (their
 * `when` does not hold) and have their default. gen_config_parse reads the same
 * configuration from it. err ERR_TEMPLATE  a condition could not be evaluated */
int gen_config_words(gen_instance *g, const gen_config *c, str *out, err *e);
/* gen_config_failing -- the same as a number: the first requirement that fails, n_requirements when
 * none does. err ERR_TEMPLATE  an expression could not be evaluated */
int gen_config_failing(gen_instance *g, const gen_config *c, size_t *failing, err *e);
/* gen_config_outside -- the same of the space: what only spaces heed counts, too; n_search_requirements
 * when the point is in it. */
int gen_config_outside(gen_instance *g, const gen_config *c, size_t *failing, err *e);
/* gen_config_holds -- does it meet requirement i? A fraction of the cost of them all. */
int gen_config_holds(gen_instance *g, const gen_config *c, size_t i, bool *yes, err *e);
/* gen_requirement_reads -- bits of the parameters that requirement i reads, itself or through derived
 * values */
uint64_t gen_requirement_reads(const gen_template *t, size_t i);
/* gen_config_untuned -- the configuration for a problem without tuning results: the first one that
 * the template suggests for such problems and that is valid for this one, else the default.
 *   out  *suggested    which of the two; may be NULL
 *   err  ERR_TEMPLATE  an expression could not be evaluated */
int gen_config_untuned(gen_instance *g, gen_config *c, bool *suggested, err *e);
/* gen_kinds -- the kinds of data besides its own fills that a template wants finalists timed on for this
 * problem: "sorted,equal"; "": none
 *   err  ERR_TEMPLATE  the condition could not be evaluated */
int gen_kinds(gen_instance *g, const char **names, err *e);
/* gen_kind_names -- all there are, "own", the template's fills, first; NULL behind the last */
const char *const *gen_kind_names(void);
/* gen_has_untuned -- does the template suggest anything? */
bool gen_has_untuned(const gen_template *t);

typedef struct gen_space gen_space; /* the valid points */

typedef struct gen_tally {
  double candidates; /* points of the Cartesian product */
  uint64_t valid;
  const double *rejected; /* points rejected, by requirement in declaration order; a point counts
                             for the first requirement that could see it fail */
  size_t n;
  size_t n_nodes; /* of the decision diagram that stands for the points; 0: they are listed */
  size_t nbytes;  /* of memory */
} gen_tally;

/* gen_space_new -- find the valid points, testing each requirement as soon as the parameters it
 * reads are known, so that one failure prunes a subtree. Up to 2^20 of them are listed, in
 * declaration order (last parameter fastest). Larger spaces, of 10^12 points and more, become a
 * decision diagram, which counts them and finds each by its number without storing them, in a fixed
 * order of its own.
 *   err  ERR_USAGE   no point is valid; names the requirement that emptied the space
 *        ERR_LIMIT   too large for the list and the diagram, or 2^63 valid points and more
 *        ERR_INTERRUPTED
 *   cost over a million candidate points a second */
int gen_space_new(gen_instance *g, gen_space **out, err *e);
void gen_space_free(gen_space *s);
static inline void gen_space_leave(gen_space **s) {
  gen_space_free(*s);
}
/* auto_space -- a pointer, NULL at first, freed at the end of its block */
#define auto_space __attribute__((cleanup(gen_space_leave))) gen_space
size_t gen_space_count(const gen_space *s);
/* gen_space_at -- the i-th valid point */
void gen_space_at(const gen_space *s, size_t i, gen_config *c);
/* gen_space_find -- its index; false when the point is not valid */
bool gen_space_find(const gen_space *s, const gen_config *c, size_t *i);
const gen_tally *gen_space_tally(const gen_space *s);
/* gen_space_is_sorted -- whether points are numbered in the order of the declaration: all with the
 * first value of the first parameter, then all with the second */
bool gen_space_is_sorted(const gen_space *s);

/* ---- what a configuration becomes ------------------------------------------------------------ */

/* gen_source_make -- append the CUDA text.
 *   The first lines are comments: the command that made it and the template's hash. They end with
 *   an empty line; *body is the offset after it, so that equal kernels hash equal.
 *   err  ERR_TEMPLATE  place is file:line;  ERR_LIMIT  too long, or it ran past the limits */
int gen_source_make(gen_instance *g, const gen_config *c, str *out, size_t *body, err *e);
/* gen_source_remember -- the text just made, from *body on, has this digest; gen_source_hash -- the
 * digest of what gen_source_make would write, without writing it: known when the text made for
 * another problem read the same values. False: not known. */
void gen_source_remember(gen_instance *g, const gen_config *c, const char hash[HASH_TEXT]);
bool gen_source_hash(gen_instance *g, const gen_config *c, char hash[HASH_TEXT]);
/* What is known of a text that was made: all of it, so that another process knows it, too. */
typedef struct gen_source_row {    /* without padding: it may be stored */
  uint64_t code;                   /* which of the template's texts */
  uint64_t reads[4], used[4];      /* names in its statements; names in front, as constants */
  uint64_t by_reads, by_constants; /* digests of their values */
  char hash[HASH_TEXT - 1];        /* the text's digest */
} gen_source_row;
/* gen_source_row_name -- what it is known by among those of its maker */
void gen_source_row_name(const gen_source_row *row, char name[HASH_TEXT]);
/* gen_source_maker -- the digest of all that makes texts but the values: the template with its paths,
 * and this library. Rows count where it is the same. */
void gen_source_maker(const gen_template *t, char maker[HASH_TEXT]);
/* gen_source_rows_add -- rows of another process; gen_source_rows_new -- those that this one has made
 * since the last call, until the next gen_source_remember */
void gen_source_rows_add(gen_template *t, const gen_source_row *rows, size_t n);
size_t gen_source_rows_new(gen_template *t, const gen_source_row **rows);
/* gen_source_depends -- through what the text just made depends on the problem: bits of the fields
 * that its statements read, and of the derived values that they or its constants have and that read
 * fields. Problems that agree in these have one text. All bits: unknown. */
void gen_source_depends(const gen_template *t, uint64_t *fields, uint64_t *derived);
/* gen_derived_value -- a whole number, or a condition as 0 or 1. err ERR_TEMPLATE */
int gen_derived_value(gen_instance *g, const gen_config *c, size_t i, int64_t *out, err *e);
/* gen_reference_source -- the slow, obvious kernel that results are compared with */
int gen_reference_source(gen_instance *g, str *out, size_t *body, err *e);

/* gen_features_source -- the kernels that compute features of the data; gen_features_plan in gen_plan.h */
int gen_features_source(gen_instance *g, str *out, size_t *body, err *e);

/* ---- metrics --------------------------------------------------------------------------------- */

/* What expressions of metrics may read besides fields, parameters, derived values and limits. */
#define GEN_MEASURED_LIST(X)                                                                       \
  X(sec, "seconds of a launch")                                                                    \
  X(joules, "energy of a launch; only GPUs that count it")                                         \
  X(registers, "of a thread")                                                                      \
  X(spill, "bytes of registers that a thread spills")                                              \
  X(smem, "bytes of static shared memory of a block")                                              \
  X(error, "of the results, in units of the tolerance")                                            \
  X(flops, "of the problem, as the template states them")                                          \
  X(bytes, "likewise")

typedef enum gen_measured {
#define GEN_MEASURED_ENUM(name, brief) GEN_MEASURED_##name,
  GEN_MEASURED_LIST(GEN_MEASURED_ENUM)
#undef GEN_MEASURED_ENUM
      GEN_MEASURED
} gen_measured;
extern const char *const gen_measured_names[]; /* ends with NULL */

typedef struct gen_metric {
  const char *text; /* "flops / joules", on one line */
  const struct gen_expr *x;
  uint32_t measured; /* bits of gen_measured that it reads */
  bool reads_config; /* parameters, or what follows from them */
} gen_metric;

/* gen_metric_parse -- out in the arena; the template's own metrics are names in it
 *   err  ERR_USAGE  not an expression whose value is a number, over known names */
int gen_metric_parse(gen_template *t, const char *text, arena *a, gen_metric *out, err *e);
/* gen_metric_of -- the template's i-th, i < n_metrics */
gen_metric gen_metric_of(const gen_template *t, size_t i);
/* gen_metric_value --
 *   in   measured  flops and bytes in it are not read: the template states them
 *   err  ERR_TEMPLATE  the expression has no value */
int gen_metric_value(gen_instance *g, const gen_config *c, const gen_metric *m,
                     const double measured[GEN_MEASURED], double *out, err *e);

/* ---- expressions ----------------------------------------------------------------------------- */

/* gen_expression_c -- append the expression as C, each name passed through `name` (NULL: as is).
 * Whole numbers that are not negative are assumed. Helpers become functions: tuned_ceildiv,
 * tuned_roundup, tuned_min, tuned_max (of two), tuned_log2, tuned_ispow2, tuned_pow2div, tuned_abs.
 * A text, which can only be compared with ==, is passed through `name` too, in single quotes.
 *   err  ERR_TEMPLATE  it uses what C cannot express (/, bit operators, and/or as a value; texts when
 *                      name is NULL) */
int gen_expression_c(const char *expression, const char *(*name)(void *, const char *), void *ud,
                     str *out, err *e);
/* gen_expression_c_of -- the same for an expression of the template, whose names are known. Derived
 * values that are conditions are written out: C distinguishes numbers from conditions */
int gen_expression_c_of(const gen_template *t, const char *expression,
                        const char *(*name)(void *, const char *), void *ud, str *out, err *e);
bool gen_derived_is_condition(const gen_template *t, size_t i);

#endif
