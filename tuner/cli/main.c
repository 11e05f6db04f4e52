/* main.c -- autotune: which verb, and what its end looks like to the caller. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "verbs.h"

/* What a problem looks like, for every verb that takes one. */
#define PROBLEM                                                                                    \
  "A problem is a family and its fields: sgemm m=4096 n=4096 k=4096 ta=t. Fields not given take\n" \
  "their default. The family is built in (autotune list --help), found in a templates folder, "    \
  "or\n"                                                                                           \
  "the path of a template file: autotune path/to/mine.lua n=1000.\n"

const cli_verb cli_verbs[] = {
    {"tune", "[tune] FAMILY [FIELD=VALUE ...] [options]",
     "Search the space for the fastest configuration and store what is found.",
     " device db templates effort budget sizes start objective timing strategy seed jobs timeout "
     "json quiet top emu_memory ",
     PROBLEM
     "Without fields the template's own bench sizes are tuned, one after another (on the emulated\n"
     "device its emu sizes).\n\n"
     "Every finished trial is stored at once. The same command again measures nothing that is "
     "known\n"
     "and goes on where an interrupted one stopped; a larger --budget searches further.\n\n"
     "  autotune sgemm m=4096 n=4096 k=4096 --device 0\n"
     "  autotune sgemm m=100 n=100 k=100 --budget 500\n"
     "  autotune sgemm --sizes sizes.txt --effort patient\n\n"
     "Effort: estimate (8 trials: the best of near problems, the default), measure (60 s),\n"
     "patient (10 minutes), exhaustive (every valid point). --budget replaces the bound.\n"
     "Sizes: a problem a line; values may be lists and ranges: m=64..1024*2 n=16,64 "
     "k=1000..1200+100\n",
     cmd_tune},
    {"emit", "emit FAMILY [FIELD=VALUE ...] [--config NAME=VALUE,...]",
     "Print the CUDA source that a configuration becomes.", " device templates config ",
     PROBLEM "\n  autotune emit saxpy n=1000 --config VEC=4,BLOCK=256\n", cmd_emit},
    {"space", "space FAMILY [FIELD=VALUE ...]",
     "Count the points of the space, the valid ones, and what rejected the others.",
     " device templates json ", PROBLEM, cmd_space},
    {"spec", "spec FILE.json ...",
     "Count the space of a T1 file, the auto-tuning community's form of a tuning problem.",
     " json ",
     "T1 is JSON with parameters, and with conditions in Python. What is constructed is the space; "
     "the\n"
     "kernel itself is tuned here once it is a template, and searched without a GPU by `autotune "
     "replay`\n"
     "once somebody has recorded it.\n\n  autotune spec gemm_milo.json\n",
     cmd_spec},
    {"build", "build FAMILY [FIELD=VALUE ...] [--config NAME=VALUE,...] [--arch sm_90]",
     "Compile a configuration, without a GPU: registers, spills, shared memory, compiler's log.",
     " device templates config arch cubin ptx source ", PROBLEM, cmd_build},
    {"check", "check FAMILY [FIELD=VALUE ...] [--config LIST | --all | --sample N]",
     "Run configurations against the template's reference, without timing or storing anything.",
     " device templates config all sample seed json quiet no_checks emu_memory ",
     PROBLEM "\nEvery output byte is compared, inputs and the memory around every buffer must be "
             "untouched.\n\n  autotune check sgemm m=100 n=70 k=50 --sample 50\n",
     cmd_check},
    {"profile", "profile FAMILY [FIELD=VALUE ...] [--config LIST]",
     "What a configuration does on the emulated device: instructions, sectors, bank conflicts, the "
     "bound.",
     " device templates config json emu_memory ",
     PROBLEM "\n  autotune profile sgemm m=1024 n=1024 k=1024 --device emu:a100\n", cmd_profile},
    {"run-ptx", "run-ptx FILE.ptx KERNEL --grid 8 --block 256 --args \"buf:f32:1024 i32:5\"",
     "Run any PTX on the emulated device with its checks, and print what it did.",
     " device grid block smem args no_checks emu_memory json ",
     "A parameter is buf:TYPE:COUNT, filled with random numbers (or buf:TYPE:COUNT:zero, :index, "
     ":none), or\n"
     "TYPE:VALUE. A finding names kernel, block, thread and line, and is the program's failure.\n",
     cmd_run_ptx},
    {"devices", "devices", "List the GPUs and the emulated devices.", " json ", NULL, cmd_devices},
    {"list", "list [FAMILY]", "List what is tuned, and the families there are.",
     " db templates json ", NULL, cmd_list},
    {"show", "show FAMILY [FIELD=VALUE ...] [--importance]",
     "Show the best configurations of a family's tuned problems, or of one problem.",
     " device db templates timing top importance json ",
     PROBLEM
     "With at least one field: the fastest configurations and the failures of that problem. With\n"
     "--importance: what the time depends on, by functional ANOVA of a forest of regression trees "
     "over\n"
     "the trials, for each parameter and the strongest pairs (--top).\n",
     cmd_show},
    {"learned", "learned FAMILY [FIELD=VALUE ...] [--by PARAMETER,...]",
     "Show as a table which values of parameters are best for which problems.",
     " db templates by json ",
     "What is tuned of the family here, on any device, and what the library ships with: a row a "
     "problem,\n"
     "a column a parameter (--by, else all in which the best configurations differ), and in "
     "brackets the\n"
     "next best value that was tried, with what it costs. Fields keep the table to problems that "
     "have\nthem. Needs no GPU.\n\n"
     "  autotune learned radix_sort --by RADIX,ITEMS\n"
     "  autotune learned scan dtype=i32 --by ALG,BLOCK,ITEMS --json\n",
     cmd_learned},
    {"doctor", "doctor", "Say what is missing on this machine and how to get it.",
     " db templates json ", NULL, cmd_doctor},
    {"tune-captured", "tune-captured FILE [options]",
     "Tune the problems that a program asked for, as libtuned has written them down.",
     " device db templates effort budget start strategy seed jobs timeout json quiet top "
     "emu_memory ",
     "Run the program with TUNED_CAPTURE=FILE: every problem it brings to libtuned becomes a line "
     "of "
     "FILE,\n"
     "with the number of calls as a comment. Lines may be deleted, and others added. A family at a "
     "time,\n"
     "the problems are tuned as by autotune FAMILY --sizes. With TUNED_CAPTURE_DATA=DIRECTORY too "
     "the\n"
     "program writes what its kernels read, and the problems are tuned on that.\n\n"
     "  TUNED_CAPTURE=asked.txt ./simulation\n"
     "  autotune tune-captured asked.txt --budget 20s\n",
     cmd_captured},
    {"portfolio", "portfolio FAMILY [--sizes FILE] [--grid RANGES] [--loss 5%]",
     "Choose a few of the tuned configurations that serve a whole range of sizes, and which when.",
     " device db templates loss sizes grid sample seed more budget jobs timeout json quiet "
     "emu_memory ",
     "What is tuned of the family on the device gives the candidates: the best configuration of "
     "every\n"
     "problem, and the template's default. Each is timed at each size, adapted where it does not "
     "fit.\n"
     "The fewest are kept that serve every size within --loss of the best, with a decision tree "
     "that\n"
     "picks among them for any other size of the range. libtuned serves from it what is not tuned\n"
     "exactly; autotune show FAMILY shows it; autotune export FAMILY --portfolio writes it as "
     "C.\n\n"
     "Sizes: --sizes as for tuning; --grid, of which --sample sizes are drawn, log-uniformly, "
     "every\n"
     "other one rounded as programs' sizes often are; else all the sizes that are tuned. --budget "
     "90s\n"
     "ends the measuring after so long; the same command goes on where it ended.\n\n"
     "--more keeps the stored portfolio's configurations, times them at its own sizes, as far as "
     "they\n"
     "are not known, then at further ones, and learns from all when to take which: the more sizes, "
     "the\n"
     "fewer mistakes.\n\n"
     "  autotune portfolio sgemm --grid \"m=16..8192 n=16..8192 k=16..8192\" --sample 150 --device 0\n",
     cmd_portfolio},
    {"export",
     "export FAMILY FIELD=VALUE ... --cubin F|--header F|... | export FAMILY [FIELD=NAME ...] "
     "--portfolio --header F --embed F",
     "Write a tuned kernel to files that need neither libtuned nor NVRTC.",
     " device db templates config arch cubin fatbin ptx source header embed manifest portfolio "
     "dispatch name top jobs quiet ",
     PROBLEM
     "The configuration is --config, else the tuned one, else the template's default.\n\n"
     "Of several architectures (--arch sm_80,sm_90,compute_90) each gets its own --cubin and "
     "--ptx\n"
     "file, its name before the ending; --fatbin is one file of all of them, for cuModuleLoad;\n"
     "--embed is one C source with all of them, which loads the one\n"
     "that the device runs: machine code, else PTX. With --portfolio header and source hold the "
     "tree,\n"
     "the requirements and the kernels of what autotune portfolio chose, for any size (where it chose\n"
     "nothing, of the portfolio that ships), and the models that choose among them, some 300 KB "
     "of\n"
     "tables, or with --dispatch tree none; here --top (default 512) bounds the variants.\n\n"
     "  autotune export sgemm m=4096 n=4096 k=4096 --cubin sgemm.cubin --header sgemm.h\n"
     "  autotune export scan n=2^24 --fatbin scan.fatbin --arch sm_80,sm_90,compute_90\n"
     "  autotune export sgemm --portfolio --arch sm_90a,compute_90 --header s.h --embed s.c\n",
     cmd_export},
    {"bench", "bench FAMILY [FIELD=VALUE ...] [--suite NAME] [--vs cublas|cub|driver]",
     "Time what is served beside the default or a vendor's library, interleaved in one run.",
     " device db templates suite config vs tune rounds hot timing error plot json quiet jobs seed "
     "strategy timeout emu_memory ",
     PROBLEM
     "Without fields: every bench size of the template, or the problems of a suite. A suite is a\n"
     "list in tuner/peers/suites/FAMILY.txt, which is built in, or in a file of yours: --suite "
     "a/list.txt.\n"
     "Beside what: the template's default configuration, or with --vs\n"
     "  cublas       cuBLAS: sgemm, gemm_batched, gemv, transpose (cublasSgeam)\n"
     "  cublas-tf32  the same, allowed to round factors to TF32\n"
     "  cub          CUB: reduce, argmax, scan, histogram, the sorts, merge, and within segments\n"
     "               (scans there by keys made beforehand); compiled by the toolkit's nvcc at "
     "first "
     "use\n"
     "  driver       the driver's own copy and fill: copy\n"
     "A peer's results are compared like ours: one that computes something else is refused.\n"
     "Launches follow each other in a stream, as a program's would: below some ten microseconds a\n"
     "library's time is mostly the host's, spent in its calls. --timing graph leaves that out.\n\n"
     "  autotune bench sgemm --suite cubes --vs cublas\n"
     "  autotune bench scan --suite cub --vs cub --tune 20s --plot scan.svg\n",
     cmd_bench},
    {"compare", "compare FAMILY [FIELD=VALUE ...] --by PARAMETER [--sizes LIST]",
     "Search the best of every value of a parameter, and show these steps side by side.",
     " device db templates by sizes budget strategy seed jobs timeout rounds hot timing plot json "
     "quiet emu_memory ",
     PROBLEM "Each value has its own --budget (default 30 trials, of which those stored count; 0: "
             "only what "
             "is\nstored). On a GPU the best of each are then timed interleaved in one run.\n\n"
             "  autotune compare scan n=2^24 --by ALG\n"
             "  autotune compare reduce --by BLOCK --sizes 2^16,2^20,2^24\n"
             "  autotune compare sgemm --by BK --sizes m=n=k=256,1024\n",
     cmd_compare},
    {"claims", "claims [FAMILY ...] [--claims FILE]",
     "Check on this device which of two kernels is faster, as textbooks say.",
     " device templates claims rounds hot timing json emu_memory ",
     "Each claim is a problem and two configurations that differ in nothing but what is claimed; "
     "both are\n"
     "checked, then timed interleaved. Ratios within 2 % make no difference. A list of yours has a "
     "claim\na line:\n\n"
     "  reduce n=2^22 | FOLD=convergent > FOLD=simple | BLOCK=1024,COARSE=1 | what is claimed, and "
     "where\n\n"
     "with what both configurations have in the third column, and ~ in place of > for what is to "
     "be "
     "no\nfaster.\n\n"
     "  autotune claims\n"
     "  autotune claims reduce scan --device 0 --json\n",
     cmd_claims},
    {"replay", "replay FILE ... [--strategy NAME|all] [--runs N] [--plot FILE.svg]",
     "Judge search strategies on recorded spaces, without a GPU.",
     " strategy seed runs jobs ahead json plot ",
     "A recording holds the result of every configuration of a space: a CSV file with a column "
     "for\n"
     "each parameter, then `status` (ok, or why it failed) and `time_ms`; or a cache file of "
     "Kernel\n"
     "Tuner, or a T4 file. Each may be compressed with gzip. Printed is the speed of the best "
     "configuration "
     "found\n"
     "after 25, 50, ... 400 trials, as a fraction of the optimum's; failures count as trials.\n\n"
     "Strategies: forest (the default), evolve, bayes, bandit, genetic, diffevo, swarm, anneal, "
     "tabu,\n"
     "greedy, lhs (Latin hypercube), random, exhaustive.\n\n"
     "  autotune replay gemm.csv.gz convolution.csv.gz --strategy all --runs 50 --plot "
     "curves.svg\n",
     cmd_replay},
    {"export-results",
     "export-results FILE FAMILY [FIELD=VALUE ...] [--format t4|kernel-tuner|csv]",
     "Write every trial of a problem for other tools: T4, a cache of Kernel Tuner, or CSV.",
     " device db templates format quiet ",
     PROBLEM "autotune replay and autotune import read all three.\n\n"
             "  autotune export-results sgemm.json sgemm m=1024 n=1024 k=1024 --format t4\n",
     cmd_export_results},
    {"import", "import FILE [FAMILY FIELD=VALUE ...]",
     "Take results from a T4, Kernel Tuner or CSV file as trials of a problem.",
     " device db templates quiet ",
     "The file's parameters must be those of the template; results of another kernel have no place "
     "in\n"
     "the database, but `autotune replay` searches them as they are. Files that export-results "
     "wrote\n"
     "know their problem and device; for others name the problem, and the GPU with --device. What "
     "is\n"
     "in the database already stays as it is.\n\n  autotune import sgemm.json\n",
     cmd_import},
    {"db",
     "db export [FILE [FAMILY ...]] | import FILE ... | merge FILE ... | prune | stat | verify",
     "Results as text and back, databases into one, and the care of the file.",
     " device db templates presets top json quiet ",
     "  export   the best result of every problem, one readable line each, to FILE or standard "
     "output;\n"
     "           with --presets DIR a file per device instead, to be built into the library from\n"
     "           db/presets: measured with the templates as they are now, on a real device (on an\n"
     "           emulated one only if --device names it)\n"
     "  import   such lines, unless the database knows better; broken ones are told and left out\n"
     "  merge    everything another database holds; the better measurement counts, nothing is "
     "lost\n"
     "  prune    drop the images of all but the --top (default 3) best configurations of a "
     "problem\n"
     "  stat     rows and bytes\n"
     "  verify   read every byte: is it sound?\n\n"
     "  autotune db export results.txt sgemm\n"
     "  autotune db merge other-machine.db\n"
     "  autotune db export --presets db/presets\n",
     cmd_db},
    {NULL}};

