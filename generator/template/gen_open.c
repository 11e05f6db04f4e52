/* Finding templates; loading; the families there are. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "gen_lex.h"
#include "gen_plain.h"
#include "gen_read.h"

static const size_t DEFAULT_SOURCE_NBYTES = (size_t)4 << 20;

const char *const gen_device_names[] = {
#define DEVICE_NAME(name, brief) #name,
    GEN_DEVICE_LIST(DEVICE_NAME)
#undef DEVICE_NAME
        NULL};

/* ---- loading --------------------------------------------------------------------------------- */

static void load(gen_box *b, void *ud) {
  tmpl *t = ud;
  lua_State *L = b->L;
  gen_push_globals(b);
  gen_push_chunk(b, str_text(&t->text), t->text.n, "template");
  lua_call(L, 0, 1);
  lua_sethook(L, NULL, 0, 0); /* from here on it is data */
  gen_read(t);
}

/* Of the file, and of every file it includes with its name. */
static int hash(tmpl *t, err *e) {
  size_t n = 1;
  for (gen_included *f = t->included; f; f = f->next) {
    n += 2;
  }
  hash_part *parts = ARENA_ARRAY(&t->a, hash_part, n), *p = parts;
  if (!parts) {
    return err_nomem(e);
  }
  *p++ = (hash_part){str_text(&t->text), t->text.n};
  for (gen_included *f = t->included; f; f = f->next) {
    *p++ = (hash_part){f->name, strlen(f->name) + 1};
    *p++ = (hash_part){f->text, f->n};
  }
  hash_parts(parts, n, t->pub.hash);
  return 0;
}

static int check_problem(tmpl *t, const char *text, int line, err *e) {
  gen_problem p;
  err inner = {0};
  t->counts_unknown = true;
  const int rc = gen_problem_parse(&t->pub, text, &p, &inner);
  t->counts_unknown = false;
  if (!rc) {
    return 0;
  }
  char place[sizeof e->place];
  snprintf(place, sizeof place, "%.180s:%d", t->pub.path, line);
  return err_at(e, inner.code == ERR_USAGE ? ERR_TEMPLATE : inner.code,
                *inner.place ? inner.place : place, "%s", inner.message);
}

/* Presets must make a problem when nothing is given, and every size listed must be one: whoever
 * opens lazily doesn't ask for these. */
static int check_problems(tmpl *t, err *e) {
  const gen_template *p = &t->pub;
  const struct {
    const char *key;
    const char *const *texts;
    size_t n;
  } lists[] = {{"emu", p->sizes_emu, p->n_sizes_emu},
               {"test", p->sizes_test, p->n_sizes_test},
               {"bench", p->sizes_bench, p->n_sizes_bench}};
  const gen_mark *sizes = gen_mark_key(t->outline, "sizes");
  TRY(check_problem(t, "", gen_mark_key(t->outline, "problem")->line, e));
  for (size_t i = 0; i < 3 && !t->box.lazy; i++) {
    const gen_mark *list = gen_mark_key(sizes, lists[i].key);
    for (size_t j = 0; j < lists[i].n; j++) {
      TRY(check_problem(t, lists[i].texts[j], gen_mark_at(list, (int64_t)j + 1)->line, e));
    }
  }
  return 0;
}

/* The Lua text of a plain file: its keys stand where the file or the command line says so. */
static void place_marks(const tmpl *t, gen_mark *m) {
  if (m->line > 0 && (size_t)m->line <= t->n_places) {
    const gen_plain_place *at = &t->places[m->line - 1];
    m->line = at->line;
    m->path = at->option;
  }
  for (const gen_mark *c = m->child; c; c = c->next) {
    place_marks(t, (gen_mark *)c);
  }
}

/* t->text, t->pub.path and t->folder are there. */
static int prepare(tmpl *t, const gen_options *options, arena *marks, err *e) {
  if (t->text.failed || !t->pub.path) {
    return err_nomem(e);
  }
  t->outline = gen_outline_new(marks, str_text(&t->text), t->text.n);
  if (!t->outline) {
    return err_nomem(e);
  }
  if (t->places) {
    place_marks(t, (gen_mark *)t->outline);
  }
  size_t max = options ? options->max_source_nbytes : 0;
  t->max_source_nbytes = max ? max : DEFAULT_SOURCE_NBYTES;
  t->data = options ? options->data : NULL;
  TRY(gen_box_open(&t->box, options, e));
  t->box.env = &t->env;
  t->box.home = (gen_line){t->pub.path, 0};
  TRY(gen_box_run(&t->box, load, t, true, e));
  TRY(hash(t, e));
  return check_problems(t, e);
}

/* The text and where things stand in it are there to read it, and Lua's table of it, too. */
static int read_it(tmpl *t, const gen_options *options, err *e) {
  arena marks = {0};
  const int rc = prepare(t, options, &marks, e);
  arena_clear(&marks);
  t->outline = NULL;
  t->data = NULL;
  str_clear(&t->text);
  if (!rc) {
    lua_gc(t->box.L, LUA_GCCOLLECT);
  }
  return rc;
}

