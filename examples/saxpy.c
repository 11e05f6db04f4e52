/* saxpy.c -- the smallest program that uses libtuned: y = a x + y.
 *
 *   cc saxpy.c $(pkg-config --cflags --libs tuned) -o saxpy && ./saxpy
 *
 * TUNED_DEVICE=emu runs it without a GPU. Also compiles as C++. */
#include <stdio.h>
#include <tuned.h>

enum { N = 1000 };

static int run(tuned_context *ctx, float *x, float *y, tuned_error *err) {
  void *dx, *dy;
  if (tuned_alloc(ctx, N * sizeof *x, &dx, err) || tuned_alloc(ctx, N * sizeof *y, &dy, err) ||
      tuned_copy_to_device(ctx, dx, x, N * sizeof *x, err) ||
      tuned_copy_to_device(ctx, dy, y, N * sizeof *y, err) ||
      tuned_saxpy(ctx, NULL, N, 2.5f, (float *)dx, (float *)dy, err) ||
      tuned_copy_to_host(ctx, y, dy, N * sizeof *y, err)) {
    return 1;
  }
  tuned_free(ctx, dx, err);
  tuned_free(ctx, dy, err);
  return 0;
}

int main(void) {
  float x[N], y[N];
  int wrong = 0;
  tuned_context *ctx;
  tuned_error err = {0, "", ""};
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = 1;
  }
  if (tuned_open(&ctx, NULL, &err) || run(ctx, x, y, &err)) {
    fprintf(stderr, "saxpy: %s\n", err.message);
    return 1;
  }
  for (int i = 0; i < N; i++) {
    wrong += y[i] != 2.5f * (float)i + 1; /* exact: small numbers */
  }
  printf("%d of %d wrong\n", wrong, N);
  tuned_close(ctx);
  return wrong > 0;
}
