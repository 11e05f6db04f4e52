/* cmd_export.c -- autotune export: a tuned kernel, or a portfolio, as files that need neither
 * libtuned nor NVRTC. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "db_text.h"
#include "fatbin.h"
#include "file.h"
#include "export.h"
#include "image_prefetch.h"
#include "serve_known.h"
#include "serve_presets.h"
#include "variants.h"
#include "verbs.h"

enum { ARCHS_MOST = 16, VARIANTS = 512 };

typedef struct archs { /* what to compile for */
  const char *name[ARCHS_MOST];
  size_t n;
} archs;

typedef struct choice { /* which configuration, and why */
  gen_config config;
  const char *origin;
  db_line row; /* of the tuned one; problem NULL: there is none */
} choice;

typedef struct export {
  const cli *c;
  cli_kernel k;
  rt_compiler *compiler;
  archs archs;
  str device_key;
  serve_known shipped; /* a portfolio that the library brings */
  char own_arch[16];
}
export;

/* ---- architectures -------------------------------------------------------------------------- */

/* Kernels were measured with all that the device's own architecture has. */
static void tell_of_less(const export *x, const char *arch) {
  const size_t n = strlen(arch);
  if (!x->c->quiet && n + 1 == strlen(x->own_arch) && !strncmp(x->own_arch, arch, n)) {
    fprintf(stderr,
            "autotune: %s goes without instructions of %s, which the device is tuned with, and "
            "kernels that use them are slower; --arch %s has them\n",
            arch, x->own_arch, x->own_arch);
  }
}

/* The emulated device runs PTX; what leaves this machine is for the card it emulates. */
static int parse_archs(export *x, err *e) {
  snprintf(x->own_arch, sizeof x->own_arch, "sm_%d%s", x->k.device->info.cc,
           rt_arch_suffix(x->k.device->info.cc));
  char *list = arena_text(&x->k.memory, x->c->arch ? x->c->arch : x->own_arch);
  for (char *word; list && (word = strsep(&list, ","));) {
    if (x->archs.n == ARCHS_MOST || !*word) {
      return err_set(e, ERR_USAGE, "--arch takes up to %d names: sm_80,sm_90,compute_90",
                     ARCHS_MOST);
    }
    x->archs.name[x->archs.n++] = word;
    tell_of_less(x, word);
  }
  return x->archs.n ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

static bool is_ptx(const char *arch) {
  return !strncmp(arch, "compute", 7);
}

/* sgemm.cubin of several architectures is sgemm.sm_80.cubin, sgemm.sm_90.cubin. */
static const char *path_for(export *x, const char *path, const char *arch) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  if (x->archs.n == 1) {
    return path;
  }
  if (!dot || (slash && dot < slash)) {
    return arena_format(&x->k.memory, "%s.%s", path, arch);
  }
  return arena_format(&x->k.memory, "%.*s.%s%s", (int)(dot - path), path, arch, dot);
}

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ---- which configuration -------------------------------------------------------------------- */

/* The problem's best row; ERR_NOTFOUND, no message: nothing is tuned. A database that can't be read
 * is an error only when there is one. */
static int find_row(export *x, const char *problem, db_line *row, err *e) {
  db *d;
  db_line *rows;
  size_t n = 0;
  err miss = {0};
  int rc = cli_open_db(x->c, DB_READ, &d, &miss);
  if (rc == ERR_NOTFOUND) {
    return rc;
  }
  if (!rc) {
    rc = db_lines(d, x->k.t->name, str_text(&x->device_key), &x->k.memory, &rows, &n, &miss);
    db_close(d);
  }
  if (rc) {
    return err_set(e, rc, "%s", miss.message);
  }
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(rows[i].template.hash, x->k.t->hash) && !strcmp(rows[i].problem, problem)) {
      *row = rows[i];
      return 0;
    }
  }
  return ERR_NOTFOUND;
}

/* --config, else the tuned one, else the template's default. */
static int choose(export *x, choice *out, err *e) {
  cli_kernel *k = &x->k;
  *out =
      (choice){.config = k->config, .origin = x->c->config ? "--config" : "the template's default"};
  if (x->c->config) {
    return gen_config_check(k->g, &k->config, e);
  }
  const int rc = find_row(x, str_text(&k->problem_text), &out->row, e);
  if (rc) {
    return rc == ERR_NOTFOUND ? 0 : rc;
  }
  out->origin = "tuned";
  return gen_config_parse(k->t, out->row.config, &out->config, e);
}

