/* pictures.c -- pictures by libtuned's kernels, as files that image viewers show: two Julia sets, one of them while it
 * cools down, and frames of waves.
 *
 *   cc pictures.c $(pkg-config --cflags --libs tuned) -lm -o pictures && ./pictures [FOLDER [ROWS]]
 *
 * Writes julia-dust.ppm, julia-rabbit.ppm, heat.ppm, and ripple-0.ppm to ripple-3.ppm. TUNED_DEVICE=emu runs it
 * without a GPU; 240 rows then take a second. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tuned.h>

enum { ITERATIONS = 300 };

typedef struct pictures {
  tuned_context *ctx;
  const char *folder;
  int rows;
  void *device;   /* the image that a kernel writes, 4 bytes a pixel */
  void *before;   /* the one that it reads, as large */
  uint32_t *host; /* a copy */
  tuned_error err;
} pictures;

static int fail(pictures *p, const char *what) {
  fprintf(stderr, "pictures: %s: %s\n", what, p->err.message);
  return 1;
}

/* 0 to 255, around and around with other phases for red, green and blue; black inside of the set */
static void colour(uint32_t n, unsigned char rgb[3]) {
  for (int i = 0; i < 3; i++) {
    const double turn = 0.6 * sqrt((double)n) - 0.7 * i;
    rgb[i] = n == ITERATIONS ? 0 : (unsigned char)(127.5 - 127.5 * cos(turn));
  }
}

static void grey(uint32_t pixel, unsigned char rgb[3]) {
  for (int i = 0; i < 3; i++) {
    rgb[i] = (unsigned char)(pixel >> 8 * i);
  }
}

/* a temperature, 0 to 1: from black over red and yellow to white */
static void glow(uint32_t pixel, unsigned char rgb[3]) {
  float t;
  memcpy(&t, &pixel, sizeof t);
  for (int i = 0; i < 3; i++) {
    const double level = 3 * sqrt(t) - i;
    rgb[i] = (unsigned char)(255 * (level < 0 ? 0 : level > 1 ? 1 : level));
  }
}

/* A PPM file: a line of text, then three bytes a pixel. */
static int save(pictures *p, const char *name, int columns,
                void (*convert)(uint32_t, unsigned char[3])) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.ppm", p->folder, name);
  FILE *f = fopen(path, "wb");
  if (!f) {
    perror(path);
    return 1;
  }
  fprintf(f, "P6 %d %d 255\n", columns, p->rows);
  for (int i = 0; i < p->rows * columns; i++) {
    unsigned char rgb[3];
    convert(p->host[i], rgb);
    fwrite(rgb, 1, sizeof rgb, f);
  }
  if (fclose(f)) {
    perror(path);
    return 1;
  }
  puts(path);
  return 0;
}

static int fetch(pictures *p, int columns) {
  return tuned_copy_to_host(p->ctx, p->host, p->device, (size_t)p->rows * (size_t)columns * 4,
                            &p->err);
}

static int julia(pictures *p, const char *name, float cr, float ci) {
  const int columns = p->rows * 4 / 3;
  if (tuned_julia(p->ctx, NULL, columns, p->rows, ITERATIONS, cr, ci, 1.2f, (int32_t *)p->device,
                  &p->err) ||
      fetch(p, columns)) {
    return fail(p, name);
  }
  return save(p, name, columns, colour);
}

/* The heat equation on a plate as large as the picture of a set, which is hot at first where counts end. */
static int heat(pictures *p) {
  const int columns = p->rows * 4 / 3;
  const size_t n = (size_t)p->rows * (size_t)columns;
  const double mean = 0.2;
  const int steps = p->rows / 4;
  for (size_t i = 0; i < n; i++) {
    const float t = p->host[i] == ITERATIONS;
    memcpy(&p->host[i], &t, sizeof t);
  }
  if (tuned_copy_to_device(p->ctx, p->before, p->host, n * 4, &p->err) ||
      tuned_stencil(p->ctx, NULL, "star", 1, 2, "f32", columns, p->rows, 1, steps, "zero", mean,
                    mean, 0, 0, 0, p->before, p->device, &p->err) ||
      fetch(p, columns)) {
    return fail(p, "heat");
  }
  return save(p, "heat", columns, glow);
}

static int ripple(pictures *p, int frame) {
  char name[32];
  snprintf(name, sizeof name, "ripple-%d", frame);
  if (tuned_ripple(p->ctx, NULL, p->rows, 11 * frame, (uint32_t *)p->device, &p->err) ||
      fetch(p, p->rows)) {
    return fail(p, name);
  }
  return save(p, name, p->rows, grey);
}

static int draw(pictures *p) {
  const size_t nbytes = (size_t)p->rows * (size_t)(p->rows * 4 / 3) * 4;
  p->host = (uint32_t *)malloc(nbytes);
  if (!p->host || tuned_open(&p->ctx, NULL, &p->err) ||
      tuned_alloc(p->ctx, nbytes, &p->device, &p->err) ||
      tuned_alloc(p->ctx, nbytes, &p->before, &p->err)) {
    return fail(p, "start");
  }
  int rc =
      julia(p, "julia-dust", -0.8f, 0.156f) || julia(p, "julia-rabbit", -0.123f, 0.745f) || heat(p);
  for (int frame = 0; !rc && frame < 4; frame++) {
    rc = ripple(p, frame);
  }
  return rc;
}

int main(int argc, char **argv) {
  pictures p = {0};
  p.folder = argc > 1 ? argv[1] : ".";
  p.rows = argc > 2 ? atoi(argv[2]) : 720;
  if (p.rows < 1 || p.rows > 10000) {
    fprintf(stderr, "pictures: ROWS is from 1 to 10000\n");
    return 2;
  }
  int rc = draw(&p);
  if (p.ctx) {
    tuned_free(p.ctx, p.device, NULL);
    tuned_free(p.ctx, p.before, NULL);
    tuned_close(p.ctx);
  }
  free(p.host);
  return rc;
}
