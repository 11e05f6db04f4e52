/* emu_streams.h -- which commands of several streams wait for each other, and what they touch.
 *
 * The device runs each command when it is issued. Streams made by stream_beside are compared with each
 * other and with all other streams, which count as one. A vector clock for each stream tells which
 * commands it waits for; events carry clocks. While streams run beside each other, each command keeps
 * a bit for each byte that it reads, writes or updates atomically; two commands neither of which waits
 * for the other may not touch a byte that one of them writes. */
#ifndef EMU_STREAMS_H
#define EMU_STREAMS_H

#include "emu_access_kind.h"
#include "emu_check.h"
#include "emu_heap.h"

enum { EMU_STREAMS = 64 };

typedef struct emu_clocks {
  uint64_t of[EMU_STREAMS];
} emu_clocks;

typedef struct emu_touched { /* bits by byte of the heap, by emu_access */
  uint64_t *bits[3];
  uint64_t n_bytes;
} emu_touched;

typedef struct emu_command {
  struct emu_command *next;
  int stream;
  uint64_t at; /* its number in the stream */
  char what[170];
  emu_touched touched;
} emu_command;

typedef struct emu_streams {
  void *beside[EMU_STREAMS]; /* the first stands for all others, and is NULL */
  emu_clocks clocks[EMU_STREAMS];
  /* those that the first stream does not wait for yet, and its own beside them */
  emu_command *open;
} emu_streams;

/* emu_stream_open -- its identity, NULL: there are too many, or no memory */
void *emu_stream_open(emu_streams *x);
/* emu_stream_close -- false: it was not made by emu_stream_open */
bool emu_stream_close(emu_streams *x, const void *s);
void emu_stream_record(const emu_streams *x, const void *s, emu_clocks *event);
void emu_stream_wait(emu_streams *x, const void *s, const emu_clocks *event);
/* emu_command_begin -- NULL: no stream runs beside another, or no memory
 *   in  what  "kernel scale", "a copy" */
emu_command *emu_command_begin(emu_streams *x, const emu_heap *h, const void *s, const char *what);
/* emu_touch -- n bytes at an address; several host threads may */
void emu_touch(emu_touched *t, uint64_t address, uint64_t n, emu_access access);
/* emu_command_end -- compare it with those before it; command may be NULL
 *   err  ERR_LAUNCH  both touch a byte; *found says so too */
int emu_command_end(emu_streams *x, emu_heap *h, emu_command *command, rt_emu_finding *found,
                    err *e);
void emu_streams_clear(emu_streams *x);

#endif
