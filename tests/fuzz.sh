#!/bin/sh
# fuzz.sh -- runs each libFuzzer target for FUZZ_SEC seconds (default 15) with FUZZ_SEED from the kept seeds,
# under the address and undefined-behaviour sanitizers, with gcc: see tests/fixtures/fuzz_driver.c. A crash leaves
# its input in build-fuzz/fuzz.crash.
# shellcheck disable=SC2086 # flags are words
set -eu
out=build-fuzz
mkdir -p $out
includes="$(find runtime generator db tuner -name '*.h' -printf '-I%h\n' | sort -u | tr '\n' ' ') -Ibuild -Itests/fixtures -isystem /usr/include/lua5.4"
flags="-std=c11 -O1 -g -fopenmp-simd -fsanitize=address,undefined -fno-sanitize-recover=undefined"
libraries="build/libtuned.a -ljansson -lz -llua5.4 -lsqlite3 -lm -ldl -lpthread"
compiled=$(find runtime/base runtime/emu generator tuner/formats -name '*.c')
targets="tests/emu/fuzz_run.c tests/unit/fuzz_template.c tests/unit/fuzz_results.c"

object() {
  echo "$out/$(basename "$1" .c).o"
}

{
  for source in $compiled $targets; do
    echo "$source -fsanitize-coverage=trace-pc -o $(object "$source")"
  done
  echo "tests/fixtures/fuzz_driver.c -o $out/fuzz_driver.o"
} | xargs -P "$(nproc)" -L 1 ${CC:-gcc} $flags $includes -c
objects=$(for source in $compiled; do object "$source"; done)

run() { # TARGET SEED-FILE...
  name=$1
  shift
  ${CC:-gcc} $flags "$out/$name.o" "$out/fuzz_driver.o" $objects $libraries -o "$out/$name"
  echo "$name: $(cd $out && "./$name" "${FUZZ_SEC:-15}" "${FUZZ_SEED:-1}" "$@")"
}

here=$PWD
run fuzz_run "-dict=$here/tests/emu/ptx.dict" "$here"/tests/emu/seeds/*.ptx
run fuzz_template "$here"/tests/fixtures/*.lua "$here"/templates/saxpy/saxpy.lua "$here"/templates/copy/*.lua "$here"/examples/*.cu
run fuzz_results "$here"/tests/unit/seeds/*
