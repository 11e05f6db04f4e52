#!/bin/sh
# run.sh PROGRAM... -- run the test programs, as many at a time as there are cores (JOBS), show what
# fails, and end with one line of counts. Extra arguments for the programs (--device 0) come in TEST_ARGS.
#
# What NVRTC returned is kept in build/nvrtc-cache (NVRTC_CACHE) and answers the same compilation in any
# later test (tests/fixtures/nvrtc_cache.c); TEST_NVRTC_CACHE=0 compiles everything afresh.
use_nvrtc_cache() { # $1: the test program
  case ${TEST_NVRTC_CACHE:-1}$(basename "$1") in
  0* | 1test_compile | 1test_nvrtc_cache) return ;; # test NVRTC itself
  esac
  library=${B:-build}/nvrtc/lib/libnvrtc_cache.so
  [ -e "$library" ] || return
  export AUTOTUNE_NVRTC="${AUTOTUNE_NVRTC:-$(realpath "$library")}"
  export NVRTC_CACHE="${NVRTC_CACHE:-$PWD/build/nvrtc-cache}"
}

if [ "$1" = --one ]; then # run.sh --one FOLDER PROGRAM: leaves its counts in the folder
  folder=$2 program=$3
  log=$folder/$(basename "$program").log
  case $program in
  *.sh) set -- sh "$program" ;;
  *) set -- "$program" ;;
  esac
  from=$(date +%s)
  use_nvrtc_cache "$program"
  # shellcheck disable=SC2086
  if "$@" $TEST_ARGS >"$log" 2>&1; then
    verdict=ok
  else
    verdict=FAILED
  fi
  ok=$(grep -c '^\[       OK \]' "$log")
  bad=$(grep -c '^\[  FAILED  \] [a-z_0-9]*$' "$log")
  case $program in *.sh) [ $verdict = ok ] && ok=1 || bad=1 ;; esac
  if [ $verdict = FAILED ] && [ "$bad" = 0 ]; then
    bad=1
  fi
  {
    [ $verdict = ok ] || grep -v '^\[ RUN ' "$log" | tail -n 60
    printf '%-8s %-32s %4d tests  %3d s\n' "$verdict" "$(basename "$program")" "$ok" $(($(date +%s) - from))
  } >"$log.said"
  cat "$log.said" # at once, so that programs side by side do not mix their lines
  echo "$ok $bad" >"$log.counts"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 sh "$0" --one "$folder"
cat "$folder"/*.counts | awk -v wanted=$# '
  { passed += $1; failed += $2 }
  END {
    failed += wanted - NR
    print passed + 0 " passed, " failed + 0 " failed"
    exit failed > 0 || passed == 0
  }'