/* ---- finding --------------------------------------------------------------------------------- */

static int read_at(tmpl *t, const char *folder, const char *name, err *e) {
  const char *slash = strlen(folder) && folder[strlen(folder) - 1] != '/' ? "/" : "";
  t->folder = arena_format(&t->a, "%s%s", folder, slash);
  t->pub.path = arena_format(&t->a, "%s%s%s", folder, slash, name);
  if (!t->folder || !t->pub.path) {
    return err_nomem(e);
  }
  return gen_read_trusted(t->trust, t->pub.path, &t->text, e);
}

static bool ends_in(const char *name, const char *end) {
  const size_t n = strlen(name), n_end = strlen(end);
  return n > n_end && !strcmp(name + n - n_end, end);
}

/* What the lines of the plain file say, as Lua text. */
static int translate(const gen_options *options, const char *path, const char *text, arena *a,
                     str *lua, gen_plain_place **places, size_t *n, err *e) {
  gen_plain *x = calloc(1, sizeof *x);
  int rc = x ? 0 : err_nomem(e);
  rc = rc ? rc
          : gen_plain_parse(path, text, options ? options->lines : NULL,
                            options ? options->n_lines : 0, a, x, e);
  rc = rc ? rc : gen_plain_lua(x, a, lua, places, n, e);
  free(x);
  return rc;
}

static int read_plain(tmpl *t, const gen_options *options, err *e) {
  str text = t->text;
  t->text = (str){0};
  const int rc = translate(options, t->pub.path, str_text(&text), &t->a, &t->text, &t->places,
                           &t->n_places, e);
  str_clear(&text);
  return rc;
}

int gen_plain_template(const gen_options *options, const char *path, str *out, err *e) {
  auto_arena a = {0};
  auto_str text = {0};
  gen_plain_place *places;
  size_t n;
  if (!ends_in(path, ".cu")) {
    return err_set(e, ERR_USAGE, "'%.80s' is not a CUDA file, whose name ends in .cu", path);
  }
  TRY(gen_read_trusted(options && options->trust, path, &text, e));
  return translate(options, path, str_text(&text), &a, out, &places, &n, e);
}

static int read_path(tmpl *t, const gen_options *options, const char *path, err *e) {
  const char *slash = strrchr(path, '/');
  char *folder = arena_text_n(&t->a, path, slash ? (size_t)(slash + 1 - path) : 0);
  TRY(folder ? 0 : err_nomem(e));
  TRY(read_at(t, folder, slash ? slash + 1 : path, e));
  return ends_in(path, ".cu") ? read_plain(t, options, e) : 0;
}

static int fail_family(const gen_options *options, const char *name, err *e) {
  arena a = {0};
  const char *const *names;
  size_t n;
  str all = {0};
  gen_hint hint = {""};
  if (!gen_families(options, &a, &names, &n, NULL)) {
    hint = gen_suggestion(name, names, n);
    for (size_t i = 0; !*hint.text && i < n; i++) {
      str_addf(&all, "%s%s", i ? " " : "; give the path of one, or a family: ", names[i]);
    }
  }
  arena_clear(&a);
  err_set(e, ERR_NOTFOUND, "there is no template '%.80s'%s%s", name, hint.text, str_text(&all));
  str_clear(&all);
  return ERR_NOTFOUND;
}

/* FOLDER/NAME.lua, else FOLDER/NAME/NAME.lua */
static int read_in_folder(tmpl *t, const char *folder, const char *name, err *e) {
  const char *file = arena_format(&t->a, "%s.lua", name);
  const char *own = arena_format(&t->a, "%s/%s", folder, name);
  if (!file || !own) {
    return err_nomem(e);
  }
  err inner = {0};
  int rc = read_at(t, folder, file, &inner);
  if (rc == ERR_NOTFOUND) {
    err_clear(&inner);
    rc = read_at(t, own, file, &inner);
  }
  return rc && rc != ERR_NOTFOUND ? err_set(e, rc, "%s", inner.message) : rc;
}

/* In the folders, then among the built-in ones. */
static int read_family(tmpl *t, const gen_options *options, const char *name, err *e) {
  char file[256];
  snprintf(file, sizeof file, "%.200s.lua", name);
  for (size_t i = 0; gen_word_is_name(name) && options && i < options->n_folders; i++) {
    const int rc = read_in_folder(t, options->folders[i], name, e);
    if (rc != ERR_NOTFOUND) {
      return rc;
    }
  }
  const gen_file *f = gen_find_builtin(file);
  if (!f || !gen_word_is_name(name)) {
    return fail_family(options, name, e);
  }
  t->folder = NULL;
  t->pub.path = f->path;
  t->builtin = f;
  str_add_n(&t->text, f->text, f->n);
  return 0;
}

