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

checked sparse ""
refuses 2 "it has 4 rows, 4 columns and 8 entries: 'indices' needs 8 elements, and has 7 in this problem" \
  $autotune check examples/sparse.lua entries=7
sed 's/real general/real symmetric/' examples/sparse.mtx >"$folder/sparse.mtx"
cp examples/sparse.lua "$folder"
refuses 2 "sparse.mtx:8: row 1, column 2 is above the diagonal" $autotune check "$folder/sparse.lua"


checked rows "matrix=zipf rows=300" "rows=0" "rows=1" "matrix=hub rows=1000"
prints "rows=1000 entries=4996 row_mean=76 row_cv=431 row_max=1024" $autotune check examples/rows.lua matrix=hub rows=1000 --sample 1
prints "rows=4 entries=8" $autotune check examples/rows.lua matrix=file:examples/sparse.mtx --sample 1
refuses 2 "rows=2147483647 is out of range" $autotune check examples/rows.lua matrix=path rows=2^31-1
refuses 2 "no generator of matrices is named 'zip', did you mean 'zipf'?" $autotune check examples/rows.lua matrix=zip
refuses 2 "entries=5 is not that of matrix=zipf rows=300" $autotune check examples/rows.lua matrix=zipf rows=300 entries=5
head -4 examples/sparse.mtx >"$folder/cut.mtx"
refuses 2 "cut.mtx:" $autotune check examples/rows.lua "matrix=file:$folder/cut.mtx"
prints "row_cv=181 row_max=431" $autotune examples/rows.lua matrix=zipf rows=500 exponent=1.5 --budget 2
printf 'matrix=zipf rows=500 exponent=1.5,2\n' >"$folder/inputs.txt"
prints "matrix=zipf rows=500 exponent=1.5  exact" $autotune bench examples/rows.lua --suite "$folder/inputs.txt"

checked expand "n=0" "n=2100 longest=3"
refuses 2 "POOL is below n" $autotune check examples/expand.lua n=2049 --config ALG=launch,POOL=2048
refuses 2 "exported C cannot raise the limit of pending launches for expand, which launches kernels; export --cubin" \
  $autotune export examples/expand.lua n=64 --config ALG=launch --arch sm_90a --header "$folder/expand.h"
refuses 2 "PTX of kernels that launch kernels does not load without the device runtime; export --cubin" \
  $autotune export examples/expand.lua n=64 --config ALG=launch --arch compute_90 --cubin "$folder/expand.cubin" --ptx "$folder/expand.ptx"

checked compact "n=0" "n=1001"
checked nested "blocks=1" "blocks=3"

checked connected "n=3000" "n=3000 blocking=yes" n=1 n=2
refuses 2 "LOOP=host and LOOP=ahead wait for the device" $autotune check examples/connected.lua n=100 --config LOOP=host
sed "s/while_word = .state.,/& max = 3,/" examples/connected.lua >"$folder/connected.lua"
for driver in host ahead graph; do
  timeout 60 $autotune check "$folder/connected.lua" n=1000 blocking=yes --config LOOP=$driver >"$folder/out" 2>&1
  grep -q "the first element of state" "$folder/out" || complain "a bound of $driver: $(cat "$folder/out")"
done
checked ell "rows=300 mean=5" "rows=1"
refuses 2 "ell prepares buffers" "$autotune" export examples/ell.lua rows=300 --config ALG=ell --arch compute_90 --header "$folder/ell.h"

checked heat "n=5000 steps=5" "n=2 steps=3" "n=1001 steps=0" "n=1001 steps=6"
heat='
int main(void) {
  enum { N = 1000 };
  static float x[N], y[N], from[N], to[N], w[] = {0.25f, 0.5f, 0.25f}; /* all sums are exact */
  CUmodule module;
  heat_kernels k;
  CUdeviceptr dw, dx, dy, workspaces[2];
  x[500] = from[500] = 64;
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
  for (int s = 0; s < HEAT_steps; s++) {
    for (int i = 1; i < N - 1; i++) to[i] = w[0] * from[i - 1] + w[1] * from[i] + w[2] * from[i + 1];
    for (int i = 0; i < N; i++) from[i] = to[i];
  }
  for (int i = 0; i < N; i++) {
    if (y[i] != from[i]) return printf("y[%d] is %g, not %g\n", i, y[i], from[i]), 1;
  }
  return 0;
}'
exported heat "$heat" n=1000 steps=3 --config LOOP=device
exported heat "$heat" n=1000 steps=3 --config LOOP=host
exported heat "$heat" n=1000 steps=4 --config LOOP=graph

