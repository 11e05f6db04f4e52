#!/bin/sh
# bench_exported.sh -- an exported portfolio of sgemm beside libtuned, which serves from the same: writes the
# shipped portfolio as C, builds bench_exported.c with it, and runs it on GPU 0.
#   sh tests/bench/bench_exported.sh [N [SEED [GRID]]] [--sec S] [--jobs J] [--json]
# Default: 200 112 "m=16..8192 n=16..8192 k=16..8192". EXPORT has options of autotune export ("--top 520",
# "--dispatch tree"; its --arch is sm_90a), B the build folder, CC the compiler; BUILD_ONLY=FILE leaves the
# program there and runs nothing.
set -eu
. tests/fixtures/build.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUNED_DB="$folder/none.db"
# shellcheck disable=SC2086
"$B/autotune" export sgemm --portfolio --arch sm_90a --header "$folder/sgemm_portfolio.h" \
  --embed "$folder/sgemm_portfolio.c" ${EXPORT:-} >&2
program=${BUILD_ONLY:-$folder/bench_exported}
libraries=$(ls /usr/lib/*/liblua5.4.a /usr/lib/*/libsqlite3.a /usr/lib/*/libz.a)
# shellcheck disable=SC2086
"$CC" -std=c11 -O2 -Wall -Wextra $includes -I"$folder" tests/bench/bench_exported.c "$folder/sgemm_portfolio.c" \
  $(objects sample_sizes images compile_worker worker wire) "$B/libtuned.a" $libraries -L"$CUDA_HOME/lib64/stubs" \
  -lcuda -ldl -lm -lpthread -o "$program"
[ -n "${BUILD_ONLY:-}" ] || "$program" "$@"
