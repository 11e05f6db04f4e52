/* machine_code.c -- did a change of templates or generator change the machine code of kernels?
 *
 *   make machine-code
 *   build/tests/bench/machine_code [--jobs N] [--cache FILE] [--record] [--defaults] [--add FILE]
 *                                  LIST.gz [FAMILY...]
 *
 * LIST.gz holds one kernel text a line: the digest of its machine code for sm_90a, the most
 * registers of its kernels, bytes of spills, bytes of static shared memory, the digest of its
 * template, where the row comes from, problem and configuration. Each row is generated for an H200
 * and compiled by NVRTC without line information; a text that several rows share is compiled once.
 * The digest covers the instructions and the constant banks, kernel by kernel: names, order, lines
 * and comments do not count. One line a row that differs, then a line of counts; exit status
 * 1 if any does, or if a row's problem or configuration is no longer accepted.
 *
 *   --add FILE   append rows: lines of "problem <tab> configuration <tab> where from"
 *   --defaults   append each family's default, and what it suggests for problems that nobody tuned,
 *                over all its sizes; texts that are in the list already are left out
 *   --record     write the list with what was found, of the named families or of all
 *   --write DIR  instead of compiling, write one text of each algorithm of each family there, as
 *                FAMILY.cu or FAMILY.ALGORITHM.cu
 *   --cache      results by the digest of the source's tokens, so that only texts that changed by
 *                more than layout are compiled; build/machine_code.cache if not given
 *
 * Rows of results were added with
 *   awk -F'\t' '!/^#/ && $11 != "portfolio" { print $9 "\t" $10 "\tpreset" }' db/presets/FILE.txt
 * and those of "form" are 200 adapted variants of the shipped sgemm portfolio, as `autotune export
 * sgemm --portfolio --top 200` finds them. All 1,215 rows (1,088 texts) take 5 minutes on two
 * cores.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "compile.h"
#include "cuda_tokens.h"
#include "file.h"
#include "gen.h"
#include "h200.h"
#include "hash.h"

static const char ARCH[] = "sm_90a";

typedef struct code { /* what a text became */
  char source[HASH_TEXT], digest[HASH_TEXT];
  int regs;
  long long spills, smem;
  bool failed;
} code;

typedef struct row {
  const char *digest, *hash, *from, *problem, *config; /* digest: NULL for a new row */
  int regs;
  long long spills, smem;
  size_t text; /* of the texts, SIZE_MAX: none */
  char template[HASH_TEXT];
} row;

typedef struct text {
  str source;
  size_t body;
  char hash[HASH_TEXT];
  code *known; /* of the cache, or NULL */
} text;

typedef struct shared { /* by the processes that compile */
  size_t next;
  code codes[];
} shared;

typedef struct run {
  arena a;
  row *rows;
  size_t n_rows, most_rows;
  text *texts;
  size_t n_texts, most_texts;
  code *cache;
  size_t n_cache;
  char *const *families;
  int n_families;
  gen_template *t; /* the one open */
  const char *list, *cache_path;
  long jobs;
  bool record;
  size_t n_refused;
  err e;
} run;

static void die(const err *e) {
  fprintf(stderr, "machine_code: %s%s%s\n", e->place, e->place[0] ? ": " : "", e->message);
  exit(2);
}

static void *grown(void *p, size_t n, size_t *most, size_t nbytes) {
  if (n == *most) {
    *most = *most ? 2 * *most : 64;
    p = realloc(p, *most * nbytes);
  }
  if (!p) {
    perror("machine_code");
    exit(2);
  }
  return p;
}

/* ---- the digest of a cubin ------------------------------------------------------------------ */

static bool starts(const char *s, const char *with) {
  return !strncmp(s, with, strlen(with));
}

/* Only .text and .nv.constant sections are code. NVRTC puts some constants of the text, used or
 * not, among the initialised data, and their addresses into .nv.constant4. */
static bool counts(const char *section) {
  return starts(section, ".text.") ||
         (starts(section, ".nv.constant") && !starts(section, ".nv.constant4"));
}

static int by_text(const void *a, const void *b) {
  return strcmp(a, b);
}