checked normalise n=5000 n=1 n=33
exported normalise '
int main(void) {
  enum { N = 1000 };
  static float x[N], y[N], kept[N];
  CUmodule module;
  normalise_kernels k;
  CUdeviceptr dx, dy, dk, workspace;
  for (int i = 0; i < N; i++) x[i] = (float)(i * 7 % N) - 100;
  DO(cuInit(0));
  DO(normalise_load_module(0, &module));
  DO(normalise_load(module, &k));
  DO(cuMemAlloc(&workspace, normalise_workspace_nbytes(0)));
  DO(cuMemAlloc(&dx, sizeof x));
  DO(cuMemAlloc(&dy, sizeof y));
  DO(cuMemAlloc(&dk, sizeof kept));
  DO(cuMemcpyHtoD(dx, x, sizeof x));
  DO(normalise_launch(&k, NULL, &workspace, dx, dy, dk));
  DO(cuMemcpyDtoH(y, dy, sizeof y));
  DO(cuMemcpyDtoH(kept, dk, sizeof kept));
  for (int i = 0; i < N; i++) {
    if (kept[i] != x[i] || y[i] != (x[i] + 100) / (N - 1)) return printf("y[%d] is %g\n", i, y[i]), 1;
  }
  return 0;
}' n=1000
# errors of all elements together
with() { sed "s/  tolerance = .*/  tolerance = { $1 },/" examples/normalise.lua >"$folder/with.lua"; }
for right in "psnr = 120, peak = 1" "psnr = 120" "norm2 = 2^-22"; do
  with "$right"
  prints " 0 wrong" "$autotune" check "$folder/with.lua" n=1000 --sample 1
done
with "psnr = 200, peak = 1"
prints "dB, 200 are needed (case 0)" sh -c "$autotune check $folder/with.lua n=1000 --sample 1 || true"
with "psnr = 200"
prints "dB, 200 are needed (case 0)" sh -c "$autotune check $folder/with.lua n=1000 --sample 1 || true"
with "norm2 = 2^-40"
prints "in the 2-norm, 9.095e-13 is allowed (case 0)" sh -c "$autotune check $folder/with.lua n=1000 --sample 1 || true"
with "norm2 = 0"
prints "differs from the reference by inf in the 2-norm, 0 is allowed" \
  sh -c "$autotune check $folder/with.lua n=1000 --sample 1 || true"
# streams that do not wait for each other
sed 's/after = "STREAMS - 1",//' examples/normalise.lua >"$folder/late.lua"
prints "kernel scale on stream 0 reads what kernel greatest on stream 1 writes, and neither waits for the other" \
  sh -c "$autotune check $folder/late.lua n=5000 --config STREAMS=2 || true"
sed 's/value = 0 }/value = 0, stream = 1 }/' examples/normalise.lua >"$folder/early.lua"
prints "kernel least on stream 0 writes what a memset on stream 1 writes" \
  sh -c "$autotune check $folder/early.lua n=5000 --config STREAMS=1 || true"
