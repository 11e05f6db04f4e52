#!/bin/sh
# run.sh PROGRAM... -- run the test programs, as many at a time as there are cores (JOBS), show what
# fails, and end with one line of counts. Extra arguments for the programs (--device 0) come in TEST_ARGS.
if [ "$1" = --one ]; then # run.sh --one FOLDER PROGRAM: leaves its counts in the folder
  folder=$2 program=$3
  log=$folder/$(basename "$program").log
  case $program in
  *.sh) set -- sh "$program" ;;
  *) set -- "$program" ;;
  esac
  from=$(date +%s)
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
