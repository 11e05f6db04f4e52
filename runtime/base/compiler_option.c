#include "compiler_option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names that end with = have a value. */
static const char *const allowed[] = {"use_fast_math",
                                      "ftz=",
                                      "prec-sqrt=",
                                      "prec-div=",
                                      "fmad=",
                                      "maxrregcount=",
                                      "std=",
                                      "extra-device-vectorization",
                                      "default-device",
                                      "device-int128",
                                      "rdc=",
                                      "relocatable-device-code=",
                                      "jump-table-density=",
                                      "disable-warnings",
                                      "w",
                                      "diag-suppress=",
                                      "define-macro=",
                                      "undefine-macro=",
                                      "ptxas-options=",
                                      "Xptxas="};

/* Of --ptxas-options=, which takes one. */
static const char *const ptxas[] = {"-O0",
                                    "-O1",
                                    "-O2",
                                    "-O3",
                                    "-v",
                                    "-dlcm=",
                                    "-dscm=",
                                    "-flcm=",
                                    "-fscm=",
                                    "--def-load-cache=",
                                    "--def-store-cache=",
                                    "--force-load-cache=",
                                    "--force-store-cache=",
                                    "--allow-expensive-optimizations=",
                                    "--disable-optimizer-constants",
                                    "--maxrregcount=",
                                    "--warn-on-spills",
                                    "--warn-on-local-memory-usage",
                                    COMPILER_CONTROLS};

/* Is it the name or, when that ends with =, the name and a value? */
static bool is(const char *p, size_t n, const char *name) {
  const size_t length = strlen(name);
  return name[length - 1] == '=' ? n > length && !strncmp(p, name, length)
                                 : n == length && !strncmp(p, name, length);
}

static bool among(const char *p, size_t n, const char *const *names, size_t n_names) {
  for (size_t i = 0; i < n_names; i++) {
    if (is(p, n, names[i])) {
      return true;
    }
  }
  return false;
}

/* -DNAME=VALUE and -UNAME */
static bool is_macro(const char *option) {
  return option[0] == '-' && (option[1] == 'D' || option[1] == 'U') && option[2];
}

static bool may_stand(const char *option) {
  for (const char *p = option; *p; p++) {
    if (*p <= ' ' || *p > '~') { /* the list has spaces between them, and one line */
      return false;
    }
  }
  if (option[0] != '-' || strlen(option) >= COMPILER_OPTION_TEXT) {
    return false;
  }
  const char *name = option + 1 + (option[1] == '-'), *value = strchr(name, '=');
  if (value && (!strncmp(name, "ptxas-options=", 14) || !strncmp(name, "Xptxas=", 7))) {
    return among(value + 1, strlen(value + 1), ptxas, sizeof ptxas / sizeof *ptxas);
  }
  return is_macro(option) || among(name, strlen(name), allowed, sizeof allowed / sizeof *allowed);
}

const char *compiler_option_controls(const char *option) {
  const char *value = strchr(option, '=');
  return value && !strncmp(value + 1, COMPILER_CONTROLS, sizeof COMPILER_CONTROLS - 1)
             ? value + sizeof COMPILER_CONTROLS
             : NULL;
}

void compiler_controls_add(const char *name, const char *bytes, size_t n, str *text) {
  str_addf(text, COMPILER_CONTROLS_LINE "%s ", name);
  for (size_t i = 0; i < n; i++) {
    str_addf(text, "%02x", (unsigned char)bytes[i]);
  }
  str_add(text, "\n");
}

static int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The lines of controls follow that of the options. */
static const char *find_controls(const char *text, const char *name) {
  static const char start[] = COMPILER_CONTROLS_LINE;
  const size_t n = sizeof start - 1, n_name = strlen(name);
  const char *line = strchr(text, '\n');
  while (line && !strncmp(++line, start, n)) {
    if (!strncmp(line + n, name, n_name) && line[n + n_name] == ' ') {
      return line + n + n_name + 1;
    }
    line = strchr(line, '\n');
  }
  return NULL;
}

int compiler_controls_of(const char *text, const char *name, str *bytes, err *e) {
  const char *p = find_controls(text, name);
  for (; p && digit(p[0]) >= 0 && digit(p[1]) >= 0; p += 2) {
    str_add_n(bytes, &(char){(char)(16 * digit(p[0]) + digit(p[1]))}, 1);
  }
  if (!p || *p != '\n') {
    return err_set(e, ERR_USAGE, "the text does not hold the advanced controls %s", name);
  }
  return bytes->failed ? err_nomem(e) : 0;
}

int compiler_option_check(const char *option, err *e) {
  return may_stand(option)
             ? 0
             : err_set(e, ERR_USAGE,
                       "'%.80s' is not a compiler option that a kernel may have; there are "
                       "--use_fast_math, --ftz=, --prec-div=, --prec-sqrt=, --fmad=, "
                       "--maxrregcount=, --std=, -D, --ptxas-options=-O1, -dlcm=cg, ...",
                       option);
}

int compiler_options_of(const char *text, compiler_options *out, err *e) {
  static const char start[] = COMPILER_OPTIONS;
  out->n = 0;
  if (strncmp(text, start, sizeof start - 1)) {
    return 0;
  }
  const char *p = text + sizeof start - 1, *end = p + strcspn(p, "\n");
  while ((p += strspn(p, " ")) < end) {
    const size_t n = strcspn(p, " \n");
    if (n >= COMPILER_OPTION_TEXT || out->n == COMPILER_OPTIONS_MAX) {
      return err_set(e, ERR_USAGE,
                     "there are more than %d compiler options, or one is longer than %d",
                     COMPILER_OPTIONS_MAX, COMPILER_OPTION_TEXT - 1);
    }
    snprintf(out->text[out->n], sizeof out->text[0], "%.*s", (int)n, p);
    TRY(compiler_option_check(out->text[out->n++], e));
    p += n;
  }
  return 0;
}

bool compiler_options_relocatable(const char *text) {
  compiler_options all;
  bool yes = false;
  if (compiler_options_of(text, &all, NULL)) {
    return false;
  }
  for (int i = 0; i < all.n; i++) {
    const char *name = all.text[i] + strspn(all.text[i], "-");
    if (!strncmp(name, "rdc=", 4) || !strncmp(name, "relocatable-device-code=", 24)) {
      yes = !strcmp(strchr(name, '=') + 1, "true"); /* the last one counts */
    }
  }
  return yes;
}
