/* compile_controls.h -- passes the advanced controls that a text holds to ptxas, which reads them from a
 * file. Private to compile.c. */
#ifndef RT_COMPILE_CONTROLS_H
#define RT_COMPILE_CONTROLS_H

#include "compiler_option.h"

typedef struct compile_controls {
  int fd;        /* of a file in memory; -1: none */
  char path[40]; /* for this process */
  char name[COMPILER_OPTION_TEXT];
  char option[COMPILER_OPTION_TEXT];
} compile_controls;

/* compile_controls_open -- in  text, option  that text's --ptxas-options=--apply-controls=NAME
 *   err  ERR_USAGE  the text does not hold it; a second one */
int compile_controls_open(compile_controls *c, const char *text, const char *option, err *e);
void compile_controls_close(compile_controls *c);
/* compile_controls_name -- put the name that the text gives the file into messages of ptxas */
void compile_controls_name(const compile_controls *c, str *log);

#endif
