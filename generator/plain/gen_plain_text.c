/* The text of a plain CUDA file for NVRTC, which compiles device code only: functions of the host and
 * headers of the host compiler are blanked, kernels can be found by their plain names.
 *
 * The text is read as a sequence of declarations of namespaces: from the end of the one before to a
 * semicolon or a closing brace. That needs tokens and matching brackets, not types. What looks like
 * a function of the host, by its head, is blanked; everything that is not understood stays. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_name.h"
#include "gen_plain.h"

enum { MAX_NESTED = 64 };

typedef struct head {   /* of the declaration under way; offsets are 0 where there is none */
  size_t start, kernel; /* kernel: of __global__ */
  char first[64];       /* its first word */
  int angles;           /* open ones of template <class T>; -1: behind it */
  bool constant, device, type, template_, explicit_, linkage, keep, called, assigned, namespace_;
} head;

typedef struct reader {
  const char *p; /* the text; changes are made in out */
  size_t n, i;
  char *out; /* of the same length */
  str *text;
  size_t inserts[1024];
  size_t n_inserts;
  const char *const *replaced; /* names of macros */
  size_t n_replaced;
} reader;

static void blank(reader *r, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    r->out[i] = r->out[i] == '\n' ? '\n' : ' ';
  }
}

static bool among(const char *p, size_t n, const char *const *words) {
  for (; *words; words++) {
    if (c_name_is(p, n, *words)) {
      return true;
    }
  }
  return false;
}

/* ---- what has no brackets of its own --------------------------------------------------------- */

static size_t quoted_end(const reader *r, size_t i) {
  const char quote = r->p[i];
  if (quote == '"' && i && r->p[i - 1] == 'R') { /* R"x( ... )x" */
    char end[32];
    const size_t n = strcspn(r->p + i + 1, "(");
    snprintf(end, sizeof end, ")%.*s\"", (int)(n > 16 ? 16 : n), r->p + i + 1);
    const char *found = strstr(r->p + i, end);
    return found ? (size_t)(found - r->p) + strlen(end) : r->n;
  }
  for (i++; i < r->n && r->p[i] != quote && r->p[i] != '\n'; i++) {
    i += r->p[i] == '\\';
  }
  return i + 1 < r->n ? i + 1 : r->n;
}

static size_t comment_end(const reader *r, size_t i) {
  const char *end = strstr(r->p + i + 2, r->p[i + 1] == '/' ? "\n" : "*/");
  return end ? (size_t)(end - r->p) + (r->p[i + 1] == '/' ? 0 : 2) : r->n;
}

static size_t line_end(const reader *r, size_t i) {
  while (i < r->n && r->p[i] != '\n') {
    i += 1 + (r->p[i] == '\\' && r->p[i + 1] == '\n');
  }
  return i < r->n ? i : r->n;
}

static bool is_digit_separator(const reader *r, size_t i) {
  return r->p[i] == '\'' && i && isxdigit((unsigned char)r->p[i - 1]) &&
         isxdigit((unsigned char)r->p[i + 1]);
}

/* Headers that only a host compiler has, or of which NVRTC knows all that device code needs. */
static const char *const host_headers[] = {"algorithm",
                                           "array",
                                           "assert.h",
                                           "atomic",
                                           "bitset",
                                           "cassert",
                                           "cctype",
                                           "cerrno",
                                           "cfloat",
                                           "chrono",
                                           "climits",
                                           "cmath",
                                           "complex",
                                           "cstdarg",
                                           "cstddef",
                                           "cstdint",
                                           "cstdio",
                                           "cstdlib",
                                           "cstring",
                                           "ctime",
                                           "ctype.h",
                                           "cuda.h",
                                           "cuda_profiler_api.h",
                                           "cuda_runtime.h",
                                           "cuda_runtime_api.h",
                                           "device_launch_parameters.h",
                                           "errno.h",
                                           "float.h",
                                           "fstream",
                                           "functional",
                                           "iomanip",
                                           "iostream",
                                           "iterator",
                                           "limits",
                                           "limits.h",
                                           "list",
                                           "map",
                                           "math.h",
                                           "math_functions.h",
                                           "memory",
                                           "mutex",
                                           "numeric",
                                           "omp.h",
                                           "random",
                                           "set",
                                           "sstream",
                                           "stdarg.h",
                                           "stdbool.h",
                                           "stddef.h",
                                           "stdexcept",
                                           "stdint.h",
                                           "stdio.h",
                                           "stdlib.h",
                                           "string",
                                           "string.h",
                                           "sys/time.h",
                                           "sys/types.h",
                                           "thread",
                                           "time.h",
                                           "tuple",
                                           "type_traits",
                                           "unistd.h",
                                           "utility",
                                           "vector",
                                           NULL};

