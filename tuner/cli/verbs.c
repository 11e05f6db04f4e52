/* verbs.c -- the verbs, by purpose, and what their --help says. */
#include "verbs.h"

/* For every verb that takes a problem. */
#define PROBLEM                                                                                    \
  "A problem is a family and its fields: sgemm m=4096 n=4096 k=4096 ta=t. Fields that are not\n"   \
  "given take their default. The family is built in (autotune list), found in a folder of\n"       \
  "templates, or the path of a template or CUDA file: autotune path/to/kernel.cu n=1000.\n"

const cli_option_text cli_option_texts[] = {
    {"tune", "top", "configurations to show (default 5)"},
    {"tune-captured", "top", "configurations to show of each problem (default 5)"},
    {"show", "top", "configurations, or with --importance parameters, to show (default 10)"},
    {"db", "top", "prune: configurations of each problem that keep their image (default 3)"},
    {"export", "top", "with --portfolio: variants to write (default 512)"},
    {"export", "arch", "compile for these: sm_80,sm_90a,compute_90 (default: the device's own)"},
    {"base", "arch", "compile for these (default sm_80,sm_90a,compute_80,compute_90)"},
    {"check", "sample", "random configurations to check (default 20)"},
    {"portfolio", "sample", "sizes to draw from --grid (default 100)"},
    {"portfolio", "grid", "ranges of sizes: \"m=16..8192 n=16..8192 k=64\""},
    {"warm", "sample", "random sizes of each family (default 200)"},
    {"learned", "by", "parameters to show: NAME,NAME (default: all that differ)"},
    {"compare", "budget",
     "trials and seconds for each value (default 30 trials): 200 | 90s | 200,90s"},
    {NULL}};

