#define _GNU_SOURCE
#include "compile_worker.h"

#include <unistd.h>

/* Below the measuring process's priority: while that waits for a core, the times of short kernels
 * are the host's. */
enum { YIELD = 10 };

/* The most of any kernel. */
static void summarise(const rt_image *image, compiled *out) {
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    int64_t spill = k->spill_stores + k->spill_loads;
    out->regs = k->regs > out->regs ? k->regs : out->regs;
    out->spill = spill > out->spill ? spill : out->spill;
    out->smem = k->smem_static > out->smem ? k->smem_static : out->smem;
  }
}

void compile_worker_request(str *frame, const char *text, size_t body) {
  wire_put_text(frame, text);
  wire_put_u64(frame, body);
}

static void answer(str *frame, const rt_image *image, const err *why) {
  compiled c = {0};
  summarise(image, &c);
  wire_put_err(frame, why);
  wire_put_text(frame, str_text(&image->log));
  wire_put_bytes(frame, str_text(&image->cubin), image->cubin.n);
  wire_put_bytes(frame, str_text(&image->ptx), image->ptx.n);
  wire_put_u64(frame, (uint64_t)c.regs);
  wire_put_u64(frame, (uint64_t)c.spill);
  wire_put_u64(frame, (uint64_t)c.smem);
  wire_put_f64(frame, image->sec);
}

static void compile_one(const compile_setting *s, const str *request, str *frame) {
  wire_reader r = {.p = str_text(request), .n = request->n};
  err why = {0};
  auto_arena a = {0};
  auto_image image = {0};
  rt_source source = {.text = wire_get_text(&r),
                      .arch = s->arch,
                      .lineinfo = s->lineinfo,
                      .registers = s->registers};
  source.body = wire_get_u64(&r);
  rt_compile(s->compiler, &source, &a, &image, &why);
  answer(frame, &image, &why);
}

void compile_worker_main(int fd, void *setting) {
  auto_str request = {0}, frame = {0};
  (void)!nice(YIELD); /* -1 may be the new value */
  while (!wire_receive(fd, &request, NULL)) {
    str_reset(&frame);
    compile_one(setting, &request, &frame);
    if (wire_send(fd, &frame, NULL)) {
      break;
    }
  }
}

int compile_worker_result(const str *frame, compiled *out, err *e) {
  wire_reader r = {.p = str_text(frame), .n = frame->n};
  wire_get_err(&r, &out->why);
  out->log = wire_get_text(&r);
  out->cubin = wire_get_bytes(&r, &out->n_cubin);
  out->ptx = wire_get_bytes(&r, &out->n_ptx);
  out->regs = (int)wire_get_u64(&r);
  out->spill = (int64_t)wire_get_u64(&r);
  out->smem = (int64_t)wire_get_u64(&r);
  out->sec = wire_get_f64(&r);
  return r.failed ? err_set(e, ERR_IO, "a compile worker's answer is malformed") : 0;
}
