#!/bin/sh
# test_plain.sh -- plain CUDA files: lines and options, the template they stand for, what is refused.
set -u
. "$(dirname "$0")/../fixtures/cli_fixture.sh"
. tests/fixtures/build.sh
kernel="$folder/k.cu"

# ---- ours: the best of a file is that of its template ------------------------------------------------
best() { grep -oE '[A-Z]+=[0-9]+,[A-Z]+=[0-9]+' "$1" | head -1; }
tune() { TUNED_DB=$1 "$autotune" "$2" --quiet --effort exhaustive >"$3" || complain "$2 is not tuned"; }
for name in matmul block_sum convolve; do
  cp "examples/$name.cu" "$folder"
  "$autotune" emit "examples/$name.cu" --template >"$folder/$name.lua" || complain "emit $name --template"
  tune "$folder/1.db" "examples/$name.cu" "$folder/ours"
  theirs=$folder/$name.lua # of the largest, one written by hand
  [ $name = matmul ] && theirs=tests/fixtures/templates/matmul_tiles.lua
  tune "$folder/2.db" "$theirs" "$folder/theirs"
  [ "$(best "$folder/ours")" = "$(best "$folder/theirs")" ] ||
    complain "$name.cu: $(cat "$folder/ours"), $theirs: $(cat "$folder/theirs")"
  # what a file has taught, its template knows
  TUNED_DB="$folder/1.db" prints "nothing to measure" "$autotune" "$folder/$name.lua"
done
TUNED_DB="$folder/1.db" prints "there is no reference" "$autotune" check examples/block_sum.cu n=1000 --sample 2
TUNED_DB="$folder/1.db" prints "block_sum n=10000" "$autotune" list examples/block_sum.cu

# ---- an exported header fills the __constant__ variable ----------------------------------------------
prints "BLOCK=64,ITEMS=1" "$autotune" export examples/convolve.cu n=300 --config BLOCK=64 --arch compute_90 \
  --header "$folder/convolve.h" --embed "$folder/convolve.c"
cat >"$folder/run.c" <<'END'
#include "convolve.h"
#include <stdio.h>
int main(void) {
  CUmodule module;
  convolve_kernels k;
  float x[300], y[300], filter[17] = {0};
  CUdeviceptr f, in, out;
  for (int i = 0; i < 300; i++) x[i] = (float)(i * i);
  filter[8] = 2, filter[9] = 1;
  if (cuInit(0) || convolve_load_module(0, &module) || convolve_load(module, &k) || cuMemAlloc(&f, sizeof filter) ||
      cuMemAlloc(&in, sizeof x) || cuMemAlloc(&out, sizeof y) || cuMemcpyHtoD(f, filter, sizeof filter) ||
      cuMemcpyHtoD(in, x, sizeof x) || convolve_launch(&k, NULL, NULL, f, in, out) || cuMemcpyDtoH(y, out, sizeof y)) {
    return 2;
  }
  for (int i = 0; i < 300; i++) {
    if (y[i] != 2 * x[i] + (i < 299 ? x[i + 1] : 0)) return printf("y[%d] is %g\n", i, y[i]), 1;
  }
  return 0;
}
END
# shellcheck disable=SC2086
"$CC" -std=c11 -Wall -Wextra -Werror -I"$folder" $includes "$folder/run.c" "$folder/convolve.c" \
  tests/fixtures/driver_on_emu.c "$B/libtuned.a" $archives -o "$folder/run" || complain "the exported convolution does not compile"
"$folder/run" >"$folder/out" || complain "the exported convolution: $(cat "$folder/out")"

refuses 1 "the kernels have no __constant__ or __device__ variable 'filtre'" "$autotune" examples/convolve.cu n=100 --quiet \
  --constant 'filtre:f32[3]'

