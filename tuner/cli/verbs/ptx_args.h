/* ptx_args.h -- what run-ptx passes to a kernel and takes from it: parameters, variables, dumps.
 *
 *   parameter  buf:TYPE:COUNT[:random|zero|index|none|FILE]  TYPE:VALUE  bytes:HEX  struct:FILE
 *   variable   NAME=TYPE:VALUE,VALUE,...  NAME=TYPE:FILE  NAME=bytes:HEX  NAME=struct:FILE
 *   dump       NUMBER=FILE, a buffer by its place from 0;  NAME=FILE, a variable of the module
 * Files hold raw bytes or are NumPy's (.npy). */
#ifndef PTX_ARGS_H
#define PTX_ARGS_H

#include "arena.h"
#include "device.h"

enum { PTX_ARGS_MAX = 64 };

typedef struct ptx_arg {
  dtype type; /* u8: of bytes */
  bool is_buffer;
  int64_t count; /* elements */
  size_t nbytes; /* of the parameter itself */
  rt_ptr at;     /* buffers: the parameter's value */
  void *host;    /* buffers: contents; else the parameter's value */
} ptx_arg;

typedef struct ptx_args {
  arena *memory;
  rt_device *d;
  rt_module *m;
  ptx_arg a[PTX_ARGS_MAX];
  size_t n;
} ptx_args;

/* ptx_args_parse -- words separated by blanks, NULL: none; allocates and fills buffers */
int ptx_args_parse(ptx_args *p, const char *words, err *e);
/* ptx_set_variables -- from words; err ERR_NOTFOUND: no such variable; ERR_USAGE: another size */
int ptx_set_variables(ptx_args *p, const char *words, err *e);
/* ptx_fetch -- copy buffers back to `host` */
int ptx_fetch(ptx_args *p, err *e);
/* ptx_check_dumps -- err ERR_USAGE, ERR_NOTFOUND: a word names nothing that can be written */
int ptx_check_dumps(ptx_args *p, const char *words, err *e);
/* ptx_dump -- write files, from what ptx_fetch copied */
int ptx_dump(ptx_args *p, const char *words, err *e);

#endif