/* Digests the sections one by one and sorts the digests, so neither names nor the order of kernels
 * matter. */
static void digest_cubin(const str *cubin, char out[HASH_TEXT]) {
  const Elf64_Ehdr *h = (const void *)cubin->p;
  const Elf64_Shdr *s = (const void *)(cubin->p + h->e_shoff);
  const char *names = cubin->p + s[h->e_shstrndx].sh_offset;
  char(*all)[HASH_TEXT] = calloc(h->e_shnum + 1u, sizeof *all);
  size_t n = 0;
  for (int i = 0; all && i < h->e_shnum; i++) {
    if (counts(names + s[i].sh_name) && s[i].sh_type != SHT_NOBITS) {
      hash_bytes(cubin->p + s[i].sh_offset, s[i].sh_size, all[n++]);
    }
  }
  if (all) {
    qsort(all, n, sizeof *all, by_text);
    hash_bytes(all, n * sizeof *all, out);
  }
  free(all);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static void describe(const rt_image *image, code *out) {
  digest_cubin(&image->cubin, out->digest);
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    out->regs = k->regs > out->regs ? k->regs : out->regs;
    out->smem = k->smem_static > out->smem ? k->smem_static : out->smem;
    out->spills += k->spill_stores + k->spill_loads;
  }
}

static void compile(rt_compiler *c, const text *t, code *out) {
  const rt_source source = {.text = str_text(&t->source), .body = t->body, .arch = ARCH};
  arena a = {0};
  rt_image image;
  err e = {0};
  rt_image_init(&image);
  memcpy(out->source, t->hash, HASH_TEXT);
  if (rt_compile(c, &source, &a, &image, &e)) {
    fprintf(stderr, "machine_code: %s: %s\n", e.place, e.message);
    out->failed = true;
  } else {
    describe(&image, out);
  }
  rt_image_clear(&image);
  arena_clear(&a);
}

/* Appends a result to the cache at once, in one write, so an interrupted run loses little. */
static void note(const run *r, const code *c) {
  FILE *f = c->failed ? NULL : fopen(r->cache_path, "a");
  if (f) {
    fprintf(f, "%s %s %d %lld %lld\n", c->source, c->digest, c->regs, c->spills, c->smem);
    fclose(f);
  }
}

static void work(const run *r, shared *s) {
  rt_compiler *c;
  err e = {0};
  if (rt_compiler_open(&c, &e)) {
    die(&e);
  }
  for (size_t i; (i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED)) < r->n_texts;) {
    if (r->texts[i].known) {
      s->codes[i] = *r->texts[i].known;
    } else {
      compile(c, &r->texts[i], &s->codes[i]);
      note(r, &s->codes[i]);
    }
  }
  rt_compiler_close(c);
}