# ---- options, a header beside the file, one in a folder, text for the host ---------------------------
mkdir "$folder/inc"
echo '#define TWICE(x) (2 * (x))' >"$folder/inc/twice.h"
printf '#pragma once\n__device__ float more(float x);\ninline void on_host() { throw 1; }\n' >"$folder/more.h"
cat >"$kernel" <<'END'
#include <vector>
#include <stdint.h>
#include "more.h"
#include "twice.h"
#ifndef B
#define B 64
#endif
namespace own {
struct pair { float a, b; float sum() const { return a + b; } };
}
static std::vector<float> on_host_too(int n) { return std::vector<float>(n); }
static const int32_t one = 1;
__device__ float more(float x) { return x + one; }
__global__ void unused(float *x);
static __global__ void __launch_bounds__(B) k(int n, const float *x, float *y) {
  const int i = blockIdx.x * B + threadIdx.x;
  if (i < n) y[i] = TWICE(more(x[i])) + sizeof("}{ // ");
}
int main() { k<<<1, B>>>(0, 0, 0); }
END
options() {
  "$autotune" "$@" --kernel k --param B=32..128*2 --grid 'ceildiv(n,B)' --block B --arg n:i32 --arg x:f32[n]:in \
    --arg y:f32[n]:out -I "$folder/inc"
}
prints "3 trials, 0 failed" options "$kernel" n=1000
prints "default = { B = 64 }" options emit "$kernel" --template

cp "$kernel" "$folder/twice.cu"
prints "3 of 6 variants have the machine code and the launch of another, such as" options "$folder/twice.cu" n=1000 \
  --param UNUSED=1,2
# More than the few whose machine code the database keeps.
prints "15 of 18 variants have the machine code and the launch of another, such as" options "$folder/twice.cu" n=1000 \
  --param UNUSED=1..6

fails() { # WORDS COMMAND: as refuses 1, where the compiler's log comes, too
  words=$1
  shift
  "$@" >"$folder/out" 2>"$folder/err" && complain "$*: succeeds"
  grep -qF -e "autotune: $words" "$folder/err" || complain "$*: says '$(cat "$folder/err")', wanted '$words'"
}
# ---- advanced controls of ptxas: a parameter's values are files, whose contents the text carries -----------
cat >"$folder/acf.cu" <<'END'
//@ param CONTROLS = none,fast
//@ option --ptxas-options=--apply-controls=CONTROLS
//@ kernel k; grid 1; block 32
//@ arg x:f32[32]:inout
__global__ void k(float *x) { x[threadIdx.x] *= 2; }
END
refuses 1 "acf.cu:2: there is no file of advanced controls fast.acf beside the template" "$autotune" emit "$folder/acf.cu"
printf junk >"$folder/fast.acf"
prints "// advanced controls fast.acf 6a756e6b" "$autotune" emit "$folder/acf.cu" --config CONTROLS=fast
"$autotune" emit "$folder/acf.cu" | grep -q 'controls fast' && complain "CONTROLS=none has controls"
refuses 1 "autotune $folder/acf.cu ... tunes a problem" "$autotune" show "$folder/acf.cu" --top 3 n=1
prints "2 trials, 1 failed" "$autotune" "$folder/acf.cu"
prints "  $folder/acf.cu" "$autotune" show "$folder/acf.cu" # not of a built-in family of that name
fails "ptxas: Input file 'fast.acf' not in expected format" "$autotune" build "$folder/acf.cu" --config CONTROLS=fast --arch sm_90
sed -i '1s/.*/\/\/@ param B = 1,2/; 2s/=CONTROLS/=fast.acf/' "$folder/acf.cu"
fails "ptxas: Input file 'fast.acf' not in expected format" "$autotune" build "$folder/acf.cu" --arch sm_90

