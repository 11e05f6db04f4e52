#!/bin/sh
# test_results.sh -- exporting a problem's trials as T4, Kernel Tuner cache and CSV, and importing them; T1 files.
# AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh

refuses 2 "name the file" "$autotune" export-results
refuses 2 "no format 'xml'" "$autotune" export-results "$folder/x" saxpy n=1000 --format xml
refuses 1 "no database" "$autotune" export-results "$folder/x" saxpy n=1000
[ ! -e "$folder/x" ] || complain "a refusal wrote a file"

"$autotune" saxpy n=1000 --budget 12 --quiet >/dev/null || complain "tuning failed"
refuses 1 "is not tuned" "$autotune" export-results "$folder/x" saxpy n=999

# ---- exporting, importing and exporting again gives the same; known results stay
trials() { "$autotune" show saxpy n=1000 --json --top 1000 "$@" | sed 's/"final".*//' | sort; }
trials >"$folder/trials"
for format in t4 kernel-tuner csv; do
  file="$folder/$format"
  prints "12 trials of saxpy n=1000" "$autotune" export-results "$file" saxpy n=1000 --format $format
  prints "mean" "$autotune" replay "$file" --strategy random --runs 2
  export TUNED_DB="$folder/$format.db"
  if [ $format = csv ]; then
    refuses 2 "name the problem" "$autotune" import "$file"
    refuses 2 "is emulated" "$autotune" import "$file" saxpy n=1000
  else
    gzip "$file"
    prints "12 results, 12 of them new" "$autotune" import "$file.gz"
    prints "0 of them new, 12 known" "$autotune" import "$file.gz" saxpy n=1000
    trials >"$folder/again"
    cmp "$folder/trials" "$folder/again" || complain "$format: other trials than before: $(diff "$folder/trials" "$folder/again")"
    "$autotune" export-results "$file.2" saxpy n=1000 --format $format --quiet
    gunzip -c "$file.gz" | cmp - "$file.2" || complain "$format: out, in and out again differs"
  fi
  export TUNED_DB="$folder/tuned.db"
done

# ---- results that do not belong to the template
printf 'BLOCK,status,time_ms\n64,ok,1.5\n' >"$folder/short.csv"
refuses 2 "no column" "$autotune" import "$folder/short.csv" saxpy n=1000
printf '{"results": [{"configuration": {"block_size_x": 1}, "invalidity": "compile"}]}' >"$folder/other.json"
refuses 2 "saxpy has no parameter 'block_size_x'" "$autotune" import "$folder/other.json" saxpy n=1000
gunzip -c "$folder/t4.gz" | sed 's/"BLOCK": 64/"BLOCK": 65/' >"$folder/odd.json"
refuses 2 "left out, the others are stored" "$autotune" import "$folder/odd.json" --db "$folder/odd.db"
gunzip -c "$folder/t4.gz" | sed 's/"autotune_modelled": true/"autotune_modelled": false/' >"$folder/measured.json"
refuses 2 "is emulated" "$autotune" import "$folder/measured.json" --db "$folder/odd.db"
printf '' >"$folder/empty"
refuses 2 "empty" "$autotune" import "$folder/empty"
refuses 1 "nowhere" "$autotune" import /nowhere/results.json

# ---- measured results of a GPU, with a fake driver
. tests/fixtures/build.sh
fixture fake_driver "$folder/libcuda.so.1" || complain "no fake driver"
gpu() { LD_LIBRARY_PATH="$folder" "$autotune" "$@" --device 0 --db "$folder/gpu.db"; }
{
  echo 'BLOCK,VEC,COARSE,ORDER,status,time_ms'
  echo '64,1,1,interleaved,ok,0.012'
  echo '128,2,4,contiguous,compile,'
  echo '256,1,2,contiguous,ok,0.010'
} >"$folder/measured.csv"
prints "3 results, 3 of them new" gpu import "$folder/measured.csv" saxpy n=1000
prints '"seconds":1e-05' gpu show saxpy n=1000 --json
gpu export-results "$folder/measured.json" saxpy n=1000 --quiet || complain "no export"
prints "3 results, 3 of them new" "$autotune" import "$folder/measured.json" --db "$folder/elsewhere.db"
sed 's#"autotune_problem": "saxpy#"autotune_problem": "'"$scale"'#' "$folder/measured.json" >"$folder/path.json"
refuses 2 "only a family's name is taken from a file" "$autotune" import "$folder/path.json" --db "$folder/elsewhere.db"
refuses 2 "has no parameter" "$autotune" import "$folder/path.json" $scale n=1000 --db "$folder/elsewhere.db"
refuses 2 "a model's" gpu import "$folder/t4.gz"
echo '512,1,1,contiguous,ok,0.001' >>"$folder/measured.csv"
refuses 2 "ORDER makes a difference only with COARSE > 1" gpu import "$folder/measured.csv" saxpy n=1000

# ---- parameters by importance
refuses 1 "too few" "$autotune" show saxpy n=1000 --importance
refuses 2 "of one problem" "$autotune" show saxpy --importance
"$autotune" saxpy n=1000 --budget 60 --quiet >/dev/null || complain "tuning failed"
prints "BLOCK" "$autotune" show saxpy n=1000 --importance
prints '"parameters":[{"name":"BLOCK","share":' "$autotune" show saxpy n=1000 --importance --json

