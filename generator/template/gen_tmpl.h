/* gen_tmpl.h -- what the files of generator/ share of a loaded template.
 *
 * The public gen_template comes first, so that the one is the other's address. Everything is in the
 * template's arena and stays as gen_open left it; what changes are the values that expressions read
 * (see gen_instance.c) and, when it was opened lazily, which scripts are compiled.
 */
#ifndef GEN_TMPL_H
#define GEN_TMPL_H

#include "gen_expr.h"
#include "gen_outline.h"
#include "gen_script.h"

enum { GEN_MATRIX_ROLES = 3 /* rows, columns, entries */ };
enum { GEN_LOOP_INDEX = 63, /* among the scalars */ GEN_MAX_ARGS = 64, GEN_MAX_DEVICE = 16 };
enum { GEN_FIRST_COUNT = GEN_LOOP_INDEX - GEN_MAX_COUNTS }; /* likewise */

typedef struct gen_element { /* an element type, fixed or named by a field */
  dtype type;
  int field; /* -1: fixed */
} gen_element;

typedef struct gen_field_rule {
  const gen_expr *preset;
  size_t output; /* of a feature: workspace of `features`, ... */
  int64_t at;    /* ... its element, ... */
  double scale;  /* ... and what that is multiplied by */
} gen_field_rule;

typedef struct gen_tolerance {
  const gen_expr *abs, *rel; /* abs NULL: none is given */
  gen_error_kind error;
  const char *bound_name; /* GEN_ERROR_BOUND */
  size_t bound;           /* likewise: the reference's workspace */
  gen_line at;
} gen_tolerance;

typedef struct gen_generator_rule { /* of GEN_FILL_PATTERN */
  gen_pattern pattern;
  const char *parts; /* NULL: an image */
  gen_line at;
  const gen_expr *size[3];
  size_t n_size;
  const gen_expr *numbers[GEN_GENERATOR_NUMBERS], *seed, *density; /* NULL: not given */
} gen_generator_rule;

typedef struct gen_arg_rule {
  gen_element element;
  const gen_expr *value, *sample;      /* scalars: one of the two */
  const gen_expr *count, *overwritten; /* buffers; overwritten: inout only, may be NULL */
  const gen_expr *lines, *line; /* of them, when count is ld * max(0, lines - 1) + line; or NULL */
  const gen_expr *optional;     /* buffers; may be NULL: never */
  const gen_expr *shift;        /* buffers; may be NULL: 0 */
  const gen_expr *host;         /* buffers in the host's memory; may be NULL: never */
  gen_fill_kind fill;
  const gen_expr *a, *b;               /* of the fill; may be NULL */
  const char *file;                    /* GEN_FILL_FILE */
  matrix_part part;                    /* likewise, of a matrix; GEN_FILL_MATRIX */
  const gen_generator_rule *generator; /* GEN_FILL_PATTERN */
  int function;                        /* GEN_FILL_LUA: its place in Lua's registry */
  gen_tolerance tolerance;             /* abs NULL: the template's */
  /* outputs of which valid_times * valid_of[valid_at] elements count; valid_at NULL: all */
  const gen_expr *valid_at, *valid_times, *each; /* valid_times, each NULL: 1 */
  size_t valid_of;                               /* an argument */
  bool unordered; /* records of `each` elements may be in any order */
  bool is_field;  /* has the name of a field, and its value */
} gen_arg_rule;

typedef struct gen_workspace {
  const char *name;
  gen_element element;
  const gen_expr *count;
} gen_workspace;

typedef struct gen_stage_operand {
  gen_from from;
  uint32_t index;
  gen_element element;                     /* GEN_FROM_VALUE, GEN_FROM_CONTENTS */
  const gen_expr *value;                   /* GEN_FROM_CONTENTS: how many elements */
  const struct gen_stage_tensor *tensor;   /* GEN_FROM_TENSOR */
  const struct gen_stage_texture *texture; /* GEN_FROM_TEXTURE */
} gen_stage_operand;

typedef struct gen_stage_tensor {
  gen_stage_operand at;
  gen_element element;
  size_t rank;
  const gen_expr *dims[GEN_MAX_RANK], *box[GEN_MAX_RANK], *swizzle; /* swizzle NULL: 0 */
  gen_stage_operand strides[GEN_MAX_RANK - 1];
} gen_stage_tensor;

typedef struct gen_stage_texture {
  gen_stage_operand at;
  gen_element element;
  size_t rank;
  const gen_expr *dims[GEN_TEXTURE_RANK], *channels, *array; /* NULL: 1; never */
  gen_stage_operand strides[GEN_TEXTURE_RANK - 1];
  bool dense; /* no strides are given */
  gen_reading how;
} gen_stage_texture;

