/* run_while.c -- loops that run until a word on the device is 0, at most `times` times.
 *
 *   host   an iteration, then the word is copied to the host, which waits for it
 *   ahead  the host launches `batch` iterations before it looks at the word that the batch before left;
 *          iterations behind the last find 0, and their kernels return at once
 *   graph  a WHILE node: kernels set its handle, in turn with the iterations (while_loop.cuh)
 *
 * Loops of graphs, and those within a kernel, end without the host: what reaches its bound sets a flag in
 * memory that the host reads before the next launch, and after a check. */
#include <stdlib.h>
#include <string.h>

#include "loaded.h"

/* ---- what reads words ------------------------------------------------------------------------ */

/* Words on the host with an event for each, of one launch at a time. */
struct loaded_reader {
  loaded_reader *next;
  uint32_t *words; /* pinned where the device has such memory */
  rt_event *copied[2];
};

static void free_reader(rt_device *d, loaded_reader *r) {
  for (int i = 0; i < 2; i++) {
    if (r->copied[i]) {
      d->ops->event_free(d, r->copied[i]);
    }
  }
  d->ops->host_alloc ? d->ops->host_free(d, r->words) : free(r->words);
  free(r);
}

static int alloc_words(rt_device *d, loaded_reader *r, err *e) {
  const size_t nbytes = 2 * sizeof *r->words;
  if (d->ops->host_alloc) {
    return d->ops->host_alloc(d, nbytes, (void **)&r->words, e);
  }
  r->words = malloc(nbytes);
  return r->words ? 0 : err_nomem(e);
}

static int new_reader(rt_device *d, loaded_reader **out, err *e) {
  loaded_reader *r = calloc(1, sizeof *r);
  if (!r) {
    return err_nomem(e);
  }
  int rc = alloc_words(d, r, e);
  for (int i = 0; i < 2 && !rc; i++) {
    rc = d->ops->event_new(d, &r->copied[i], e);
  }
  if (rc) {
    free_reader(d, r);
    return rc;
  }
  *out = r;
  return 0;
}

static int take_reader(rt_loaded *l, loaded_reader **out, err *e) {
  pthread_mutex_lock(&l->whiles.turn);
  loaded_reader *r = l->whiles.readers;
  l->whiles.readers = r ? r->next : NULL;
  pthread_mutex_unlock(&l->whiles.turn);
  *out = r;
  return r ? 0 : new_reader(l->d, out, e);
}

static void give_reader(rt_loaded *l, loaded_reader *r) {
  pthread_mutex_lock(&l->whiles.turn);
  r->next = l->whiles.readers;
  l->whiles.readers = r;
  pthread_mutex_unlock(&l->whiles.turn);
}

/* Into the k-th word, in the stream's order. */
static int copy_word(rt_loaded *l, loaded_reader *r, int k, rt_ptr at, rt_stream s, err *e) {
  const rt_device_ops *ops = l->d->ops;
  TRY((ops->host_alloc && ops->download ? ops->download : ops->copy_out)(l->d, &r->words[k], at,
                                                                         sizeof *r->words, s, e));
  return ops->event_record(l->d, r->copied[k], s, e);
}