static bool is_host_header(const char *name, size_t n) {
  return among(name, n, host_headers) || (n > 7 && !memcmp(name, "helper_", 7));
}

/* The whole numbers of stdint.h, on the line of the include. */
static const char integers[] =
    "using int8_t = signed char; using uint8_t = unsigned char; using int16_t = short; using "
    "uint16_t = unsigned short; using int32_t = int; using uint32_t = unsigned int; using int64_t = "
    "long; using uint64_t = unsigned long; using uintptr_t = unsigned long;";

static bool is_integer_header(const char *name, size_t n) {
  return c_name_is(name, n, "stdint.h") || c_name_is(name, n, "cstdint");
}

/* Where out gets those declarations. */
static void note_insert(reader *r, size_t at) {
  if (r->n_inserts < sizeof r->inserts / sizeof *r->inserts) {
    r->inserts[r->n_inserts++] = at;
  }
}

static bool is_replaced(const reader *r, const char *p) {
  p += strspn(p, " \t");
  const size_t n = c_name_length(p);
  for (size_t i = 0; i < r->n_replaced; i++) {
    if (c_name_is(p, n, r->replaced[i])) {
      return true;
    }
  }
  return false;
}

static size_t directive(reader *r, size_t i, int *depth, int *saved, int *n_saved) {
  const size_t end = line_end(r, i);
  const char *p = r->p + i + 1;
  p += strspn(p, " \t");
  const size_t n = c_name_length(p);
  if (c_name_is(p, n, "include")) {
    const char *name = p + n + strspn(p + n, " \t");
    const size_t length = *name == '<' || *name == '"' ? strcspn(name + 1, ">\"\n") : 0;
    if (length && is_host_header(name + 1, length)) {
      blank(r, i, end);
      if (is_integer_header(name + 1, length)) {
        note_insert(r, i);
      }
    }
  } else if (c_name_is(p, n, "define") && is_replaced(r, p + n)) {
    blank(r, i, end);
  } else if (c_name_is(p, n, "if") || c_name_is(p, n, "ifdef") || c_name_is(p, n, "ifndef")) {
    saved[*n_saved < MAX_NESTED ? (*n_saved)++ : MAX_NESTED - 1] = *depth;
  } else if ((c_name_is(p, n, "else") || c_name_is(p, n, "elif")) && *n_saved) {
    *depth = saved[*n_saved - 1]; /* another text for the same brackets */
  } else if (c_name_is(p, n, "endif") && *n_saved) {
    --*n_saved;
  }
  return end;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* The replacement of the macro of that name that the text defines; NULL: it defines none */
static const char *macro(const reader *r, const char *name, size_t n) {
  for (const char *p = r->p; (p = strstr(p, "#define")); p += 7) {
    const char *q = p + 7 + strspn(p + 7, " \t");
    if (!strncmp(q, name, n) && !c_name_has(q[n])) {
      return q + n;
    }
  }
  return NULL;
}

static bool is_device_macro(const reader *r, const char *name, size_t n, bool first) {
  const char *text = macro(r, name, n);
  if (!text) {
    return false;
  }
  const size_t end = line_end(r, (size_t)(text - r->p)) - (size_t)(text - r->p);
  return (first && *text == '(') || memmem(text, end, "__device__", 10) ||
         memmem(text, end, "__global__", 10) || memmem(text, end, "__DEVICE__", 10);
}

static void note_word(const reader *r, head *h, const char *p, size_t n) {
  static const char *const device[] = {"__device__", "__constant__",  "__shared__", "__managed__",
                                       "constexpr",  "__host__DUMMY", NULL};
  static const char *const type[] = {"struct", "class", "union", "enum", NULL};
  static const char *const keep[] = {"static_assert", "asm", "typedef", "using", "concept", NULL};
  const bool first = !*h->first;
  if (h->template_ && h->angles >= 0) {
    return; /* of a parameter */
  }
  if (first) {
    snprintf(h->first, sizeof h->first, "%.*s", (int)(n < 63 ? n : 63), p);
  }
  if (c_name_is(p, n, "__global__") && !h->kernel) {
    h->kernel = (size_t)(p - r->p) + 1;
  }
  h->constant = h->constant || c_name_is(p, n, "const") || c_name_is(p, n, "extern") ||
                c_name_is(p, n, "friend");
  h->namespace_ = h->namespace_ || c_name_is(p, n, "namespace");
  h->template_ = h->template_ || (first && c_name_is(p, n, "template"));
  h->device = h->device || among(p, n, device) || is_device_macro(r, p, n, first);
  h->type = h->type || (!h->called && among(p, n, type));
  h->keep = h->keep || (first && among(p, n, keep));
}

/* static and inline contradict extern "C" */
static void blank_words(reader *r, size_t from, size_t to) {
  static const char *const words[] = {"static", "inline", "__forceinline__", NULL};
  for (size_t i = from; i < to; i++) {
    const size_t n =
        c_name_has(r->p[i]) && (!i || !c_name_has(r->p[i - 1])) ? c_name_length(r->p + i) : 0;
    if (n && among(r->p + i, n, words)) {
      blank(r, i, i + n);
    }
  }
}

/* A template becomes a device function, which a kernel of ours calls; launch bounds go with it. */
static void make_device(reader *r, const head *h, size_t end) {
  const char *bounds = memmem(r->p + h->start, end - h->start, "__launch_bounds__", 17);
  memcpy(r->out + h->kernel - 1, "__device__", 10);
  if (bounds) {
    const size_t from = (size_t)(bounds - r->p), to = from + strcspn(bounds, "(");
    int depth = 0;
    size_t i = to;
    for (; i < end; i++) {
      depth += (r->p[i] == '(') - (r->p[i] == ')');
      if (!depth) {
        break;
      }
    }
    blank(r, from, i + 1);
  }
}

/* The declaration [h->start, end), whose head, up to a body, ends at `head_end`. */
static void judge(reader *r, const head *h, size_t head_end, size_t end) {
  const bool ours = h->device || h->kernel || h->type || h->keep || h->namespace_;
  const bool variable = *h->first && !h->called && !h->constant && !h->template_;
  if (h->explicit_ || (variable && !ours) || (h->called && !ours && !h->assigned)) {
    blank(r, h->start, end);
  } else if (h->kernel && h->template_) {
    make_device(r, h, head_end);
  } else if (h->kernel && h->called && !h->linkage && !h->type) {
    blank_words(r, h->start, h->kernel - 1);
    note_insert(r, h->kernel - 1);
  }
}

typedef struct walk {
  int braces, parens;
  int saved[MAX_NESTED], n_saved; /* braces at each #if */
  bool body;                      /* of a function: the declaration ends with its brace */
  size_t head_end;
  head h;
} walk;

static void next_declaration(const reader *r, walk *w) {
  w->h = (head){.start = r->i};
  w->body = false;
  w->head_end = 0;
  w->parens = 0;
}

static void open_brace(reader *r, walk *w) {
  head *h = &w->h;
  if (!w->braces && !w->parens && !h->called && (h->namespace_ || (h->linkage && !h->type))) {
    next_declaration(r, w); /* what is inside is read like what is outside */
    return;
  }
  if (!w->braces && !w->parens) {
    w->head_end = r->i - 1;
    w->body = h->called && !h->assigned && (!h->type || h->kernel || h->device) && !h->keep;
  }
  w->braces++;
}

static void close_brace(reader *r, walk *w) {
  if (!w->braces) { /* of a namespace */
    next_declaration(r, w);
  } else if (!--w->braces && w->body) {
    judge(r, &w->h, w->head_end, r->i);
    next_declaration(r, w);
  }
}

static void mark(reader *r, walk *w, char c) {
  head *h = &w->h;
  if (c == '{') {
    open_brace(r, w);
  } else if (c == '}') {
    close_brace(r, w);
  } else if (w->braces) {
    return;
  } else if (h->template_ && h->angles >= 0 && (c == '<' || c == '>')) {
    h->angles += c == '<' ? 1 : h->angles == 1 ? -2 : -1;
  } else if (h->template_ && h->angles >= 0) {
    return;
  } else if (c == '(') {
    h->called = h->called || (!w->parens && !h->assigned);
    w->parens++;
  } else if (c == ')') {
    w->parens -= w->parens > 0;
  } else if (c == '=' && !w->parens && !h->called && r->p[r->i] != '=') {
    h->assigned = !h->template_ || h->assigned;
  } else if (c == ';' && !w->parens) {
    judge(r, h, r->i, r->i);
    next_declaration(r, w);
  }
}

static void word(reader *r, walk *w, size_t n) {
  head *h = &w->h;
  const char *p = r->p + r->i;
  if (!w->braces) {
    if (!*h->first) {
      h->start = r->i;
      h->explicit_ = c_name_is(p, n, "template") && p[n + strspn(p + n, " \t\n")] != '<';
    }
    note_word(r, h, p, n);
    if (c_name_is(p, n, "extern")) {
      const char *q = p + n + strspn(p + n, " \t");
      h->linkage = h->linkage || *q == '"';
    }
  }
  r->i += n;
  if (c_name_is(p, n, "operator")) { /* its = is no assignment, its () no call */
    r->i += strcspn(r->p + r->i, "(");
    r->i += !strncmp(r->p + r->i, "()", 2) ? 2 : 0;
  }
}

static void step(reader *r, walk *w, bool *line_start) {
  const char *p = r->p + r->i;
  const bool started = *line_start;
  *line_start = *p == '\n' || (started && isspace((unsigned char)*p));
  if (*p == '#' && started) {
    r->i = directive(r, r->i, &w->braces, w->saved, &w->n_saved);
  } else if (*p == '/' && (p[1] == '/' || p[1] == '*')) {
    const size_t from = r->i;
    r->i = comment_end(r, from);
    if (!strncmp(p, "//@", 3)) { /* says nothing to the compiler, and may change */
      blank(r, from, r->i);
    }
    *line_start = started;
  } else if (*p == '"' || (*p == '\'' && !is_digit_separator(r, r->i))) {
    r->i = quoted_end(r, r->i);
  } else if (c_name_has(*p)) {
    word(r, w, c_name_length(p));
  } else {
    r->i++;
    mark(r, w, *p);
  }
}

static int by_place(const void *a, const void *b) {
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

static void write_out(reader *r, str *out) {
  size_t from = 0;
  qsort(r->inserts, r->n_inserts, sizeof *r->inserts, by_place);
  for (size_t k = 0; k < r->n_inserts; k++) {
    const size_t at = r->inserts[k];
    str_add_n(out, r->out + from, at - from);
    str_add(out, r->p[at] == '#' ? integers : "extern \"C\" ");
    from = at;
  }
  str_add_n(out, r->out + from, r->n - from);
}

void gen_plain_device_text(const char *text, size_t n, const char *const *replaced,
                           size_t n_replaced, str *out) {
  reader r = {.p = text, .n = n, .replaced = replaced, .n_replaced = n_replaced};
  walk w = {0};
  str copy = {0};
  bool line_start = true;
  str_add_n(&copy, text, n);
  if (!copy.failed && n) {
    r.out = copy.p;
    while (r.i < r.n) {
      step(&r, &w, &line_start);
    }
    write_out(&r, out);
  }
  out->failed = out->failed || copy.failed;
  str_clear(&copy);
}