# ---- test data with a structure ---------------------------------------------------------------------------
cat >"$folder/grid.cu" <<'END'
//@ kernel grid
//@ problem w 1..100 default 30
//@ param B = 32,64
//@ grid ceildiv(w, B)
//@ block B
//@ arg w:i32
//@ arg x:u8[(w + 4) * 3]:in:image(checker,width=w,height=3,pitch=w + 4,cell=2)
//@ arg p:f32[3*w]:in:points(uniform,parts=xyz,size=max(w, 2))
//@ arg y:f32[w]:out
#ifndef B
#define B 64
#endif
__global__ void grid(int w, const unsigned char *x, const float *p, float *y) {
  const int i = blockIdx.x * B + threadIdx.x;
  if (i < w) y[i] = x[w + 4 + i] + p[3 * i];
}
END
prints 'fill = { "image", "checker", width = "w", height = 3, pitch = "w + 4", cell = 2 }' "$autotune" emit "$folder/grid.cu" --template
prints 'fill = { "points", "uniform", parts = "xyz", size = "max(w, 2)" }' "$autotune" emit "$folder/grid.cu" --template
prints " 0 wrong" "$autotune" check "$folder/grid.cu"
cp "$folder/grid.cu" "$folder/blanks.cu"
sed -i 's/image(checker,width=w,height=3,/image( checker , width = w, height=3,/' "$folder/blanks.cu"
prints 'fill = { "image", "checker", width = "w", height = 3, pitch' "$autotune" emit "$folder/blanks.cu" --template
sed -i 's/width = w,/width=,/' "$folder/blanks.cu"
refuses 1 "an expression is empty" "$autotune" check "$folder/blanks.cu"
sed -i 's/width=,/width=w,most=256,/' "$folder/blanks.cu"
refuses 1 "most is 256; it can be 0 to 255" "$autotune" check "$folder/blanks.cu"
sed -i 's/checker,/chequer,/' "$folder/grid.cu"
refuses 1 "there is no image 'chequer'; did you mean 'checker'?" "$autotune" check "$folder/grid.cu"

# ---- expected numbers: lua(index) + 1, doubled, + 8 -------------------------------------------------------
python3 -c 'import struct, sys; sys.stdout.buffer.write(b"".join(struct.pack("<f", 2 * (i + 1) + 8) for i in range(100)))' \
  >"$folder/y.bin"
sed -i 's/sizeof("}{ \/\/ ")/8/' "$kernel"
prints "3 right, 0 wrong" "$autotune" check "$kernel" n=100 --kernel k --param B=32..128*2 --grid 'ceildiv(n,B)' \
  --block B --arg n:i32 --arg 'x:f32[n]:in:lua(index)' --arg y:f32[n]:out -I "$folder/inc" --expected y=y.bin

# ---- what is refused, with line and column -----------------------------------------------------------
wrong() { # LINE WORDS: the line added to the file
  { sed 1,4d "$kernel"; echo "$1"; } >"$folder/w.cu"
  refuses 1 "$2" options emit "$folder/w.cu" n=1000
}
refuses 1 "no line names the kernel" "$autotune" emit "$kernel"
wrong '//@ gird 4' "w.cu:16:5: there is no 'gird'; did you mean 'grid'?"
wrong '//@ param C=1,,2' "'' is not a value"
wrong '//@ param C=1..' "is not a range; write 8..64"
wrong '//@ arg z' "w.cu:16:10: the type is missing: z:f32[n]:in"
wrong '//@ arg z:f33[n]:in' "w.cu:16:11: 'f33' is not an element type"
wrong '//@ arg z:f32[n]:im' "w.cu:16:18: the direction is in, out or inout, not 'im'"
wrong '//@ arg z:f32[n]:in:zeros' "a fill is uniform(LEAST,MOST)"
wrong '//@ require BB < 3' "w.cu:16: there is no 'BB' here; did you mean 'B'?"
wrong '//@ define B2 = B2 + 1' "w.cu:16: there is no 'B2' here"
wrong '//@ arg z:f32' "w.cu:16:9: 'z' is no field: give its value, z:f32=2"
wrong '//@ kernel k; grid ceildiv(n, BB); block B' "w.cu:16: there is no 'BB' here; did you mean 'B'?"
wrong '//@ kernel other' "the grid of other is missing: //@ grid ceildiv(n, BLOCK)"
prints "blockIdx.x * B" options emit "$kernel" n=1 --replace B
wrong '#define B 64' "w.cu:16: this #define replaces the tuned value of B; write #ifndef B"
refuses 2 "--param 'B=1,x y', column 3: 'x y' is not a value" "$autotune" emit "$kernel" --kernel k --param "B=1,x y"
refuses 1 "--block 'BB': there is no 'BB' here" "$autotune" emit "$kernel" n=1 --kernel k --param B=1,2 --grid 1 --block BB \
  --arg n:i32
refuses 2 "takes no option --gird, did you mean --grid?" "$autotune" emit "$kernel" --gird 4
refuses 2 "--param describes a CUDA file" "$autotune" sgemm --param B=1

[ $bad = 0 ] || exit 1
