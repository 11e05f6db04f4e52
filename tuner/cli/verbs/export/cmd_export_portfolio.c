/* cmd_export_portfolio.c -- autotune export --portfolio: a portfolio as C. */
#include <string.h>
#include <unistd.h>

#include "cmd_export.h"
#include "image_prefetch.h"
#include "json_writer.h"
#include "print.h"
#include "serve_presets.h"
#include "variants.h"

enum { VARIANTS = 512 };

/* The portfolio that libtuned serves from where none was made on such a device. */
static int read_shipped(export_run *x, portfolio *pf, err *e) {
  const serve_sources from = {.device = &x->k.device->info,
                              .device_key = str_text(&x->device_key),
                              .presets = serve_presets,
                              .portfolios = serve_portfolios};
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

static int read_portfolio(export_run *x, portfolio *pf, err *e) {
  auto_db *d = NULL;
  const char *text;
  err miss = {0};
  TRY(cli_open_db_if_any(x->c, &d, e));
  const int rc =
      d ? db_portfolio_get(d, x->k.t->hash, str_text(&x->device_key), &x->k.memory, &text, &miss)
        : ERR_NOTFOUND;
  if (rc == ERR_NOTFOUND) {
    return read_shipped(x, pf, e);
  }
  return rc ? err_copy(e, rc, &miss) : portfolio_read(x->k.t, text, &x->k.memory, pf, e);
}

static void tell_progress(const export_run *x, size_t done, size_t all) {
  if (!x->c->quiet && isatty(STDERR_FILENO)) {
    fprintf(stderr, "\r%zu of %zu compiled%s", done, all, done < all ? "" : "\n");
  }
}

/* All images are requested before the first is waited for. built[source * archs + arch] */
static int build_all(export_run *x, const variants *v, size_t arch, image_prefetch *workers,
                     str *built, err *e) {
  const size_t n = x->archs.n;
  char(*key)[HASH_TEXT] = arena_new(&x->k.memory, (v->n_sources + 1) * sizeof *key);
  const str *bytes;
  TRY(key ? 0 : err_nomem(e));
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

static int compile_variants(export_run *x, const variants *v, str *built, export_image *list,
                            err *e) {
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

static void tell(const export_run *x, const exported_portfolio *what, const variants *v,
                 size_t nbytes) {
  str s = {0};
  if (x->c->json) {
    jw_event(&s, "export_portfolio");
    jw_text(&s, "family", x->k.t->name);
    jw_text(&s, "arch", what->x->arch);
    jw_integer(&s, "configs", (int64_t)what->portfolio->n_configs);
    jw_integer(&s, "variants", (int64_t)what->n_variants);
    jw_integer(&s, "kernels", (int64_t)what->n_sources);
    jw_integer(&s, "nbytes", (int64_t)nbytes);
    jw_end_line(&s);
  } else if (!x->c->quiet) {
    str_addf(
        &s,
        "%s for %s: a portfolio of %zu configurations, %zu variants, %zu kernels, %zu KB of C\n",
        x->k.t->name, what->x->arch, what->portfolio->n_configs, what->n_variants, what->n_sources,
        nbytes / 1024);
    if (v->n_met) {
      str_addf(
          &s,
          "of %zu that are fastest somewhere, or near that; as the models say, sizes lose %.1f %% "
          "by the others not being there (--top)\n",
          v->n_met, 100 * v->lost);
    }
  }
  print_str(&s);
}

static int write_portfolio(export_run *x, const exported_portfolio *what, const variants *v,
                           err *e) {
  auto_str header = {0}, source = {0};
  const choice ch = {.origin = "portfolio"};
  TRY(export_portfolio_header(x->k.t, what, &header, e));
  TRY(export_portfolio_source(x->k.t, what, cmd_export_file_name(x->c->header), &source, e));
  TRY(cmd_export_write(x->c->header, &header, e));
  TRY(cmd_export_write(x->c->embed, &source, e));
  TRY(x->c->manifest ? cmd_export_manifest(x, what->x, &ch, what->portfolio, e) : 0);
  tell(x, what, v, source.n);
  return 0;
}

static int export_variants(export_run *x, const portfolio *pf, const variants *v, bool by_models,
                           err *e) {
  const size_t n = v->n_sources * x->archs.n;
  str *built = ARENA_ARRAY(&x->k.memory, str, n + 1);
  export_image *list = ARENA_ARRAY(&x->k.memory, export_image, n + 1);
  TRY(built && list ? 0 : err_nomem(e));
  auto_str command = {0};
  str_addf(&command, "autotune export %s", x->k.t->name);
  for (size_t i = 1; i < x->c->n_words; i++) {
    str_addf(&command, " %s", x->c->words[i]);
  }
  str_addf(&command, " --portfolio --arch %s", x->c->arch ? x->c->arch : x->own_arch);
  str_add(&command, x->c->dispatch && !by_models ? " --dispatch tree" : "");
  const export_info about = {.command = str_text(&command),
                             .problem = x->k.t->name,
                             .config = "",
                             .device = cmd_export_device(x),
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
  return rc;
}

/* The default is models, where the portfolio has them. */
static int parse_dispatch(const export_run *x, const portfolio *pf, bool *by_models, err *e) {
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

/* ta=n on the command line restricts a portfolio for n and t to n. */
static int restrict_to(export_run *x, const char *word, portfolio *pf, err *e) {
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

static int restrict_all(export_run *x, portfolio *pf, err *e) {
  for (size_t i = 1; i < x->c->n_words; i++) {
    TRY(restrict_to(x, x->c->words[i], pf, e));
  }
  return 0;
}

int cmd_export_portfolio(export_run *x, err *e) {
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
  TRY(read_portfolio(x, &pf, e));
  TRY(restrict_all(x, &pf, e));
  TRY(parse_dispatch(x, &pf, &by_models, e));
  rt_numbers(&x->k.device->info, numbers);
  int rc = variants_find(x->k.t, &pf, numbers, RT_NUMBERS, !by_models, (size_t)most, &x->k.memory,
                         &v, e);
  rc = rc ? rc : export_variants(x, &pf, &v, by_models, e);
  variants_clear(&v);
  return rc;
}
