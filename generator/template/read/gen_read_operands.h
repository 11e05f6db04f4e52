/* gen_read_operands.h -- what the launches of a stage take: arguments, workspaces, values, tensor maps,
 * textures. */
#ifndef GEN_READ_OPERANDS_H
#define GEN_READ_OPERANDS_H

#include "gen_algorithms.h"
#include "gen_read.h"

enum { GEN_MAX_OPERANDS = 64 };

typedef struct gen_scope { /* what the stages being read may use */
  gen_reader *r;
  gen_program *program;
  unsigned kinds;
  const gen_algorithm *of; /* whose they are */
  gen_stage_loop *loop;    /* in which they stand; NULL: in none */
  const char *loop_when;   /* its condition; NULL: always */
  bool in_check;           /* the stages are a check's */
  bool is_check;           /* the stage is a check, which has other keys besides */
  bool in_prepare;         /* the stages are the preparation's */
} gen_scope;

/* gen_has_entry -- has the table at the top this key? */
bool gen_has_entry(gen_reader *r, const char *key);
bool gen_workspace_find(const gen_program *p, const char *name, uint32_t *index);
/* gen_operand_find -- an argument or workspace by its name */
gen_stage_operand gen_operand_find(gen_scope *s, const char *name);
/* gen_operand_element -- the type of its elements, of an argument or a buffer */
gen_element gen_operand_element(const gen_scope *s, const gen_stage_operand *o);
/* gen_stages_read -- the key `stages`, behind those that are there (gen_read_stages.c) */
void gen_stages_read(gen_scope *s);
/* gen_count_stage_read -- { count = "width" }, a stage of a preparation (gen_read_prepare.c); false: it is
 * another one */
bool gen_count_stage_read(gen_scope *s, gen_stage *stage);
/* gen_operands_read -- the stage's key `args` */
void gen_operands_read(gen_scope *s, gen_stage *stage);
/* gen_memory_read -- a stage that sets or copies memory (gen_read_memory.c); false: it is another one */
bool gen_memory_read(gen_scope *s, gen_stage *stage);
/* gen_loop_read -- the key `loop` of a stage (gen_read_loop.c) */
gen_stage_loop *gen_loop_read(gen_scope *s);

#endif
