#define _GNU_SOURCE
#include "compile_log.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the line at *p without its newline and moves *p to the next; false at the end. */
static bool next_line(const char **p, char *line, size_t size) {
  if (!**p) {
    return false;
  }
  size_t n = strcspn(*p, "\n");
  size_t kept = n < size - 1 ? n : size - 1;
  memcpy(line, *p, kept);
  line[kept] = 0;
  *p += n + ((*p)[n] == '\n');
  return true;
}

/* the number before `unit`: "..., 304 bytes spill stores, ..." */
static bool number_before(const char *line, const char *unit, int64_t *value) {
  const char *u = strstr(line, unit);
  const char *p = u;
  while (p && p > line && (isdigit((unsigned char)p[-1]) || p[-1] == ' ')) {
    p--;
  }
  char *end;
  long long v = p ? strtoll(p, &end, 10) : 0;
  if (!p || end == p) {
    return false;
  }
  *value = v;
  return true;
}

static const char entry_mark[] = "Compiling entry function '";
static const char properties_mark[] = "Function properties for ";

static size_t count_entries(const char *log) {
  size_t n = 0;
  for (const char *p = log; (p = strstr(p, entry_mark)) != NULL; p += sizeof entry_mark - 1) {
    n++;
  }
  return n;
}

/* A device function that is not inlined has properties too, which belong to no kernel. */
static void read_properties(rt_kernel_info *k, const char *line, bool *ours) {
  const char *name = strstr(line, properties_mark);
  if (name) {
    *ours = !strcmp(name + sizeof properties_mark - 1, k->name);
  }
  int64_t regs;
  if (number_before(line, " registers", &regs)) {
    k->regs = (int)regs;
    number_before(line, " bytes smem", &k->smem_static);
  }
  if (*ours) {
    number_before(line, " bytes stack frame", &k->stack);
    number_before(line, " bytes spill stores", &k->spill_stores);
    number_before(line, " bytes spill loads", &k->spill_loads);
  }
}

int log_kernels(const char *log, arena *a, const rt_kernel_info **kernels, size_t *n, err *e) {
  size_t total = count_entries(log);
  rt_kernel_info *list = ARENA_ARRAY(a, rt_kernel_info, total + 1), *k = NULL;
  char line[2048];
  bool ours = false;
  *kernels = list;
  *n = 0;
  if (!list) {
    return err_nomem(e);
  }
  while (next_line(&log, line, sizeof line)) {
    const char *name = strstr(line, entry_mark);
    if (name && *n < total) {
      name += sizeof entry_mark - 1;
      k = &list[(*n)++];
      k->name = arena_text_n(a, name, strcspn(name, "'"));
      ours = false;
      if (!k->name) {
        return err_nomem(e);
      }
    } else if (k) {
      read_properties(k, line, &ours);
    }
  }
  return 0;
}

/* "templates/saxpy/saxpy.lua(41)" to "templates/saxpy/saxpy.lua:41", in place; false when it is not that. */
static bool to_place(char *text) {
  char *open = strrchr(text, '(');
  size_t n = strlen(text);
  if (!open || n < 3 || text[n - 1] != ')' || !isdigit((unsigned char)open[1])) {
    return false;
  }
  text[n - 1] = 0;
  *open = ':';
  return true;
}

/* Does a line that starts with "FILE(LINE): " continue like an error? */
static bool is_error(const char *text) {
  static const char *const kinds[] = {"error", "catastrophic error", "internal error"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!strncmp(text, kinds[i], strlen(kinds[i]))) {
      return true;
    }
  }
  return false;
}

/* The front end: "FILE(LINE): error: MESSAGE", also "error #123-D:" and "catastrophic error:". */
static int front_end_error(char *line, err *e) {
  char *mark = strstr(line, "): ");
  char *message = mark && is_error(mark + 3) ? strstr(mark + 3, ": ") : NULL;
  if (!message || *line == ' ') {
    return 0;
  }
  mark[1] = 0;
  return to_place(line) ? err_at(e, ERR_COMPILE, line, "%s", message + 2)
                        : err_set(e, ERR_COMPILE, "%s", message + 2);
}

/* "ptxas fatal   : MESSAGE", "ptxas error   : MESSAGE" and
 * "ptxas application ptx input, line 26; error   : MESSAGE" */
static int ptxas_error(const char *line, err *e) {
  const char *fatal = strstr(line, "fatal   : ");
  const char *error = fatal ? fatal : strstr(line, "error   : ");
  const char *message = error ? strstr(error, ": ") : NULL;
  const char *at = strstr(line, "input, line ");
  if (strncmp(line, "ptxas", 5) || !message) {
    return 0;
  }
  return at ? err_set(e, ERR_COMPILE, "ptxas: %s (line %d of the PTX)", message + 2, atoi(at + 12))
            : err_set(e, ERR_COMPILE, "ptxas: %s", message + 2);
}

static int nvrtc_error(const char *line, err *e) {
  static const char mark[] = "nvrtc: error: ";
  return strncmp(line, mark, sizeof mark - 1)
             ? 0
             : err_set(e, ERR_COMPILE, "NVRTC: %s", line + sizeof mark - 1);
}

int log_error(const char *log, const char *fallback, err *e) {
  char line[600];
  while (next_line(&log, line, sizeof line)) {
    if (nvrtc_error(line, e) || ptxas_error(line, e) || front_end_error(line, e)) {
      return ERR_COMPILE;
    }
  }
  return err_set(e, ERR_COMPILE, "%s", fallback);
}
