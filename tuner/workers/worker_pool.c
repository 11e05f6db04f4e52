#include "worker_pool.h"

#include "threads.h"

int worker_pool_open(worker_pool *p, const compile_setting *setting, int n, err *e) {
  const size_t wanted = n > 0 ? (size_t)n : threads_cores();
  *p = (worker_pool){.setting = *setting,
                     .n = wanted < WORKER_POOL_MOST ? wanted : WORKER_POOL_MOST};
  for (size_t i = 0; i < p->n; i++) {
    p->workers[i] = (worker){.run = compile_worker_main, .setting = &p->setting};
    TRY(worker_start(&p->workers[i], e));
  }
  return 0;
}

void worker_pool_close(worker_pool *p) {
  for (size_t i = 0; i < p->n; i++) {
    worker_stop(&p->workers[i]);
  }
  p->n = 0;
}

int worker_pool_start(worker_pool *p, size_t i, const str *source, size_t body, void *job, err *e) {
  worker *w = &p->workers[i];
  auto_str frame = {0};
  p->jobs[i] = job;
  TRY(w->pid ? 0 : worker_start(w, e));
  compile_worker_request(&frame, str_text(source), body);
  return worker_ask(w, &frame, e);
}

int worker_pool_take(worker_pool *p, size_t i, str *frame, compiled *out, err *e) {
  auto_str how = {0};
  p->jobs[i] = NULL;
  *out = (compiled){0};
  out->died = worker_answer(&p->workers[i], frame, &how, NULL) != 0;
  if (out->died) {
    err_set(&out->why, ERR_COMPILE, "the compiler died: %s", str_text(&how));
  }
  return out->died ? 0 : compile_worker_result(frame, out, e);
}

void *worker_pool_kill(worker_pool *p, size_t i) {
  void *job = p->jobs[i];
  p->jobs[i] = NULL;
  if (job || p->workers[i].busy) {
    worker_stop(&p->workers[i]);
  }
  return job;
}

int worker_pool_compile(worker_pool *p, const str *source, size_t body, double timeout_sec,
                        str *frame, compiled *out, err *e) {
  TRY(worker_pool_start(p, 0, source, body, p, e));
  struct pollfd fd = {.fd = p->workers[0].fd, .events = POLLIN};
  if (poll(&fd, 1, (int)(1000 * timeout_sec)) <= 0) {
    worker_pool_kill(p, 0);
    return err_set(e, ERR_COMPILE, "compiling took longer than %.0f s", timeout_sec);
  }
  TRY(worker_pool_take(p, 0, frame, out, e));
  return out->why.code ? err_set(e, ERR_COMPILE, "%s", out->why.message) : 0;
}

size_t worker_pool_busy(const worker_pool *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    n += p->jobs[i] != NULL;
  }
  return n;
}

size_t worker_pool_poll(const worker_pool *p, struct pollfd *fds, size_t *which, size_t n) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->jobs[i]) {
      which[n] = i;
      fds[n++] = (struct pollfd){.fd = p->workers[i].fd, .events = POLLIN};
    }
  }
  return n;
}
