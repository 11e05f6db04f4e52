#include "c_kernel.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* past spaces and comments */
static const char *skip(const char *p) {
  for (;;) {
    const char *end = NULL;
    if (isspace((unsigned char)*p)) {
      p++;
      continue;
    }
    if (!strncmp(p, "//", 2)) {
      end = strchr(p, '\n');
    } else if (!strncmp(p, "/*", 2)) {
      end = strstr(p + 2, "*/");
      end = end ? end + 2 : NULL;
    }
    if (!end) {
      return p;
    }
    p = end;
  }
}

/* The place behind "name (", NULL: this is another use of the name. */
static const char *parameters_at(const char *text, const char *at, size_t n) {
  if ((at > text && in_word(at[-1])) || in_word(at[n])) {
    return NULL;
  }
  const char *open = skip(at + n), *start = at;
  while (start > text && !strchr(";{}", start[-1])) {
    start--;
  }
  const char *global = strstr(start, "__global__");
  return *open == '(' && global && global < at ? open + 1 : NULL;
}

static int count_parameters(const char *p) {
  int depth = 0, commas = 0;
  p = skip(p);
  if (*p == ')' || (!strncmp(p, "void", 4) && *skip(p + 4) == ')')) {
    return 0;
  }
  for (; *p && (depth || *p != ')'); p = skip(p + 1)) {
    depth += (strchr("(<[", *p) != NULL) - (strchr(")>]", *p) != NULL);
    commas += *p == ',' && !depth;
  }
  return commas + 1;
}

int c_kernel_parameters(const char *text, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = text; n && (at = strstr(at, name)); at += n) {
    const char *p = parameters_at(text, at, n);
    if (p) {
      return count_parameters(p);
    }
  }
  return -1;
}
