/* cmd_doctor.c -- autotune doctor: report what is missing and how to install it.
 *
 * Succeeds when tuning can work: on a GPU, or on the emulated device. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "base_images.h"
#include "base_path.h"
#include "cli.h"
#include "fatbin.h"
#include "device_link.h"
#include "image_cache.h"
#include "json_writer.h"
#include "print.h"
#include "open_device.h"
#include "peer.h"
#include "verbs.h"

typedef struct doctor {
  const cli *c;
  bool is_broken; /* something required is missing */
} doctor;

static void say(const doctor *d, bool good, const char *what, const char *finding,
                const char *cure) {
  str s = {0};
  if (d->c->json) {
    jw_event(&s, "doctor");
    jw_text(&s, "check", what);
    jw_bool(&s, "ok", good);
    jw_text(&s, "finding", finding);
    jw_text(&s, "cure", good ? "" : cure);
    jw_end_line(&s);
  } else {
    str_addf(&s, "%s%-8s%s %-10s %s\n", style(stdout, good ? STYLE_GOOD : STYLE_NOTE),
             good ? "ok" : "missing", style_end(stdout), what, finding);
    if (!good && cure[0]) {
      str_addf(&s, "%-8s %-10s -> %s\n", "", "", cure);
    }
  }
  print_str(&s);
}

static void check_gpu(doctor *d) {
  int n = 0;
  err e = {0};
  auto_str s = {0};
  if (!rt_cuda_count(&n, &e) && n > 0) {
    rt_device *device;
    if (!rt_device_open("0", &device, &e)) {
      str_addf(&s, "%d GPU%s, the first is %s, driver for CUDA %d.%d", n, n > 1 ? "s" : "",
               device->info.name, device->info.driver / 1000, device->info.driver % 1000 / 10);
      device->ops->close(device);
    }
  }
  bool good = s.n > 0;
  say(d, good, "gpu",
      good           ? str_text(&s)
      : e.message[0] ? e.message
                     : "the driver shows no GPU",
      "not required: --device emu works without; for a GPU install NVIDIA's driver (Debian: apt install "
      "nvidia-driver, non-free)");
}

static void check_nvrtc(doctor *d) {
  rt_compiler *c;
  err e = {0};
  auto_str s = {0};
  bool good = !rt_compiler_open(&c, &e);
  if (good) {
    str_addf(&s, "NVRTC %d.%d, %s", rt_compiler_version(c) / 1000,
             rt_compiler_version(c) % 1000 / 10, rt_compiler_path(c));
    rt_compiler_close(c);
  }
  d->is_broken |= !good;
  say(d, good, "nvrtc", good ? str_text(&s) : e.message,
      "required to compile: install the CUDA toolkit, or `make deps`, or pip install "
      "nvidia-cuda-nvrtc and set AUTOTUNE_NVRTC to its library");
}

static void check_link(doctor *d) {
  err e = {0};
  const bool good = !rt_link_check(&e);
  say(d, good, "nvjitlink", good ? "nvJitLink and libcudadevrt.a" : e.message,
      "needed only by kernels that launch kernels");
}

static void check_nvfatbin(doctor *d) {
  err e = {0};
  const bool good = !rt_fatbin_here(&e);
  say(d, good, "nvfatbin", good ? "nvFatbin" : e.message,
      "needed only by `autotune export --fatbin`; part of the CUDA toolkit since 12.4");
}

static void check_database(doctor *d) {
  auto_db *base = NULL;
  err e = {0};
  bool good = !cli_open_db(d->c, DB_WRITE, &base, &e);
  d->is_broken |= !good;
  say(d, good, "database", good ? db_path(base) : e.message,
      "name another one with --db or TUNED_DB");
}

static void describe_cache(const char *path, const image_cache_health *is, str *out) {
  str_add(out, path);
  if (is->begun_anew) {
    str_add(out, ": the file was damaged and has been begun anew");
  } else if (is->n_damaged) {
    str_addf(out, ": %lld damaged images dropped; they are compiled again when they are needed",
             (long long)is->n_damaged);
  }
}

/* Not required: without a cache, every process compiles what it needs. */
static void check_cache(doctor *d) {
  auto_arena a = {0};
  auto_str finding = {0};
  const char *path = "";
  image_cache *cache = NULL;
  image_cache_health is = {0};
  err e = {0};
  int rc = image_cache_path(&a, &path, &e);
  rc = rc ? rc : image_cache_open(path, 0, &cache, &e);
  rc = rc ? rc : image_cache_check(cache, &is, &e);
  describe_cache(path, &is, &finding);
  say(d, !rc, "cache", rc ? e.message : str_text(&finding),
      "not required: without it every process compiles the kernels it needs");
  image_cache_close(cache);
}