/* ---- the manifest --------------------------------------------------------------------------- */

static void add_member(str *s, const char *name, const char *text) {
  str_addf(s, ",\n  \"%s\": ", name);
  if (text) {
    str_add_json(s, text);
  } else {
    str_add(s, "null");
  }
}

static void add_files(const export *x, str *s) {
  const struct {
    const char *name, *path;
  } files[] = {{"cubin", x->c->cubin},   {"fatbin", x->c->fatbin}, {"ptx", x->c->ptx},
               {"source", x->c->source}, {"header", x->c->header}, {"embed", x->c->embed}};
  const char *between = "";
  str_add(s, ",\n  \"files\": {");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (files[i].path) {
      str_addf(s, "%s\"%s\": ", between, files[i].name);
      str_add_json(s, files[i].path);
      between = ", ";
    }
  }
  str_add(s, "}");
}

static void add_template(const export *x, str *s) {
  const gen_template *t = x->k.t;
  str_addf(s, ",\n  \"template\": {\"family\": ");
  str_add_json(s, t->name);
  str_addf(s, ", \"version\": %lld, \"hash\": \"%s\"}", (long long)t->version, t->hash);
}

static void add_archs(const export *x, str *s) {
  str_add(s, ",\n  \"archs\": [");
  for (size_t i = 0; i < x->archs.n; i++) {
    str_add(s, i ? ", " : "");
    str_add_json(s, x->archs.name[i]);
  }
  str_add(s, "]");
}

/* What was measured where; a modelled time is not called seconds. */
static void add_measured(const db_line *row, str *s) {
  if (!row->problem) {
    str_add(s, ",\n  \"measured\": null");
    return;
  }
  const bool modelled = row->kind == DB_KIND_MODEL;
  str_addf(s, ",\n  \"%s\": {\"%s\": %.9g", modelled ? "modelled" : "measured",
           modelled ? "modelled_seconds" : "seconds", row->sec);
  str_addf(s, ", \"spread\": %.3g, \"launches\": %lld, \"final\": %s", row->spread,
           (long long)row->launches, row->kind == DB_KIND_FINAL ? "true" : "false");
  str_add(s, ", \"device\": ");
  str_add_json(s, row->device.name);
  str_add(s, ", \"device_key\": ");
  str_add_json(s, row->device.key);
  str_addf(s, ", \"driver\": %d, \"nvrtc\": %d, \"when\": ", row->driver, row->nvrtc);
  str_add_json(s, row->when);
  str_add(s, "}");
}

/* Where the portfolio was measured; a key begins with the device's name. */
static const char *portfolio_device(export *x) {
  const char *key = x->shipped.portfolio_device;
  const char *name = key ? arena_text_n(&x->k.memory, key, strcspn(key, "|")) : NULL;
  return name ? name : x->k.device->info.name;
}

static void add_cover(export *x, const portfolio *c, str *s) {
  str_addf(s,
           ",\n  \"portfolio\": {\"configs\": %zu, \"sizes\": %zu, \"asked_loss\": %.4g, "
           "\"expected_loss\": %.4g, \"worst_loss\": %.4g, \"device\": ",
           c->n_configs, c->n_sizes, c->asked, c->expected, c->worst);
  str_add_json(s, portfolio_device(x));
  str_add(s, ", \"device_key\": ");
  str_add_json(s, x->shipped.portfolio_device ? x->shipped.portfolio_device
                                              : str_text(&x->device_key));
  str_add(s, "}");
}

/* pf: NULL for one problem */
static int write_manifest(export *x, const export_info *what, const choice *ch, const portfolio *pf,
                          err *e) {
  str s = {0};
  str_addf(&s, "{\n  \"autotune\": \"%s\"", TUNED_VERSION);
  add_member(&s, "problem", what->problem);
  add_member(&s, "config", what->config);
  add_member(&s, "origin", ch->origin);
  add_member(&s, "command", what->command);
  add_template(x, &s);
  add_archs(x, &s);
  str_addf(&s, ",\n  \"compiled_by_nvrtc\": %d", what->nvrtc);
  if (pf) {
    add_cover(x, pf, &s);
  } else {
    add_measured(&ch->row, &s);
  }
  add_files(x, &s);
  str_add(&s, "\n}\n");
  const int rc = s.failed ? err_set(e, ERR_NOMEM, "out of memory")
                          : file_write(x->c->manifest, str_text(&s), s.n, e);
  str_clear(&s);
  return rc;
}

