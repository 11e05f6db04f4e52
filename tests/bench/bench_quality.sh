#!/bin/sh
# bench_quality.sh -- how good is a short search? For each size: the best configuration of a short search that
# starts from nothing, raced in interleaved rounds against the best of the longest one known.
#   sh tests/bench/bench_quality.sh [DEVICE [SHORT [LONG]]]
# Defaults: 0 60s 1800s. SHORT and LONG are budgets for one size. LONG may be a file of results
# (autotune db export) of longer searches on the same card instead; several, separated by commas.
# AUTOTUNE names the program, SIZES the problems (one a line). The last line is the smallest ratio.
set -eu
autotune=${AUTOTUNE:-build/autotune}
device=${1:-0} short=${2:-60s} long=${3:-1800s}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUNED_DEVICE="$device"
sizes=${SIZES:-sgemm m=1024 n=1024 k=1024
sgemm m=4096 n=4096 k=4096
sgemm m=512 n=512 k=512
sgemm m=2048 n=2048 k=2048
sgemm m=1760 n=16 k=1760}

case $long in
*[!0-9s]*)
  for file in $(echo "$long" | tr , ' '); do
    "$autotune" db import "$file" --db "$folder/long.db" >/dev/null 2>&1 || echo "not read: $file"
  done
  long=
  ;;
esac

# number NAME: a number from the JSON line on standard input
number() {
  sed -n "s/.*\"$1\":{\"seconds\":\([-+.0-9e]*\).*/\1/p"
}

echo "$sizes" | while read -r problem; do
  [ -n "$problem" ] || continue
  [ -z "$long" ] || "$autotune" $problem --budget "$long" --db "$folder/long.db" --quiet >/dev/null
  config=$("$autotune" show $problem --json --top 1 --db "$folder/long.db" | sed -n 's/.*"config":"\([^"]*\)".*/\1/p')
  from=$(date +%s)
  trials=$("$autotune" $problem --budget "$short" --start none --db "$folder/short.db" --json --quiet |
    sed -n 's/.*"event":"result".*"tried":\([0-9]*\).*/\1/p')
  took=$(($(date +%s) - from))
  [ -n "$config" ] || { echo "  nothing longer is known of $problem"; continue; }
  "$autotune" bench $problem --config "$config" --db "$folder/short.db" --json >"$folder/line"
  ratio=$(awk -v a="$(number given <"$folder/line")" -v b="$(number tuned <"$folder/line")" 'BEGIN { printf "%.3f", a / b }')
  echo "  $ratio of the longest search's speed after $trials trials in $took s: $problem"
  echo "$ratio" >>"$folder/ratios"
done
sort -n "$folder/ratios" | head -1 | sed 's/$/ is the least/'
