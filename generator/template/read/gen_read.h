/* gen_read.h -- from the table that a template file returns to a tmpl: the three files that do it.
 */
#ifndef GEN_READ_H
#define GEN_READ_H

#include "gen_reader.h"

/* gen_read -- everything, from the table on top of the stack; inside gen_box_run */
void gen_read(tmpl *t);
/* gen_read_space -- space, algorithms, default, base, textbook, untuned, require (gen_read_space.c) */
void gen_read_space(gen_reader *r);
/* gen_read_derive -- derived values (gen_read_derive.c) */
void gen_read_derive(gen_reader *r);
/* gen_read_choices -- the list here: all texts or all whole numbers, each once (gen_read_space.c) */
gen_value *gen_read_choices(gen_reader *r, size_t *n);
/* gen_read_args, _call, _cases -- those keys of the table here, in gen_read_args.c */
void gen_read_args(gen_reader *r);
void gen_read_call(gen_reader *r);
void gen_read_cases(gen_reader *r);
/* gen_read_valid -- how much of an output counts, and its order, in gen_read_valid.c; after all
 * arguments */
void gen_read_valid(gen_reader *r, const gen_arg *arg, gen_arg_rule *rule);
/* gen_read_fill -- the fill here, of an argument (gen_read_fill.c) */
void gen_read_fill(gen_reader *r, gen_arg_rule *rule);
/* gen_read_program -- workspace, stages and source of the table here, in gen_read_stages.c */
void gen_read_program(gen_reader *r, gen_program *p, unsigned kinds);
/* gen_read_prepare -- the key `prepare`, of the template or of its algorithms (gen_read_prepare.c) */
void gen_read_prepare(gen_reader *r);
/* gen_read_source -- the key of that name, in gen_read_source.c */
void gen_read_source(gen_reader *r, const gen_algorithm *of, gen_device_code *code);
/* gen_read_reference -- the same, of the reference's table, which has nothing else */
void gen_read_reference(gen_reader *r);
/* gen_read_apart -- the same of a program that reads no parameters, of the table here */
void gen_read_apart(gen_reader *r, gen_program *p);
/* gen_read_feature -- the keys that make a field one of a feature; gen_read_features -- the key `features`,
 * after `prepare` (gen_read_features.c) */
void gen_read_feature(gen_reader *r, gen_field *f, gen_field_rule *rule);
void gen_read_features(gen_reader *r);
/* gen_read_check -- workspaces, behind those of p, and stages of the check here, in gen_read_stages.c */
void gen_read_check(gen_reader *r, gen_program *p, unsigned kinds);
/* gen_read_checks -- the key `checks`, after the reference (gen_read_checks.c) */
void gen_read_checks(gen_reader *r);
/* gen_read_element -- the element type named by the text here, in gen_read_args.c */
gen_element gen_read_element(gen_reader *r, const char **text);
/* Of gen_included.c: gen_read_included -- a gen_include: files beside the template, then the built-in
 * ones */
const char *gen_read_included(gen_box *b, void *t, const char *name, size_t *n, const char **path);
/* gen_find_included -- what was read before, by the name that the template has for it; or NULL */
const gen_included *gen_find_included(const tmpl *t, const char *name);
/* gen_include_bytes -- read a file beside the template, as it is, into the list of included files,
 * which the template's digest covers
 *   err  ERR_NOTFOUND, ERR_TEMPLATE, ERR_IO */
int gen_include_bytes(tmpl *t, const char *name, err *e);
/* gen_find_builtin -- a built-in file by its name; or NULL */
const gen_file *gen_find_builtin(const char *name);
/* gen_read_trusted -- a file; what a template holds runs on the GPU, so others may not write it */
int gen_read_trusted(bool trust, const char *path, str *text, err *e);

/* Advanced controls of ptxas (gen_controls.c): gen_read_controls -- the files that the option of
 * the reader's place may name */
void gen_read_controls(gen_reader *r, const gen_flag *f);
/* gen_write_controls -- in place of the option's value, a name, that of its file; and the contents
 *   in  from  of the option in *flags */
void gen_write_controls(gen_box *b, const tmpl *t, const gen_flag *f, size_t from, str *flags,
                        str *controls);

#endif
