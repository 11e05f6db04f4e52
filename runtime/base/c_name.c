#include "c_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_taken(const char *name) {
  static const char *const words =
      " and args auto bool break call case catch char class const continue ctx default delete do "
      "double else enum err explicit export extern false fields float for friend goto if inline "
      "int kernels key long mutable namespace nbytes new none not operands operator or own private "
      "protected "
      "public rc register restrict return short signed sizeof static stream struct switch template "
      "this throw true try typedef typename union unsigned using virtual void volatile while "
      "workspace workspaces xor ";
  char word[C_NAME + 2];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(words, word) != NULL;
}

void c_name(const char *name, char out[C_NAME]) {
  snprintf(out, C_NAME, "%s%s", name, is_taken(name) ? "_" : "");
}
