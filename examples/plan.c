/* plan.c -- products of one sparse matrix and many vectors: the matrix is prepared once, in a plan, and its
 * values change on the way. The template is ell.lua beside this file; a built-in family has typed calls,
 * tuned_FAMILY_plan and others.
 *
 *   cc plan.c $(pkg-config --cflags --libs tuned) -o plan && ./plan ./ell.lua
 *
 * TUNED_DEVICE=emu runs it without a GPU. Also compiles as C++. */
#include <stdio.h>
#include <tuned.h>

enum { ROWS = 1000, MEAN = 8, ENTRIES = ROWS * MEAN, RUNS = 5 };

static int offsets[ROWS + 1], columns[ENTRIES];
static float values[ENTRIES], x[ROWS], y[ROWS];

static void make_matrix(void) {
  for (int row = 0; row < ROWS; row++) {
    offsets[row + 1] = offsets[row] + MEAN + (row % 2 ? -1 : 1);
    x[row] = (float)(row % 10);
  }
  for (int i = 0; i < ENTRIES; i++) {
    columns[i] = i * 7 % ROWS;
  }
}

static int count_wrong(void) {
  int wrong = 0;
  for (int row = 0; row < ROWS; row++) {
    float sum = 0;
    for (int i = offsets[row]; i < offsets[row + 1]; i++) {
      sum += values[i] * x[columns[i]]; /* exact: small whole numbers */
    }
    wrong += y[row] != sum;
  }
  return wrong;
}

static int put(tuned_context *ctx, const void *from, size_t nbytes, void **to, tuned_error *err) {
  return tuned_alloc(ctx, nbytes, to, err) || tuned_copy_to_device(ctx, *to, from, nbytes, err);
}

/* args: of ell.lua, in its order; of a run, y = A x, only the last two are read */
static int use(tuned_context *ctx, tuned_plan *plan, void *const at[5], const void *const args[6],
               int *wrong, tuned_error *err) {
  double prepare, run;
  for (int i = 0; i < RUNS; i++) {
    for (int k = 0; k < ENTRIES; k++) {
      values[k] = (float)((k + i) % 5);
    }
    if (tuned_copy_to_device(ctx, at[2], values, sizeof values, err) ||
        tuned_plan_values(plan, NULL, args, err) || tuned_plan_run(plan, NULL, args, err) ||
        tuned_copy_to_host(ctx, y, at[4], sizeof y, err)) {
      return 1;
    }
    *wrong += count_wrong();
  }
  if (tuned_plan_seconds(plan, &prepare, &run, err)) {
    return 1;
  }
  printf("prepared in %.3g us, a run takes %.3g us\n", 1e6 * prepare, 1e6 * run);
  return 0;
}

static int multiply(tuned_context *ctx, const char *family, int *wrong, tuned_error *err) {
  void *at[5];
  const void *const args[6] = {NULL, &at[0], &at[1], &at[2], &at[3], &at[4]};
  char problem[300];
  tuned_plan *plan = NULL;
  snprintf(problem, sizeof problem, "%.200s rows=%d mean=%d uses=1000", family, ROWS, MEAN);
  int failed = put(ctx, offsets, sizeof offsets, &at[0], err) ||
               put(ctx, columns, sizeof columns, &at[1], err) ||
               put(ctx, values, sizeof values, &at[2], err) || put(ctx, x, sizeof x, &at[3], err) ||
               put(ctx, y, sizeof y, &at[4], err) ||
               tuned_plan_new(ctx, NULL, problem, args, &plan, err) ||
               use(ctx, plan, at, args, wrong, err);
  tuned_plan_free(plan);
  return failed;
}

int main(int argc, char **argv) {
  tuned_context *ctx;
  tuned_error err = {0, "", ""};
  int wrong = 0;
  make_matrix();
  if (tuned_open(&ctx, NULL, &err) ||
      multiply(ctx, argc > 1 ? argv[1] : "./ell.lua", &wrong, &err)) {
    fprintf(stderr, "plan: %s\n", err.message);
    return 1;
  }
  printf("%d of %d wrong\n", wrong, ROWS * RUNS);
  tuned_close(ctx);
  return wrong > 0;
}