const cli_verb cli_verbs[] = {
    {"tune", "tune", "[tune] FAMILY [FIELD=VALUE ...] [options]",
     "Search for the fastest configuration of a problem and store the results.",
     " device db templates data effort budget sizes start objective timing strategy seed draws kinds jobs timeout "
     "json quiet top emu_memory ",
     PROBLEM
     "Without fields, the template's bench sizes are tuned one after another (on the emulated\n"
     "device, its emu sizes).\n\n"
     "Every finished trial is stored at once. The same command again measures nothing that is\n"
     "known, and resumes an interrupted search; a larger --budget searches further.\n\n"
     "  autotune sgemm m=4096 n=4096 k=4096 --device 0\n"
     "  autotune sgemm m=100 n=100 k=100 --budget 500\n"
     "  autotune sgemm --sizes sizes.txt --effort patient\n\n"
     "Efforts: estimate (8 trials, beginning with the best of near problems), measure (60 s, the\n"
     "default), patient (10 minutes), exhaustive (every valid point). --budget replaces the\n"
     "bound. Sizes: one problem a line; values may be lists and ranges: m=64..1024*2 n=16,64\n"
     "k=1000..1200+100\n",
     cmd_tune},
    {"tune-captured", NULL, "tune-captured FILE [options]",
     "Tune the problems that a program requested through libtuned.",
     " device db templates effort budget start strategy seed draws kinds jobs timeout json quiet top "
     "emu_memory ",
     "Run the program with TUNED_CAPTURE=FILE: libtuned writes each problem as a line of FILE,\n"
     "with the number of calls as a comment. Lines may be deleted and added. The problems are\n"
     "tuned family by family, as by autotune FAMILY --sizes. With TUNED_CAPTURE_DATA=DIRECTORY\n"
     "the program also records what its kernels read, and the problems are tuned on that data.\n\n"
     "  TUNED_CAPTURE=captured.txt ./simulation\n"
     "  autotune tune-captured captured.txt --budget 20s\n",
     cmd_captured},
    {"portfolio", NULL, "portfolio FAMILY [--sizes FILE] [--grid RANGES] [--loss 5%]",
     "Choose a few tuned configurations that serve a whole range of sizes.",
     " device db templates loss sizes grid sample seed more budget jobs timeout json quiet "
     "emu_memory ",
     "The candidates are the best configuration of every tuned problem of the family on the\n"
     "device, those of the stored portfolio, and the template's default. Each is timed at each\n"
     "size, adapted where it does not fit. The portfolio is the smallest set that serves every\n"
     "size within --loss of the best, with a decision tree that chooses among them for any\n"
     "other size of the range. libtuned serves sizes that are not tuned from it; autotune show\n"
     "FAMILY shows it; autotune export FAMILY --portfolio writes it as C.\n\n"
     "Sizes: --sizes as for tuning; or --grid, of which --sample sizes are drawn log-uniformly,\n"
     "every second one rounded as sizes in programs often are; otherwise all tuned sizes.\n"
     "--budget 90s ends the measurements after that time; the same command resumes them.\n\n"
     "--more keeps the stored portfolio's configurations, times them at the sizes that are not\n"
     "yet known and then at further ones, and fits the models that choose among them to all\n"
     "results.\n\n"
     "  autotune portfolio sgemm --grid \"m=16..8192 n=16..8192 k=16..8192\" --sample 150\n",
     cmd_portfolio},

    {"list", "inspect", "list [FAMILY]", "List the families with their fields, and what is tuned.",
     " db templates json ", NULL, cmd_list},
    {"show", NULL, "show FAMILY [FIELD=VALUE ...] [--importance]",
     "Show the best configurations of a family's problems, or of one problem.",
     " device db templates timing top objective importance json ",
     PROBLEM
     "With at least one field: the fastest configurations and the failures of that problem. With\n"
     "--importance: which parameters the time depends on, by functional ANOVA of a forest of\n"
     "regression trees over the trials, for each parameter and the strongest pairs (--top).\n"
     "With --objective: the best by it; by several, as \"time, registers\", the trials that no other\n"
     "beats in all of them, their Pareto front.\n",
     cmd_show},
    {"learned", NULL, "learned FAMILY [FIELD=VALUE ...] [--by PARAMETER,...]",
     "Show which values of parameters are best for which problems, as a table.",
     " db templates by json ",
     "One row for each tuned problem of the family, on any device, from the database and from\n"
     "the results built into the library; one column for each parameter (--by, otherwise all in\n"
     "which the best configurations differ). Brackets hold the next best value that was tried\n"
     "and what it costs. Fields restrict the table to problems that have them. Needs no GPU.\n\n"
     "  autotune learned radix_sort --by RADIX,ITEMS\n"
     "  autotune learned scan dtype=i32 --by ALG,BLOCK,ITEMS --json\n",
     cmd_learned},
    {"space", NULL, "space FAMILY [FIELD=VALUE ...]",
     "Count the points of a space, the valid ones, and what rejects the others.",
     " device templates json ", PROBLEM, cmd_space},
    {"emit", NULL, "emit FAMILY [FIELD=VALUE ...] [--config NAME=VALUE,...]",
     "Print the CUDA source of a configuration.", " device templates config template json ",
     PROBLEM "\n  autotune emit saxpy n=1000 --config VEC=4,BLOCK=256\n"
             "  autotune emit kernel.cu --template\n",
     cmd_emit},
    {"build", NULL, "build FAMILY [FIELD=VALUE ...] [--config NAME=VALUE,...] [--arch sm_90]",
     "Compile a configuration: registers, spills, shared memory. Needs no GPU.",
     " device templates config arch cubin ptx source json ", PROBLEM, cmd_build},
    {"profile", NULL, "profile FAMILY [FIELD=VALUE ...] [--config LIST]",
     "Count what a configuration does on the emulated device: instructions, sectors, conflicts.",
     " device templates data config timeout json emu_memory ",
     PROBLEM "\n  autotune profile sgemm m=1024 n=1024 k=1024 --device emu:a100\n", cmd_profile},
    {"devices", NULL, "devices", "List the GPUs and the emulated devices.", " json ", NULL,
     cmd_devices},
    {"doctor", NULL, "doctor", "Report what is missing on this machine and how to install it.",
     " db templates json ", NULL, cmd_doctor},
    {"completion", NULL, "completion bash|zsh|fish",
     "Print a script that completes verbs, options, families and fields in a shell.",
     " templates json ",
     "The scripts ask `autotune completion fields FILE` and `... params FILE` for the fields and\n"
     "parameters of a CUDA file, a template or a T1 file.\n\n"
     "make install puts the scripts where the shells look for them. By hand:\n\n"
     "  bash  autotune completion bash > ~/.local/share/bash-completion/completions/autotune\n"
     "  zsh   autotune completion zsh > a folder of $fpath/_autotune\n"
     "  fish  autotune completion fish > ~/.config/fish/completions/autotune.fish\n",
     cmd_completion, "bash zsh fish"},

    {"check", "compare", "check FAMILY [FIELD=VALUE ...] [--config LIST | --all | --sample N]",
     "Compare the results of configurations with the template's reference, untimed.",
     " device templates data config all sample seed timeout json quiet no_checks emu_memory ",
     PROBLEM
     "\nEvery output byte is compared; inputs and the memory around buffers must be unchanged.\n\n"
     "  autotune check sgemm m=100 n=70 k=50 --sample 50\n",
     cmd_check},
    {"bench", NULL, "bench FAMILY [FIELD=VALUE ...] [--suite NAME] [--vs PEER]",
     "Time the kernel that libtuned serves beside the default or a vendor's library.",
     " device db templates data suite config vs tune rounds hot timing error plot json quiet jobs seed "
     "strategy timeout emu_memory ",
     PROBLEM
     "Without fields: every bench size of the template, or the problems of a suite. A suite is a\n"
     "list in tuner/peers/suites/FAMILY.txt, which is built in, or in a file: --suite a/list.txt.\n"
     "The kernel is timed beside the template's default configuration, or with --vs beside\n"
     "  cublas       cuBLAS: sgemm, gemm_batched, gemv, dot, transpose (cublasSgeam)\n"
     "  cublas-tf32  the same, allowed to round factors to TF32\n"
     "  cub          CUB: reduce, argmax, scan, histogram, the sorts, merge, vector_add, and within\n"
     "               segments (scans there by keys made beforehand), and a sort with a tree on top,\n"
     "               quadtree; compiled by the toolkit's nvcc at first use\n"
     "  driver       the driver's own copy and fill: copy\n"
     "  npp          NPP: rgb_to_grey, box_blur (npp-advanced: its filter for large masks), conv2d\n"
     "  cudnn        cuDNN, the algorithm that it finds fastest: conv1d, conv2d, conv3d\n"
     "  cudnn-tf32   the same, allowed to round to TF32\n"
     "  cusparse     cuSPARSE, the fastest of its algorithms for CSR, COO and sliced ELL: spmv\n"
     "  textbook     our kernel as a textbook prints it: bezier, box_blur, coulomb, ...\n"
     "A peer's results are compared like ours: one that computes something else is refused.\n"
     "Launches follow each other in a stream, as in a program: below some ten microseconds, the\n"
     "time of a library is mostly the host's time in its calls. --timing graph excludes it.\n\n"
     "  autotune bench sgemm --suite cubes --vs cublas\n"
     "  autotune bench scan --suite cub --vs cub --tune 20s --plot scan.svg\n",
     cmd_bench},
    {"compare", NULL, "compare FAMILY [FIELD=VALUE ...] --by PARAMETER | --search LIST [options]",
     "Tune a problem once for each value of a parameter, and show them side by side.",
     " device db templates by search config sizes vs budget strategy seed jobs timeout rounds hot timing plot json "
     "quiet emu_memory ",
     PROBLEM
     "Each value has its own --budget (default 30 trials, stored ones included; 0: stored ones\n"
     "only). On a GPU the best of each are then timed interleaved in one run, with --vs beside a\n"
     "peer of bench.\n\n"
     "With --search, every combination of the values of these parameters is timed once; others are\n"
     "as --config or the default says. The report says how much slower the result of a search of\n"
     "one parameter at a time is, and what a Pareto filter by instructions and warps leaves.\n\n"
     "  autotune compare scan n=2^24 --by ALG\n"
     "  autotune compare reduce --by BLOCK --sizes 2^16,2^20,2^24\n"
     "  autotune compare sgemm --by BK --sizes m=n=k=256,1024\n"
     "  autotune compare saxpy n=2^24 --search BLOCK,VEC,COARSE\n",
     cmd_compare},
    {"claims", NULL, "claims [FAMILY ...] [--claims FILE]",
     "Test on this device which of two kernels is faster where textbooks say so.",
     " device templates claims rounds hot timing json emu_memory ",
     "Each claim is a problem and two configurations that differ only in what is claimed; both\n"
     "are checked, then timed interleaved. Ratios within 2 % make no difference. A list of your\n"
     "own has a claim a line:\n\n"
     "  reduce n=2^22 | FOLD=convergent > FOLD=simple | BLOCK=1024,COARSE=1 | claim, source\n\n"
     "The third column holds what both configurations have in common; ~ in place of > claims that\n"
     "the first is no faster. FAMILY `memory` is about pinned, pageable, mapped and managed memory\n"
     "and about copies beside kernels, in programs of copies and launches; it needs a GPU.\n\n"
     "  autotune claims\n"
     "  autotune claims reduce scan --device 0 --json\n"
     "  autotune claims memory\n",
     cmd_claims},

    {"export", "export and import",
     "export FAMILY FIELD=VALUE ... --cubin F|--header F|...\n"
     "       autotune export FAMILY [FIELD=NAME ...] --portfolio --header F --embed F",
     "Write a tuned kernel to files that need neither libtuned nor NVRTC.",
     " device db templates config arch cubin fatbin ptx source header embed manifest portfolio "
     "dispatch name top jobs quiet json ",
     PROBLEM
     "The configuration is --config, else the tuned one, else what libtuned would serve: the\n"
     "shipped result for the architecture, a portfolio's, a near problem's. Where there is\n"
     "nothing it is the template's default, with a warning.\n\n"
     "With several architectures (--arch sm_80,sm_90,compute_90), each gets its own --cubin and\n"
     "--ptx file, named before the extension; --fatbin is one file of all of them, for\n"
     "cuModuleLoad; --embed is one C source with all of them, which loads the one that the device\n"
     "runs: machine code, else PTX.\n\n"
     "With --portfolio, header and source hold the kernels, requirements and decision tree that\n"
     "autotune portfolio chose, or else those of the built-in portfolio, for any size, and the\n"
     "models that choose among them (some 300 KB of tables; none with --dispatch tree). --top\n"
     "(default 512) bounds the number of variants.\n\n"
     "  autotune export sgemm m=4096 n=4096 k=4096 --cubin sgemm.cubin --header sgemm.h\n"
     "  autotune export scan n=2^24 --fatbin scan.fatbin --arch sm_80,sm_90,compute_90\n"
     "  autotune export sgemm --portfolio --arch sm_90a,compute_90 --header s.h --embed s.c\n",
     cmd_export},
    {"export-results", NULL,
     "export-results FILE FAMILY [FIELD=VALUE ...] [--format t4|kernel-tuner|csv]",
     "Write the trials of a problem for other tools: T4, Kernel Tuner's cache, CSV.",
     " device db templates format quiet json ",
     PROBLEM "autotune replay and autotune import read all three.\n\n"
             "  autotune export-results sgemm.json sgemm m=1024 n=1024 k=1024 --format t4\n",
     cmd_export_results},
    {"import", NULL, "import FILE [FAMILY FIELD=VALUE ...]",
     "Store the results of a T4, Kernel Tuner or CSV file as trials of a problem.",
     " device db templates quiet json ",
     "The file's parameters must be those of the template. Results of another kernel have no\n"
     "place in the database, but `autotune replay` searches them. Files from export-results name\n"
     "their problem and device; for others, name the problem, and the GPU with --device. Trials\n"
     "that are\n"
     "in the database are kept as they are.\n\n  autotune import sgemm.json\n",
     cmd_import},
    {"db", NULL,
     "db export [FILE [FAMILY ...]]\n"
     "       autotune db import|merge FILE ...\n"
     "       autotune db prune|stat|verify",
     "Exchange results as text, merge databases, and maintain the database file.",
     " device db templates presets top json quiet ",
     "  export   the best result of every problem, one line each, to FILE or standard output;\n"
     "           with --presets DIR to files for each device instead, to be built into the\n"
     "           library from db/presets: only results of the current templates, measured on a\n"
     "           real device (on an emulated one only if --device names it)\n"
     "  import   such lines, except where the database has a better result; malformed lines are\n"
     "           reported and skipped\n"
     "  merge    everything that another database holds; the better measurement counts,\n"
     "           nothing is lost\n"
     "  prune    delete the images of all but the --top (default 3) best configurations of every\n"
     "           problem\n"
     "  stat     count rows and bytes\n"
     "  verify   read every byte and check that the file is sound\n\n"
     "  autotune db export results.txt sgemm\n"
     "  autotune db merge other-machine.db\n"
     "  autotune db export --presets db/presets\n",
     cmd_db, "export import merge prune stat verify"},
    {"cache", NULL, "cache stat|verify|clear",
     "Look after the compiled images that all programs of this user share.", " json quiet ",
     "libtuned and autotune keep what they compile in images.db, in the folder $TUNED_CACHE, else\n"
     "autotune in the XDG cache folder: at most 1 GB, and what was used last. Everything in it can\n"
     "be compiled again.\n\n"
     "  stat     count images and bytes\n"
     "  verify   read every image, and drop the damaged ones\n"
     "  clear    drop all\n",
     cmd_cache, "stat verify clear"},
    {"warm", NULL, "warm [FAMILY ...] [--device NAME | --arch NAME] [--limit BYTES]",
     "Compile ahead what libtuned may serve, into the cache of images.",
     " device arch db templates sizes sample limit jobs timeout json quiet ",
     "For the families named, or all: the kernel that each tuned problem, each size of the\n"
     "template and --sample random sizes get; what they would get untuned; and every\n"
     "configuration of the portfolio. The most wanted come first, so that a run that ends early\n"
     "(Ctrl-C, --limit) has compiled what counts; the same command continues. With --sizes, only\n"
     "the kernels of these problems.\n\n"
     "--arch names the architecture where the device is not at hand: after the installation of a\n"
     "package, say, which may fill /var/cache/autotune, where the programs of all users look.\n\n"
     "  autotune warm --device 0\n"
     "  autotune warm sgemm gemm --arch sm_90a --limit 200000000\n"
     "  autotune warm sgemm --sizes my-sizes.txt\n"
     "  TUNED_CACHE=/var/cache/autotune autotune warm --arch sm_90a\n",
     cmd_warm},
    {"base", NULL, "base FILE [FAMILY ...] [--arch sm_80,sm_90a,compute_80,compute_90]",
     "Compile what libtuned serves where it has neither tuned nor compiled anything.",
     " templates arch jobs quiet json ",
     "For every combination of types and operators, the base configurations and the default of\n"
     "each family, for each architecture. What FILE already has is kept. libtuned finds the file\n"
     "in $TUNED_BASE, or as tuned.base beside the library; make install makes and installs it.\n"
     "Without NVRTC nothing is written.\n\n"
     "  autotune base tuned.base\n"
     "  autotune base sums.base reduce scan --arch sm_90a\n",
     cmd_base},

    {"replay", "research", "replay FILE ... [--strategy NAME|all] [--runs N] [--plot FILE.svg]",
     "Compare search strategies on recorded spaces. Needs no GPU.",
     " strategy seed runs jobs ahead json plot ",
     "A recording holds the result of every configuration of a space: a CSV file with a column\n"
     "for each parameter, then `status` (ok, or the failure) and `time_ms`; a cache file of\n"
     "Kernel Tuner; or a T4 file. Each may be compressed with gzip. The table shows the speed of\n"
     "the best configuration found after 25, 50, ... 400 trials as a fraction of the optimum's;\n"
     "failures count as trials.\n\n"
     "Strategies: forest (the default), evolve, bayes, bandit, genetic, diffevo, swarm, anneal,\n"
     "tabu, greedy, lhs (Latin hypercube), random, exhaustive.\n\n"
     "  autotune replay gemm.csv.gz convolution.csv.gz --strategy all --plot curves.svg\n",
     cmd_replay},
    {"spec", NULL, "spec FILE.json ...",
     "Count the space of a T1 file, the auto-tuning community's form of a problem.", " json ",
     "T1 is JSON with parameters, with conditions in Python, and with a kernel's file, grid, block,\n"
     "compiler options and arguments. Only the space is constructed here; `autotune FILE.json`\n"
     "tunes the kernel, `autotune export-results OUT.json FILE.json` writes its results as T4.\n\n"
     "  autotune spec gemm_milo.json\n",
     cmd_spec},
    {"run-ptx", NULL, "run-ptx FILE.ptx KERNEL --grid 8 --block 256 --args \"buf:f32:1024 i32:5\"",
     "Run any PTX on the emulated device with its checks, and print what it did.",
     " device grid block smem args const_ dump timeout no_checks emu_memory json ",
     "A parameter is buf:TYPE:COUNT, filled with random numbers (or buf:TYPE:COUNT:zero, :index,\n"
     ":none, :FILE), TYPE:VALUE, or bytes:HEX or struct:FILE for a struct. --const NAME=TYPE:VALUES\n"
     "(or :FILE) fills a __constant__ or __device__ variable, --dump 0=FILE or NAME=FILE writes a buffer\n"
     "or variable. Files are raw bytes or NumPy's (.npy). A finding names kernel, block, thread and\n"
     "line, and fails the run.\n",
     cmd_run_ptx},
    {"run-program", NULL, "run-program [options] ./a.out [ARGUMENTS]",
     "Run a whole CUDA program on the emulated device with its checks.",
     " device timeout no_checks emu_memory json quiet ",
     "The program links the CUDA runtime as a shared library and carries PTX for the device:\n\n"
     "  nvcc -cudart shared -lineinfo -gencode arch=compute_90,code=compute_90 a.cu -o a.out\n"
     "  autotune run-program --device emu:h200 ./a.out\n\n"
     "A finding fails the CUDA call and all later ones, as on a GPU. The exit status is the program's,\n"
     "99 after a finding, or 98 when it needs what the emulated device lacks; a line says what. What\n"
     "follows the program's name is passed on. With --json its output goes to standard error, and the\n"
     "last line on standard output lists the findings.\n",
     cmd_run_program},
    {NULL}};
