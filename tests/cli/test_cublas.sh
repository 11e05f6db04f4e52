#!/bin/sh
# test_cublas.sh -- the cuBLAS peer over a fake libcublas.so.13, which computes on the host: needs no GPU.
set -eu
. tests/fixtures/build.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fixture fake_cublas "$scratch/libcublas.so.13"
LD_LIBRARY_PATH="$scratch" "$B"/tests/cublas_calls
