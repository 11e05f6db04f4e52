/* cmd_devices.c -- autotune devices: list the GPUs and the emulated devices. */
#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "emu.h"
#include "open_device.h"
#include "verbs.h"

static void add_text(str *s, const char *name, const rt_info *d) {
  str_addf(s, "%-14s %s, compute capability %d.%d, %d multiprocessors\n", name, d->name, d->cc / 10,
           d->cc % 10, d->sms);
  str_addf(s, "%-14s %.1f GB, %.0f MB of L2, %lld KB of shared memory a block, %d registers\n", "",
           (double)d->memory_nbytes / 1e9, (double)d->l2_nbytes / 1e6,
           (long long)d->smem_block / 1024, d->regs_sm);
  str_addf(s, "%-14s peak %.1f TFLOP/s in FP32 at %.0f MHz, %.2f TB/s\n", "",
           rt_peak_flops(d) / 1e12, d->clock_hz / 1e6, rt_peak_bandwidth(d) / 1e12);
}

static void add_json(str *s, const char *name, const rt_info *d) {
  jw_event(s, "device");
  jw_text(s, "device", name);
  jw_text(s, "name", d->name);
  jw_text(s, "kind", d->modelled ? "emu" : "cuda");
  jw_integer(s, "cc", d->cc);
  jw_integer(s, "sms", d->sms);
  jw_integer(s, "memory_nbytes", d->memory_nbytes);
  jw_integer(s, "l2_nbytes", d->l2_nbytes);
  jw_integer(s, "smem_block", d->smem_block);
  jw_real(s, "peak_flops", 4, rt_peak_flops(d));
  jw_real(s, "peak_bandwidth", 4, rt_peak_bandwidth(d));
  jw_end_line(s);
}

static int print_one(const cli *c, const char *name, err *e) {
  rt_device *d;
  str s = {0};
  TRY(rt_device_open(name, &d, e));
  if (c->json) {
    add_json(&s, name, &d->info);
  } else {
    add_text(&s, name, &d->info);
  }
  print_str(&s);
  d->ops->close(d);
  return 0;
}

int cmd_devices(const cli *c, err *e) {
  int n = 0;
  err none = {0};
  TRY(cli_words_most(c, 0, e));
  rt_cuda_count(&n, &none);
  for (int i = 0; i < n; i++) {
    char name[24];
    snprintf(name, sizeof name, "%d", i);
    TRY(print_one(c, name, e));
  }
  if (!n && !c->json) {
    printf("no GPU: %s\n", none.message);
  }
  for (const char *const *p = rt_emu_profiles(); *p; p++) {
    char name[64];
    snprintf(name, sizeof name, "emu:%s", *p);
    TRY(print_one(c, name, e));
  }
  return 0;
}
