#!/bin/sh
# test_cuda.sh -- cuda.c over a fake driver: builds tests/fixtures/fakes/fake_driver.c as libcuda.so.1 and runs
# tests/device/cuda_faults.c with it, under the sanitizers. Needs no GPU and touches none.
set -eu
. tests/fixtures/build.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fixture fake_driver "$scratch/libcuda.so.1"
# shellcheck disable=SC2086
"$CC" -std=c11 -g -Wall -Wextra -Werror -Wno-missing-field-initializers $includes -fsanitize=address,undefined -fno-sanitize-recover=undefined tests/device/cuda_faults.c \
  runtime/device/cuda.c runtime/device/cuda_*.c runtime/device/device_link.c runtime/device/toolkit.c \
  runtime/base/dtype.c runtime/base/err.c runtime/base/str.c \
  -lcmocka -ldl -lm -lpthread -o "$scratch/cuda_faults"
LD_LIBRARY_PATH="$scratch" ASAN_OPTIONS=detect_leaks=0 "$scratch/cuda_faults"
