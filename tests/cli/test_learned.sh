#!/bin/sh
# test_learned.sh -- the verbs learned and claims, without a GPU. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh

# ---- shipped results are shown without a database
prints "time" $autotune learned radix_sort --by RADIX,ITEMS
grep -q "^  2^20 .* 8 " "$folder/out" || complain "no radix of 2^20 keys: $(cat "$folder/out")"
[ "$(grep -c '(' "$folder/out")" = 0 ] || complain "costs of untried values: $(cat "$folder/out")"
prints '"shipped":true' $autotune learned scan dtype=i32 --by ALG --json
grep -q 'dtype=f32' "$folder/out" && complain "other types than asked for: $(cat "$folder/out")"
refuses 2 "did you mean 'RADIX'" $autotune learned radix_sort --by RADX
refuses 2 "unknown field" $autotune learned radix_sort m=5
refuses 1 "nothing is known of saxpy with these fields" $autotune learned saxpy n=77

# ---- after tuning, the costs of several values of VEC are known
$autotune saxpy n=5000 --budget 16 --start none --strategy random --quiet >"$folder/out" 2>&1 ||
  complain "cannot tune: $(cat "$folder/out")"
prints "emulated: times are modelled" $autotune learned saxpy --by VEC,ORDER
grep -q '^  [0-9.]* us *[124] ([124] +[0-9]*%)' "$folder/out" || complain "no cost: $(cat "$folder/out")"
prints '"cost":' $autotune learned saxpy n=5000 --by VEC --json
cost=$(sed -n 's/.*"cost":\([0-9.e+-]*\).*/\1/p' "$folder/out")
# the fastest with each value, fastest first: the second over the first
wanted=$($autotune show saxpy n=5000 --json --top 100 |
  sed -n 's/.*VEC=\([0-9]\).*"modelled_seconds":\([0-9.e-]*\).*/\1 \2/p' | sort -u -s -k1,1 | sort -g -k2,2 |
  awk 'NR == 1 { least = $2 } NR == 2 { print $2 / least }')
awk "BEGIN { exit !($wanted - $cost < 1e-4 && $cost - $wanted < 1e-4) }" || complain "the cost is $cost, not $wanted"

# ---- claims: a verdict each, and a reason for what cannot be tried
cat >"$folder/claims.txt" <<'END'
# a comment
copy n=3000 | WIDTH=16 > WIDTH=1 | BLOCK=64,BLOCKS=1 | wide words are faster
copy n=3000 | WIDTH=1 > WIDTH=16 | BLOCK=64,BLOCKS=1 | narrow ones are
copy n=3000 | WIDTH=1 ~ WIDTH=16 | BLOCK=64,BLOCKS=1 | it makes no difference
END
prints "1 of 3 hold" $autotune claims --claims "$folder/claims.txt"
[ "$(grep -c '^does not hold .*modelled' "$folder/out")" = 2 ] || complain "verdicts: $(cat "$folder/out")"
prints '"verdict":"holds"' $autotune claims copy --claims "$folder/claims.txt" --json
[ "$(grep -c '"one_modelled_seconds":' "$folder/out")" = 3 ] || complain "not three lines: $(cat "$folder/out")"
echo 'copy n=3000 | WIDTH=1 > WIDTH=3 | | no such width' >>"$folder/claims.txt"
$autotune claims --claims "$folder/claims.txt" >"$folder/out" 2>"$folder/err" && complain "a broken claim is no failure"
grep -q "line 5 of the claims: WIDTH=3" "$folder/err" || complain "says: $(cat "$folder/err")"
grep -q "1 of 3 hold" "$folder/out" || complain "the others were not tried: $(cat "$folder/out")"
refuses 1 "list.txt:1" $autotune claims --claims "$(echo 'scan n=1' >"$folder/list.txt"; echo "$folder/list.txt")"
refuses 2 "where memory lies is not modelled on emu:h200" $autotune claims memory
refuses 2 "no claims about 'gemv'" $autotune claims gemv

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
