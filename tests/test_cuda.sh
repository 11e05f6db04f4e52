#!/bin/sh
# test_cuda.sh -- cuda.c over a fake driver: builds tests/fake_driver.c as libcuda.so.1 and runs
# tests/cuda_faults.c with it, under the sanitizers. Needs no GPU and touches none.
set -eu
CC=${CC:-cc}
[ -n "${CUDA_HOME:-}" ] || for CUDA_HOME in "$PWD/build/cuda/nvidia/cu13" /usr/local/cuda; do
  [ ! -d "$CUDA_HOME" ] || break
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags="-std=c11 -g -Wall -Wextra -Werror -Wno-missing-field-initializers -Iruntime/base -Iruntime/device
  -Itests -isystem $CUDA_HOME/include"

"$CC" $flags -shared -fPIC -Wl,-soname,libcuda.so.1 tests/fake_driver.c -o "$scratch/libcuda.so.1"
"$CC" $flags -fsanitize=address,undefined -fno-sanitize-recover=undefined tests/cuda_faults.c \
  runtime/device/cuda.c runtime/device/cuda_api.c runtime/device/cuda_info.c runtime/base/err.c \
  -lcmocka -ldl -lpthread -o "$scratch/cuda_faults"
LD_LIBRARY_PATH="$scratch" ASAN_OPTIONS=detect_leaks=0 "$scratch/cuda_faults"