typedef struct gen_stage_loop {  /* around stages that follow each other */
  const gen_expr *times, *graph; /* graph NULL: never */
  const gen_expr *when;          /* NULL: always */
  bool is_while;                 /* it runs until a word is 0; then times NULL: by the problem */
  gen_stage_operand word;
  const gen_expr *ahead, *batch; /* NULL: never */
  bool indexed;                  /* its stages read the number of the iteration */
  const gen_stage_operand (*swaps)[2];
  size_t n_swaps;
} gen_stage_loop;

typedef struct gen_stage {
  gen_line at;
  const gen_stage_loop *loop; /* NULL: in none */
  const char *kernel;         /* NULL: sets memory */
  const char *symbol; /* kernel NULL: a __constant__ variable that gets a buffer's contents */
  bool copy;          /* kernel NULL: from the second operand to the first */
  uint32_t counts;    /* bits: of a preparation, a stage that reads these; 0: another stage */
  bool values_only;   /* of a preparation: what runs again when only numbers change */
  const gen_expr *stream, *after[GEN_MAX_STREAMS]; /* NULL: 0; none */
  const char *instance; /* of a C++ template that the kernel calls; or NULL */
  const gen_expr *when; /* NULL: always */
  const gen_expr *overlap, *early, *cooperative; /* NULL: never */
  const gen_expr *pool;                          /* NULL: the device's default */
  const gen_expr *grid[3], *block[3], *smem;     /* NULL: 1, 1, 0 */
  const gen_expr *work[GEN_MAX_WORK];            /* of a block; NULL: 0 */
  const gen_expr *fill, *nbytes; /* memory stages; nbytes NULL: the whole workspace */
  const gen_expr *start[2];      /* copies: byte offsets of what is written, and read; NULL: 0 */
  const gen_stage_operand *operands;
  size_t n_operands;
} gen_stage;

typedef struct gen_device_code {
  gen_script script;
  bool have_reads, never; /* never: it reaches for names in a way that cannot be followed */
  gen_names reads;        /* names in the script's statements */
} gen_device_code;

typedef struct gen_algorithm { /* one of several that a template has (gen_algorithms.h) */
  const char *value; /* of the parameter that chooses, the first of those that choose it: its key in
                        the table; NULL: the template as a whole */
  const char *guard; /* the condition that it is chosen, in parentheses */
} gen_algorithm;

typedef struct gen_flag { /* an option of the compiler */
  gen_line at;
  const char *text;      /* "--maxrregcount=", or all of it */
  const gen_expr *value; /* written after it; NULL: nothing */
  const gen_expr *when;  /* NULL: always */
} gen_flag;

typedef struct gen_define { /* a macro of the reference */
  const char *name;
  const gen_expr *value;
} gen_define;

typedef struct gen_program { /* the kernel, or the reference */
  const gen_stage *stages;
  size_t n_stages;
  const gen_workspace *workspaces;
  size_t n_workspaces;
  gen_device_code *codes; /* one, or of each algorithm */
  size_t n_codes;
  const gen_flag *flags;
  size_t n_flags;
  const gen_define *defines;
  size_t n_defines;
} gen_program;

typedef struct gen_count_rule { /* a number that a preparation leaves in a buffer */
  gen_stage_operand of;
  gen_element element;
  const gen_expr *at, *most; /* at NULL: 0 */
  gen_line line;
} gen_count_rule;

typedef struct gen_prepared_rule { /* a buffer of a preparation */
  gen_element element;
  const gen_expr *count;
} gen_prepared_rule;

typedef struct gen_preparing { /* the key prepare, of all algorithms */
  gen_program program;         /* stages only: their scratch is among the buffers */
  const gen_prepared_rule *buffers;
  const gen_count_rule *counts;
} gen_preparing;

typedef struct gen_check_rule {
  gen_program program;      /* without a source */
  const gen_expr *residual; /* NULL: it counts */
} gen_check_rule;

typedef struct gen_included { /* a file that a source includes */
  struct gen_included *next;
  const char *name, *path, *text;
  size_t n;
} gen_included;

typedef struct gen_suggested { /* a configuration for problems without tuning results */
  const gen_expr *when;
  gen_config config;
} gen_suggested;

typedef struct gen_sources { /* texts made before (gen_source.c) */
  gen_device_code *code;     /* of the text just made; NULL: none was */
  gen_names used;            /* names in that text, as constants */
  gen_source_row *seen;
  size_t n, most, n_old; /* n_old: those that gen_source_rows_new need not tell */
} gen_sources;

