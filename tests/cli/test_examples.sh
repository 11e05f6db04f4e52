#!/bin/sh
# test_examples.sh -- the templates in examples/: their variants are right, and exported C runs them.
set -u
. "$(dirname "$0")/../fixtures/cli_fixture.sh"
. tests/fixtures/build.sh

# checked NAME PROBLEM...: no variant is wrong
checked() {
  template=examples/$1.lua
  shift
  for problem in "$@"; do
    # shellcheck disable=SC2086
    prints " 0 wrong" timeout 60 "$autotune" check "$template" $problem --sample 3
  done
}

# exported NAME PROGRAM PROBLEM...: what export writes, in a program that returns 0 where the result is right
exported() {
  name=$1 program=$2
  shift 2
  "$autotune" export "examples/$name.lua" "$@" --arch compute_90 --header "$folder/$name.h" --embed "$folder/$name.c" \
    >"$folder/out" 2>&1 || complain "export $name: $(cat "$folder/out")"
  printf '#include <stdio.h>\n#include "%s.h"\n#define DO(x) if ((x) != CUDA_SUCCESS) return puts(#x), 2\n%s\n' "$name" "$program" \
    >"$folder/run_$name.c"
  # shellcheck disable=SC2086
  "$CC" -std=c11 -Wall -Wextra -Werror -I"$folder" $includes "$folder/run_$name.c" "$folder/$name.c" \
    tests/fixtures/driver_on_emu.c "$B/libtuned.a" $archives -o "$folder/run_$name" || complain "exported $name does not compile"
  timeout 60 "$folder/run_$name" >"$folder/out" || complain "exported $name: $(cat "$folder/out")"
}

checked heat "n=5000 steps=5" "n=2 steps=3" "n=1001 steps=0" "n=1001 steps=6"
exported heat '
int main(void) {
  enum { N = 1000, STEPS = 3 };
  static float x[N], y[N], w[] = {0.25f, 0.5f, 0.25f};
  CUmodule module;
  heat_kernels k;
  CUdeviceptr dw, dx, dy, workspaces[2];
  x[500] = 64;
  DO(cuInit(0));
  DO(heat_load_module(0, &module));
  DO(heat_load(module, &k));
  DO(cuMemAlloc(&dw, sizeof w));
  DO(cuMemAlloc(&dx, sizeof x));
  DO(cuMemAlloc(&dy, sizeof y));
  DO(cuMemcpyHtoD(dw, w, sizeof w));
  DO(cuMemcpyHtoD(dx, x, sizeof x));
  for (int i = 0; i < HEAT_N_WORKSPACES; i++) {
    DO(cuMemAlloc(&workspaces[i], heat_workspace_nbytes(i)));
    DO(cuMemsetD8(workspaces[i], 0, heat_workspace_nbytes(i)));
  }
  DO(heat_launch(&k, NULL, workspaces, dw, dx, dy));
  DO(cuMemcpyDtoH(y, dy, sizeof y));
  return y[497] == 1 && y[498] == 6 && y[499] == 15 && y[500] == 20 && y[503] == 1 && y[504] == 0 ? 0 : 1;
}' n=1000 steps=3
[ $bad = 0 ]
