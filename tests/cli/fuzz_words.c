/* fuzz_words.c -- libFuzzer target: a command line, one word a line of the input, is parsed for
 * its verb; those that only read or print run. NVRTC is out of reach, and nothing is written. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { WORDS = 12 };

static bool only_prints(const cli_verb *v) {
  static int (*const runs[])(const cli *, err *) = {cmd_emit,  cmd_space,   cmd_list,      cmd_show,
                                                    cmd_build, cmd_devices, cmd_completion};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    if (v->run == runs[i]) {
      return true;
    }
  }
  return false;
}

static void open_world(void) {
  setenv("AUTOTUNE_NVRTC", "/nonexistent", 1);
  setenv("TUNED_DEVICE", "emu", 1);
  setenv("TUNED_DB", "/nonexistent/tuned.db", 1);
  setenv("TUNED_CACHE", "/nonexistent", 1);
  dup2(open("/dev/null", O_WRONLY), 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static bool opened;
  auto_arena a = {0};
  char *words[WORDS + 1] = {NULL}, *rest = arena_text_n(&a, (const char *)data, n);
  int count = 0;
  cli c;
  err e = {0};
  if (!opened) {
    open_world();
    opened = true;
  }
  while (count < WORDS && (words[count] = strsep(&rest, "\n"))) {
    count++;
  }
  const cli_verb *verb = count ? cli_find_verb(words[0]) : NULL;
  if (verb && !cli_parse(verb, count - 1, words + 1, &a, &c, &e)) {
    c.help ? cli_print_help(stdout, verb) : (void)(only_prints(verb) && verb->run(&c, &e));
  }
  return 0;
}