/* ---- one problem ---------------------------------------------------------------------------- */

/* The command that makes the same files again, whatever the database holds by then. */
static void add_command(const export *x, const char *config, str *out) {
  str_addf(out, "autotune export %s --config %s", str_text(&x->k.problem_text), config);
  if (x->c->arch) {
    str_addf(out, " --arch %s", x->c->arch);
  }
}

static int write_text(const char *path, const str *text, err *e) {
  return path ? file_write(path, str_text(text), text->n, e) : 0;
}

static int write_embedded(export *x, const export_info *what, const rt_image *built, err *e) {
  export_image list[ARCHS_MOST];
  str text = {0};
  for (size_t i = 0; i < x->archs.n; i++) {
    const str *bytes = is_ptx(x->archs.name[i]) ? &built[i].ptx : &built[i].cubin;
    list[i] =
        (export_image){.arch = x->archs.name[i], .bytes = str_text(bytes), .nbytes = bytes->n};
  }
  int rc = export_embed(x->k.t, what, list, x->archs.n, file_name(x->c->header), &text, e);
  rc = rc ? rc : write_text(x->c->embed, &text, e);
  str_clear(&text);
  return rc;
}

static int write_images(export *x, const rt_image *built, err *e) {
  size_t n_ptx = 0;
  for (size_t i = 0; i < x->archs.n; i++) {
    const char *arch = x->archs.name[i];
    if (x->c->cubin && !is_ptx(arch)) {
      TRY(file_write(path_for(x, x->c->cubin, arch), built[i].cubin.p, built[i].cubin.n, e));
    }
    if (x->c->ptx) {
      TRY(write_text(path_for(x, x->c->ptx, arch), &built[i].ptx, e));
    }
    n_ptx += is_ptx(arch);
  }
  if (x->c->cubin && n_ptx == x->archs.n) {
    return err_set(e, ERR_USAGE, "%s has no machine code; --arch sm_90 names a real architecture",
                   x->archs.name[0]);
  }
  return 0;
}

static int write_fatbin(export *x, const rt_image *built, err *e) {
  rt_fat_image list[ARCHS_MOST];
  str fat = {0};
  for (size_t i = 0; i < x->archs.n; i++) {
    const str *bytes = is_ptx(x->archs.name[i]) ? &built[i].ptx : &built[i].cubin;
    list[i] =
        (rt_fat_image){.arch = x->archs.name[i], .bytes = str_text(bytes), .nbytes = bytes->n};
  }
  int rc = rt_fatbin_make(list, x->archs.n, &fat, e);
  rc = rc ? rc : file_write(x->c->fatbin, str_text(&fat), fat.n, e);
  str_clear(&fat);
  return rc;
}

static int write_texts(export *x, const choice *ch, const rt_image *built, const char *source,
                       err *e) {
  str command = {0}, config = {0}, words = {0}, header = {0}, text = {0};
  cli_kernel *k = &x->k;
  const gen_plan *plan;
  gen_config_text(k->t, &ch->config, &config);
  add_command(x, str_text(&config), &command);
  const export_info what = {.command = str_text(&command),
                            .problem = str_text(&k->problem_text),
                            .config = str_text(&config),
                            .device = ch->row.problem ? k->device->info.name : NULL,
                            .arch = x->c->arch ? x->c->arch : x->own_arch,
                            .nvrtc = rt_compiler_version(x->compiler),
                            .sec = ch->row.sec,
                            .measured = ch->row.kind != DB_KIND_MODEL,
                            .name = x->c->name,
                            .embedded = x->c->embed != NULL};
  int rc = gen_plan_make(k->g, &ch->config, &k->memory, &plan, e);
  rc = rc ? rc : export_header(k->t, plan, &what, &header, e);
  rc = rc ? rc : export_source(k->t, source, &what, &text, e);
  rc = rc ? rc : write_text(x->c->header, &header, e);
  rc = rc ? rc : write_text(x->c->source, &text, e);
  rc = rc || !x->c->embed ? rc : write_embedded(x, &what, built, e);
  rc = rc || !x->c->manifest ? rc : write_manifest(x, &what, ch, NULL, e);
  rc = rc ? rc : gen_config_words(k->g, &ch->config, &words, e);
  if (!rc) {
    printf("%s for %s: %s, %s\n", str_text(&k->problem_text), what.arch, ch->origin,
           str_text(&words));
  }
  str_clear(&words);
  str_clear(&command);
  str_clear(&config);
  str_clear(&header);
  str_clear(&text);
  return rc;
}

