/* cli.h -- the command line: words, options, and what several verbs share.
 *
 * A verb is a function that gets the parsed line and returns 0, an error code, or a positive exit
 * status; main prints the error as one line. A verb writes results to standard output, everything else to standard
 * error. */
#ifndef TUNE_CLI_H
#define TUNE_CLI_H

#include <stdio.h>

#include "compile.h"
#include "db.h"
#include "device.h"
#include "gen.h"
#include "strategy.h"
#include "tune.h"

/* Lines of a plain CUDA file that may be options, too, any number of times each (generator/plain). */
#define CLI_PLAIN(X)                                                                               \
  X(kernel, "NAME", "the kernel to tune, NAME or NAME<float, BLOCK>; grid, block, ... follow")     \
  X(param, "NAME=VALUES", "a macro to tune: BLOCK=32,64,128 or 1..8 or 32..256*2 [default 64]")    \
  X(require, "CONDITION", "what valid variants meet: \"BLOCK*TILE <= 1024\"")                      \
  X(grid, "X[,Y[,Z]]", "blocks of the kernel: ceildiv(n,BLOCK)")                                   \
  X(block, "X[,Y[,Z]]", "threads of a block")                                                      \
  X(shared, "BYTES", "dynamic shared memory of a block: 4*BLOCK")                                  \
  X(arg, "WHAT", "an argument: A:f32[n*n]:in, C:f32[n]:out, n:i32, alpha:f32=2.5")                 \
  X(args, "NAMES", "arguments of one of several kernels, in order")                                \
  X(constant, "WHAT", "contents of a __constant__ variable: filter:f32[17]:uniform(0,1)")          \
  X(scratch, "WHAT", "a buffer of the kernels' own: sums:f32[n]")                                  \
  X(memset, "NAME", "a buffer that is set to zero before the next kernel")                         \
  X(when, "CONDITION", "launch the kernel only then")                                              \
  X(problem, "FIELD", "a size of the problem: \"n 1..65536 default 1024\"")                        \
  X(define, "NAME=VALUE", "a macro with a value that follows from others")                         \
  X(expected, "NAME=FILE", "the right results of an output: C=c.npy")                              \
  X(replace, "NAMES", "macros whose own #define in the file does not count")                       \
  X(reference, "NAME", "the kernel that results are compared with; or first, the default")         \
  X(tolerance, "NUMBER", "of results: 1e-4, or \"abs 1e-5 rel 1e-4\"")                             \
  X(flops, "EXPRESSION", "operations of a launch")                                                 \
  X(bytes, "EXPRESSION", "bytes that a launch has to move")                                        \
  X(option, "TEXT", "an option of the compiler: --use_fast_math, --maxrregcount=REGS")             \
  X(include, "DIR", "a folder of headers; also -I DIR")

/* name (_ is typed as -, but none at the end), placeholder of the value (NULL: a flag; WORDS: given again
 * it adds words), what it does */
