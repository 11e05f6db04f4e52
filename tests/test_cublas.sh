#!/bin/sh
# test_cublas.sh -- the cuBLAS peer over a fake libcublas.so.13, which computes on the host: needs no GPU.
set -eu
CC=${CC:-cc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$CC" -std=c11 -g -Wall -Wextra -Werror -shared -fPIC tests/fake_cublas.c -o "$scratch/libcublas.so.13"
LD_LIBRARY_PATH="$scratch" build/tests/cublas_calls
