#!/bin/sh
# test_hostile.sh -- input by other hands: kernels that never end, values out of range, files that are no
# files. Each costs one line and a status other than 0. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh
seed=tests/emu/seeds/alu.ptx
export TUNED_DEVICE=emu

# ---- run-ptx: numbers and parameters
runs="$autotune run-ptx $seed k"
$runs --args buf:u32:1024 >"$folder/out" 2>&1 || complain "run-ptx: $(cat "$folder/out")"
refuses 2 "--grid ''" $runs --args buf:u32:1024 --grid ""
refuses 2 "--grid '1,'" $runs --args buf:u32:1024 --grid 1,
refuses 2 "--block '0'" $runs --args buf:u32:1024 --block 0
refuses 2 "i32:nan" $runs --args i32:nan
refuses 2 "i32:99999999999" $runs --args i32:99999999999
refuses 2 "u8:256" $runs --args u8:256
refuses 2 "u32:-1" $runs --args u32:-1
refuses 2 "i32:1.5" $runs --args i32:1.5
refuses 2 "has 1 parameter, but --args gives 0" $runs
refuses 2 "parameter 0 of kernel k has 8 bytes, but --args gives 4" $runs --args i32:1

refuses 2 "is none of buf:" $runs --args buf:u32:1024:rnadom
refuses 2 "is none of buf:" $runs --args bytes:123
refuses 2 "spaces separate parameters" $runs --args buf:u32:1024,i32:5
refuses 1 "cannot open the data of 'buf:u32:4:./none'" $runs --args buf:u32:4:./none
refuses 1 "no __constant__ or __device__ variable 'x'" $runs --args buf:u32:1024 --const x=f32:1
refuses 2 "--dump '1=out': parameter 1 is no buffer" $runs --args buf:u32:1024 --dump 1=out

# ---- run-ptx: structs, variables, files: y[i] = taps[1] * x[i] + s.add, count = s.n
cat >"$folder/affine.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 taps[8];
.global .align 4 .u32 count;
.visible .entry affine(.param .align 4 .b8 s[8], .param .u64 x, .param .u64 y)
{
  .reg .f32 %f<4>; .reg .b32 %r<3>; .reg .b64 %d<7>;
  ld.param.f32 %f0, [s]; ld.param.u32 %r0, [s+4]; ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y];
  mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
  ld.global.f32 %f1, [%d3]; ld.const.f32 %f2, [taps+4]; fma.rn.f32 %f3, %f1, %f2, %f0; st.global.f32 [%d4], %f3;
  st.global.u32 [count], %r0;
  ret;
}
END
# [1, 2, 3, 4] as floats; 0.5 and 7 as a struct
printf '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\100' >"$folder/x.bin"
printf '\0\0\0\77\7\0\0\0' >"$folder/s.bin"
affine="$autotune run-ptx $folder/affine.ptx affine --block 4"
for s in bytes:0000003f07000000 struct:$folder/s.bin; do
  prints "f32[4]: 10.5 20.5 30.5 40.5" $affine --args "$s buf:f32:4:$folder/x.bin buf:f32:4:none" --const taps=f32:0,10 \
    --dump 2="$folder/y.npy" --dump count="$folder/count.bin"
done
printf '\7\0\0\0' | cmp - "$folder/count.bin" || complain "--dump of a variable"
prints "f32[4]: -10 -20 -30 -40" $affine --args "$s buf:f32:4:$folder/y.npy buf:f32:4:none" --const taps=bytes:00000000000080bf \
  --const count=u32:1 --dump 2="$folder/y.bin"
[ "$(wc -c <"$folder/y.bin")" = 16 ] || complain "--dump of bytes: $(wc -c <"$folder/y.bin")"
refuses 2 "variable taps has 8 bytes, but --const gives 4" $affine --args "$s buf:f32:4 buf:f32:4" --const taps=f32:1
refuses 2 "it holds elements of <f4" $affine --args "$s buf:i32:4:$folder/y.npy buf:f32:4"
refuses 2 "parameter 0 of kernel affine has 8 bytes, but --args gives 4" $affine --args "bytes:00112233 buf:f32:4 buf:f32:4"

# ---- run-ptx: a kernel that reads the barrier of its grid, as grid.sync() does, needs all blocks at once
cat >"$folder/grid.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b32 %r<3>; .reg .b64 %d<2>;
  ld.param.u64 %d1, [x]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;
  st.global.u32 [%d1], 7;
  ret;
}
END
prints "u32[1]: 7" $autotune run-ptx "$folder/grid.ptx" k --grid 4 --block 1024 --args buf:u32:1
refuses 1 "grid is not co-resident: kernel k is launched cooperatively with 265 blocks" \
  $autotune run-ptx "$folder/grid.ptx" k --grid 265 --block 1024 --args buf:u32:1

