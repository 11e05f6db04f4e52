/* capture_list.h -- the list of problems that programs requested: a file that several contexts and
 * processes add to. */
#ifndef CAPTURE_LIST_H
#define CAPTURE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

typedef struct capture_line { /* "PROBLEM  # 17 calls, data PATH" */
  char *problem;
  char *data; /* path; NULL: none */
  uint64_t calls;
} capture_line;

typedef struct capture_lines { /* all zero: empty */
  capture_line *list;
  size_t n, room;
  uint32_t *places; /* by the hash of the problem: 1 + its place in the list; 0: free */
  size_t n_places;
  arena memory;
  bool failed; /* out of memory: incomplete */
} capture_lines;

/* capture_lines_add -- count calls of a problem; newer data replace older
 *   in  data  n_data 0: none */
void capture_lines_add(capture_lines *l, const char *problem, size_t n, uint64_t calls,
                       const char *data, size_t n_data);
void capture_lines_clear(capture_lines *l);
/* capture_list_add -- add these to the file; false: it could not be read or written */
bool capture_list_add(const char *path, const capture_lines *more);

#endif
