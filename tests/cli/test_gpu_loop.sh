#!/bin/sh
# test_gpu_loop.sh -- the whole tuning loop as it runs on a GPU, finals, clocks, energy and graphs
# included, over a fake driver whose kernels do nothing (so every check passes) and a fake NVML.
set -eu
. tests/fixtures/cli_fixture.sh
. tests/fixtures/build.sh
mkdir "$folder/driver" "$folder/nvml"
fixture fake_driver "$folder/driver/libcuda.so.1"
fixture fake_nvml "$folder/nvml/libnvidia-ml.so.1"
set +e
export TUNED_DEVICE=0 LD_LIBRARY_PATH="$folder/driver"

# ---- without --device the GPU is used
unset TUNED_DEVICE
prints "on Fake" $autotune saxpy n=999 --budget 2
prints "on Fake" $autotune saxpy --sizes "n=998,999" --budget 2
TUNED_DEVICE=0
export TUNED_DEVICE

# ---- without NVML: one line says so, and everything else works
prints "5 trials, 0 failed" $autotune saxpy n=1000 --budget 5
grep -q "Fake" "$folder/out" || complain "this is not the fake driver: $(cat "$folder/out")"
[ "$(grep -c "clocks, temperature and power are not recorded" "$folder/err")" = 1 ] ||
  complain "no line about NVML: $(cat "$folder/err")"
grep -q "  clocks" "$folder/out" && complain "clocks from nowhere: $(cat "$folder/out")"
refuses 2 "use --objective time" $autotune saxpy n=1000 --objective energy --quiet

# ---- with NVML: its readings are reported and stored
export LD_LIBRARY_PATH="$folder/driver:$folder/nvml"
prints "clocks 1755 to 1755 MHz, at most 61 C and 300 W" $autotune saxpy n=1001 --budget 5
grep -q "power cap in" "$folder/out" || complain "no power cap: $(cat "$folder/out")"
grep -q "not recorded" "$folder/err" && complain "NVML was not found: $(cat "$folder/err")"
prints '"clock_mhz":1755,"power_w":300.0,"temperature_c":61,"held":4' $autotune saxpy n=1002 --budget 3 --json
grep -q '"ended":"precise"' "$folder/out" || complain "no reason: $(cat "$folder/out")"

prints '"held":4,"retaken":0,"clock_mhz":1755,"memory_mhz":3201,"power_w":300,"temperature_c":61' \
  $autotune show saxpy n=1002 --json
grep -q '"ended":"race","timing":"stream","batches":\[' "$folder/out" || complain "no final: $(cat "$folder/out")"

# ---- throttled: a sample is repeated a limited number of times, and then reported
export FAKE_NVML_HOT=2
prints "; repeated " $autotune saxpy n=1003 --budget 2
export FAKE_NVML_HOT=1000000
prints '"held":68,"retaken":3' $autotune saxpy n=1004 --budget 1 --json
unset FAKE_NVML_HOT

# ---- energy: the fake draws 300 W; the energy of a launch follows from the host's time
prints "best by energy" $autotune saxpy n=1005 --budget 1 --objective energy
grep -q " J, [0-9]* W  " "$folder/out" || complain "no watts: $(cat "$folder/out")"
prints '"objective":"edp","best":{"joules":' $autotune saxpy n=1005 --budget 2 --objective edp --json
for no in energy gpu init; do
  export FAKE_NVML_NO=$no
  refuses 2 "use --objective time" $autotune saxpy n=1006 --objective energy --quiet
done
export FAKE_NVML_NO=clock
prints "3 trials" $autotune saxpy n=1006 --budget 3
unset FAKE_NVML_NO

# ---- graphs: another way to time, named in every output
prints "timed in CUDA graphs" $autotune saxpy n=1007 --budget 3 --timing graph
prints '"timing":"graph"' $autotune saxpy n=1007 --budget 4 --timing graph --json
prints '"timing":"graph"' $autotune show saxpy n=1007 --timing graph --json
refuses 1 "is not tuned" $autotune show saxpy n=1007 # kept apart from launches one by one
refuses 2 "neither stream nor graph" $autotune saxpy n=1007 --timing graphs
refuses 2 "needs a GPU" $autotune saxpy n=1007 --timing graph --quiet --device emu

# ---- the default is a finalist, though its image is gone
$autotune saxpy n=1008 --budget 3 --quiet >/dev/null
$autotune db prune --top 1 --quiet >/dev/null 2>&1
prints "default" $autotune saxpy n=1008 --budget 4

# ---- the fastest go to the finals, and the default though it is the slowest of them all
prints "20 trials" $autotune saxpy n=3000000 --budget 20
prints '"final":true' $autotune show saxpy n=3000000 --json --top 100
[ "$(grep -c '"final":true' "$folder/out")" = 7 ] || complain "not seven finalists: $(cat "$folder/out")"
[ "$(tail -n 1 "$folder/out" | grep -c '"final":true')" = 0 ] || complain "a final at the end"
grep 'BLOCK=256,VEC=1,COARSE=1,ORDER=interleaved' "$folder/out" | grep -q '"final":true' ||
  complain "the default is no finalist: $(cat "$folder/out")"
[ "$(grep -cE '"ended":"(slower|look)"' "$folder/out")" -gt 0 ] || complain "no candidate was given up: $(cat "$folder/out")"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
