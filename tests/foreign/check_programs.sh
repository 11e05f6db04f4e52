#!/bin/sh
# check_programs.sh AUTOTUNE [FOLDER] -- compile whole CUDA programs that are not ours with nvcc, and run them on the
# emulated device (autotune run-program). They are fetched into FOLDER, where they are not there already. Each tests
# its own results; two have faults of their own, which must be found. Minutes; needs nvcc.
set -u
autotune=$1 folder=${2:-build/foreign/programs} here=$(dirname "$0")
samples=https://raw.githubusercontent.com/NVIDIA/cuda-samples/c94ff366aed18c797b8a85dfaac7817b0228b420
hecbench=https://raw.githubusercontent.com/zjin-lcf/HeCBench/f27000a5188f8ac79bd43fc95a1b3f890c18823d/src
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
[ -x "$nvcc" ] || { echo "no nvcc"; exit 77; }
mkdir -p "$folder"
failed=0 passed=0 absent=0

get() { # URL [FILE]
  file=$folder/${2:-$(basename "$1")}
  [ -s "$file" ] || curl -fsSL --max-time 20 -o "$file" "$1"
}

build() { # NAME SOURCE...
  name=$1
  shift
  "$nvcc" -w -std=c++17 -cudart shared -lineinfo -gencode arch=compute_90,code=compute_90 -I"$folder" "$@" -o "$folder/$name" \
    >"$folder/$name.txt" 2>&1
}

run() { # NAME STATUS WORDS ARGUMENTS...: WORDS are in what it prints or what is found
  name=$1 status=$2 words=$3
  shift 3
  start=$(date +%s)
  "$autotune" run-program --timeout 120 "$folder/$name" "$@" >"$folder/$name.txt" 2>&1
  got=$?
  if [ $got = "$status" ] && grep -qaF -e "$words" "$folder/$name.txt"; then
    echo "ok       $name in $(($(date +%s) - start)) s"
    passed=$((passed + 1))
  else
    echo "FAILED   $name: status $got, wanted $status and '$words'"
    tail -5 "$folder/$name.txt"
    failed=$((failed + 1))
  fi
}

# program NAME STATUS WORDS "URL..." ARGUMENTS...: the first file is compiled as NAME.cu, and every .cpp
program() {
  name=$1 status=$2 words=$3 urls=$4
  shift 4
  sources=
  for url in $urls; do
    case $url in
    *.cu) file=$name.cu sources="$folder/$name.cu" ;;
    *) file=$(basename "$url") ;;
    esac
    case $url in *.cpp) sources="$sources $folder/$file" ;; esac
    get "$url" "$file" || {
      echo "absent   $name: cannot be fetched"
      absent=$((absent + 1))
      return
    }
  done
  # shellcheck disable=SC2086
  if build "$name" $sources; then
    run "$name" "$status" "$words" "$@"
  else
    echo "FAILED   $name does not compile: $(head -1 "$folder/$name.txt")"
    failed=$((failed + 1))
  fi
}

for header in helper_cuda.h helper_string.h helper_functions.h helper_image.h helper_timer.h exception.h; do
  get $samples/Common/$header || echo "absent   $header"
done
intro=$samples/Samples/0_Introduction
program vectorAdd 0 "Test PASSED" $intro/vectorAdd/vectorAdd.cu
program simpleAtomicIntrinsics 0 "returned OK" "$intro/simpleAtomicIntrinsics/simpleAtomicIntrinsics.cu \
  $intro/simpleAtomicIntrinsics/simpleAtomicIntrinsics_kernel.cuh $intro/simpleAtomicIntrinsics/simpleAtomicIntrinsics_cpu.cpp"
program simpleZeroCopy 0 "0 findings" $intro/simpleZeroCopy/simpleZeroCopy.cu
program simpleOccupancy 0 "Test PASSED" $intro/simpleOccupancy/simpleOccupancy.cu
program simpleAssert 99 "simpleAssert.cu:64: assertion" $intro/simpleAssert/simpleAssert.cu
features=$samples/Samples/3_CUDA_Features
program simpleCudaGraphs 0 "0 findings; 24 launches" $features/simpleCudaGraphs/simpleCudaGraphs.cu
program graphConditionalNodes 0 "0 findings" $features/graphConditionalNodes/graphConditionalNodes.cu
program graphMemoryNodes 0 "Validation PASSED" $features/graphMemoryNodes/graphMemoryNodes.cu
program bitonic-sort 0 PASS $hecbench/bitonic-sort-cuda/main.cu 10 1
program stencil1d 0 PASS $hecbench/stencil1d-cuda/stencil_1d.cu 8192 1
program floydwarshall 0 PASS $hecbench/floydwarshall-cuda/main.cu 64 1 16
program jacobi 99 "jacobi.cu:120: shuffle from an inactive lane" $hecbench/jacobi-cuda/main.cu 1 # of a mask with all lanes
build cub_thrust "$here/cub_thrust.cu" && run cub_thrust 0 PASS || failed=$((failed + 1))
echo "$passed passed, $failed failed, $absent absent"
[ $failed = 0 ]
