/* t1_job.h -- a T1 file while it becomes the lines of a plain CUDA file: of t1.c and its parts. */
#ifndef T1_JOB_H
#define T1_JOB_H

#include <jansson.h>

#include "gen.h"
#include "python.h"

typedef struct t1_job {
  const char *path;
  arena *a;
  err *e;
  const json_t *kernel; /* KernelSpecification */
  json_t *config;       /* BenchmarkConfig, numbers by name; NULL: none */
  const gen_template *space;
  gen_instance *g; /* of it */
  python_name names[GEN_MAX_PARAMS];
  size_t n_names;
  str kernel_text;
  bool constants_are_passed; /* the kernel has parameters for them, besides their variables */
  const char **lines;
  size_t n_lines;
} t1_job;

#define BAD(j, ...) err_at((j)->e, ERR_USAGE, (j)->path, __VA_ARGS__)

/* t1_text -- a member of an object, or `other` */
const char *t1_text(const json_t *object, const char *key, const char *other);
int t1_add_line(t1_job *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* t1_find_param -- the parameter whose name is these n characters; NULL: none */
const gen_param *t1_find_param(const t1_job *j, const char *name, size_t n);
/* t1_number -- a number, or Python that gives one, as the lines have it */
int t1_number(t1_job *j, const char *what, const json_t *value, const char **out);

/* t1_add_arguments -- the lines of the kernel's arguments and constants */
int t1_add_arguments(t1_job *j);

#endif