# ---- objectives
refuses 2 "of one problem" "$autotune" show saxpy --objective time
refuses 1 "no trial has its energy measured" "$autotune" show saxpy n=1000 --objective "flops/joules"
prints "Pareto front: " "$autotune" show saxpy n=1000 --objective "time, registers"
least=$("$autotune" show saxpy n=1000 --objective registers --top 1 --json | sed 's/.*"registers"://; s/}.*//')
prints "\"registers\":$least}" "$autotune" show saxpy n=1000 --objective "time, registers" --json

# ---- T1
cat >"$folder/t1.json" <<'END'
{"General": {"BenchmarkName": "toy"}, "ConfigurationSpace": {"TuningParameters": [
  {"Name": "x", "Type": "int", "Values": "[2**i for i in range(11)]"},
  {"Name": "y", "Type": "int", "Values": "[1, 2, 4]"}],
 "Conditions": [{"Expression": "32 <= x * y <= 1024", "Parameters": ["x", "y"]}]},
 "KernelSpecification": {"KernelName": "k", "Language": "CUDA"}}
END
prints "33 points, 18 valid" "$autotune" spec "$folder/t1.json"
prints '"valid":18' "$autotune" spec "$folder/t1.json" --json
refuses 2 "name a T1 file" "$autotune" spec
refuses 2 "not T1" "$autotune" spec "$folder/other.json"
refuses 1 "nowhere" "$autotune" spec /nowhere/t1.json

# ---- T1 with its kernel: tuned as it stands, and its results as T4
cat >"$folder/add.cu" <<'END'
#ifndef kernel_tuner
#define tile 1
#endif
#define same 3
#if tile > 1 // a macro
#define LOOP for (int t = 0; t < tile; t++)
#else
#define LOOP const int t = 0;
#endif
extern "C" __global__ void add(float *z, const float *x, const float *y, int n) {
  LOOP {
    const int i = (blockIdx.x * tile + t) * block_size_x + threadIdx.x;
    if (i < n) z[i] = SCALE * x[i] + same * y[i];
  }
}
END
vector() { echo "{\"Name\": \"$1\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"$2\", \"FillType\": \"Random\", \"Size\": \"ProblemSize[0]\"}"; }
cat >"$folder/add.json" <<END
{"General": {"BenchmarkName": "add"}, "BenchmarkConfig": {"SCALE": 2, "UNUSED": 3},
 "ConfigurationSpace": {"TuningParameters": [
  {"Name": "block_size_x", "Type": "int", "Values": "[32, 64, 128]", "Default": 64},
  {"Name": "same", "Type": "int", "Values": "[3]", "Default": 1},
  {"Name": "tile", "Type": "int", "Values": "[1, 2, 4]", "Default": 1}],
 "Conditions": [{"Expression": "block_size_x * tile <= 256", "Parameters": ["block_size_x", "tile"]}]},
 "KernelSpecification": {"Language": "CUDA", "KernelName": "add", "KernelFile": "add.cu",
  "CompilerOptions": ["-std=c++11", "-use_fast_math"], "GlobalSizeType": "CUDA",
  "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"}, "GlobalSize": {"X": "1"},
  "ProblemSize": [10000], "GridDivX": ["block_size_x", "tile"], "Arguments": [
   $(vector z WriteOnly), $(vector x ReadOnly), $(vector y ReadOnly),
   {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 10000}]}}
END
prints "8 trials, 0 failed" "$autotune" "$folder/add.json" --effort exhaustive
prints "std=c++11 -use_fast_math -DSCALE=2 -Dkernel_tuner=1" "$autotune" emit "$folder/add.json" --config tile=4
prints "block_size_x=64" "$autotune" emit "$folder/add.json"
prints "8 trials of add" "$autotune" export-results "$folder/add-t4.json" "$folder/add.json"
prints '"invalidity": "correct"' cat "$folder/add-t4.json"
prints "8 results, 8 of them new" "$autotune" import "$folder/add-t4.json" "$folder/add.json" --db "$folder/add.db"
prints "8 right, 0 wrong" "$autotune" check "$folder/add.json" --all
"$autotune" export "$folder/add.json" --arch sm_90a --header "$folder/add.h" --manifest "$folder/add-manifest.json" --quiet || complain "no export of T1"
prints "with -default-device -std=c++11 -use_fast_math -DSCALE=2" cat "$folder/add.h"
prints '"compiler_options": "-default-device -std=c++11 -use_fast_math' cat "$folder/add-manifest.json"
sed -i 's/define same 3/define same 4/' "$folder/add.cu"
refuses 1 "add.cu:4: this #define replaces the tuned value of same" "$autotune" emit "$folder/add.json"
sed 's/"Language": "CUDA"/"Language": "OpenCL"/' "$folder/add.json" >"$folder/cl.json"
refuses 2 "Language is OpenCL" "$autotune" "$folder/cl.json"
refuses 2 "the KernelFile is to be a .cu file beside this one" "$autotune" "$folder/t1.json"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