static int compile_all(export *x, const str *source, size_t body, rt_image *built, err *e) {
  for (size_t i = 0; i < x->archs.n; i++) {
    const rt_source s = {.text = str_text(source), .body = body, .arch = x->archs.name[i]};
    TRY(rt_compile(x->compiler, &s, &x->k.memory, &built[i], e));
  }
  return 0;
}

static int export_kernel(export *x, err *e) {
  str source = {0};
  size_t body;
  choice ch;
  rt_image built[ARCHS_MOST];
  for (size_t i = 0; i < ARCHS_MOST; i++) {
    rt_image_init(&built[i]);
  }
  int rc = choose(x, &ch, e);
  rc = rc ? rc : gen_source_make(x->k.g, &ch.config, &source, &body, e);
  rc = rc ? rc : compile_all(x, &source, body, built, e);
  rc = rc ? rc : write_images(x, built, e);
  rc = rc || !x->c->fatbin ? rc : write_fatbin(x, built, e);
  rc = rc ? rc : write_texts(x, &ch, built, str_text(&source), e);
  for (size_t i = 0; i < ARCHS_MOST; i++) {
    rt_image_clear(&built[i]);
  }
  str_clear(&source);
  return rc;
}

/* ---- a portfolio ---------------------------------------------------------------------------- */

/* The portfolio that libtuned would serve from on such a device, where none was made there. */
static int read_shipped(export *x, portfolio *pf, err *e) {
  const serve_sources from = {.device = &x->k.device->info,
                              .device_key = str_text(&x->device_key),
                              .presets = serve_presets};
  TRY(serve_known_read(&from, x->k.t, &x->shipped, e));
  if (!x->shipped.portfolio.n_configs) {
    return err_set(e, ERR_NOTFOUND,
                   "there is no portfolio of %s on %s; autotune portfolio %s makes one",
                   x->k.t->name, x->k.device->info.name, x->k.t->name);
  }
  *pf = x->shipped.portfolio;
  if (!x->c->quiet) {
    fprintf(stderr, "autotune: nothing was made here: the shipped portfolio, measured on %s\n",
            x->shipped.portfolio_device);
  }
  return 0;
}

static int read_cover(export *x, portfolio *pf, err *e) {
  db *d;
  const char *text;
  err miss = {0};
  int rc = cli_open_db(x->c, DB_READ, &d, &miss);
  if (!rc) {
    rc = db_portfolio_get(d, x->k.t->hash, str_text(&x->device_key), &x->k.memory, &text, &miss);
    db_close(d);
  }
  if (rc == ERR_NOTFOUND) {
    return read_shipped(x, pf, e);
  }
  return rc ? err_set(e, rc, "%s", miss.message)
            : portfolio_read(x->k.t, text, &x->k.memory, pf, e);
}

static void tell_progress(const export *x, size_t done, size_t all) {
  if (!x->c->quiet && isatty(STDERR_FILENO)) {
    fprintf(stderr, "\r%zu of %zu compiled%s", done, all, done < all ? "" : "\n");
  }
}

