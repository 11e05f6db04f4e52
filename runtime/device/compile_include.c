/* compile_include.c -- see compile_include.h.
 *
 * A directive is recognised wherever it may be one: the compiler's own view of comments and raw
 * strings would take its whole lexer, and a difference from it would let a directive through. src:
 * ISO C++17, 5.2 (phases of translation), 19.2 (inclusion); trigraphs: ISO C++14, 2.4. */
#define _GNU_SOURCE
#include "compile_include.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "c_name.h"
#include "file.h"
#include "str.h"

static bool is_blank(char c) {
  return c && strchr(" \t\v\f\r", c);
}

/* the length of a \ or its trigraph at the end of a line, with blanks before the newline; 0: none is here */
static size_t splice(const char *p) {
  size_t n = *p == '\\' ? 1 : strncmp(p, "?\?/", 3) ? 0 : 3;
  if (!n) {
    return 0;
  }
  while (is_blank(p[n])) {
    n++;
  }
  return p[n] == '\n' ? n + 1 : 0;
}

/* the text without its splices */
static int join_lines(const char *text, str *out, err *e) {
  const char *from = text, *p = text;
  while ((p = strpbrk(p, "\\?"))) {
    const size_t n = splice(p);
    if (n) {
      str_add_n(out, from, (size_t)(p - from));
      from = p + n;
    }
    p += n ? n : 1;
  }
  str_add(out, from);
  return out->failed ? err_nomem(e) : 0;
}

/* behind blanks and comments, which may span lines */
static const char *skip_blanks(const char *p) {
  for (;;) {
    if (is_blank(*p)) {
      p++;
    } else if (p[0] == '/' && p[1] == '*') {
      const char *end = strstr(p + 2, "*/");
      p = end ? end + 2 : p + strlen(p);
    } else {
      return p;
    }
  }
}

/* Is there nothing on the line before p but blanks, after the end of a comment if there is one? */
static bool is_first(const char *text, const char *p) {
  while (p > text && is_blank(p[-1])) {
    p--;
  }
  return p == text || p[-1] == '\n' || (p - text > 1 && p[-1] == '/' && p[-2] == '*');
}

/* behind "#", "%:" or its trigraph at p; NULL: none is here */
static const char *skip_hash(const char *p) {
  return *p == '#' ? p + 1 : !strncmp(p, "%:", 2) ? p + 2 : !strncmp(p, "?\?=", 3) ? p + 3 : NULL;
}

/* behind the word of a directive that reads a file; NULL: it is another */
static const char *skip_word(const char *p) {
  static const char *const words[] = {"include", "include_next", "import", "embed"};
  const size_t n = c_name_length(p);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (c_name_is(p, n, words[i])) {
      return p + n;
    }
  }
  return NULL;
}

static int check_name(const char *p, err *e) {
  const char close = *p == '<' ? '>' : '"';
  const size_t n = strcspn(p + 1, close == '>' ? ">\n" : "\"\n");
  auto_str name = {0};
  str_add_n(&name, p + 1, n);
  if (name.failed) {
    return err_nomem(e);
  }
  const char *file = str_text(&name);
  if (file_name_leaves(file)) {
    return err_set(e, ERR_COMPILE,
                   "#include of %.200s: only headers of the CUDA toolkit and files beside the "
                   "template are included",
                   file);
  }
  if (close == '"' && !access(file, F_OK)) {
    return err_set(e, ERR_COMPILE,
                   "#include of %.200s would read that file of the working folder; put it beside "
                   "the template, and the directive at the start of a line",
                   file);
  }
  return 0;
}

/* of the directive whose # is at p */
static int check_directive(const char *p, err *e) {
  const char *hash = skip_hash(p), *behind = hash ? skip_word(skip_blanks(hash)) : NULL;
  if (!behind) {
    return 0;
  }
  behind = skip_blanks(behind);
  return *behind == '<' || *behind == '"'
             ? check_name(behind, e)
             : err_set(e, ERR_COMPILE,
                       "#include of %.*s: name the file in quotes or angle brackets",
                       (int)strcspn(behind, "\n") < 60 ? (int)strcspn(behind, "\n") : 60, behind);
}

int include_check(const char *text, err *e) {
  auto_str joined = {0};
  TRY(join_lines(text, &joined, e));
  const char *whole = str_text(&joined);
  for (const char *p = whole; (p = strpbrk(p, "#%?")); p++) {
    if (is_first(whole, p)) {
      TRY(check_directive(p, e));
    }
  }
  return 0;
}