/* Opened as its owner does, so that the message says what is wrong. */
static void check_shared_cache(doctor *d, const char *path) {
  auto_str finding = {0};
  image_cache *cache = NULL;
  image_cache_totals totals = {0};
  err e = {0};
  int rc = image_cache_open(path, 0, &cache, &e);
  rc = rc ? rc : image_cache_stat(cache, &totals, &e);
  str_addf(&finding, "%s: %lld images that other users compiled, %lld KB", path,
           (long long)totals.n, (long long)totals.nbytes / 1024);
  say(d, !rc, "shared", rc ? e.message : str_text(&finding),
      "not required: without it users compile for themselves");
  image_cache_close(cache);
}

static void check_shared_caches(doctor *d) {
  auto_arena a = {0};
  const char *path;
  for (size_t i = 0; image_cache_shared_path(i, &a, &path); i++) {
    if (!access(path, F_OK)) {
      check_shared_cache(d, path);
    }
  }
}

static int describe_base(const char *path, str *out, err *e) {
  auto_arena a = {0};
  base_images *images;
  base_totals *list = NULL;
  size_t n = 0;
  int64_t n_images = 0, n_packed = 0;
  TRY(base_images_open(path, &images, e));
  const int rc = base_images_stat(images, &a, &list, &n, e);
  for (size_t i = 0; i < n; i++) {
    n_images += list[i].n;
    n_packed += list[i].n_packed;
  }
  str_addf(out, "%s: %lld images, %lld KB:", path, (long long)n_images, (long long)n_packed / 1024);
  for (size_t i = 0; i < n; i++) {
    str_addf(out, " %s", list[i].arch);
  }
  base_images_close(images);
  return rc;
}

/* Not required: without it, libtuned compiles what it serves. */
static void check_base(doctor *d) {
  auto_arena a = {0};
  auto_str finding = {0};
  const char *path;
  err e = {0};
  int rc = base_path_find(&a, &path, &e);
  rc = rc ? rc : describe_base(path, &finding, &e);
  say(d, !rc, "base set", rc ? e.message : str_text(&finding),
      "not required: without it the first call with a new size waits for NVRTC");
}

static void check_templates(doctor *d) {
  auto_arena a = {0};
  gen_options o;
  const char *const *names = NULL;
  size_t n = 0;
  err e = {0};
  auto_str s = {0};
  int rc = cli_template_options(d->c, &a, &o, &e);
  rc = rc ? rc : gen_families(&o, &a, &names, &n, &e);
  for (size_t i = 0; i < n && !rc; i++) {
    auto_template *t = NULL;
    str_addf(&s, "%s%s", i ? " " : "", names[i]);
    rc = gen_open(&o, names[i], &t, &e);
  }
  if (rc) {
    str_reset(&s);
    str_addf(&s, "%s: %s", e.place, e.message);
  }
  d->is_broken |= rc != 0;
  say(d, !rc, "templates", str_text(&s), "fix the template or remove its folder from the list");
}

/* Without problem and device: is the peer available? */
static void check_peer(doctor *d, const peer_kind *k, const char *cure) {
  err e = {0};
  const bool good = !k->prepare(NULL, NULL, 0, NULL, &e);
  say(d, good, k->name, good ? k->brief : e.message, cure);
}

int cmd_doctor(const cli *c, err *e) {
  doctor d = {.c = c};
  TRY(cli_words_most(c, 0, e));
  check_gpu(&d);
  check_nvrtc(&d);
  check_nvfatbin(&d);
  check_link(&d);
  check_database(&d);
  check_cache(&d);
  check_shared_caches(&d);
  check_base(&d);
  check_templates(&d);
  check_peer(&d, &peer_cublas,
             "needed only by `autotune bench --vs cublas`; part of the CUDA toolkit");
  check_peer(&d, &peer_cub, "needed only by `autotune bench --vs cub`");
  check_peer(&d, &peer_npp, "needed only by `autotune bench --vs npp`; part of the CUDA toolkit");
  return d.is_broken ? err_set(e, ERR_NOTFOUND, "autotune cannot work here yet; see above") : 0;
}
