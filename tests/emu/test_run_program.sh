#!/bin/sh
# test_run_program.sh -- autotune run-program and libtuned_emu_cudart.so: a program that registers device code as
# nvcc's stubs do, linked with the runtime of CUDA 12 and of CUDA 13, is right, wrong, or cannot be run.
set -u
. "$(dirname "$0")/../fixtures/cli_fixture.sh"
. tests/fixtures/build.sh
unset TUNED_DEVICE
run="timeout 60 $autotune run-program"

# Instead of the runtime's libraries, which need not be here: their names and symbol versions.
calls=$(grep -ohE '\b(__)?cuda[A-Z][A-Za-z0-9]+\(' tests/fixtures/cuda_program*.[ch] | tr -d '(' | sort -u)
for v in 12 13; do
  { for c in $calls; do echo "void $c(void) {}"; done; } >"$folder/stub.c"
  echo "libcudart.so.$v { global: *; };" >"$folder/stub.map"
  "$CC" -shared -fPIC -w "$folder/stub.c" -Wl,--version-script="$folder/stub.map" -Wl,-soname,libcudart.so.$v \
    -o "$folder/stub$v.so" || complain "no stub of the runtime"
  # shellcheck disable=SC2086
  "$CC" -std=c11 -g -w -D_GNU_SOURCE $includes -DRUNTIME=$v tests/fixtures/cuda_program*.c "$folder/stub$v.so" -ldl -o "$folder/program$v" ||
    complain "the program does not compile"
done

"$autotune" build tests/emu/program.cu --kernel scale --param BLOCK=64,128 --config BLOCK=64 --grid 1 --block BLOCK \
  --arg 'x:f32[64]:inout' --arg n:i32=64 --ptx "$folder/program.ptx" --device emu >/dev/null || complain "no PTX"
export PTX="$folder/program.ptx" PACKING=plain

# passes STATUS COMMAND...: no finding
passes() {
  status=$1
  shift
  "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  [ $got = "$status" ] || complain "$*: status $got, wanted $status: $(cat "$folder/out" "$folder/err")"
  grep -q "^========= 0 findings" "$folder/err" || complain "$*: $(cat "$folder/err")"
}

# finds STATUS WORDS COMMAND...
finds() {
  status=$1 words=$2
  shift 2
  "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  [ $got = "$status" ] || complain "$*: status $got, wanted $status: $(cat "$folder/out" "$folder/err")"
  grep -qF -e "$words" "$folder/err" || complain "$*: says '$(cat "$folder/err")', wanted '$words'"
}

# ---- right programs, whatever packs their PTX
passes 7 $run "$folder/program12" scale
passes 7 $run --device emu:h100 "$folder/program13" scale
PACKING=lz4 passes 7 $run "$folder/program13" scale
if ldconfig -p 2>/dev/null | grep -q libzstd.so.1; then
  PACKING=zstd passes 7 $run "$folder/program13" scale
fi
passes 7 $run "$folder/program13" reset
passes 7 $run "$folder/program12" graph
passes 7 $run "$folder/program13" graph
passes 7 $run "$folder/program13" nulls
ln -s "$PWD/$B/libtuned_emu_cudart.so" "$folder/libcudart.so.13"
LD_LIBRARY_PATH=$folder timeout 60 "$folder/program13" scale >"$folder/out" 2>&1
[ $? = 7 ] || complain "in place of the runtime: $(cat "$folder/out")"

# ---- wrong ones
line=$(grep -n 'BLOCK - 1' tests/emu/program.cu | cut -d: -f1)
finds 99 "program.cu:$line: uninitialised shared memory" $run "$folder/program13" reverse
grep -q '^========= 1 finding; 1 launch passed on emu' "$folder/err" || complain "no summary: $(cat "$folder/err")"
grep -qF 'in reverse<<<(1,1,1), (64,1,1), 0>>>' "$folder/err" || complain "no launch: $(cat "$folder/err")"
finds 99 "0 bytes past the end of allocation" $run "$folder/program12" bounds
finds 99 "0 bytes past the end of allocation" $run "$folder/program13" graph-bounds
finds 99 "the loop has not ended after 10000000 iterations" $run "$folder/program13" endless
finds 99 "an address is null" $run "$folder/program12" null-copy
finds 99 "a copy of 404 bytes is not inside one allocation" $run "$folder/program13" copy
grep -q 'the kind of the copy does not fit' "$folder/err" || complain "no kind: $(cat "$folder/err")"
grep -q 'freeing an address that is not allocated' "$folder/err" || complain "no double free: $(cat "$folder/err")"
finds 99 "grid is not co-resident: kernel scale" $run "$folder/program13" cooperative
grep -q '^========= 1 finding; 1 launch passed on emu' "$folder/err" || complain "a device that fails later launches"
finds 99 "the host uses address 0x1000" $run "$folder/program13" host

$run --json "$folder/program12" bounds >"$folder/out" 2>"$folder/err"
[ $? = 99 ] && [ "$(wc -l <"$folder/out")" = 1 ] || complain "with --json: $(cat "$folder/out")"
grep -q '"status":0,"launches":0,"findings":1,"reports":\[{"place":"[^"]*program.cu:.*past the end' "$folder/out" ||
  complain "with --json: $(cat "$folder/out")"

# ---- what cannot be run, each in a line
PACKING=sass refuses 98 "it has machine code for sm_90): compile and link it with nvcc -gencode" $run "$folder/program13" scale
refuses 98 "the program calls cudaFreeMipmappedArray, which" $run "$folder/program13" mipmap
[ "$(cat "$folder/out")" = before ] || complain "what the program printed is lost: $(cat "$folder/out")"
refuses 98 "cannot run '$folder/none'" $run "$folder/none"
refuses 1 "end of --timeout" $run --timeout 1 "$folder/program13" wait
refuses 2 "name the program" $run
refuses 1 "profiles are:" $run --device emu:none "$folder/program13"
refuses 2 "run-program runs on the emulated device" $run --device 0 "$folder/program13"
printf 'int main(void) { return 0; }\n__asm__(".section .nv_fatbin, \\"a\\"\\n.quad 0\\n");\n' >"$folder/static.c"
"$CC" "$folder/static.c" -o "$folder/static" || complain "no program with a section of device code"
refuses 2 "link it with nvcc -cudart shared" $run "$folder/static"
prints "--help" $run echo --help

[ $bad = 0 ]
