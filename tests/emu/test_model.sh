#!/bin/sh
# test_model.sh -- the emulated device ranks random configurations of a few families as an H200 does, whose times
# are in tests/emu/trials.tsv; and a model that ranks them wrongly is found.
set -u
. tests/fixtures/cli_fixture.sh
model=${B:-build}/tests/bench/bench_model

"$model" --least 0.6 tests/emu/trials.tsv >"$folder/ranks" || complain "ranks badly: $(cat "$folder/ranks")"
n=$(grep -c Spearman "$folder/ranks")
[ "$n" = 3 ] || complain "$n of 3 problems were ranked: $(cat "$folder/ranks")"

# the fastest and the slowest histogram with their times exchanged
grep ^histogram tests/emu/trials.tsv | sort -t "$(printf '\t')" -g -k 4 | sed -n '1p;$p' >"$folder/two"
awk -F '\t' -v OFS='\t' '{ line[NR] = $1 OFS $2 OFS $3; sec[NR] = $4 }
  END { print line[1], sec[2]; print line[2], sec[1] }' "$folder/two" >"$folder/exchanged"
"$model" --least 0 "$folder/exchanged" >"$folder/out" && complain "times exchanged passed: $(cat "$folder/out")"

exit $bad
