/* The device code of a template: its place in the table's file, or the file that it names. */
#define _GNU_SOURCE
#include <string.h>

#include "gen_algorithms.h"
#include "gen_read.h"

static const char *line_start(const str *file, int line) {
  const char *p = file->p;
  for (; line > 1 && (p = strchr(p, '\n')); line--) {
    p++;
  }
  return p ? p : file->p;
}

/* memmem reads all of such a long text before it starts looking; here its first bytes tell. */
static const char *find(const char *p, const char *end, const char *text, size_t n) {
  while ((p = memmem(p, (size_t)(end - p), text, n < 32 ? n : 32))) {
    if ((size_t)(end - p) >= n && !memcmp(p, text, n)) {
      return p;
    }
    p++;
  }
  return NULL;
}

/* Line of the file where the text stands, looked for from its key on. A text that Lua code put
 * together stands nowhere (*there is NULL), and gets the key's line. */
static gen_line find_text(gen_reader *r, const char *text, size_t n, const char **there) {
  const str *file = &r->t->text;
  gen_line at = gen_here(r);
  const char *from = line_start(file, at.line);
  const char *found = find(from, file->p + file->n, text, n);
  for (const char *p = from; found && (p = memchr(p, '\n', (size_t)(found - p))); p++) {
    at.line++;
  }
  *there = found;
  return at;
}

/* As it stands in the program, or else a copy; a newline ends the last line, too. */
static void keep_source(gen_reader *r, const char *text, size_t n, const char *there,
                        gen_script_source *out) {
  const bool ends = text[n - 1] == '\n';
  if (r->t->builtin && there && ends) {
    out->text = r->t->builtin->text + (there - r->t->text.p);
    out->n = n;
    return;
  }
  char *copy = gen_make(r, n + 2);
  memcpy(copy, text, n);
  copy[n] = '\n';
  out->text = copy;
  out->n = n + !ends;
}

/* "file.cu": one word, as no source text is. */
static bool names_file(const char *text, size_t n) {
  return !memchr(text, '\n', n) &&
         ((n > 3 && !strcmp(text + n - 3, ".cu")) || (n > 4 && !strcmp(text + n - 4, ".cuh")));
}

/* The text that stands in a file beside the template. */
static void read_file(gen_reader *r, const char *name, gen_script_source *out) {
  const gen_line before = r->b->at;
  r->b->at = gen_here(r);
  out->text = gen_read_included(r->b, r->t, name, &out->n, &out->at.path);
  out->at.line = 1;
  r->b->at = before;
}

static void read_text(gen_reader *r, const char *text, size_t n, gen_script_source *out) {
  const char *there;
  out->at = find_text(r, text, n, &there);
  keep_source(r, text, n, there, out);
}

void gen_read_source(gen_reader *r, const gen_algorithm *of, gen_device_code *code) {
  gen_part_need(r, of, "source");
  size_t n;
  const char *text = gen_text_here(r, "source", &n);
  gen_script_source source = {.include = gen_read_included, .ud = r->t, .plain = r->t->plain};
  if (!n) {
    gen_bad(r, "the source is empty");
  }
  if (names_file(text, n)) {
    read_file(r, text, &source);
    r->t->has_source = true;
  } else {
    read_text(r, text, n, &source);
  }
  gen_script_new(r->b, r->a, &source, &code->script);
  gen_part_leave(r, of);
}
