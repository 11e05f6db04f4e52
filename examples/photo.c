/* photo.c -- a photograph in grey, then blurred, by libtuned's kernels.
 *
 *   cc photo.c $(pkg-config --cflags --libs tuned) -lm -o photo && ./photo [PICTURE.ppm [FOLDER]]
 *
 * Reads a PPM file of bytes (P6), or paints a landscape; writes grey.pgm, and blurred with three radii blur-2.pgm,
 * blur-8.pgm and blur-32.pgm. TUNED_DEVICE=emu runs it without a GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tuned.h>

typedef struct photo {
  tuned_context *ctx;
  const char *folder;
  int width, height;
  unsigned char *pixels; /* three bytes each; later the levels that come back */
  void *rgb, *grey, *blurred;
  tuned_error err;
} photo;

static int fail(photo *p, const char *what) {
  fprintf(stderr, "photo: %s: %s\n", what, p->err.message);
  return 1;
}

static size_t count(const photo *p) {
  return (size_t)p->width * (size_t)p->height;
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void set(unsigned char *rgb, double r, double g, double b) {
  const double v[3] = {r, g, b};
  for (int i = 0; i < 3; i++) {
    rgb[i] = (unsigned char)(v[i] < 0 ? 0 : v[i] > 255 ? 255 : v[i]);
  }
}

/* A sun above two ranges of hills, and a jetty of black and white boards. */
static void paint_at(unsigned char *rgb, double x, double y) {
  const double far = 0.55 + 0.06 * sin(9 * x) + 0.03 * sin(23 * x + 1);
  const double near = 0.68 + 0.05 * sin(6 * x + 2) + 0.01 * sin(71 * x);
  const double sun = hypot(x - 1.05, y - 0.28), water = 20 * sin(400 * (y - 0.75) * (y - 0.7));
  if (y > 0.8 && x > 0.15 && x < 0.75) {
    const double white = ((int)(x * 24) + (int)(y * 40)) % 2 ? 235 : 15;
    set(rgb, white, white, white);
  } else if (y > 0.76) {
    set(rgb, 40 + water, 90 + water, 140 + water);
  } else if (y > near) {
    set(rgb, 30, 110 - 80 * (y - near), 40);
  } else if (y > far) {
    set(rgb, 90, 100, 150 - 200 * (y - far));
  } else if (sun < 0.09) {
    set(rgb, 255, 240, 170);
  } else {
    set(rgb, 90 + 120 * y + 40 / (1 + 9 * sun), 150 + 60 * y, 235 - 40 * y);
  }
}

static int paint(photo *p) {
  p->width = 640;
  p->height = 480;
  p->pixels = (unsigned char *)malloc(3 * count(p));
  for (int i = 0; p->pixels && i < p->width * p->height; i++) {
    const int x = i % p->width, y = i / p->width;
    paint_at(p->pixels + 3 * i, (double)x / p->height, (double)y / p->height);
  }
  return p->pixels ? 0 : fail(p, "out of memory");
}

/* A number of a PPM's header; -1: there is none. Lines from # on are comments. */
static int number(FILE *f) {
  int c = fgetc(f), n = -1;
  while (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#') {
    while (c == '#' && (c = fgetc(f)) != '\n' && c != EOF) {
      c = '#';
    }
    c = fgetc(f);
  }
  for (; c >= '0' && c <= '9' && n < 100000; c = fgetc(f)) {
    n = (n < 0 ? 0 : n) * 10 + c - '0';
  }
  return n; /* with the one blank after it */
}

static int read_ppm(photo *p, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    return 1;
  }
  const int p6 = fgetc(f) == 'P' && fgetc(f) == '6';
  p->width = number(f);
  p->height = number(f);
  const int good = p6 && p->width > 0 && p->height > 0 && p->width < 32768 && p->height < 32768 &&
                   number(f) == 255;
  p->pixels = good ? (unsigned char *)malloc(3 * count(p)) : NULL;
  const int rc = !p->pixels || fread(p->pixels, 3, count(p), f) != count(p);
  fclose(f);
  if (rc) {
    fprintf(stderr, "photo: %s is not a whole PPM file of bytes (P6 WIDTH HEIGHT 255)\n", path);
  }
  return rc;
}

static int save(photo *p, const char *name, const void *levels) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.pgm", p->folder, name);
  if (tuned_copy_to_host(p->ctx, p->pixels, levels, count(p), &p->err)) {
    return fail(p, name);
  }
  FILE *f = fopen(path, "wb");
  if (!f || fprintf(f, "P5 %d %d 255\n", p->width, p->height) < 0 ||
      fwrite(p->pixels, 1, count(p), f) != count(p) || fclose(f)) {
    perror(path);
    return 1;
  }
  puts(path);
  return 0;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static int start(photo *p) {
  if (tuned_open(&p->ctx, NULL, &p->err) || tuned_alloc(p->ctx, 3 * count(p), &p->rgb, &p->err) ||
      tuned_alloc(p->ctx, count(p), &p->grey, &p->err) ||
      tuned_alloc(p->ctx, count(p), &p->blurred, &p->err) ||
      tuned_copy_to_device(p->ctx, p->rgb, p->pixels, 3 * count(p), &p->err)) {
    return fail(p, "start");
  }
  return 0;
}

static int grey(photo *p) {
  if (tuned_rgb_to_grey(p->ctx, NULL, 3, p->width, p->height, 0.21, 0.72, 0.07, "truncate",
                        (uint8_t *)p->rgb, 3 * p->width, (uint8_t *)p->grey, p->width, &p->err)) {
    return fail(p, "grey");
  }
  return save(p, "grey", p->grey);
}

static int blur(photo *p, int radius) {
  char name[32];
  snprintf(name, sizeof name, "blur-%d", radius);
  if (tuned_box_blur(p->ctx, NULL, "u8", p->width, p->height, radius, "shrink", p->grey, p->width,
                     p->blurred, p->width, &p->err)) {
    return fail(p, name);
  }
  return save(p, name, p->blurred);
}

int main(int argc, char **argv) {
  photo p = {0};
  p.folder = argc > 2 ? argv[2] : ".";
  const int rc = (argc > 1 ? read_ppm(&p, argv[1]) : paint(&p)) || start(&p) || grey(&p) ||
                 blur(&p, 2) || blur(&p, 8) || blur(&p, 32);
  if (p.ctx) {
    tuned_free(p.ctx, p.rgb, NULL);
    tuned_free(p.ctx, p.grey, NULL);
    tuned_free(p.ctx, p.blurred, NULL);
    tuned_close(p.ctx);
  }
  free(p.pixels);
  return rc;
}