/* All are wanted before the first is waited for. built[source * archs + arch] */
static int build_all(export *x, const variants *v, size_t arch, image_prefetch *workers, str *built,
                     err *e) {
  const size_t n = x->archs.n;
  char(*key)[HASH_TEXT] = arena_new(&x->k.memory, (v->n_sources + 1) * sizeof *key);
  const str *bytes;
  if (!key) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < v->n_sources; i++) {
    const rt_source s = {
        .text = str_text(&v->sources[i]), .body = v->bodies[i], .arch = x->archs.name[arch]};
    rt_image_key(x->compiler, &s, key[i]);
    TRY(image_prefetch_request(workers, &s, key[i], e));
  }
  for (size_t i = 0; i < v->n_sources; i++) {
    TRY(image_prefetch_wait(workers, key[i], &bytes, e));
    str_add_n(&built[i * n + arch], bytes->p, bytes->n);
    tell_progress(x, arch * v->n_sources + i + 1, n * v->n_sources);
  }
  return 0;
}

static int compile_variants(export *x, const variants *v, str *built, export_image *list, err *e) {
  const size_t n = x->archs.n;
  int64_t jobs;
  TRY(cli_number("jobs", x->c->jobs, 1, 256, 0, &jobs, e));
  for (size_t arch = 0; arch < n; arch++) {
    image_prefetch *workers;
    int rc = image_prefetch_open(x->compiler, x->archs.name[arch], (int)jobs, &workers, e);
    rc = rc ? rc : build_all(x, v, arch, workers, built, e);
    image_prefetch_close(workers);
    TRY(rc);
  }
  for (size_t i = 0; i < n * v->n_sources; i++) {
    list[i] = (export_image){
        .arch = x->archs.name[i % n], .bytes = str_text(&built[i]), .nbytes = built[i].n};
  }
  return 0;
}

static int write_portfolio(export *x, const exported_portfolio *what, const variants *v, err *e) {
  str header = {0}, source = {0};
  const choice ch = {.origin = "portfolio"};
  int rc = export_portfolio_header(x->k.t, what, &header, e);
  rc = rc ? rc : export_portfolio_source(x->k.t, what, file_name(x->c->header), &source, e);
  rc = rc ? rc : write_text(x->c->header, &header, e);
  rc = rc ? rc : write_text(x->c->embed, &source, e);
  rc = rc || !x->c->manifest ? rc : write_manifest(x, what->x, &ch, what->portfolio, e);
  if (!rc) {
    printf("%s for %s: a portfolio of %zu configurations, %zu variants, %zu kernels, %zu KB of C\n",
           x->k.t->name, what->x->arch, what->portfolio->n_configs, what->n_variants,
           what->n_sources, source.n / 1024);
    if (v->n_met) {
      printf(
          "of %zu that are fastest somewhere, or near that; as the models say, sizes lose %.1f %% "
          "by the others not being there (--top)\n",
          v->n_met, 100 * v->lost);
    }
  }
  str_clear(&header);
  str_clear(&source);
  return rc;
}

static int export_variants(export *x, const portfolio *pf, const variants *v, bool by_models,
                           err *e) {
  const size_t n = v->n_sources * x->archs.n;
  str *built = ARENA_ARRAY(&x->k.memory, str, n + 1);
  export_image *list = ARENA_ARRAY(&x->k.memory, export_image, n + 1);
  if (!built || !list) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  str command = {0};
  str_addf(&command, "autotune export %s", x->k.t->name);
  for (size_t i = 1; i < x->c->n_words; i++) {
    str_addf(&command, " %s", x->c->words[i]);
  }
  str_addf(&command, " --portfolio --arch %s", x->c->arch ? x->c->arch : x->own_arch);
  str_add(&command, x->c->dispatch && !by_models ? " --dispatch tree" : "");
  const export_info about = {.command = str_text(&command),
                             .problem = x->k.t->name,
                             .config = "",
                             .device = portfolio_device(x),
                             .arch = x->c->arch ? x->c->arch : x->own_arch,
                             .nvrtc = rt_compiler_version(x->compiler),
                             .name = x->c->name};
  const exported_portfolio what = {.x = &about,
                                   .portfolio = pf,
                                   .variants = v->v,
                                   .n_variants = v->n,
                                   .derived = v->derived,
                                   .images = list,
                                   .n_sources = v->n_sources,
                                   .n_archs = x->archs.n,
                                   .by_models = by_models,
                                   .nodes = v->nodes ? v->nodes : pf->nodes,
                                   .n_nodes = v->nodes ? v->n_nodes : pf->n_nodes,
                                   .by_variants = v->nodes != NULL};
  int rc = compile_variants(x, v, built, list, e);
  rc = rc ? rc : write_portfolio(x, &what, v, e);
  for (size_t i = 0; i < n; i++) {
    str_clear(&built[i]);
  }
  str_clear(&command);
  return rc;
}

