/* wire.h -- messages between the tuner's processes: frames of numbers and bytes.
 *
 * Both ends are the same program (forked, never exec'ed), so a frame needs no version and no byte
 * order. A reader that runs past the end sets `failed` and returns zeros: check once, at the end.
 */
#ifndef TUNE_WIRE_H
#define TUNE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

void wire_put_u64(str *s, uint64_t v);
void wire_put_f64(str *s, double v);
void wire_put_bytes(str *s, const void *p, size_t n);
void wire_put_text(str *s, const char *text); /* NULL reads back as "" */
void wire_put_err(str *s, const err *e);

typedef struct wire_reader {
  const char *p;
  size_t n;
  bool failed;
} wire_reader;

uint64_t wire_get_u64(wire_reader *r);
double wire_get_f64(wire_reader *r);
/* borrowed from the frame */
const void *wire_get_bytes(wire_reader *r, size_t *n);
const char *wire_get_text(wire_reader *r);
void wire_get_err(wire_reader *r, err *e);

/* wire_send -- one frame, whole. err ERR_IO: the other end is gone */
int wire_send(int fd, const str *frame, err *e);
/* wire_receive -- the next frame into *frame (reset first); waits.
 *   err ERR_NOTFOUND  the other end closed;  ERR_IO  a frame is truncated */
int wire_receive(int fd, str *frame, err *e);

#endif