# ---- kernels that never end: the step limit, --timeout, and signals
loop() {
  printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %%p;\n%s\nret;\n}\n' "$1"
}
loop 'V: bar.sync 0; bra V;' >"$folder/barriers.ptx"
refuses 2 "--timeout 'soon' is not a whole number" $autotune run-ptx "$folder/barriers.ptx" k --timeout soon
refuses 1 "end of --timeout" timeout -k 1 20 $autotune run-ptx "$folder/barriers.ptx" k --block 1024 --timeout 1s
for signal in INT TERM; do
  for sec in 0.2 1 3; do # a busy host starts the program late
    timeout -k 1 -s $signal $sec $autotune run-ptx "$folder/barriers.ptx" k --block 1024 --no-checks >"$folder/out" 2>&1
    ! grep -q interrupted "$folder/out" || break
  done
  grep -q interrupted "$folder/out" || complain "SIG$signal in a loop of barriers: $(cat "$folder/out")"
done

# ---- a signal while NVRTC itself compiles (the tests' own can not be stopped)
awk 'BEGIN {
  print "//@ kernel k; grid 1; block B; param B = 32,64; arg y:f32[64]:out\n#ifndef B\n#define B 32\n#endif\n__global__ void k(float *y) {\nfloat x = threadIdx.x;"
  for (i = 0; i < 40000; i++) printf "if (x > %d) x = x * y[%d] + %d;\n", i, i % 64, i
  print "y[threadIdx.x] = x;\n}"
}' >"$folder/slow.cu"
refuses 124 "autotune: interrupted" env -u AUTOTUNE_NVRTC timeout --foreground -k 9 1 $autotune check "$folder/slow.cu"

# ---- files: a database that is none, control characters
mkfifo "$folder/fifo"
refuses 1 "is not a file" timeout -k 1 5 $autotune show saxpy --db "$folder/fifo"
refuses 1 "is not a file" timeout -k 1 5 $autotune saxpy n=1000 --budget 1 --db "$folder/fifo"
ln "$folder/fifo" "$folder/data.npy"
cat >"$folder/data.cu" <<'CU'
//@ kernel k; grid 1; block BLOCK; param BLOCK = 32,64; arg x:f32[32]:in:file(data.npy); arg y:f32[32]:out
#ifndef BLOCK
#define BLOCK 32
#endif
__global__ void k(const float *x, float *y) { if (threadIdx.x < 32) y[threadIdx.x] = x[threadIdx.x]; }
CU
refuses 1 "not a file" timeout -k 1 5 $autotune check "$folder/data.cu"
$autotune saxpy n=1000 --budget 2 --quiet >/dev/null || complain "tuning failed"
$autotune db export "$folder/good.txt" --quiet
grep -v '^# end' "$folder/good.txt" | sed 's/emu:h200/emu:%1B[31m/g' >"$folder/escape.txt"
refuses 2 "has a control character" $autotune db import "$folder/escape.txt"
printf 'BLOCK,status,time_ms\n\033[31m64,ok,1\n' >"$folder/escape.csv"
refuses 2 "control characters" $autotune import "$folder/escape.csv" saxpy n=1000
prints "sound" $autotune db verify
if command -v sqlite3 >/dev/null; then
  for change in "DROP VIEW best; CREATE VIEW best AS SELECT 1" "CREATE VIEW more AS SELECT 1" \
    "CREATE TRIGGER t AFTER INSERT ON device BEGIN SELECT 1; END" "DROP TRIGGER sample_sealed"; do
    cp "$TUNED_DB" "$folder/changed.db"
    sqlite3 "$folder/changed.db" "$change" || complain "sqlite3 does not: $change"
    refuses 1 "is damaged (the" $autotune db verify --db "$folder/changed.db"
  done
  cp "$TUNED_DB" "$folder/changed.db"
  sqlite3 "$folder/changed.db" "DROP TRIGGER sample_sealed; DROP TRIGGER sample_stands;
    INSERT INTO sample (trial, stage, median, spread, launches, cold, driver, batches, host, run, sequence)
    SELECT id, 'final', 1, 0, 1, 1, 0, '1e-6 2e-6], \"forged\": [3', 1, 1, 1 FROM trial" || complain "sqlite3 adds no sample"
  prints '"batches":[1e-06,2e-06]' $autotune show saxpy n=1000 --json --db "$folder/changed.db"
  grep forged "$folder/out" && complain "a database writes into the output"
fi

# ---- an allocation fails, and the failure is known to have happened
if ${CC:-cc} -shared -fPIC tests/fixtures/fail_call.c -o "$folder/fail_call.so"; then
  for at in 1 2 3 5 8 13 21 34 55; do
    for words in "list --json" "run-ptx $seed k --args buf:u32:1024"; do
      rm -f "$folder/fired"
      FAIL_AT=$at FAIL_LOG="$folder/fired" LD_PRELOAD="$folder/fail_call.so" $autotune $words >"$folder/out" 2>&1
      status=$?
      [ -e "$folder/fired" ] || complain "$words: there is no allocation $at"
      [ $status -lt 126 ] || complain "$words: status $status when allocation $at fails"
    done
  done