/* Models by default, where the portfolio has them. */
static int parse_dispatch(const export *x, const portfolio *pf, bool *by_models, err *e) {
  const char *how = x->c->dispatch;
  *by_models = how ? !strcmp(how, "models") : pf->model.sizes.n > 0;
  if (how && !*by_models && strcmp(how, "tree") != 0) {
    return err_set(e, ERR_USAGE, "--dispatch '%s' is neither models nor tree", how);
  }
  return *by_models && !pf->model.sizes.n
             ? err_set(e, ERR_USAGE,
                       "this portfolio has no models, its sizes being too few: --dispatch tree")
             : 0;
}

/* ta=n of the command line: of a portfolio for n and t, the part for n. */
static int restrict_to(export *x, const char *word, portfolio *pf, err *e) {
  const gen_template *t = x->k.t;
  const size_t n = strcspn(word, "=");
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    if (strlen(f->name) != n || strncmp(f->name, word, n) != 0 || !f->names) {
      continue;
    }
    const uint64_t bit = UINT64_C(1) << x->k.problem.values[i].i;
    if (!(pf->choices[i] & bit)) {
      return err_set(e, ERR_USAGE, "the portfolio was not made for %s", word);
    }
    pf->choices[i] = bit;
    return 0;
  }
  return err_set(e, ERR_USAGE,
                 "%s: a portfolio has its own sizes; fields that are names, as ta=n, take a part "
                 "of it",
                 word);
}

static int restrict_cover(export *x, portfolio *pf, err *e) {
  for (size_t i = 1; i < x->c->n_words; i++) {
    TRY(restrict_to(x, x->c->words[i], pf, e));
  }
  return 0;
}

static int export_portfolio(export *x, err *e) {
  bool by_models;
  portfolio pf;
  variants v = {0};
  int64_t most;
  gen_number numbers[RT_NUMBERS];
  TRY(cli_number("top", x->c->top, 1, 2000, VARIANTS, &most, e));
  if (x->c->config) {
    return err_set(e, ERR_USAGE, "a portfolio has its own configurations");
  }
  if (!x->c->header || !x->c->embed || x->c->cubin || x->c->fatbin || x->c->ptx || x->c->source) {
    return err_set(e, ERR_USAGE, "a portfolio is written with --header F.h --embed F.c");
  }
  TRY(read_cover(x, &pf, e));
  TRY(restrict_cover(x, &pf, e));
  TRY(parse_dispatch(x, &pf, &by_models, e));
  rt_numbers(&x->k.device->info, numbers);
  int rc = variants_find(x->k.t, &pf, numbers, RT_NUMBERS, !by_models, (size_t)most, &x->k.memory,
                         &v, e);
  rc = rc ? rc : export_variants(x, &pf, &v, by_models, e);
  variants_clear(&v);
  return rc;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static int check_words(const cli *c, err *e) {
  if (!c->cubin && !c->fatbin && !c->ptx && !c->source && !c->header && !c->embed && !c->manifest) {
    return err_set(
        e, ERR_USAGE,
        "name what to write: --cubin F, --fatbin F, --ptx F, --source F, --header F, --embed F, "
        "--manifest F");
  }
  return !c->embed || c->header
             ? 0
             : err_set(e, ERR_USAGE, "--embed F.c goes with --header F.h, which it includes");
}

int cmd_export(const cli *c, err *e) {
  export x = {.c = c};
  TRY(check_words(c, e));
  int rc = cli_kernel_open(c, &x.k, e);
  rc = rc ? rc : parse_archs(&x, e);
  rc = rc ? rc : rt_compiler_open(&x.compiler, e);
  if (!rc) {
    rt_device_key(&x.k.device->info, &x.device_key);
    rc = c->portfolio ? export_portfolio(&x, e) : export_kernel(&x, e);
  }
  serve_known_clear(&x.shipped);
  str_clear(&x.device_key);
  rt_compiler_close(x.compiler);
  cli_kernel_close(&x.k);
  return rc;
}