#define CLI_OPTIONS(X)                                                                              \
  X(device, "NAME", "0, 1, ... a GPU; emu or emu:PROFILE, the emulated device on the CPU")          \
  X(db, "FILE", "database; else $TUNED_DB, else the XDG data folder's autotune/tuned.db")           \
  X(templates, "DIR", "folder of templates, before those of $TUNED_TEMPLATES (DIR:DIR)")            \
  X(data, "DIR", "folder of test data, for fills from files that are not beside the template")      \
  X(config, "LIST", "a configuration, NAME=VALUE,...; other parameters take their default")         \
  X(budget, "WHAT",                                                                                 \
    "trials and seconds for one problem, in place of --effort: 200 | 90s | 200,90s")                \
  X(effort, "NAME", "estimate (seconds), measure (a minute, default), patient (ten), exhaustive")   \
  X(sizes, "FILE", "problems, one a line; or given here: \"m=256..4096*2 n=16,64 k=1024\"")         \
  X(start, "FROM",                                                                                  \
    "try first near problems' best: all (default), tuned (none built in), none; or FILE.txt")       \
  X(objective, "WHAT",                                                                              \
    "time (default), energy, edp, or expressions: \"flops/joules\", \"time, registers\"")           \
  X(timing, "HOW", "stream: one launch after another (default); graph: in CUDA graphs")             \
  X(strategy, "NAME", "order of the search (default forest); see autotune replay --help")           \
  X(seed, "N", "seed of random choices (default 1)")                                                \
  X(kinds, "LIST", "kinds of data of these draws: sorted,equal,small | own; else the template's")   \
  X(draws, "N", "draws of random data that finalists are timed on (default 16; emulated 1)")        \
  X(jobs, "N", "compile processes (default: one a core)")                                           \
  X(timeout, "SEC",                                                                                 \
    "stop a compilation or measurement that takes longer (120); check, profile, run-...: stop all") \
  X(arch, "NAME", "compile for sm_90, sm_80, ... instead of the device's own")                      \
  X(sample, "N", "how many random ones to take")                                                    \
  X(limit, "BYTES", "of the cache of images, with what it holds already (default: its bound)")      \
  X(all, NULL, "every valid configuration")                                                         \
  X(vs, "PEER", "what to time beside: cublas, cublas-tf32, cub, driver, textbook, npp")             \
  X(suite, "NAME", "problems of a suite, or of a file with one a line")                             \
  X(tune, "BUDGET", "tune every problem first: trials and seconds, as for --budget")                \
  X(error, NULL, "show the error of each contender's results")                                      \
  X(claims, "FILE", "claims to test instead of the built-in ones")                                  \
  X(by, "PARAMETER", "parameter to compare")                                                        \
  X(search, "LIST", "parameters: all their values jointly against one parameter at a time")         \
  X(rounds, "N", "interleaved rounds (default 25)")                                                 \
  X(hot, NULL, "time with the buffers in cache instead of rotating past it")                        \
  X(cubin, "FILE", "write the machine code")                                                        \
  X(fatbin, "FILE", "write one file with the images for all of --arch")                             \
  X(ptx, "FILE", "write the PTX")                                                                   \
  X(source, "FILE", "write the CUDA source")                                                        \
  X(template, NULL, "the Lua template that a plain CUDA file stands for")                           \
  X(header, "FILE", "write a C header that launches it")                                            \
  X(embed, "FILE", "write a C source that holds the images and loads the device's one")             \
  X(manifest, "FILE", "write a JSON description: kernel, configuration, measurement")               \
  X(portfolio, NULL, "export the family's portfolio instead of one problem's kernel")               \
  X(dispatch, "HOW", "how an exported portfolio chooses: models (default if any) or tree")          \
  X(name, "NAME", "prefix of names in the header (default: the family)")                            \
  X(runs, "N", "searches of each space, each with another seed (default 50)")                       \
  X(ahead, "N", "candidates requested ahead of results (default 1)")                                \
  X(plot, "FILE", "write a picture, as SVG")                                                        \
  X(presets, "DIR", "write files for each device, to be built into the library")                    \
  X(format, "NAME", "format of the file: t4 (default), kernel-tuner or csv")                        \
  X(top, "N", "how many to show")                                                                   \
  X(importance, NULL, "show which parameters the time depends on")                                  \
  X(json, NULL, "print one JSON object a line on standard output")                                  \
  X(quiet, NULL, "print results and errors only")                                                   \
  X(grid, "WHAT", "blocks of the launch: X,Y,Z")                                                    \
  X(loss, "SHARE", "how much slower than the best a size may be: 5% (default) or 0.05")             \
  X(more, NULL, "keep the stored portfolio's configurations, and time them at further sizes")       \
  X(block, "X,Y,Z", "threads of a block")                                                           \
  X(smem, "BYTES", "dynamic shared memory of a block")                                              \
  X(args, "WORDS", "kernel parameters: buf:f32:1024 i32:5 bytes:0a0b struct:FILE ...")              \
  X(const_, "WORDS", "contents of a module's variable, any number of times: taps=f32:1,2,1")        \
  X(dump, "WORDS", "write a buffer to a file, any number of times: 0=out.npy")                      \
  X(no_checks, NULL, "check only for accesses outside the device's memory; much faster")            \
  X(emu_memory, "BYTES", "memory of the emulated device (default: half of the host's)")             \
  X(help, NULL, "print this text")

