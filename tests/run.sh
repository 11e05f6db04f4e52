#!/bin/sh
# run.sh PROGRAM... -- run the test programs, show what fails, and end with one line of counts.
# Extra arguments for the programs (--device 0) come in TEST_ARGS.
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program; do
  case $program in
  *.sh) set -- sh "$program" ;;
  *) set -- "$program" ;;
  esac
  from=$(date +%s)
  if "$@" $TEST_ARGS >"$log" 2>&1; then
    verdict=ok
  else
    verdict=FAILED
  fi
  ok=$(grep -c '^\[       OK \]' "$log")
  bad=$(grep -c '^\[  FAILED  \] [a-z_0-9]*$' "$log")
  case $program in *.sh) [ $verdict = ok ] && ok=1 || bad=1 ;; esac
  if [ $verdict = FAILED ]; then
    [ "$bad" -gt 0 ] || bad=1
    grep -v '^\[ RUN ' "$log" | tail -n 60
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
  grep '^note: ' "$log"
  printf '%-8s %-32s %4d tests  %3d s\n' "$verdict" "$(basename "$program")" "$ok" $(($(date +%s) - from))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
