/* Files that a template names: texts that a source includes, and others that its text carries. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "gen_plain.h"
#include "gen_read.h"

enum { MAX_FILE_NBYTES = 8 << 20 };

const gen_file *gen_find_builtin(const char *name) {
  for (const gen_file *f = gen_builtin; f->name; f++) {
    if (!strcmp(f->name, name)) {
      return f;
    }
  }
  return NULL;
}

int gen_read_trusted(bool trust, const char *path, str *text, err *e) {
  const char *why = trust ? NULL : file_distrust(path);
  return why ? err_set(e, ERR_TEMPLATE,
                       "template %s: %s, and what it holds runs on the GPU; `chmod o-w` what is "
                       "open to all, or set TUNED_TRUST=1 to use it as it is",
                       path, why)
             : file_read(path, MAX_FILE_NBYTES, text, e);
}

/* Is the file, a path without links, below the folder? */
static bool is_below(const char *file, const char *folder) {
  char *real = realpath(*folder ? folder : ".", NULL);
  const size_t n = real ? strlen(real) : 0;
  const bool below = real && !strncmp(file, real, n) && (file[n] == '/' || n == 1);
  free(real);
  return below;
}

static bool is_below_any(const tmpl *t, const char *file) {
  bool below = is_below(file, t->folder);
  for (size_t i = 0; i < t->n_include && !below; i++) {
    auto_str folder = {0};
    str_addf(&folder, "%s%s", *t->include[i] == '/' ? "" : t->folder, t->include[i]);
    below = !folder.failed && is_below(file, str_text(&folder));
  }
  return below;
}

/* A text names files of its folder, and of those that the user has named by -I: through .. it
 * reaches others, whose lines would be in the compiler's messages. */
static int check_place(const tmpl *t, const char *name, const char *path, err *e) {
  char *real = file_name_leaves(name) ? realpath(path, NULL) : NULL;
  const bool stays = !real || is_below_any(t, real);
  free(real);
  return stays ? 0
               : err_set(e, ERR_TEMPLATE,
                         "that file is outside the template's folder; name its folder by -I to "
                         "include files there");
}

static int read_in(tmpl *t, const char *folder, const char *name, str *text, const char **path,
                   err *e) {
  *path = arena_format(&t->a, "%s%s%s", t->folder, folder, name);
  TRY(*path ? check_place(t, name, *path, e) : err_nomem(e));
  return gen_read_trusted(t->trust, *path, text, e);
}

/* In the folders of a plain file, which its path is relative to. */
static int find_in_folders(tmpl *t, const char *name, str *text, const char **path, err *e) {
  for (size_t i = 0; i < t->n_include; i++) {
    const char *folder = t->include[i];
    *path = arena_format(&t->a, "%s%s/%s", *folder == '/' ? "" : t->folder, folder, name);
    TRY(*path ? check_place(t, name, *path, e) : err_nomem(e));
    const int rc = gen_read_trusted(t->trust, *path, text, e);
    if (rc != ERR_NOTFOUND) {
      return rc;
    }
    err_clear(e);
  }
  return ERR_NOTFOUND;
}

static int is_shown(const struct dirent *d) {
  return d->d_name[0] != '.';
}

/* "../shared/sort/" of the folder of shared/ that has the file; NULL: none has */
static const char *find_subfolder(tmpl *t, const char *name) {
  struct dirent **entries = NULL;
  const char *found = NULL, *shared = arena_format(&t->a, "%s../shared", t->folder);
  const int n = shared ? scandir(shared, &entries, is_shown, alphasort) : 0;
  for (int i = 0; i < n; i++) {
    const char *path = arena_format(&t->a, "%s/%s/%s", shared, entries[i]->d_name, name);
    if (!found && path && !access(path, F_OK)) {
      found = arena_format(&t->a, "../shared/%s/", entries[i]->d_name);
    }
    free(entries[i]);
  }
  free(entries);
  return found;
}

/* In the folder of files that several templates share, or in a folder of it. */
static int find_shared(tmpl *t, const char *name, str *text, const char **path, err *e) {
  const int rc = read_in(t, "../shared/", name, text, path, e);
  const char *folder = rc == ERR_NOTFOUND ? find_subfolder(t, name) : NULL;
  if (folder) {
    err_clear(e);
  }
  return folder ? read_in(t, folder, name, text, path, e) : rc;
}

/* Beside the template, in the folder of files that several templates share, among the built-in
 * ones. *builtin: NULL when it comes from a folder, and is in *text */
static int find_included(tmpl *t, const char *name, str *text, const char **path,
                         const gen_file **builtin, err *e) {
  int rc = t->folder ? read_in(t, "", name, text, path, e) : ERR_NOTFOUND;
  if (rc == ERR_NOTFOUND && t->plain && t->folder) {
    rc = find_in_folders(t, name, text, path, e);
  } else if (rc == ERR_NOTFOUND && t->folder) {
    rc = find_shared(t, name, text, path, e);
  }
  *builtin = rc == ERR_NOTFOUND && !t->plain ? gen_find_builtin(name) : NULL;
  if (*builtin) {
    err_clear(e);
    *path = (*builtin)->path;
    rc = 0;
  }
  return rc == ERR_NOTFOUND ? err_set(e, rc, "there is no such file") : rc;
}

