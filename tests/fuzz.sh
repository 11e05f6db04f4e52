#!/bin/sh
# fuzz.sh [TARGET...] -- runs each libFuzzer target for FUZZ_SEC seconds (default 8) with FUZZ_SEED from the kept
# seeds, under the address and undefined-behaviour sanitizers: with clang's libFuzzer where it is installed, else with
# gcc and tests/fixtures/fuzz_driver.c. With libFuzzer, inputs that reach new code stay in build-fuzz/corpus, and the
# next run begins with them. An input that fails is left in build-fuzz/.
# shellcheck disable=SC2086,SC2089,SC2090,SC3013 # flags are words; dash and bash know -nt
set -eu
out=build-fuzz
mkdir -p $out/corpus
if clang -fsanitize=fuzzer -x c - -o $out/tried 2>/dev/null <<'C'; then
int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return 0 * (p && n); }
C
  cc="${FUZZ_CC:-clang}" cover=-fsanitize=fuzzer-no-link warn=-w
else
  cc="${CC:-gcc}" cover=-fsanitize-coverage=trace-pc warn=
fi
cuda=
for folder in "$PWD/build/cuda/nvidia/cu13" ${CUDA_HOME:-} /usr/local/cuda; do
  [ -n "$cuda" ] || [ ! -d "$folder/include" ] || cuda="-isystem $folder/include"
done
includes="$(find runtime generator db tuner -name '*.h' -printf '-I%h\n' | sort -u | tr '\n' ' ') -Ibuild -Itests/fixtures -Itests/fixtures/fakes
  -isystem /usr/include/lua5.4 $cuda"
flags="-std=c11 -O1 -g -fopenmp-simd $warn -DTUNED_VERSION=\"fuzz\" -fsanitize=address,undefined -fno-sanitize-recover=undefined"
libraries="-ljansson -lz -llua5.4 -lsqlite3 -lm -ldl -lpthread"
compiled=$(find db runtime generator tuner -name '*.c' ! -name main.c ! -name typed_calls.c ! -name embed_portfolios.c)
written="build/embedded.c build/embedded_portfolios.c build/tuned_calls.c build/tuner_files.c"
targets=$(find tests -name 'fuzz_*.c' ! -name fuzz_driver.c ! -name fuzz_ptx.c)

object() {
  echo "$out/$(basename "$1" .c).o"
}

newer=$(find runtime generator db tuner build tests -name '*.h' -newer $out/compiled 2>/dev/null || echo all)
{
  for source in $compiled $written $targets; do # only what changed, unless a header did
    [ -z "$newer" ] && [ "$(object "$source")" -nt "$source" ] || echo "$source $cover -o $(object "$source")"
  done
  echo "tests/fixtures/fuzz_driver.c -o $out/fuzz_driver.o"
} | xargs -P "$(nproc)" -L 1 $cc $flags $includes -c
touch $out/compiled
objects=$(for source in $compiled $written; do object "$source"; done)

run() { # TARGET WORD...: an option of the target, and its seeds
  name=$1 here=$PWD
  shift
  case "$cover" in
  -fsanitize=fuzzer*)
    mkdir -p "$out/corpus/$name"
    $cc -fsanitize=fuzzer,address,undefined "$out/$name.o" $objects $libraries -o "$out/$name"
    (cd $out && "./$name" -max_total_time="${FUZZ_SEC:-8}" -seed="${FUZZ_SEED:-1}" -max_len=8192 -timeout=20 \
      -print_final_stats=1 "corpus/$name" "$@" >"$name.log" 2>&1) || { tail -40 "$out/$name.log" && exit 1; }
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log") inputs tried, $(
      grep -o 'cov: [0-9]*' "$out/$name.log" | tail -1 | cut -d' ' -f 2) places reached"
    ;;
  *)
    $cc $flags "$out/$name.o" "$out/fuzz_driver.o" $objects $libraries -o "$out/$name"
    set -- $(for word in "$@"; do [ -d "$word" ] && ls -d "$word"/* || echo "$word"; done)
    echo "$name: $(cd $out && "./$name" "${FUZZ_SEC:-8}" "${FUZZ_SEED:-1}" "$@")"
    ;;
  esac
  cd "$here"
}

mkdir -p $out/templates
cp tests/fixtures/templates/*.lua templates/saxpy/saxpy.lua templates/copy/*.lua examples/*.cu $out/templates
tests=$PWD/tests
for target in ${*:-run graph template results expr texts database words}; do
  case $target in
  run) run fuzz_run "-dict=$tests/emu/ptx.dict" "$tests/emu/seeds" ;;
  graph) run fuzz_graph "$tests/emu/seeds_graph" ;;
  template) run fuzz_template "$PWD/$out/templates" ;;
  results) run fuzz_results "$tests/unit/seeds" ;;
  words) run fuzz_words "$tests/cli/seeds_words" ;;
  *) run fuzz_$target "$tests/unit/seeds_$target" ;;
  esac
done
