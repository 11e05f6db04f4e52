/* gen_read.h -- from the table that a template file returns to a tmpl: the three files that do it.
 */
#ifndef GEN_READ_H
#define GEN_READ_H

#include "gen_reader.h"

/* gen_read -- everything, from the table on top of the stack; inside gen_box_run */
void gen_read(tmpl *t);
/* gen_read_space -- space, algorithms, default, base, derive, untuned, require (gen_read_space.c) */
void gen_read_space(gen_reader *r);
/* gen_read_choices -- the list here: all texts or all whole numbers, each once (there, too) */
gen_value *gen_read_choices(gen_reader *r, size_t *n);
/* gen_read_args, _call, _cases -- those keys of the table here, in gen_read_args.c */
void gen_read_args(gen_reader *r);
void gen_read_call(gen_reader *r);
void gen_read_cases(gen_reader *r);
/* gen_read_program -- workspace, stages and source of the table here, in gen_read_stages.c */
void gen_read_program(gen_reader *r, gen_program *p, unsigned kinds);
/* gen_read_reference -- the same, of the reference's table, which has nothing else */
void gen_read_reference(gen_reader *r);
/* gen_read_element -- the element type named by the text here, in gen_read_args.c */
gen_element gen_read_element(gen_reader *r, const char **text);
/* gen_read_included -- a gen_include: files beside the template, then the built-in ones
 * (gen_open.c) */
const char *gen_read_included(gen_box *b, void *t, const char *name, size_t *n, const char **path);

#endif