static shared *compile_all(run *r) {
  const size_t nbytes = sizeof(shared) + (r->n_texts + 1) * sizeof(code);
  shared *s = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (s == MAP_FAILED) {
    perror("machine_code");
    exit(2);
  }
  fflush(NULL);
  for (long i = 0; i < r->jobs; i++) {
    if (!fork()) {
      work(r, s);
      _exit(0);
    }
  }
  for (int status; wait(&status) > 0;) {
    if (status) {
      fprintf(stderr, "machine_code: a worker failed\n");
      exit(2);
    }
  }
  return s;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static code *find_known(const run *r, const char *hash) {
  for (size_t i = 0; i < r->n_cache; i++) {
    if (!strcmp(r->cache[i].source, hash)) {
      return &r->cache[i];
    }
  }
  return NULL;
}

static size_t add_text(run *r, str *source, size_t body) {
  char hash[HASH_TEXT];
  str tokens = {0};
  cuda_tokens_add(str_text(source) + body, &tokens);
  hash_bytes(str_text(&tokens), tokens.n, hash);
  str_clear(&tokens);
  for (size_t i = 0; i < r->n_texts; i++) {
    if (!strcmp(r->texts[i].hash, hash)) {
      str_clear(source);
      return i;
    }
  }
  r->texts = grown(r->texts, r->n_texts, &r->most_texts, sizeof *r->texts);
  text *t = &r->texts[r->n_texts];
  *t = (text){.source = *source, .body = body, .known = find_known(r, hash)};
  memcpy(t->hash, hash, HASH_TEXT);
  return r->n_texts++;
}

static int open_family(run *r, const char *problem) {
  const size_t n = strcspn(problem, " ");
  if (r->t && strlen(r->t->name) == n && !strncmp(r->t->name, problem, n)) {
    return 0;
  }
  gen_close(r->t);
  r->t = NULL;
  return gen_open(NULL, arena_format(&r->a, "%.*s", (int)n, problem), &r->t, &r->e);
}

static int make_text(run *r, row *x, gen_instance *g) {
  gen_config c;
  str source = {0};
  size_t body;
  TRY(gen_config_parse(r->t, x->config, &c, &r->e));
  TRY(gen_config_check(g, &c, &r->e));
  int rc = gen_source_make(g, &c, &source, &body, &r->e);
  if (rc) {
    str_clear(&source);
    return rc;
  }
  x->text = add_text(r, &source, body);
  return 0;
}

static int read_row(run *r, row *x) {
  gen_problem p;
  gen_instance *g;
  TRY(open_family(r, x->problem));
  memcpy(x->template, r->t->hash, HASH_TEXT);
  TRY(gen_problem_parse(r->t, x->problem, &p, &r->e));
  TRY(gen_instance_new(r->t, &p, h200, N_H200, &g, &r->e));
  const int rc = make_text(r, x, g);
  gen_instance_free(g);
  return rc;
}

static bool asked_for(const run *r, const char *problem) {
  for (int i = 0; i < r->n_families; i++) {
    const size_t n = strlen(r->families[i]);
    if (!strncmp(problem, r->families[i], n) && (problem[n] == ' ' || !problem[n])) {
      return true;
    }
  }
  return !r->n_families;
}

static void make_texts(run *r) {
  for (size_t i = 0; i < r->n_rows; i++) {
    row *x = &r->rows[i];
    x->text = SIZE_MAX;
    if (asked_for(r, x->problem) && read_row(r, x)) {
      printf("refused  %s : %s: %s%s%s\n", x->problem, x->config, r->e.place,
             r->e.place[0] ? ": " : "", r->e.message);
      r->n_refused++;
    }
  }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_row(run *r, row x) {
  r->rows = grown(r->rows, r->n_rows, &r->most_rows, sizeof *r->rows);
  r->rows[r->n_rows++] = x;
}

static size_t split(char *line, char **words, size_t most) {
  size_t n = 0;
  for (char *at = line; at && n < most;) {
    words[n++] = strsep(&at, "\t");
  }
  return n;
}

static char *next_line(char **at) {
  return *at && **at ? strsep(at, "\n") : NULL;
}

static void read_list(run *r) {
  gzFile f = gzopen(r->list, "rb");
  str all = {0};
  char buffer[4096];
  for (int n; f && (n = gzread(f, buffer, sizeof buffer)) > 0;) {
    str_add_n(&all, buffer, (size_t)n);
  }
  if (f) {
    gzclose(f);
  }
  char *at = all.n ? (char *)str_text(&all) : NULL, *w[8];
  for (char *line; (line = next_line(&at));) {
    if (*line != '#' && split(line, w, 8) == 8) {
      add_row(r, (row){w[0], w[4], w[5], w[6], w[7], atoi(w[1]), atoll(w[2]), atoll(w[3])});
    }
  }
}

static void read_added(run *r, const char *path) {
  str all = {0};
  char *w[3];
  if (file_read(path, 64 << 20, &all, &r->e)) {
    die(&r->e);
  }
  char *at = (char *)str_text(&all);
  for (char *line; (line = next_line(&at));) {
    if (split(line, w, 3) == 3) {
      add_row(r, (row){.problem = w[0], .config = w[1], .from = w[2]});
    }
  }
}

static void read_cache(run *r) {
  size_t most = 0;
  FILE *f = fopen(r->cache_path, "r");
  for (code c = {0}; f && fscanf(f, "%32s %32s %d %lld %lld", c.source, c.digest, &c.regs,
                                 &c.spills, &c.smem) == 5;) {
    r->cache = grown(r->cache, r->n_cache, &most, sizeof c);
    r->cache[r->n_cache++] = c;
  }
  if (f) {
    fclose(f);
  }
}

/* ---- defaults and suggestions --------------------------------------------------------------- */

static void add_config(run *r, const gen_config *c, const char *problem, const char *from) {
  str words = {0};
  gen_config_text(r->t, c, &words);
  add_row(r, (row){.problem = problem,
                   .config = arena_format(&r->a, "%s", str_text(&words)),
                   .from = from});
  str_clear(&words);
}

/* Sizes whose text is in the list already add no row. */
static int add_if_new(run *r, const char *problem, const char *from, bool untuned) {
  gen_problem p;
  gen_instance *g;
  gen_config c;
  str words = {0};
  TRY(gen_problem_parse(r->t, problem, &p, &r->e));
  gen_problem_text(r->t, &p, &words);
  const char *whole = arena_format(&r->a, "%s", str_text(&words));
  str_clear(&words);
  TRY(gen_instance_new(r->t, &p, h200, N_H200, &g, &r->e));
  gen_config_default(r->t, &c);
  int rc = untuned ? gen_config_untuned(g, &c, NULL, &r->e) : 0;
  if (!rc) {
    const size_t before = r->n_texts;
    add_config(r, &c, whole, from);
    row *x = &r->rows[r->n_rows - 1];
    rc = make_text(r, x, g);
    memcpy(x->template, r->t->hash, HASH_TEXT);
    r->n_rows -= rc || r->n_texts == before;
  }
  gen_instance_free(g);
  return rc;
}

static void add_sizes(run *r, const char *const *sizes, size_t n) {
  for (size_t i = 0; i < 2 * n; i++) {
    if (add_if_new(r, sizes[i / 2], i % 2 ? "untuned" : "default", i % 2)) {
      fprintf(stderr, "machine_code: %s: %s\n", sizes[i / 2], r->e.message);
    }
  }
}

static void add_defaults(run *r) {
  const char *const *names;
  size_t n;
  if (gen_families(NULL, &r->a, &names, &n, &r->e)) {
    die(&r->e);
  }
  for (size_t i = 0; i < n; i++) {
    if (asked_for(r, names[i])) {
      if (open_family(r, names[i])) {
        die(&r->e);
      }
      add_sizes(r, r->t->sizes_emu, r->t->n_sizes_emu);
      add_sizes(r, r->t->sizes_test, r->t->n_sizes_test);
      add_sizes(r, r->t->sizes_bench, r->t->n_sizes_bench);
    }
  }
}

/* ---- what came out -------------------------------------------------------------------------- */

static bool differs(const row *x, const code *c) {
  return c->failed || strcmp(x->digest, c->digest) != 0 || x->regs != c->regs ||
         x->spills != c->spills || x->smem != c->smem;
}

static int compare(const run *r, const code *codes) {
  size_t n = 0, n_different = 0;
  for (size_t i = 0; i < r->n_rows; i++) {
    const row *x = &r->rows[i];
    const code *c = x->text == SIZE_MAX ? NULL : &codes[x->text];
    n += c != NULL;
    if (c && x->digest && differs(x, c)) {
      n_different++;
      printf("%s  registers %d -> %d, spills %lld -> %lld, shared %lld -> %lld  %s : %s\n",
             c->failed ? "failed " : "differs", x->regs, c->regs, x->spills, c->spills, x->smem,
             c->smem, x->problem, x->config);
    }
  }
  printf("%zu rows, %zu texts: %zu differ, %zu refused\n", n, r->n_texts, n_different,
         r->n_refused);
  return n_different || r->n_refused;
}

static void write_row(gzFile f, const row *x, const code *c) {
  if (c) {
    gzprintf(f, "%s\t%d\t%lld\t%lld\t%s\t%s\t%s\t%s\n", c->digest, c->regs, c->spills, c->smem,
             x->template, x->from, x->problem, x->config);
  } else if (x->digest) {
    gzprintf(f, "%s\t%d\t%lld\t%lld\t%s\t%s\t%s\t%s\n", x->digest, x->regs, x->spills, x->smem,
             x->hash, x->from, x->problem, x->config);
  }
}

/* Refused rows stay as they were, unless they are new. */
static void write_list(const run *r, const code *codes) {
  gzFile f = gzopen(r->list, "wb9");
  if (!f) {
    perror(r->list);
    exit(2);
  }
  gzprintf(f, "# digest, registers, spills, shared memory, template, from, problem, config\n");
  for (size_t i = 0; i < r->n_rows; i++) {
    const row *x = &r->rows[i];
    const code *c = x->text == SIZE_MAX ? NULL : &codes[x->text];
    write_row(f, x, c && !c->failed ? c : NULL);
  }
  if (gzclose(f)) {
    perror(r->list);
    exit(2);
  }
}

/* ---- texts for another compiler ------------------------------------------------------------- */

/* "sgemm.gemv": of a configuration that names its algorithm */
static const char *kind_of(run *r, const row *x) {
  const int n = (int)strcspn(x->problem, " ");
  const char *later = strstr(x->config, ",ALG=");
  const char *alg = starts(x->config, "ALG=") ? x->config + 4 : later ? later + 5 : "";
  return arena_format(&r->a, "%.*s%s%.*s", n, x->problem, *alg ? "." : "", (int)strcspn(alg, ","),
                      alg);
}

static void write_texts(run *r, const char *folder) {
  const char *last[64] = {NULL};
  size_t n = 0;
  for (size_t i = 0; i < r->n_rows; i++) {
    const row *x = &r->rows[i];
    const char *kind = kind_of(r, x);
    size_t k = 0;
    while (k < n && strcmp(last[k], kind)) {
      k++;
    }
    if (k < n || n == 64 || x->text == SIZE_MAX) {
      continue;
    }
    last[n++] = kind;
    const text *t = &r->texts[x->text];
    const char *path = arena_format(&r->a, "%s/%s.cu", folder, kind);
    if (file_write(path, str_text(&t->source) + t->body, t->source.n - t->body, &r->e)) {
      die(&r->e);
    }
  }
}

int main(int argc, char **argv) {
  run r = {.jobs = sysconf(_SC_NPROCESSORS_ONLN), .cache_path = "build/machine_code.cache"};
  const char *add = NULL, *folder = NULL;
  bool defaults = false;
  int i = 1;
  for (; i < argc && starts(argv[i], "--"); i++) {
    if (!strcmp(argv[i], "--record")) {
      r.record = true;
    } else if (!strcmp(argv[i], "--defaults")) {
      defaults = true;
    } else if (i + 1 < argc && !strcmp(argv[i], "--jobs")) {
      r.jobs = atol(argv[++i]);
    } else if (i + 1 < argc && !strcmp(argv[i], "--cache")) {
      r.cache_path = argv[++i];
    } else if (i + 1 < argc && !strcmp(argv[i], "--write")) {
      folder = argv[++i];
    } else if (i + 1 < argc && !strcmp(argv[i], "--add")) {
      add = argv[++i];
    } else {
      break;
    }
  }
  if (i >= argc || starts(argv[i], "--")) {
    fprintf(stderr, "usage: machine_code [--jobs N] [--cache FILE] [--record] [--defaults] "
                    "[--add FILE] LIST.gz [FAMILY...]\n");
    return 2;
  }
  r.list = argv[i];
  r.families = argv + i + 1;
  r.n_families = argc - i - 1;
  read_cache(&r);
  read_list(&r);
  if (add) {
    read_added(&r, add);
  }
  make_texts(&r);
  if (defaults) {
    add_defaults(&r);
  }
  if (folder) {
    write_texts(&r, folder);
    return 0;
  }
  const shared *s = compile_all(&r);
  const int rc = compare(&r, s->codes);
  if (r.record) {
    write_list(&r, s->codes);
  }
  gen_close(r.t);
  return r.record ? 0 : rc;
}
