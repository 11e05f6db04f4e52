#!/bin/sh
# check_foreign.sh AUTOTUNE [FOLDER] -- tune ten kernels that are not ours, on the emulated device (or
# $TUNED_DEVICE): CUDA samples, Kernel Tuner's examples, Rodinia. They are fetched into FOLDER, where they are not
# there already; to each, NAME.lines beside this script adds at most ten lines. None may take over a minute.
set -u
autotune=$1 folder=${2:-build/foreign} here=$(dirname "$0")
export TUNED_DEVICE="${TUNED_DEVICE:-emu}" TUNED_DB="$folder/tuned.db"
samples=https://raw.githubusercontent.com/NVIDIA/cuda-samples/v12.8/Samples
tuner=https://raw.githubusercontent.com/KernelTuner/kernel_tuner/1.3.3
rodinia=https://raw.githubusercontent.com/JuliaParallel/rodinia/0f47cfc2f35034405973703fbb6d2c77a25439c0
mkdir -p "$folder/tuned"
rm -f "$TUNED_DB"
failed=0 passed=0 absent=0

get() { # FILE URL
  [ -s "$folder/$1" ] || curl -fsSL --max-time 20 -o "$folder/$1" "$2" || { rm -f "$folder/$1" && false; }
}

tune() { # NAME URL [HEADER URL]
  get "$1.cu" "$2" && { [ $# = 2 ] || get "$3" "$4"; } || {
    echo "absent   $1: cannot be fetched"
    absent=$((absent + 1))
    return
  }
  [ "$(wc -l <"$here/$1.lines")" -le 10 ] || echo "$1.lines has more than ten lines"
  cat "$here/$1.lines" "$folder/$1.cu" >"$folder/tuned/$1.cu"
  start=$(date +%s)
  if timeout 60 "$autotune" "$folder/tuned/$1.cu" --quiet --budget 40,40s >"$folder/$1.txt" 2>&1; then
    echo "ok       $1 in $(($(date +%s) - start)) s:$(sed -n 2p "$folder/$1.txt")"
    passed=$((passed + 1))
  else
    echo "FAILED   $1 in $(($(date +%s) - start)) s"
    cat "$folder/$1.txt"
    failed=$((failed + 1))
  fi
}

tune matrixMul $samples/0_Introduction/matrixMul/matrixMul.cu
tune transpose $samples/6_Performance/transpose/transpose.cu
tune reduction_kernel $samples/2_Concepts_and_Techniques/reduction/reduction_kernel.cu
tune convolutionSeparable $samples/2_Concepts_and_Techniques/convolutionSeparable/convolutionSeparable.cu \
  tuned/convolutionSeparable_common.h \
  $samples/2_Concepts_and_Techniques/convolutionSeparable/convolutionSeparable_common.h
tune kt_vector_add $tuner/test/vector_add.cu
for name in matmul convolution stencil reduction; do
  tune kt_$name $tuner/examples/cuda/$name.cu
done
tune hotspot $rodinia/cuda/hotspot/hotspot.cu
echo "$passed passed, $failed failed, $absent absent"
[ $failed = 0 ]
