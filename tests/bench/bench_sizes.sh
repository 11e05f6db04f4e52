#!/bin/sh
# bench_sizes.sh -- the trials that starting from neighbours saves: tunes a list of sizes twice from nothing,
# once every size on its own, once in the order of --sizes with the best of the neighbours first, and counts
# the trials of each size until one is within 3 % of the best of both runs.
#   sh tests/bench/bench_sizes.sh [DEVICE [FAMILY [SIZES [TRIALS]]]]
# Default: 0 sgemm "m=256..2048*2 n=512,1024 k=512" 100. Times are those of the screening. AUTOTUNE names the
# program.
set -eu
autotune=${AUTOTUNE:-build/autotune}
device=${1:-0} family=${2:-sgemm} sizes=${3:-m=256..2048*2 n=512,1024 k=512} trials=${4:-100}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for start in none tuned; do
  TUNED_DB="$folder/$start.db" "$autotune" "$family" --device "$device" --sizes "$sizes" \
    --budget "$trials" --start $start --json | grep '"event":"trial"' >"$folder/$start"
done
awk '
function field(name,   at, rest) {
  at = index($0, "\"" name "\":")
  if (!at) return ""
  rest = substr($0, at + length(name) + 3)
  if (substr(rest, 1, 1) == "\"") { rest = substr(rest, 2); return substr(rest, 1, index(rest, "\"") - 1) }
  match(rest, /^[-+.0-9e]+/)
  return substr(rest, 1, RLENGTH)
}
{
  sec = field("seconds"); if (sec == "") sec = field("modelled_seconds")
  if (sec == "") next
  run = FILENAME ~ /none$/ ? 1 : 2
  p = field("problem")
  if (!(p in best)) { order[++n] = p; best[p] = sec + 0 }
  if (sec + 0 < best[p]) best[p] = sec + 0
  k = ++m[run, p]; t[run, p, k] = sec + 0; at[run, p, k] = field("trial")
}
END {
  print "  on its own  from near ones  (trials to within 3 %; - is never)"
  for (i = 1; i <= n; i++) {
    p = order[i]
    for (run = 1; run <= 2; run++) {
      first[run] = "-"
      for (k = 1; k <= m[run, p]; k++) if (t[run, p, k] <= 1.03 * best[p]) { first[run] = at[run, p, k]; break }
      sum[run] += first[run] == "-" ? trials : first[run]
    }
    printf "  %10s  %14s  %s\n", first[1], first[2], p
  }
  printf "  %10.1f  %14.1f  mean, - counted as %d\n", sum[1] / n, sum[2] / n, trials
}' trials="$trials" "$folder/none" "$folder/tuned"
