#!/bin/sh
# test_unseen.sh -- tests/bench/bench_unseen, which has no peer here: calls are drawn, served, checked and saved.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
B=${B:-build}
unseen() {
  "$B"/tests/bench/bench_unseen saxpy merge --device emu --n 2 --seeds 2 --commit 00ff --save "$folder/rows.tsv" "$@"
}
unseen >"$folder/out"
grep -q '^merge on emu.*no peer' "$folder/out"
grep -qE '^saxpy +255 +2 ' "$folder/out"
grep -qE '^merge +256 +2 ' "$folder/out"
grep -qE '^merge +all +4 .* 0 +0$' "$folder/out"
[ "$(grep -c '^merge' "$folder/rows.tsv")" = 4 ]
# the same command continues: nothing is left
cp "$folder/rows.tsv" "$folder/before"
unseen >"$folder/out"
cmp "$folder/before" "$folder/rows.tsv"
grep -qE '^saxpy +all +4 ' "$folder/out"
# the time is up: calls are left
status=0
"$B"/tests/bench/bench_unseen saxpy --device emu --n 1 --commit 00ff --sec 0 >"$folder/out" || status=$?
[ $status = 2 ]
