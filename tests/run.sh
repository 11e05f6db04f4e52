#!/bin/sh
# run.sh PROGRAM... -- run the test programs, as many at a time as there are cores (JOBS), show what
# fails and why tests were skipped, and end with one line of counts. Extra arguments for the programs
# (--device 0) come in TEST_ARGS. Where CI=true, a skipped test fails unless it needs a GPU, or cannot
# run under a sanitizer, which its reason says (skip_because in tests/fixtures/check.h).
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

# The CPU time of children, of what `times` prints: "0m1.250s 0m0.110s" in its second line.
cpu_sec() { # FILE
  awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sec += 60 * t[1] + t[2] } print sec }' "$1"
}

# The outcome of a program's tests: "PASSED FAILED SKIPPED" and the skipped tests with their reasons.
# A shell script is one test, and is skipped when it exits with 77, its last line being the reason.
account() { # LOG STATUS PROGRAM
  awk -v status="$2" -v script="${3##*.sh}" -v ci="${CI:-}" '
    function skip(name) {
      skips = skips "SKIPPED  " name ": " (reason ? reason : "no reason given") "\n"
      if (ci == "true" && reason !~ /GPU|sanitizer/) failed++; else skipped++
    }
    /^\[ RUN      \]/ { reason = ""; ended = 0 } # a program may run several groups
    /^skipped: / { reason = substr($0, 10) }
    /^\[       OK \]/ { passed++ }
    /^\[  SKIPPED \] [a-zA-Z_0-9]*$/ && !ended { skip($NF) }
    /^\[  FAILED  \] [a-zA-Z_0-9]*$/ && !ended { failed++ }
    /^\[==========\] .* run/ { ended = 1 }
    { last = $0 }
    END {
      if (script == "" && status == 0) passed = 1
      else if (script == "" && status == 77) { reason = last; skip("script") }
      else if (status != 0 && !failed) failed = 1
      print passed + 0, failed + 0, skipped + 0
      printf "%s", skips
    }' "$1"
}

run_one() { # FOLDER PROGRAM: leaves its counts in the folder
  folder=$1 program=$2
  name=$(basename "$program")
  log=$folder/$name.log
  case $program in
  *.sh) set -- sh "$program" ;;
  *) set -- "$program" ;;
  esac
  use_nvrtc_cache "$program"
  export TUNED_CACHE="$folder/$name.cache" # of images; a program begins without any
  export TUNED_BASE="$folder/none"         # nor has it a base set
  from=$(date +%s)
  # shellcheck disable=SC2086
  "$@" $TEST_ARGS >"$log" 2>&1
  status=$?
  times >"$log.times" # a subshell has no children yet
  account "$log" $status "$program" >"$log.account"
  read -r passed failed skipped <"$log.account"
  [ "$failed" = 0 ] && verdict=ok || verdict=FAILED
  {
    [ $verdict = ok ] || grep -v '^\[ RUN ' "$log" | tail -n 60
    sed 1d "$log.account"
    printf '%-8s %-32s %4d tests  %3d s  %5.1f s CPU\n' "$verdict" "$name" "$((passed + failed + skipped))" \
      $(($(date +%s) - from)) "$(cpu_sec "$log.times")"
  } >"$log.report"
  cat "$log.report" # at once, so that programs side by side do not mix their lines
  echo "$passed $failed $skipped" >"$log.counts"
}

if [ "$1" = --one ]; then
  run_one "$2" "$3"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 sh "$0" --one "$folder"
cat "$folder"/*.counts | awk -v wanted=$# '
  { passed += $1; failed += $2; skipped += $3 }
  END {
    failed += wanted - NR
    print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
    exit failed > 0 || passed == 0
  }'