fi

# ---- a small stack
(
  ulimit -s 64
  $autotune check saxpy n=1000 --sample 2 --quiet
) >"$folder/out" 2>&1 || complain "ulimit -s 64: $(cat "$folder/out")"

# ---- a kernel's text reads no file of the machine
mkdir "$folder/t"
cp tests/fixtures/templates/scale.lua "$folder/t"
{
  echo '  # include "/etc/passwd"'
  cat tests/fixtures/templates/scale.cu
} >"$folder/t/scale.cu"
refuses 1 "#include of /etc/passwd" $autotune build "$folder/t/scale.lua" n=1000

cp tests/fixtures/templates/scale.cu "$folder/t/scale.cu"
mkdir "$folder/t/below" "$folder/beside"
echo 'secret of another file' >"$folder/beside/secret.h"
echo '#include "../../beside/secret.h"' >"$folder/t/below/twice.h"
plain() { # LINE...
  printf '%s\n' '#define BLOCK 64' "$@" '__global__ void k(float *x) { x[threadIdx.x] *= 2; }' >"$folder/t/plain.cu"
  set -- --kernel k --grid 1 --block BLOCK --param BLOCK=32,64 --replace BLOCK --arg 'x:f32[64]:inout'
  $autotune build "$folder/t/plain.cu" "$@" >"$folder/out" 2>&1
  [ $? = 1 ] && grep -q -e "-I" -e "only headers of the CUDA toolkit" "$folder/out" || complain "not refused: $(cat "$folder/out")"
  grep "secret of" "$folder/out" && complain "another file's line is printed"
  [ "$(wc -l <"$folder/out")" = 1 ] || complain "not one line: $(cat "$folder/out")"
}
plain '#include "../beside/secret.h"'
plain '#include "below/twice.h"'
plain '//@ include ../beside' '#include "secret.h"'
plain "//@ include $folder/beside" '#include "secret.h"'
plain "#include \"$folder/beside/secret.h\""
printf '%s\n' '#include "../beside/secret.h"' '#ifndef BLOCK' '#define BLOCK 64' '#endif' \
  '__global__ void k(float *x) { x[threadIdx.x] *= 2; }' >"$folder/t/plain.cu"
$autotune emit "$folder/t/plain.cu" -I "$folder/beside" --kernel k --grid 1 --block BLOCK --param BLOCK=32,64 --replace BLOCK \
  --arg 'x:f32[64]:inout' >"$folder/out" 2>&1 && grep -q "secret of" "$folder/out" || complain "-I: $(cat "$folder/out")"

# ---- databases and templates that anybody can write to
cp "$TUNED_DB" "$folder/open.db"
chmod 666 "$folder/open.db"
refuses 1 "others can write to database" $autotune show saxpy --db "$folder/open.db"
prints "saxpy" env TUNED_TRUST=1 $autotune show saxpy --db "$folder/open.db"
cp tests/fixtures/templates/scale.cu "$folder/t/scale.cu"
prints "scale" $autotune emit "$folder/t/scale.lua" n=1000
chmod 777 "$folder/t"
refuses 1 "anybody can write to its folder" $autotune emit "$folder/t/scale.lua" n=1000
refuses 1 "anybody can write to its folder" $autotune emit scale n=1000 --templates "$folder/t"
prints "scale" env TUNED_TRUST=1 $autotune emit "$folder/t/scale.lua" n=1000
chmod 755 "$folder/t"
chmod 666 "$folder/t/scale.cu"
refuses 1 "scale.cu: anybody can write to it" $autotune emit "$folder/t/scale.lua" n=1000
chmod 644 "$folder/t/scale.cu"
if [ "$(id -u)" = 0 ]; then
  chmod 1777 "$folder/t"
  prints "scale" $autotune emit "$folder/t/scale.lua" n=1000
  chown 65534 "$folder/t/scale.lua"
  refuses 1 "another user put it" $autotune emit "$folder/t/scale.lua" n=1000
fi

# ---- a program with more rights than its user ignores the user's variables; only root can make one
if [ "$(id -u)" = 0 ]; then
  cp "$autotune" "$folder/privileged"
  chown 65534 "$folder/privileged" && chmod 4755 "$folder/privileged" "$folder"
  (
    for name in AUTOTUNE_NVRTC TUNED_DB TUNED_TEMPLATES TUNED_CACHE TUNED_BASE CUDA_HOME XDG_CACHE_HOME HOME; do
      export $name="$folder/hostile_$name"
    done
    "$folder/privileged" doctor
  ) >"$folder/out" 2>&1
  grep "hostile_" "$folder/out" && complain "a setuid program follows its user's variables"
fi

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
