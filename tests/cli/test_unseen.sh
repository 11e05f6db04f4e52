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
# a program on the public header makes the calls of BLAS families
"$B"/tests/bench/bench_unseen dot gemv --device emu --n 2 --seeds 1 --commit 00ff --most 32 --save "$folder/blas.tsv" >"$folder/out"
TUNED_DB="$folder/none.db" "$B"/tests/bench/bench_calls "$folder/blas.tsv" emu >"$folder/out"
[ "$(grep -c ' 2 calls, 0 failed, 0 differ$' "$folder/out")" = 2 ]
# the time is up: calls are left
status=0
"$B"/tests/bench/bench_unseen saxpy --device emu --n 1 --commit 00ff --sec 0 >"$folder/out" || status=$?
[ $status = 2 ]
