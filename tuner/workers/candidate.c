#include "candidate.h"

#include <stdlib.h>

void candidate_free(candidate *c) {
  if (c) {
    str_clear(&c->source);
    str_clear(&c->image);
    free(c);
  }
}

int candidate_new(gen_instance *g, const rt_compiler *compiler, const compile_setting *how,
                  size_t point, const gen_config *config, candidate **out, err *e) {
  candidate *c = calloc(1, sizeof *c);
  TRY(c ? 0 : err_nomem(e));
  c->point = point;
  c->config = *config;
  int rc = gen_source_make(g, config, &c->source, &c->body, e);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  rt_source s = {.text = str_text(&c->source),
                 .body = c->body,
                 .arch = how->arch,
                 .lineinfo = how->lineinfo,
                 .registers = how->registers};
  rt_image_key(compiler, &s, c->key);
  *out = c;
  return 0;
}

int candidate_from_db(candidate *c, db *d, rt_format format, bool *found, err *e) {
  auto_arena a = {0};
  db_image row;
  err miss = {0};
  int rc = db_image_get(d, c->key, &a, &row, &miss);
  *found = false;
  if (rc == ERR_NOTFOUND) {
    rc = 0;
  } else if (rc) {
    rc = err_copy(e, rc, &miss);
  } else {
    const void *bytes = format == RT_CUBIN ? row.cubin : row.ptx;
    size_t n = format == RT_CUBIN ? row.n_cubin : row.n_ptx;
    str_add_n(&c->image, bytes, n);
    c->regs = row.regs;
    c->spill = row.spill;
    c->smem = row.smem;
    *found = n > 0;
  }
  return rc;
}

int candidate_built(candidate *c, db *d, const compiled *built, const char *arch, int nvrtc,
                    rt_format format, bool whole, err *e) {
  bool cubin = format == RT_CUBIN;
  db_image row = {.key = c->key,
                  .arch = arch,
                  .source = whole ? str_text(&c->source) : NULL,
                  .log = built->log,
                  .nvrtc = nvrtc,
                  .regs = built->regs,
                  .spill = built->spill,
                  .smem = built->smem,
                  .cubin = cubin ? built->cubin : NULL,
                  .n_cubin = cubin ? built->n_cubin : 0,
                  .ptx = cubin ? NULL : built->ptx,
                  .n_ptx = cubin ? 0 : built->n_ptx,
                  .sec = built->sec};
  str_add_n(&c->image, cubin ? built->cubin : built->ptx, cubin ? built->n_cubin : built->n_ptx);
  c->regs = built->regs;
  c->spill = built->spill;
  c->smem = built->smem;
  return db_image_put(d, &row, e);
}

void candidate_push(candidate_queue *q, candidate *c) {
  c->next = NULL;
  if (q->last) {
    q->last->next = c;
  } else {
    q->first = c;
  }
  q->last = c;
  q->n++;
}

candidate *candidate_pop(candidate_queue *q) {
  candidate *c = q->first;
  if (c) {
    q->first = c->next;
    q->last = q->first ? q->last : NULL;
    q->n--;
  }
  return c;
}

void candidate_drop(candidate_queue *q) {
  for (candidate *c; (c = candidate_pop(q));) {
    candidate_free(c);
  }
}