# copies of the host's memory, and streams in loops
checked chunks n=5000 n=1 n=0
exported chunks '
int main(void) {
  static float x[1000], y[1000];
  CUmodule module;
  chunks_kernels k;
  CUdeviceptr workspace;
  for (int i = 0; i < 1000; i++) x[i] = (float)i;
  DO(cuInit(0));
  DO(chunks_load_module(0, &module));
  DO(chunks_load(module, &k));
  DO(cuMemAlloc(&workspace, chunks_workspace_nbytes(0)));
  DO(chunks_launch(&k, NULL, &workspace, x, y));
  for (int i = 0; i < 1000; i++) if (y[i] != x[i] * x[i] + 1) return printf("%d: %g\n", i, y[i]), 1;
  return 0;
}' n=1000
checked halo "n=1001 steps=4" "n=128 steps=1"
exported halo '
int main(void) {
  enum { N = 1000 };
  static float x[N], y[N], to[N], sent[128]; /* all sums are exact */
  CUmodule module;
  halo_kernels k;
  CUdeviceptr dx, dy, workspace;
  x[3] = 64;
  DO(cuInit(0));
  DO(halo_load_module(0, &module));
  DO(halo_load(module, &k));
  DO(cuMemAlloc(&workspace, halo_workspace_nbytes(0)));
  DO(cuMemAlloc(&dx, sizeof x));
  DO(cuMemAlloc(&dy, sizeof y));
  DO(cuMemcpyHtoD(dx, x, sizeof x));
  DO(halo_launch(&k, NULL, &workspace, dx, dy, sent));
  DO(cuMemcpyDtoH(y, dy, sizeof y));
  for (int s = 0; s < HALO_steps; s++) {
    for (int i = 0; i < N; i++) to[i] = x[(i + N - 1) % N] / 4 + x[i] / 2 + x[(i + 1) % N] / 4;
    for (int i = 0; i < N; i++) x[i] = to[i];
  }
  for (int i = 0; i < N; i++) {
    const int end = i < 64 ? i : i - N + 128;
    if (y[i] != x[i] || (end >= 0 && (i < 64 || end >= 64) && sent[end] != x[i])) return printf("%d: %g\n", i, y[i]), 1;
  }
  return 0;
}' n=1000 steps=5
sed 's/from = to, nbytes = 4 \* H, stream = "STREAMS - 1"/from = to, nbytes = 4 * H, stream = 2/' examples/halo.lua >"$folder/halo.lua"
prints "a copy on stream 2 reads what kernel ends on stream 1 writes, and neither waits for the other" \
  sh -c "$autotune check $folder/halo.lua n=1000 steps=1 --config STREAMS=2 || true"
# an error is measured by a bound that the reference computes
checked edges "width=1 height=1" "width=257 height=3"
bound() { sed "$1" examples/edges.lua >"$folder/bound.lua"; }
wrong_bound() {
  bound "$1"
  prints "$2" sh -c "timeout 60 $autotune check $folder/bound.lua width=33 height=17 --sample 1 2>&1 || true"
}
bound 's/factor = 10 \* 2^-24/factor = 0, abs = 1e-4/'
prints " 0 wrong" timeout 60 "$autotune" check "$folder/bound.lua" width=33 height=17 --sample 1
wrong_bound 's/sum + centre;/sum + centre + 1e-5f;/; s/sum : sum/sum + 1e-5f : sum/' "which may differ by "
wrong_bound 's/factor = 10 /factor = 0.1 /' "which may differ by "
wrong_bound '/magnitude\[i\] = /d' "which may differ by 0 (case 0)"
wrong_bound 's/= (float)all/= i == 70 ? nanf("") : (float)all/' "the reference: the bound of to[70] is nan (case 0)"
wrong_bound 's/= (float)all/= i == 70 ? -1 : (float)all/' "the reference: the bound of to[70] is -1 (case 0)"
wrong_bound 's/"f32", "width \* height"/"f32", "width"/' "the bound 'magnitude' has 33 elements, 'to' has 561"
sed 's/{ "f", "f32", "in", count = "2 \* r + 1"/{ "len", "i32", sample = 7 }, { "f", "f32", "in", count = "len"/' examples/smooth.lua \
  >"$folder/len.lua"
