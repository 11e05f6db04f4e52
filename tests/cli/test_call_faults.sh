#!/bin/sh
# test_call_faults.sh -- a tuning in which one call of the C library fails: an allocation, a write, a read, a
# fork, ... It ends with success, or with one line and a failure; the database is sound, and holds what was in it
# and every trial that was reported. FAULTS=5000 (`make faults`, ten minutes) makes each of the first 5,000 calls
# of each kind fail; without it some dozen do, the same ones every time.
set -u
. tests/fixtures/build.sh
. tests/fixtures/cli_fixture.sh
fixture fail_call "$folder/fail_call.so" || exit 1
most=${FAULTS:-0}
export TUNED_CACHE="$folder/cache" FAIL_LOG="$folder/fired"

prints "3 trials" "$autotune" saxpy n=500 --budget 3
rows() { "$autotune" show saxpy "$1" --json --top 1000 --db "$folder/db" 2>/dev/null | grep -c '"config"'; }
before=$("$autotune" show saxpy n=500 --json --top 1000 | wc -l)

# tunes KIND K: with the K-th call of this kind failing
tunes() {
  kind=$1 k=$2
  rm -rf "$folder"/db* "$folder/fired" "$folder/cache"
  cp "$TUNED_DB" "$folder/db"
  FAIL_CALL=$kind FAIL_AT=$k timeout -k 1 60 env LD_PRELOAD="$folder/fail_call.so" \
    "$autotune" saxpy n=1000 --budget 3 --json --db "$folder/db" >"$folder/out" 2>"$folder/err"
  status=$?
  what="$kind $k: status $status: $(cat "$folder/err")"
  [ $status -le 2 ] || complain "$what"
  [ $status = 0 ] || [ "$(grep -c . "$folder/err")" = 1 ] || complain "not one line: $what"
  [ $status = 0 ] || grep -q "^autotune: " "$folder/err" || complain "not ours: $what"
  "$autotune" db verify --db "$folder/db" >"$folder/verify" 2>&1 || complain "$(cat "$folder/verify") after $what"
  [ "$(rows n=1000)" -ge "$(grep -c '"event":"trial"' "$folder/out")" ] || complain "a trial is lost: $what"
  [ $status != 0 ] || [ "$(rows n=1000)" -gt 0 ] || complain "another problem was tuned: $what"
  [ "$(rows n=500)" = "$before" ] || complain "an earlier trial is lost: $what"
}

# all KIND: until there is no such call
all() {
  for k in $(seq 1 "$most"); do
    tunes "$1" "$k"
    [ -e "$folder/fired" ] || break
  done
  [ "$k" -gt 1 ] || complain "$1: no call failed"
  echo "$1: $k calls, $bad complaints"
}

# some KIND K...
some() {
  kind=$1
  shift
  for k in "$@"; do
    tunes "$kind" "$k"
    [ -e "$folder/fired" ] || complain "$kind: there is no call $k"
  done
}

if [ "$most" -gt 0 ]; then
  for kind in alloc write short read truncate map sync open send recv process; do
    all $kind
  done
else
  some alloc 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 2800 3000
  some write 1 9 20
  some short 1 9
  some read 1 4
  some truncate 1
  some map 1
  some sync 1
  some open 1 2
  some send 1 5
  some recv 1 3
  some process 1 4
fi

# ---- every second call is interrupted by a signal: nothing else is different
export FAIL_EVERY=2
for k in 1 2; do
  tunes interrupted $k
  [ $status = 0 ] || complain "interrupted calls: $what"
  [ "$(sort -u "$folder/fired" | wc -l)" -ge 7 ] || complain "few calls were interrupted: $(sort "$folder/fired" | uniq -c)"
done

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