static bool ends_line(const char *text, size_t n) {
  return n && text[n - 1] == '\n';
}

/* With a newline at its end. */
static bool copy_text(tmpl *t, const char *text, size_t n, gen_included *f) {
  char *copy = arena_new(&t->a, n + 2);
  if (!copy) {
    return false;
  }
  memcpy(copy, text, n);
  f->text = copy;
  f->n = n;
  if (n && !ends_line(copy, n)) {
    copy[f->n++] = '\n';
  }
  return true;
}

static void append(tmpl *t, gen_included *f) {
  gen_included **tail = &t->included;
  while (*tail) {
    tail = &(*tail)->next;
  }
  *tail = f;
}

/* What is built in needs no copy: a serving process reads some 200 kB of it first of all. */
static gen_included *keep(tmpl *t, const char *name, const char *path, const gen_file *builtin,
                          const str *text) {
  gen_included *f = arena_new(&t->a, sizeof *f);
  if (!f || text->failed || !path || !(f->name = arena_text(&t->a, name))) {
    return NULL;
  }
  f->path = path;
  if (builtin && ends_line(builtin->text, builtin->n)) {
    f->text = builtin->text;
    f->n = builtin->n;
  } else if (!copy_text(t, builtin ? builtin->text : str_text(text), builtin ? builtin->n : text->n,
                        f)) {
    return NULL;
  }
  append(t, f);
  return f;
}

/* The text of a plain file as NVRTC takes it. */
static void make_plain(const tmpl *t, str *text) {
  str out = {0};
  gen_plain_device_text(str_text(text), text->n, t->replaced, t->n_replaced, &out);
  out.failed = out.failed || text->failed;
  str_clear(text);
  *text = out;
}

/* NULL: a plain file includes what the compiler may have. */
static gen_included *load_included(gen_box *b, tmpl *t, const char *name) {
  err e = {0};
  str text = {0};
  const char *path = NULL;
  const gen_file *builtin;
  int rc = find_included(t, name, &text, &path, &builtin, &e);
  if (!rc && t->plain) {
    make_plain(t, &text);
  }
  gen_included *f = rc ? NULL : keep(t, name, path, builtin, &text);
  str_clear(&text);
  if (rc == ERR_NOTFOUND && t->plain && t->has_source) {
    return NULL;
  }
  if (rc) {
    gen_fail(b, rc == ERR_NOMEM ? rc : ERR_TEMPLATE, b->at, "cannot include \"%s\": %s", name,
             e.message);
  }
  if (!f) {
    gen_fail(b, ERR_NOMEM, b->at, "out of memory");
  }
  return f;
}

const gen_included *gen_find_included(const tmpl *t, const char *name) {
  const gen_included *f = t->included;
  while (f && strcmp(f->name, name)) {
    f = f->next;
  }
  return f;
}

const char *gen_read_included(gen_box *b, void *ud, const char *name, size_t *n,
                              const char **path) {
  tmpl *t = ud;
  if (!t->plain && (strchr(name, '/') || name[0] == '.' || !name[0])) {
    gen_fail(b, ERR_TEMPLATE, b->at, "cannot include \"%s\": name a file beside the template",
             name);
  }
  const gen_included *f = gen_find_included(t, name);
  f = f ? f : load_included(b, t, name);
  *n = f ? f->n : 0;
  *path = f ? f->path : NULL;
  return f ? f->text : NULL;
}

/* ---- files that are no text ------------------------------------------------------------------- */

static int keep_bytes(tmpl *t, const char *name, const char *path, const str *bytes, err *e) {
  gen_included *f = arena_new(&t->a, sizeof *f);
  char *copy = arena_new(&t->a, bytes->n + 1);
  if (!f || !copy || bytes->failed || !(f->name = arena_text(&t->a, name))) {
    return err_nomem(e);
  }
  memcpy(copy, str_text(bytes), bytes->n);
  f->path = path;
  f->text = copy;
  f->n = bytes->n;
  append(t, f);
  return 0;
}

int gen_include_bytes(tmpl *t, const char *name, err *e) {
  auto_str bytes = {0};
  const char *path = NULL;
  if (gen_find_included(t, name)) {
    return 0;
  }
  int rc = t->folder ? read_in(t, "", name, &bytes, &path, e) : ERR_NOTFOUND;
  if (rc == ERR_NOTFOUND && t->plain && t->folder) {
    rc = find_in_folders(t, name, &bytes, &path, e);
  }
  return rc ? rc : keep_bytes(t, name, path, &bytes, e);
}
