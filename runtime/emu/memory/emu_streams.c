/* emu_streams.c -- see emu_streams.h. */
#include "emu_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- streams and events ---------------------------------------------------------------------- */

static int index_of(const emu_streams *x, const void *s) {
  for (int i = 1; i < EMU_STREAMS && s; i++) {
    if (x->beside[i] == s) {
      return i;
    }
  }
  return 0;
}

void *emu_stream_open(emu_streams *x) {
  for (int i = 1; i < EMU_STREAMS; i++) {
    if (!x->beside[i]) {
      return x->beside[i] = malloc(1); /* only an identity */
    }
  }
  return NULL;
}

bool emu_stream_close(emu_streams *x, const void *s) {
  const int i = index_of(x, s);
  if (i) {
    free(x->beside[i]);
    x->beside[i] = NULL;
  }
  return i;
}

static void join(emu_clocks *to, const emu_clocks *from) {
  for (int i = 0; i < EMU_STREAMS; i++) {
    to->of[i] = from->of[i] > to->of[i] ? from->of[i] : to->of[i];
  }
}

static void free_command(emu_command *c) {
  for (int i = 0; i < 3; i++) {
    free(c->touched.bits[i]);
  }
  free(c);
}

static void drop_all(emu_streams *x) {
  while (x->open) {
    emu_command *c = x->open;
    x->open = c->next;
    free_command(c);
  }
}

static bool waits_for(const emu_clocks *c, const emu_command *other) {
  return c->of[other->stream] >= other->at;
}

/* Streams that begin later wait for all that the first stream has waited for. */
static void drop_joined(emu_streams *x) {
  for (const emu_command *c = x->open; c; c = c->next) {
    if (!waits_for(&x->clocks[0], c)) {
      return;
    }
  }
  drop_all(x);
}

void emu_stream_record(const emu_streams *x, const void *s, emu_clocks *event) {
  *event = x->clocks[index_of(x, s)];
}

void emu_stream_wait(emu_streams *x, const void *s, const emu_clocks *event) {
  const int i = index_of(x, s);
  join(&x->clocks[i], event);
  if (!i) {
    drop_joined(x);
  }
}

void emu_streams_clear(emu_streams *x) {
  drop_all(x);
  for (int i = 1; i < EMU_STREAMS; i++) {
    free(x->beside[i]);
  }
}

/* ---- commands -------------------------------------------------------------------------------- */

emu_command *emu_command_begin(emu_streams *x, const emu_heap *h, const void *s, const char *what) {
  const int i = index_of(x, s);
  x->clocks[i].of[i]++;
  emu_command *c = i || x->open ? calloc(1, sizeof *c) : NULL;
  if (!c) {
    return NULL;
  }
  c->stream = i;
  c->at = x->clocks[i].of[i];
  c->touched.n_bytes = h->top;
  snprintf(c->what, sizeof c->what, "%s", what);
  for (int k = 0; k < 3; k++) {
    c->touched.bits[k] = calloc(h->top / 64 + 1, sizeof **c->touched.bits);
    if (!c->touched.bits[k]) {
      free_command(c);
      return NULL;
    }
  }
  return c;
}

void emu_touch(emu_touched *t, uint64_t address, uint64_t n, emu_access access) {
  const uint64_t from = address - EMU_GLOBAL_BASE;
  for (uint64_t i = from; i < from + n && i < t->n_bytes;) {
    const uint64_t in = i % 64, left = from + n - i, some = left < 64 - in ? left : 64 - in;
    const uint64_t bits = (some == 64 ? UINT64_MAX : (UINT64_C(1) << some) - 1) << in;
    __atomic_fetch_or(&t->bits[access][i / 64], bits, __ATOMIC_RELAXED);
    i += some;
  }
}

/* Bytes that both touch and one of them writes, 64 at a time; atomic updates do not hinder each
 * other. */
static uint64_t clash(const emu_touched *a, const emu_touched *b, uint64_t i) {
  const uint64_t any_a =
      a->bits[ACCESS_READ][i] | a->bits[ACCESS_WRITE][i] | a->bits[ACCESS_ATOMIC][i];
  const uint64_t any_b =
      b->bits[ACCESS_READ][i] | b->bits[ACCESS_WRITE][i] | b->bits[ACCESS_ATOMIC][i];
  return (a->bits[ACCESS_WRITE][i] & any_b) | (b->bits[ACCESS_WRITE][i] & any_a) |
         (a->bits[ACCESS_ATOMIC][i] & b->bits[ACCESS_READ][i]) |
         (b->bits[ACCESS_ATOMIC][i] & a->bits[ACCESS_READ][i]);
}

static bool find_clash(const emu_command *a, const emu_command *b, uint64_t *offset) {
  const uint64_t n =
      a->touched.n_bytes < b->touched.n_bytes ? a->touched.n_bytes : b->touched.n_bytes;
  for (uint64_t i = 0; i * 64 < n; i++) {
    const uint64_t both = clash(&a->touched, &b->touched, i);
    if (both) {
      *offset = i * 64 + (uint64_t)__builtin_ctzll(both);
      return true;
    }
  }
  return false;
}

static bool writes(const emu_command *c, uint64_t offset) {
  return (c->touched.bits[ACCESS_WRITE][offset / 64] |
          c->touched.bits[ACCESS_ATOMIC][offset / 64]) >>
             (offset % 64) &
         1;
}

static int report(emu_heap *h, const emu_command *now, const emu_command *before, uint64_t offset,
                  rt_emu_finding *found, err *e) {
  auto_str text = {0};
  emu_heap_describe(h, EMU_GLOBAL_BASE + offset, &text);
  found->check = EMU_STREAM_RACE;
  snprintf(found->message, sizeof found->message,
           "%s on stream %d %s what %s on stream %d %s, and neither waits for the other: %s",
           now->what, now->stream, writes(now, offset) ? "writes" : "reads", before->what,
           before->stream, writes(before, offset) ? "writes" : "reads", str_text(&text));
  return err_set(e, ERR_LAUNCH, "%s", found->message);
}

int emu_command_end(emu_streams *x, emu_heap *h, emu_command *now, rt_emu_finding *found, err *e) {
  int rc = 0;
  if (!now) {
    return 0;
  }
  for (const emu_command *c = x->open; c && !rc; c = c->next) {
    uint64_t offset;
    if (!waits_for(&x->clocks[now->stream], c) && find_clash(now, c, &offset)) {
      rc = report(h, now, c, offset, found, e);
    }
  }
  now->next = x->open;
  x->open = now;
  if (rc) { /* later launches begin anew */
    drop_all(x);
    for (int i = 0; i < EMU_STREAMS; i++) {
      join(&x->clocks[0], &x->clocks[i]);
    }
  }
  return rc;
}