typedef struct cli {
  const char *verb;
  const char *const *words; /* words other than verb and options */
  size_t n_words;
#define CLI_FIELD(name, value, text) const char *name; /* NULL: not given; flags: "" */
  CLI_OPTIONS(CLI_FIELD)
#undef CLI_FIELD
  const char **lines; /* options that are lines of a plain CUDA file: "param BLOCK=1,2" */
  size_t n_lines;
} cli;

typedef struct cli_verb {
  const char *name;
  const char *heading; /* of the group of verbs that begins here; NULL: none does */
  const char *usage, *brief;
  const char *options; /* options that the verb takes: " device db ... " */
  const char *details; /* paragraphs and examples for --help; may be NULL */
  int (*run)(const cli *c, err *e);
  const char *actions; /* what its first word may be: "stat verify clear"; NULL: anything */
} cli_verb;

extern const cli_verb cli_verbs[]; /* verbs.c; ends with a NULL name; the first is `tune` */

typedef struct
    cli_option_text { /* what an option means for one verb, where CLI_OPTIONS is too general */
  const char *verb, *option, *text;
} cli_option_text;
extern const cli_option_text cli_option_texts[]; /* verbs.c; ends with a NULL verb */

typedef struct cli_option { /* a row of CLI_OPTIONS */
  const char *name, *value, *text;
  size_t offset; /* of the field in cli */
} cli_option;
extern const cli_option cli_options[]; /* cli.c; ends with a NULL name */

/* cli_option_meaning -- its text for this verb */
const char *cli_option_meaning(const cli_verb *verb, const cli_option *o);
bool cli_takes(const cli_verb *verb, const cli_option *o);
const cli_verb *cli_find_verb(const char *name); /* NULL: there is none */
/* cli_spell -- the name as it is typed, with - for _; const_ is typed const */
void cli_spell(const char *name, char *out, size_t n);

/* cli_plain_parse -- the option at argv[*i], if it is a line of a plain CUDA file; *i moves past a value
 * that is a word of its own. out  *is  it is one.  cli_plain_help -- these options */
int cli_plain_parse(const cli_verb *verb, int argc, char **argv, int *i, arena *a, cli *c, bool *is,
                    err *e);
enum { CLI_PLAIN_MOST = 64 };
/* cli_plain_names -- their names, for suggestions; at most CLI_PLAIN_MOST */
size_t cli_plain_names(const cli_verb *verb, const char **names);
const char *cli_plain_meaning(const char *name);
void cli_plain_help(FILE *f, const cli_verb *verb);
/* cli_parse -- argv without the program's name; words are borrowed from argv.
 *     err ERR_USAGE  an unknown option (suggests the nearest), one that the verb does not take, a
 *        missing value */
int cli_parse(const cli_verb *verb, int argc, char **argv, arena *a, cli *c, err *e);
void cli_print_help(FILE *f, const cli_verb *verb);
void cli_print_usage(FILE *f);
/* cli_print_family -- the fields, parameters and algorithms of the template that the words name, and the
 * options of tuning it */
int cli_print_family(const cli *c, err *e);
/* cli_check_word -- where the first word is neither a family nor a path but nearly a verb
 *   err ERR_USAGE  suggests the verb */
int cli_check_word(const cli *c, err *e);

/* ---- what verbs share ------------------------------------------------------------------------ */

/* cli_catch_signals -- the flag that SIGINT and SIGTERM set; a second signal ends the program at
 * once */
const volatile sig_atomic_t *cli_catch_signals(void);
/* cli_stop_flag -- the same once signals are caught; NULL before */
const volatile sig_atomic_t *cli_stop_flag(void);

/* cli_limit_time -- for verbs that run kernels in this process: the same flag, which --timeout SEC
 * sets too; where a kernel or a compiler does not look at it, the program ends two seconds later */
int cli_limit_time(const cli *c, const volatile sig_atomic_t **stop, err *e);
/* cli_time_is_up -- has --timeout set the flag? */
bool cli_time_is_up(void);