static int wait_for_word(rt_loaded *l, loaded_reader *r, int k, uint32_t *word, err *e) {
  const rt_device_ops *ops = l->d->ops;
  TRY(ops->event_sync ? ops->event_sync(l->d, r->copied[k], e) : 0);
  *word = *(volatile uint32_t *)&r->words[k];
  return 0;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int past_bound(const loaded_loop *loop, err *e) {
  return err_set(
      e, ERR_LAUNCH,
      "a loop has run for %llu iterations, its 'max', and the first element of %s is still not "
      "0: the results are not complete",
      (unsigned long long)loop->times, loop->word_name);
}

/* The flag, and 0 in its place. */
static int read_flag(rt_loaded *l, uint32_t *flag, err *e) {
  loaded_whiles *w = &l->whiles;
  *flag = 0;
  if (w->host_flag) {
    *flag = *(volatile uint32_t *)w->host_flag;
    if (*flag) {
      *(volatile uint32_t *)w->host_flag = 0;
    }
  } else if (w->flag) {
    TRY(l->d->ops->copy_out(l->d, flag, w->flag, sizeof *flag, NULL, e));
    TRY(*flag ? l->d->ops->set(l->d, w->flag, 0, sizeof *flag, NULL, e) : 0);
  }
  return 0;
}

int rt_loaded_finished(rt_loaded *l, err *e) {
  uint32_t flag;
  TRY(read_flag(l, &flag, e));
  return flag
             ? err_set(
                   e, ERR_LAUNCH,
                   "a loop of an earlier launch reached its bound before the first element of %s was "
                   "0: its results are not complete",
                   l->whiles.word_name)
             : 0;
}

/* ---- iterations ------------------------------------------------------------------------------ */

static int launch_body(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, rt_stream s,
                       const void *const *args, rt_ptr workspace, err *e) {
  TRY(loaded_mark(l, x, loaded_start_of(l, loop), s, e));
  for (size_t k = loop->graph; k < loop->n; k++) {
    TRY(loaded_launch_one(l, x, loop->first + k, s, args, workspace, e));
  }
  return loaded_join(l, x, loop->last[0], s, e);
}

typedef struct driven { /* a launch of a loop by the host */
  rt_loaded *l;
  loaded_streams *x;
  const loaded_loop *loop;
  rt_stream s;
  const void *const *args;
  rt_ptr workspace;
  loaded_reader *reader;
} driven;

static rt_ptr word_of(const driven *d) {
  return d->workspace + d->l->offsets[d->loop->word];
}

static int launch_some(driven *d, uint64_t n, err *e) {
  for (uint64_t i = 0; i < n; i++) {
    TRY(launch_body(d->l, d->x, d->loop, d->s, d->args, d->workspace, e));
  }
  return 0;
}

/* One batch of iterations is under way while the host looks at the word that the one before left;
 * batch 0: it looks before each iteration. */
static int drive(driven *d, err *e) {
  const loaded_loop *loop = d->loop;
  const uint64_t step = loop->batch ? loop->batch : 1;
  uint64_t launched = 0;
  uint32_t word = 1;
  for (int k = 0;; k ^= 1) {
    const uint64_t left = loop->times - launched, n = left < step ? left : step;
    TRY(copy_word(d->l, d->reader, k, word_of(d), d->s, e));
    TRY(loop->batch ? launch_some(d, n, e) : 0);
    TRY(wait_for_word(d->l, d->reader, k, &word, e));
    if (!word) {
      return 0;
    }
    if (!left) {
      return past_bound(loop, e);
    }
    TRY(loop->batch ? 0 : launch_some(d, n, e));
    launched += n;
  }
}

int loaded_while_drive(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, rt_stream s,
                       const void *const *args, rt_ptr workspace, err *e) {
  const rt_device_ops *ops = l->d->ops;
  driven d = {l, x, loop, s, args, workspace, NULL};
  if (ops->capturing && ops->capturing(l->d, s)) {
    return err_set(
        e, ERR_USAGE,
        "this launch waits for the device, which a stream that is being captured cannot: ask "
        "for blocking=no");
  }
  TRY(take_reader(l, &d.reader, e));
  const int rc = drive(&d, e);
  give_reader(l, d.reader);
  return rc;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct recording {
  rt_loaded *l;
  const loaded_loop *loop;
  const void *const *args;
  rt_ptr workspace;
  uint64_t bodies;
} recording;

static void set_handle(rt_loaded *l, const loaded_loop *loop, uint64_t handle) {
  for (size_t i = loop->first; i < loop->first + loop->n; i++) {
    for (size_t k = 0; k < l->stages[i].n_operands; k++) {
      operand *o = &l->stages[i].operands[k];
      if (o->from == LOOP) {
        ((gen_loop_handle *)(uintptr_t)o->constant)->handle = handle;
      }
    }
  }
}

static int record_part(void *self, rt_stream s, uint64_t handle, bool body, err *e) {
  recording *r = self;
  set_handle(r->l, r->loop, handle);
  if (!body) {
    return loaded_launch_one(r->l, NULL, r->loop->first, s, r->args, r->workspace, e);
  }
  return r->bodies++ > r->loop->times
             ? past_bound(r->loop,
                          e) /* of a device that runs iterations in place of recording them */
             : launch_body(r->l, NULL, r->loop, s, r->args, r->workspace, e);
}

int loaded_while_record(rt_loaded *l, const loaded_loop *loop, rt_stream s, const void *const *args,
                        rt_ptr workspace, err *e) {
  const rt_device_ops *ops = l->d->ops;
  recording r = {l, loop, args, workspace, 0};
  if (!ops->while_add) {
    return err_set(
        e, ERR_USAGE,
        "loops of graphs need an NVIDIA driver for CUDA 12.4 or later, and a library built with "
        "CUDA 13: install them, or choose another driver of the loop");
  }
  return ops->while_add(l->d, s, record_part, &r, e);
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int loaded_while_operand(rt_loaded *l, const gen_operand *from, operand *out, err *e) {
  loaded_whiles *w = &l->whiles;
  const rt_device_ops *ops = l->d->ops;
  gen_loop_handle *h = arena_new(&l->memory, sizeof *h);
  if (!h) {
    return err_nomem(e);
  }
  if (!w->flag && ops->host_alloc) {
    TRY(ops->host_alloc(l->d, sizeof *w->host_flag, (void **)&w->host_flag, e));
    *w->host_flag = 0;
    w->flag = (rt_ptr)(uintptr_t)w->host_flag;
  } else if (!w->flag) {
    TRY(ops->alloc(l->d, sizeof *w->host_flag, &w->flag, e));
    TRY(ops->set(l->d, w->flag, 0, sizeof *w->host_flag, NULL, e));
  }
  w->word_name = w->word_name ? w->word_name : arena_text(&l->memory, from->text);
  *h = (gen_loop_handle){.unfinished = w->flag};
  *out = (operand){.from = LOOP, .constant = h};
  return w->word_name ? 0 : err_nomem(e);
}

void loaded_whiles_free(rt_loaded *l) {
  loaded_whiles *w = &l->whiles;
  for (loaded_reader *r = w->readers, *next; r; r = next) {
    next = r->next;
    free_reader(l->d, r);
  }
  w->host_flag ? l->d->ops->host_free(l->d, w->host_flag) : l->d->ops->release(l->d, w->flag);
  pthread_mutex_destroy(&w->turn);
}
