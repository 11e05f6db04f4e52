/* compiler_option.h -- options of NVRTC that a kernel's text may carry.
 *
 * They stand in its first line, behind COMPILER_OPTIONS, so that they are part of whatever is made
 * of the text: its hash, the keys of images, stored and exported sources. Options that read or
 * write files are refused: a template is not trusted with them. The contents of a file of advanced
 * controls (of ptxas, since CUDA 13.0; CompileIQ makes them) stand in the text as well, in a line of
 * hexadecimal digits after the options. */
#ifndef BASE_COMPILER_OPTION_H
#define BASE_COMPILER_OPTION_H

#include <stdbool.h>

#include "err.h"
#include "str.h"

#define COMPILER_OPTIONS "// compiler options:"
#define COMPILER_CONTROLS "--apply-controls="
#define COMPILER_CONTROLS_LINE "// advanced controls "

/* compiler_option_check -- is it one of those that may stand there?
 *   in   option  "--use_fast_math", "-maxrregcount=64"
 *   err  ERR_USAGE  lists what there is */
int compiler_option_check(const char *option, err *e);

enum { COMPILER_OPTIONS_MAX = 32, COMPILER_OPTION_TEXT = 200 };

typedef struct compiler_options {
  int n;
  char text[COMPILER_OPTIONS_MAX][COMPILER_OPTION_TEXT];
} compiler_options;

/* compiler_options_of -- those in the first line of the text; none when it is another line
 *   err  ERR_USAGE  one of them may not stand there */
int compiler_options_of(const char *text, compiler_options *out, err *e);

/* compiler_options_relocatable -- is -rdc=true among those of the text? Then kernels may launch kernels,
 * and a cubin has to be linked */
bool compiler_options_relocatable(const char *text);

/* compiler_option_controls -- the file's name in --ptxas-options=--apply-controls=NAME; else NULL */
const char *compiler_option_controls(const char *option);
/* compiler_controls_add -- the line with a file's contents */
void compiler_controls_add(const char *name, const char *bytes, size_t n, str *text);
/* compiler_controls_of -- the contents from there, appended
 *   err  ERR_USAGE  the text has no such line */
int compiler_controls_of(const char *text, const char *name, str *bytes, err *e);

#endif
