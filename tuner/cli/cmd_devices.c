/* cmd_devices.c -- autotune devices: the GPUs, and the emulated devices that need none. */
#include "cli.h"
#include "numbers.h"
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
  str_addf(s, "{\"device\":\"%s\",\"name\":", name);
  str_add_json(s, d->name);
  str_addf(s,
           ",\"kind\":\"%s\",\"cc\":%d,\"sms\":%d,\"memory_nbytes\":%lld,\"l2_nbytes\":%lld,"
           "\"smem_block\":%lld,\"peak_flops\":%.4g,\"peak_bandwidth\":%.4g}\n",
           d->modelled ? "emu" : "cuda", d->cc, d->sms, (long long)d->memory_nbytes,
           (long long)d->l2_nbytes, (long long)d->smem_block, rt_peak_flops(d),
           rt_peak_bandwidth(d));
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