static void print_usage(FILE *f) {
  fprintf(f, "usage: autotune FAMILY [FIELD=VALUE ...] [options]     tune a kernel family\n"
             "       autotune VERB ...                               see autotune VERB --help\n\n");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    fprintf(f, "  %-13s %s\n", v->name, v->brief);
  }
  fprintf(f, "\nTry: autotune sgemm m=1024 n=1024 k=1024\n"
             "No GPU? The same with --device emu, and autotune doctor says what is missing.\n");
}

static const cli_verb *find_verb(const char *word) {
  word = strcmp(word, "cover") ? word : "portfolio"; /* its name before */
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    if (!strcmp(v->name, word)) {
      return v;
    }
  }
  return NULL;
}

static void complain(const err *e) {
  fprintf(stderr, "autotune: %s%s%s\n", e->place, e->place[0] ? ": " : "",
          e->message[0] ? e->message : err_name(e->code));
}

static int exit_status(int code) {
  return code == ERR_INTERRUPTED ? 130 : code == ERR_USAGE ? 2 : 1;
}

/* What was printed must have arrived. */
static int finish(int rc, err *e) {
  if (!rc && (fflush(stdout) || ferror(stdout))) {
    rc = err_set(e, ERR_IO, "cannot write to standard output");
  }
  if (rc) {
    complain(e);
  }
  return rc ? exit_status(rc) : 0;
}

