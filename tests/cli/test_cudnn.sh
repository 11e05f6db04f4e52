#!/bin/sh
# test_cudnn.sh -- the cuDNN peer over a fake library, which computes on the host: needs no GPU.
set -eu
. tests/fixtures/build.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fixture fake_cudnn "$scratch/libcudnn.so.9"
LD_LIBRARY_PATH="$scratch" "$B"/tests/cudnn_calls