prints "its count can read fields only" sh -c "$autotune check $folder/len.lua 2>&1 || true"
checked smooth "n=3000 taps=host" "n=7 r=4090 taps=host" "n=3 r=8191"
smooth='
int main(void) {
  enum { N = 1000 };
  static float x[N], y[N];
  const float f[] = {1, 3, 5, 3, 1}; /* sums are exact */
  CUmodule module;
  smooth_kernels k;
  CUdeviceptr dx, dy, workspace;
  for (int i = 0; i < N; i++) x[i] = (float)(i * 7 % 64);
  DO(cuInit(0));
  DO(smooth_load_module(0, &module));
  DO(smooth_load(module, &k));
  DO(cuMemAlloc(&workspace, sizeof f));
  DO(cuMemAlloc(&dx, sizeof x));
  DO(cuMemAlloc(&dy, sizeof y));
  DO(cuMemcpyHtoD(dx, x, sizeof x));
  DO(smooth_launch(&k, NULL, &workspace, dx, f, dy));
  DO(cuMemcpyDtoH(y, dy, sizeof y));
  for (int i = 0; i < N; i++) {
    float sum = 0;
    for (int k = 0; k < 5; k++) sum += i + k - 2 >= 0 && i + k - 2 < N ? f[k] * x[i + k - 2] : 0;
    if (y[i] != sum) return printf("y[%d] is %g, not %g\n", i, y[i], sum), 1;
  }
  return 0;
}'
for taps in buffer constant parameter; do
  exported smooth "$smooth" n=1000 r=2 taps=host --config TAPS=$taps
done
checked potential "side=1 atoms=0" "side=20 atoms=31"
for atoms in 0 40; do
  prints " 0 wrong" timeout 60 "$autotune" check examples/potential.lua side=20 atoms=$atoms --config ATOMS=constant,CHUNK=16
done
exported potential '
int main(void) {
  enum { SIDE = 20, ATOMS = 40 };
  static float atom[ATOMS][4], energy[SIDE][SIDE];
  CUmodule module;
  potential_kernels k;
  CUdeviceptr da, de;
  for (int i = 0; i < ATOMS; i++) atom[i][2] = 3, atom[i][3] = (float)(i + 1); /* all below one point */
  DO(cuInit(0));
  DO(potential_load_module(0, &module));
  DO(potential_load(module, &k));
  DO(cuMemAlloc(&da, sizeof atom));
  DO(cuMemAlloc(&de, sizeof energy));
  DO(cuMemcpyHtoD(da, atom, sizeof atom));
  DO(potential_launch(&k, NULL, NULL, 1, da, de));
  DO(cuMemcpyDtoH(energy, de, sizeof energy));
  const float sum = ATOMS * (ATOMS + 1) / 2;
  if (energy[0][0] != sum / 2) return printf("%g\n", energy[0][0]), 1;
  return 0;
}' side=20 atoms=40 --config ATOMS=constant,CHUNK=16
# kernels of the template judge results
checked partition n=0 n=1 n=1001
checked tridiagonal "n=1 systems=3" "n=33 systems=70" "n=64 systems=0"
judged() { # EXAMPLE MISTAKE MESSAGE PROBLEM...
  sed "$2" "examples/$1.lua" >"$folder/judged.lua"
  message=$3
  shift 3
  prints "$message" sh -c "timeout 60 $autotune check $folder/judged.lua $* 2>&1 || true"
}
judged expand 's/ pool = "POOL",//' "others of its grid may be pending: the pool is full" n=2100 longest=100 \
  --config ALG=launch,POOL=65536