typedef struct tmpl {
  gen_template pub;
  arena a;
  gen_box box;
  size_t max_source_nbytes;
  str text;                /* of the file, while it is read */
  const gen_file *builtin; /* with the same text, for good; NULL: none */
  const char *folder;      /* where it lies, "" or ending in a slash; NULL: built in */
  const char *data;        /* gen_options, while the template is read */
  gen_included *included;
  const gen_mark *outline; /* likewise */
  gen_symbols symbols;
  expr_env env; /* the values of the names now */
  expr_value scalars[GEN_MAX_ARGS];

  const gen_field_rule *fields;
  bool has_matrix, no_inputs;    /* no_inputs: gen_options */
  bool counts_unknown;           /* while sizes are checked, no matrix is made */
  struct counted_input *counted; /* matrices that were generated to count their entries */
  int matrix[GEN_MATRIX_ROLES];  /* fields that hold a matrix's counts; -1: none does */
  const gen_arg_rule *args;
  const gen_algorithm *algorithms;
  size_t n_algorithms;         /* 0: the template has none */
  const uint8_t *algorithm_of; /* by the index of the first parameter's value */
  const gen_expr *const *derived, *const *requirements;
  const gen_expr *const *when; /* per parameter: it is of use only then; NULL: always */
  const bool *fixed;           /* derived values that no parameter affects */
  /* bits of the parameters that they read, by way of derived values too */
  const uint64_t *derived_reads, *requirement_reads;
  const bool *advice;           /* per requirement: a base configuration need not meet it */
  const gen_expr *const *cases; /* [case * n_args + arg], NULL: not overridden */
  const gen_expr *flops, *bytes;
  gen_tolerance tolerance;
  const gen_metric *metrics;
  gen_symbols *metric_symbols; /* NULL: not asked for yet */
  bool macros; /* parameters and derived values reach the text as macros, not as constants */
  bool trust;  /* gen_options */
  bool plain;  /* the text is a plain CUDA file (plain/gen_plain.h) */
  const char *const *include; /* folders in which its headers are looked for */
  size_t n_include;
  const char *const *replaced; /* macros whose #define in the text does not count */
  size_t n_replaced;
  bool has_checks;                /* the key `checks` is there */
  bool has_source;                /* the first of its files is read */
  struct gen_plain_place *places; /* where lines of the Lua text come from; NULL: from the file */
  size_t n_places;
  gen_program program, reference, features;
  gen_preparing prepare;
  const gen_check_rule *checks;
  gen_config preset;
  const gen_config *base; /* before the preset */
  size_t n_base;
  const gen_config *textbook; /* the first that is valid for a problem */
  size_t n_textbook;          /* 0: no text prints one */
  const gen_suggested *untuned;
  size_t n_untuned;
  const char *kinds;          /* of data that finalists are timed on; NULL: the fills' own */
  const gen_expr *kinds_when; /* for which problems; NULL: all */

  gen_sources sources;
  const gen_instance *bound; /* whose values are in env; NULL: none's */
} tmpl;

struct gen_instance {
  tmpl *t;
  gen_problem problem;
  int64_t device[GEN_MAX_DEVICE]; /* in the order of GEN_DEVICE_LIST */
  gen_config config;              /* in params, when has_config */
  bool has_config;
  expr_value fields[GEN_MAX_FIELDS], limits[GEN_MAX_DEVICE], params[GEN_MAX_PARAMS];
  expr_value derived[GEN_MAX_DERIVED]; /* as far as they were needed */
  bool *held;                          /* requirements that hold, as far as they were evaluated */
};

extern const char *const gen_device_names[]; /* ends with NULL */

static inline tmpl *gen_tmpl(const gen_template *t) {
  return (tmpl *)t;
}
static inline bool gen_is_number(const gen_param *p) {
  return !p->values[0].s;
}

/* gen_add_fields -- append " m=4096 n=4096 ...", the canonical text without the name */
void gen_add_fields(const gen_template *t, const gen_problem *p, str *out);

/* gen_instance.c; inside gen_box_run: */

expr_value gen_value_of(const gen_value *v);
/* gen_bind -- the values of problem and device and, when c is not NULL, the configuration */
void gen_bind(gen_instance *g, const gen_config *c);
/* gen_derive_for -- the derived values that the expression reads, for the configuration bound */
void gen_derive_for(gen_instance *g, const gen_expr *x);
/* gen_derive_all -- all; when c is NULL, those that no parameter affects. gen_has_derived: is the
 * i-th among them? */
void gen_derive_all(gen_instance *g, const gen_config *c);
bool gen_has_derived(const gen_instance *g, size_t i, const gen_config *c);
/* gen_push_values -- push the globals of a script with the values of problem, device, c (NULL:
 * none) and whatever is derived */
void gen_push_values(gen_instance *g, const gen_config *c);
/* gen_device_limits -- in the order of GEN_DEVICE_LIST */
int gen_device_limits(const gen_number *device, size_t n, int64_t out[GEN_MAX_DEVICE], err *e);
/* gen_generate -- the numbers of the generator that fills d, whose type and count are known
 *   err  ERR_TEMPLATE  one is out of its range */
void gen_generate(gen_instance *g, const gen_generator_rule *rule, gen_datum *d);
/* gen_element_type -- the element type for this problem */
dtype gen_element_type(const gen_instance *g, gen_element x);
/* gen_code_of -- the text of the algorithm that the configuration chooses */
gen_device_code *gen_code_of(tmpl *t, const gen_config *c);

#endif