static bool is_path(const char *name) {
  return strchr(name, '/') || ends_in(name, ".lua") || ends_in(name, ".cu");
}

/* What is found under a name must carry it, or it could not be found again by its problems' text.
 */
static int check_family(const tmpl *t, const char *name, err *e) {
  if (is_path(name) || !strcmp(name, t->pub.name)) {
    return 0;
  }
  return err_at(e, ERR_TEMPLATE, t->pub.path, "the file is called %s.lua, but its name is \"%s\"",
                name, t->pub.name);
}

int gen_open(const gen_options *options, const char *name, gen_template **out, err *e) {
  if (options && options->names_only && is_path(name)) {
    return err_set(e, ERR_USAGE,
                   "'%.200s' is a path, and only a family's name is taken from a file", name);
  }
  tmpl *t = calloc(1, sizeof *t);
  if (!t) {
    return err_nomem(e);
  }
  t->trust = options && options->trust;
  t->no_inputs = options && options->no_inputs;
  int rc = is_path(name) ? read_path(t, options, name, e) : read_family(t, options, name, e);
  rc = rc ? rc : read_it(t, options, e);
  rc = rc ? rc : check_family(t, name, e);
  if (rc) {
    gen_close(&t->pub);
    return rc;
  }
  *out = &t->pub;
  return 0;
}

int gen_open_text(const gen_options *options, const char *path, const char *text, size_t n,
                  gen_template **out, err *e) {
  tmpl *t = calloc(1, sizeof *t);
  if (!t) {
    return err_nomem(e);
  }
  t->pub.path = arena_text(&t->a, path);
  str_add_n(&t->text, text, n);
  int rc = read_it(t, options, e);
  if (rc) {
    gen_close(&t->pub);
    return rc;
  }
  *out = &t->pub;
  return 0;
}

static void free_codes(const gen_program *p) {
  for (size_t i = 0; i < p->n_codes; i++) {
    free(p->codes[i].script.lua);
  }
}

void gen_close(gen_template *p) {
  if (p) {
    tmpl *t = gen_tmpl(p);
    gen_box_close(&t->box);
    free(t->sources.seen);
    free_codes(&t->program);
    free_codes(&t->reference);
    free_codes(&t->features);
    str_clear(&t->text);
    arena_clear(&t->a);
    free(t);
  }
}

/* ---- families -------------------------------------------------------------------------------- */

typedef struct family_list {
  arena *a;
  const char **names;
  size_t n, max;
  bool failed;
} family_list;

/* A name of the form FAMILY.lua, once. */
static void add_family(family_list *l, const char *file) {
  size_t n = strlen(file);
  if (l->failed || n < 5 || strcmp(file + n - 4, ".lua")) {
    return;
  }
  const char *name = arena_text_n(l->a, file, n - 4);
  for (size_t i = 0; name && i < l->n; i++) {
    if (!strcmp(l->names[i], name)) {
      return;
    }
  }
  if (name && l->n == l->max) {
    const char **names = ARENA_ARRAY(l->a, const char *, 2 * l->max + 32);
    if (names) {
      memcpy(names, l->names, l->n * sizeof *names);
      l->max = 2 * l->max + 32;
    }
    l->names = names;
  }
  l->failed = l->failed || !name || !l->names;
  if (!l->failed && gen_word_is_name(name)) {
    l->names[l->n++] = name;
  }
}

/* A folder of the name FAMILY that holds FAMILY.lua */
static void add_subfolder(family_list *l, const char *folder, const char *name) {
  char path[4096], file[300];
  snprintf(file, sizeof file, "%.255s.lua", name);
  if (gen_word_is_name(name) &&
      snprintf(path, sizeof path, "%s/%s/%s", folder, name, file) < (int)sizeof path &&
      !access(path, F_OK)) {
    add_family(l, file);
  }
}

static int add_folder(family_list *l, const char *folder, err *e) {
  DIR *d = opendir(folder);
  if (!d) {
    return err_set(e, ERR_IO, "cannot read the template folder %s: %s", folder, strerror(errno));
  }
  for (struct dirent *f = readdir(d); f; f = readdir(d)) {
    add_family(l, f->d_name);
    add_subfolder(l, folder, f->d_name);
  }
  closedir(d);
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int gen_families(const gen_options *options, arena *a, const char *const **names, size_t *n,
                 err *e) {
  const char *none[1];
  family_list l = {.a = a, .names = none};
  for (size_t i = 0; options && i < options->n_folders; i++) {
    TRY(add_folder(&l, options->folders[i], e));
  }
  for (const gen_file *f = gen_builtin; f->name; f++) {
    add_family(&l, f->name);
  }
  if (l.failed) {
    return err_nomem(e);
  }
  if (l.names == none) { /* nothing was found */
    l.names = ARENA_ARRAY(a, const char *, 1);
  }
  qsort(l.names, l.n, sizeof *l.names, by_name);
  *names = l.names;
  *n = l.n;
  return l.names ? 0 : err_nomem(e);
}