judged compact 's/popc(all & ((1u << lane) - 1))/popc(all)/' "the 248 elements of kept are not those of the reference in another order" n=1001 --config ALG=warp
judged compact 's/> limit;/>= limit - 0.1f;/' "kept has 292 valid elements, the reference 248" n=1001 --config ALG=warp
judged compact 's/count\[0\]/x[0]/' "'x' is no output, and valid = \"x[0]\" is what an output holds" n=1001 --config ALG=warp
judged compact 's/count\[0\]/2 + count[0]/' "valid is the element of an output, or a multiple" n=1001 --config ALG=warp
judged compact 's/count\[0\]", order = "any"/count[1]"/' "the index in valid" n=1001 --config ALG=warp
judged partition 's/y\[front\] = v/y[front] = front == 3 ? 0.1f : v/' "the check 'permutation' finds 1 wrong (case 0)" n=1000 --sample 1
judged partition 's/y\[front\]/y[n - 1 - front]/; s/y\[n - 1 - back\]/y[back]/' "the check 'partitioned' finds" n=1000 --sample 1
judged partition 's/tolerance = .*/tolerance = { bound = "b", factor = 1 },/
s/^  reference = {/&\n    workspace = { { "b", "f64", 1 } },/' "1 right, 0 wrong" n=1000 --sample 1 # of `below`; y is judged
judged partition 's/"pivot", "y", "below", "wrong"/"y", "below", "wrong"/' "kernel is_partitioned has 5 parameters" n=1000 --sample 1
judged partition 's/of = "y", //' "the reference: the check 'partitioned' finds" n=1000 --sample 1
judged partition 's/of = "y", kernel/of = "x", kernel/' "'x' is no output" n=1000
judged partition 's/args = { "hashes", "wrong" }/args = { "hashes", "hashes" }/' "the check 'permutation' never fails" n=1000
judged tridiagonal 's/i + d < n ? rows/i + d + 1 < n ? rows/' "the residual 'residual' is 0." n=100 systems=3 --config ALG=reduction
judged tridiagonal 's/x\[at\] = mine/x[at] = at == 7 ? nanf("") : mine/' "the residual 'residual' is nan" n=100 systems=3 --config ALG=reduction
judged tridiagonal 's/"residual", of = "x",/"residual",/' "no check is of the output 'x'" n=100 systems=3
judged tridiagonal 's/"x", "sums" }/"x", "wrong" }/' 'no kernel takes "sums"' n=100 systems=3
# quality: the error against the input may be that much larger than the reference's
quality() { # RESIDUAL MESSAGE OPERAND
  sed 's/^\]\] },/]] },\n  checks = { { "quality", residual = '"$1"', kernel = "quality", grid = 4, block = 256,\
    args = { "width", "height", "from", "to", '"$3"', "sums" } } },/
    s/^extern "C" __global__ void slow/extern "C" __global__ void quality(int w, int h, const float *t, const float *x, const float *y, double *sums) {\
  const int i = blockIdx.x * 256 + threadIdx.x;\
  if (i >= w * h) return;\
  atomicAdd(\&sums[0], ((double)x[i] - t[i]) * ((double)x[i] - t[i]));\
  atomicAdd(\&sums[1], ((double)y[i] - t[i]) * ((double)y[i] - t[i]));\
}\n&/' examples/edges.lua >"$folder/quality.lua"
  prints "$2" sh -c "timeout 60 $autotune check $folder/quality.lua width=33 height=17 --sample 1 2>&1 || true"
}
quality 1.0116 "1 right, 0 wrong" '{ expected = "to" }'
quality 0.99 "the residual 'quality' is 1, 0.99 is allowed" '{ expected = "to" }'
quality 1 "'from' is no output that the reference computes" '{ expected = "from" }'
exported partition '
int main(void) {
  enum { N = 1000 };
  static float x[N], y[N];
  unsigned below;
  CUmodule module;
  partition_kernels k;
  CUdeviceptr dx, dy, db, workspace;
  for (int i = 0; i < N; i++) x[i] = (float)(i * 7 % N);
  DO(cuInit(0));
  DO(partition_load_module(0, &module));
  DO(partition_load(module, &k));
  DO(cuMemAlloc(&workspace, partition_workspace_nbytes(0)));
  DO(cuMemAlloc(&dx, sizeof x));
  DO(cuMemAlloc(&dy, sizeof y));
  DO(cuMemAlloc(&db, sizeof below));
  DO(cuMemcpyHtoD(dx, x, sizeof x));
  DO(partition_launch(&k, NULL, &workspace, 300, dx, dy, db));
  DO(cuMemcpyDtoH(y, dy, sizeof y));
  DO(cuMemcpyDtoH(&below, db, sizeof below));
  for (int i = 0; i < N; i++) {
    if (below != 300 || (i < 300) != (y[i] < 300)) return printf("y[%d] is %g\n", i, y[i]), 1;
  }
  return 0;
}' n=1000
checked resize "width=1 height=1 to_width=3 to_height=2" "width=33 height=17 to_width=50 to_height=11"
for read in rows array; do
  prints " 0 wrong" timeout 60 "$autotune" check examples/resize.lua width=100 height=60 to_width=64 to_height=48 \
    --config READ=$read,BLOCK_X=16
done
prints "for compute_90" "$autotune" export examples/resize.lua width=100 height=60 --config READ=array --arch compute_90 \
  --ptx "$folder/resize.ptx"
"$autotune" export examples/resize.lua width=100 height=60 --config READ=array --arch compute_90 \
  --header "$folder/resize.h" >"$folder/out" 2>&1 && complain "resize is exported without its textures"
grep -q "exported C cannot make the textures that resize reads" "$folder/out" || complain "$(cat "$folder/out")"
# a barrier is missing
prints " 2 right, 0 wrong" timeout 60 "$autotune" check examples/bitmap.cu --all
sed 's/  __syncthreads();//' examples/bitmap.cu >"$folder/bitmap.cu"
prints "has not been written yet (is a barrier missing?)" sh -c "timeout 60 $autotune check $folder/bitmap.cu --sample 1 || true"
# plan: products with a matrix that is prepared once
program examples/plan.c "$folder/plan" || complain "plan.c does not compile"
TUNED_DEVICE=emu TUNED_DB="$folder/none.db" timeout 60 "$folder/plan" examples/ell.lua >"$folder/out" ||
  complain "plan: $(cat "$folder/out")"
grep -q "^0 of 5000 wrong" "$folder/out" || complain "plan: $(cat "$folder/out")"

# pictures: of the two sets only one has an inside, which is black
program examples/pictures.c "$folder/pictures" || complain "pictures.c does not compile"
mkdir "$folder/ppm"
TUNED_DEVICE=emu TUNED_DB="$folder/none.db" timeout 60 "$folder/pictures" "$folder/ppm" 30 >"$folder/out" ||
  complain "pictures: $(cat "$folder/out")"
middle() { tail -c +14 "$folder/ppm/$1.ppm" | od -An -tu1 -j "$2" -N 3 | tr -d ' \n'; }
[ "$(middle julia-rabbit 1860)" = 000 ] && [ "$(middle julia-dust 1860)" != 000 ] || complain "julia: $(middle julia-rabbit 1860)"
[ "$(middle ripple-0 1395)" = 255255255 ] || complain "ripple: $(middle ripple-0 1395)"
[ "$(middle heat 1860)" -gt 255255000 ] && [ "$(middle heat 0)" = 000 ] || complain "heat: $(middle heat 1860)"
[ "$(head -c 12 "$folder/ppm/ripple-3.ppm")" = "P6 30 30 255" ] || complain "ripple-3 is no picture"
# a photograph: white but for a black column, in which grey and blurred levels are what they must be
program examples/photo.c "$folder/photo" || complain "photo.c does not compile"
{
  printf 'P6\n# three rows\n6 3 255\n'
  for _ in 1 2 3; do printf '\377\377\377\377\377\377\0\0\0\377\377\377\377\377\377\377\0\0'; done
} >"$folder/stripe.ppm"
TUNED_DEVICE=emu TUNED_DB="$folder/none.db" timeout 60 "$folder/photo" "$folder/stripe.ppm" "$folder/ppm" >"$folder/out" ||
  complain "photo: $(cat "$folder/out")"
levels() { tail -c 6 "$folder/ppm/$1.pgm" | od -An -tu1 | tr -s ' '; }
[ "$(levels grey)" = " 255 255 0 255 255 53" ] || complain "grey: $(levels grey)"
[ "$(levels blur-2)" = " 170 191 204 163 140 187" ] || complain "blurred: $(levels blur-2)"
printf 'P6 6 3 255 too short' >"$folder/short.ppm"
"$folder/photo" "$folder/short.ppm" 2>&1 | grep -q "is not a whole PPM file" || complain "a short file is read"
[ $bad = 0 ]
