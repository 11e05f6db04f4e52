#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void wire_put_u64(str *s, uint64_t v) {
  str_add_n(s, &v, sizeof v);
}

void wire_put_f64(str *s, double v) {
  str_add_n(s, &v, sizeof v);
}

void wire_put_bytes(str *s, const void *p, size_t n) {
  wire_put_u64(s, n);
  str_add_n(s, p, n);
}

void wire_put_text(str *s, const char *text) {
  text = text ? text : "";
  wire_put_bytes(s, text, strlen(text) + 1);
}

void wire_put_err(str *s, const err *e) {
  wire_put_u64(s, (uint64_t)(int64_t)e->code);
  wire_put_text(s, e->message);
  wire_put_text(s, e->place);
}

static const void *take(wire_reader *r, size_t n) {
  if (r->failed || n > r->n) {
    r->failed = true;
    return NULL;
  }
  const void *p = r->p;
  r->p += n;
  r->n -= n;
  return p;
}

/* Leaves *to alone at the end of the frame. */
static void take_into(wire_reader *r, void *to, size_t n) {
  const void *p = take(r, n);
  if (p) {
    memcpy(to, p, n);
  }
}

uint64_t wire_get_u64(wire_reader *r) {
  uint64_t v = 0;
  take_into(r, &v, sizeof v);
  return v;
}

double wire_get_f64(wire_reader *r) {
  double v = 0;
  take_into(r, &v, sizeof v);
  return v;
}

const void *wire_get_bytes(wire_reader *r, size_t *n) {
  *n = wire_get_u64(r);
  const void *p = take(r, *n);
  if (!p) {
    *n = 0;
  }
  return p;
}

const char *wire_get_text(wire_reader *r) {
  size_t n;
  const char *p = wire_get_bytes(r, &n);
  return p && n && !p[n - 1] ? p : "";
}

void wire_get_err(wire_reader *r, err *e) {
  int code = (int)(int64_t)wire_get_u64(r);
  const char *message = wire_get_text(r);
  const char *place = wire_get_text(r);
  err_clear(e);
  if (code) {
    err_at(e, code, place, "%s", message);
  }
}

static int send_all(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t w = send(fd, p, n, MSG_NOSIGNAL);
    if (w < 0 && errno != EINTR) {
      return -1;
    }
    if (w > 0) {
      p += w;
      n -= (size_t)w;
    }
  }
  return 0;
}

int wire_send(int fd, const str *frame, err *e) {
  uint64_t n = frame->n;
  if (frame->failed) {
    return err_set(e, ERR_NOMEM, "out of memory for a message to a worker process");
  }
  if (send_all(fd, (const char *)&n, sizeof n) || send_all(fd, str_text(frame), frame->n)) {
    return err_set(e, ERR_IO, "a worker process is gone: %s", strerror(errno));
  }
  return 0;
}

/* 0: all n bytes; 1: the other end closed before the first; -1: truncated. */
static int receive_all(int fd, char *p, size_t n) {
  size_t got = 0;
  while (got < n) {
    ssize_t r = recv(fd, p + got, n - got, 0);
    if (r == 0 || (r < 0 && errno == ECONNRESET)) {
      return got ? -1 : 1;
    }
    if (r < 0 && errno != EINTR) {
      return -1;
    }
    if (r > 0) {
      got += (size_t)r;
    }
  }
  return 0;
}

enum { FRAME_MAX = 1 << 30 };

int wire_receive(int fd, str *frame, err *e) {
  uint64_t n = 0;
  str_reset(frame);
  int rc = receive_all(fd, (char *)&n, sizeof n);
  if (rc > 0) {
    return err_set(e, ERR_NOTFOUND, "the other process has ended");
  }
  if (rc < 0 || n > FRAME_MAX) {
    return err_set(e, ERR_IO, "a message from a worker process is truncated");
  }
  char block[65536];
  for (size_t left = n; left;) {
    size_t part = left < sizeof block ? left : sizeof block;
    if (receive_all(fd, block, part)) {
      return err_set(e, ERR_IO, "a message from a worker process is truncated");
    }
    str_add_n(frame, block, part);
    left -= part;
  }
  return frame->failed ? err_set(e, ERR_NOMEM, "out of memory for a worker's message") : 0;
}
