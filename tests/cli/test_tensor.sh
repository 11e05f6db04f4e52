#!/bin/sh
# test_tensor.sh -- NaNs split into parts for tensor cores, and tensor maps: kernels that use them are checked
# and exported as C, for one problem and as a portfolio, which is compiled with every warning and run on the
# emulated device.
set -u
. tests/fixtures/cli_fixture.sh
. tests/fixtures/build.sh
tiles="tests/fixtures/templates/tiles.lua"

cp tests/fixtures/templates/parts.lua templates/shared/ptx.cuh templates/sgemm/split.cuh "$folder/"
prints "4 right, 0 wrong" "$autotune" check "$folder/parts.lua"

for problem in "m=100 n=20" "m=9 n=3 dtype=u16"; do
  # shellcheck disable=SC2086
  prints "4 right, 0 wrong" "$autotune" check "$tiles" $problem
done
sed 's/strides = { "ld" }/strides = { "ld + 1" }/' "$tiles" >"$folder/odd.lua"
refuses 1 "'ld' is an argument, which" "$autotune" check "$folder/odd.lua"
sed 's/strides = { "ld" }/strides = { "m" }/' "$tiles" >"$folder/odd.lua"
"$autotune" check "$folder/odd.lua" m=33 >"$folder/out" 2>&1 && complain "rows of 132 bytes passed"
grep -q "multiples of 16" "$folder/out" || complain "odd strides: $(cat "$folder/out")"

"$autotune" "$tiles" m=100 n=20 --budget 4 --quiet >/dev/null || complain "tuning failed"
"$autotune" "$tiles" m=9 n=3 dtype=u16 --budget 4 --quiet >/dev/null || complain "tuning failed"
prints "tuned" "$autotune" export "$tiles" m=100 n=20 --arch compute_90 --header "$folder/tiles.h" --embed "$folder/tiles.c"
"$autotune" portfolio "$tiles" --grid "m=8..200 n=2..20" --sample 3 --quiet >/dev/null || complain "making a portfolio failed"
prints "a portfolio of" "$autotune" export "$tiles" --name many --portfolio --arch compute_90 --header "$folder/many.h" \
  --embed "$folder/many.c"

cat >"$folder/main.c" <<'C'
#include <stdio.h>
#include <stdlib.h>

#include "many.h"
#include "tiles.h"

enum { M = TILES_m, N = TILES_n, LD = 104 };
static float x[N * LD], y[N * LD];

static void must(CUresult rc, const char *what) {
  if (rc != CUDA_SUCCESS) {
    printf("%s failed with CUDA error %d\n", what, (int)rc);
    exit(1);
  }
}

static CUdeviceptr new_buffer(const void *from) {
  CUdeviceptr p;
  must(cuMemAlloc(&p, sizeof x), "cuMemAlloc");
  must(cuMemcpyHtoD(p, from, sizeof x), "cuMemcpyHtoD");
  return p;
}

static void compare(CUdeviceptr from, const char *who) {
  must(cuMemcpyDtoH(y, from, sizeof y), "cuMemcpyDtoH");
  for (int i = 0; i < N * LD; i++) {
    if (y[i] != (i % LD < M ? 3 * x[i] : x[i])) {
      printf("%s: element %d is %g\n", who, i, y[i]);
      exit(1);
    }
  }
}

int main(void) {
  CUcontext context;
  CUmodule module;
  tiles_kernels kernels;
  many_portfolio many;
  const many_problem p = {.m = M, .n = N, .dtype = MANY_TEXT_f32};
  must(cuInit(0), "cuInit");
  must(cuDevicePrimaryCtxRetain(&context, 0), "the context");
  must(cuCtxSetCurrent(context), "the context");
  for (int i = 0; i < N * LD; i++) {
    x[i] = (float)(i % 97);
  }
  const CUdeviceptr from = new_buffer(x), one = new_buffer(x), two = new_buffer(x);
  must(tiles_load_module(0, &module), "the module");
  must(tiles_load(module, &kernels), "the kernel");
  must(tiles_launch(&kernels, NULL, NULL, from, one, LD), "the launch");
  compare(one, "one problem");
  must(many_open(&many, 0), "the portfolio");
  must(many_run(&many, NULL, &p, 0, from, two, LD), "its launch");
  compare(two, "the portfolio");
  many_close(&many);
  return 0;
}
C
# shellcheck disable=SC2086
"$CC" -std=c11 -pedantic -Wall -Wextra -Werror $includes -I"$folder" \
  "$folder/main.c" "$folder/tiles.c" "$folder/many.c" tests/fixtures/driver_on_emu.c "$B/libtuned.a" -ldl -lm -lpthread \
  -o "$folder/main" || complain "what was exported does not compile"
"$folder/main" >"$folder/out" 2>&1 || complain "what was exported: $(cat "$folder/out")"
echo '#include "tiles.h"' | "$CXX" -x c++ -std=c++17 -pedantic -Wall -Wextra -Werror -Wno-c99-designator -I"$folder" \
  -isystem "$CUDA_HOME/include" -fsyntax-only - || complain "the header is no C++"
exit $bad