/* cli_no_action -- err ERR_USAGE: the first word is none of the verb's actions; suggests the nearest */
int cli_no_action(const cli *c, err *e);
/* cli_words_most -- err ERR_USAGE: too many words for the verb; names the first of them */
int cli_words_most(const cli *c, size_t most, err *e);
/* cli_number -- an option's value in [least, most]; `other` without one */
int cli_number(const char *option, const char *value, int64_t least, int64_t most, int64_t other,
               int64_t *out, err *e);
/* cli_timeout -- --timeout in seconds, "3" or "3s"; 0 without one */
int cli_timeout(const cli *c, int64_t most, int64_t *sec, err *e);
/* cli_timing -- stream or graph */
int cli_timing(const cli *c, rt_replay *out, err *e);
/* cli_race -- --rounds, with this default, --timing and --hot */
int cli_race(const cli *c, int64_t rounds, int64_t *n, rt_timing *how, err *e);
/* cli_device -- --device, else $TUNED_DEVICE, else GPU 0, else emu */
const char *cli_device(const cli *c);
/* cli_profile_of -- the limits of an emulated device of this compute capability
 *   err ERR_NOTFOUND  none is emulated; no message */
int cli_profile_of(int cc, rt_info *out);
/* cli_open_db -- err ERR_NOTFOUND for DB_READ: nothing tuned yet */
int cli_open_db(const cli *c, db_mode mode, db **out, err *e);
/* cli_open_db_if_any -- to read; *out is NULL when nothing is tuned yet */
int cli_open_db_if_any(const cli *c, db **out, err *e);
/* cli_template_options -- folders of --templates and $TUNED_TEMPLATES; texts in the arena */
int cli_template_options(const cli *c, arena *a, gen_options *out, err *e);
/* cli_template_named -- the same, with what gen_open takes for the first word: a T1 file stands for
 * its kernel's file */
int cli_template_named(const cli *c, arena *a, gen_options *out, const char **name, err *e);
/* cli_open_template -- of the first word */
int cli_open_template(const cli *c, arena *a, gen_template **t, err *e);
/* cli_param -- a parameter of the template by name, which may be NULL; err ERR_USAGE lists them */
int cli_param(const gen_template *t, const char *name, size_t *out, err *e);
/* cli_fields -- append the words after the first, with blanks between them */
int cli_fields(const cli *c, str *out, err *e);
/* cli_problem -- from the words after the family */
int cli_problem(const cli *c, gen_template *t, gen_problem *p, err *e);

/* For verbs about one kernel: template, problem, configuration, the device's limits. */
typedef struct cli_kernel {
  arena memory;
  gen_template *t;
  gen_problem problem;
  str problem_text;
  rt_device *device;
  gen_instance *g;
  gen_config config;
} cli_kernel;
/* cli_kernel_open -- close it with cli_kernel_close whether or not it failed */
int cli_kernel_open(const cli *c, cli_kernel *k, err *e);
/* cli_kernel_open_to_run -- the same; without fields the emulated device takes the template's first
 * size for it, as the default problem may take it hours */
int cli_kernel_open_to_run(const cli *c, cli_kernel *k, err *e);
void cli_kernel_close(cli_kernel *k);
/* auto_kernel -- closed at the end of its block */
#define auto_kernel __attribute__((cleanup(cli_kernel_close))) cli_kernel
/* cli_kernel_compile -- for the device, or for --arch. registers: on the emulated device, also run
 * ptxas, whose register counts its cost model needs */
int cli_kernel_compile(const cli *c, cli_kernel *k, const gen_config *config, rt_compiler *compiler,
                       bool registers, str *source, size_t *body, rt_image *image, err *e);
/* cli_kernel_results -- the stored trials of its problem, as db_results; with `top`, as db_results_top
 *   err ERR_NOTFOUND  there are none */
int cli_kernel_results(const cli *c, cli_kernel *k, db *d, size_t top, db_result **rows, size_t *n,
                       err *e);
/* cli_kernel_count -- as db_count */
int cli_kernel_count(const cli *c, const cli_kernel *k, db *d, int64_t *ok, int64_t *failed,
                     err *e);

#endif