static int run(const cli_verb *verb, int argc, char **argv) {
  cli c;
  err e = {0};
  arena a = {0};
  int rc = cli_parse(verb, argc, argv, &a, &c, &e);
  if (!rc && c.help) {
    cli_print_help(stdout, verb);
  } else if (!rc) {
    rc = verb->run(&c, &e);
  }
  rc = finish(rc, &e);
  arena_clear(&a);
  return rc;
}

static int help(const char *word) {
  err e = {0};
  const cli_verb *about = word ? find_verb(word) : NULL;
  if (word && !about) {
    return finish(err_set(&e, ERR_USAGE, "there is no verb '%s'; autotune --help lists them", word),
                  &e);
  }
  about ? cli_print_help(stdout, about) : print_usage(stdout);
  return finish(0, &e);
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is a write that fails, with words */
  const char *word = argc > 1 ? argv[1] : "";
  if (!word[0]) {
    print_usage(stderr);
    return 2;
  }
  if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
    return help(argc > 2 ? argv[2] : NULL);
  }
  if (!strcmp(word, "--version")) {
    err e = {0};
    printf("autotune %s\n", TUNED_VERSION);
    return finish(0, &e);
  }
  const cli_verb *verb = find_verb(word);
  return verb ? run(verb, argc - 2, argv + 2) : run(&cli_verbs[0], argc - 1, argv + 1);
}
