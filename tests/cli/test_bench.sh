#!/bin/sh
# test_bench.sh -- the verbs bench and compare, on the emulated device. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh

# ---- words
refuses 2 "there are: cubes, odd" $autotune bench sgemm --suite cube5
refuses 2 "did you mean 'cubes'" $autotune bench sgemm --suite cubs
refuses 2 "leave out 'm=5'" $autotune bench sgemm m=5 --suite cubes
refuses 1 "missing.txt" $autotune bench sgemm --suite ./missing.txt
refuses 2 "there are: cublas" $autotune bench sgemm --vs mkl
refuses 2 "for scan there is --vs cub" $autotune bench scan --vs cublas
refuses 2 "cub needs a GPU" $autotune bench scan n=1000 --vs cub
refuses 2 "cub needs a GPU" $autotune compare scan n=1000 --by ALG --vs cub
refuses 2 "cublas-tf32 needs a GPU" $autotune bench sgemm m=64 --vs cublas-tf32 --tune 100s
refuses 2 "--tune 'soon'" $autotune bench saxpy n=1000 --tune soon
refuses 2 "--rounds" $autotune bench saxpy n=1000 --rounds 0
refuses 2 "--by one of: BLOCK" $autotune compare saxpy n=1000
refuses 2 "did you mean 'BLOCK'" $autotune compare saxpy n=1000 --by BLOK
refuses 2 "unknown field 'x'" $autotune compare saxpy --by BLOCK --sizes x=1,2
refuses 1 "tuned.db" $autotune compare saxpy n=1000 --by BLOCK --budget 0
printf 'n=1000\nn=2{\n' >"$folder/wrong.txt"
refuses 1 "wrong.txt:2" $autotune bench saxpy --suite "$folder/wrong.txt"

# ---- blocks that wait for each other are not modelled from a sample, in which they would never end
prints "modelled" timeout -k 1 100 $autotune bench radix_sort n=30000 --quiet

# ---- the served configuration and its origin
export XDG_DATA_HOME="$folder"
prints "served by the default" $autotune bench reduce n=1000 op=max
prints "modelled" $autotune bench reduce n=1000 op=max
printf 'n={1000,2000} op=max\nn=30000\n' >"$folder/list.txt"
prints "geometric mean of 3" $autotune bench reduce --suite "$folder/list.txt" --plot "$folder/bars.svg" --error
[ "$(grep -c '<rect x=' "$folder/bars.svg")" = 3 ] || complain "the plot has not three bars"
[ "$(grep -c '^n=.* default ' "$folder/out")" = 2 ] || complain "not two rows: $(cat "$folder/out")"
prints "geometric mean of 3" $autotune bench reduce --suite "$folder/list.txt" --tune 4
[ "$(grep -c '^n=.* exact ' "$folder/out")" = 3 ] || complain "not tuned first: $(cat "$folder/out")"
prints '"origin":"exact"' $autotune bench reduce n=1000 op=max --json

# ---- each problem's line appears as soon as it is tuned, and stays when the bench is interrupted
printf 'n=1100 op=max\nn=1200 op=max\n' >"$folder/long.txt"
: >"$folder/rows"
$autotune bench reduce --suite "$folder/long.txt" --tune 2.5s --quiet >"$folder/rows" 2>"$folder/err" &
bench=$!
waited=0
while [ $waited -lt 300 ] && ! grep -q '^n=1100' "$folder/rows"; do
  sleep 0.1
  waited=$((waited + 1))
done
kill -TERM $bench
wait $bench
status=$?
[ $status = 130 ] || complain "an ended bench: status $status: $(cat "$folder/err")"
grep -q '^n=1100 .* exact ' "$folder/rows" || complain "no line of what was tuned: $(cat "$folder/rows")"
grep -q '^n=1200' "$folder/rows" && complain "a line of what was not: $(cat "$folder/rows")"
grep -q 'interrupted' "$folder/err" || complain "says '$(cat "$folder/err")'"

prints "x the given one" $autotune bench reduce n=1000 op=max --config BLOCK=64
prints '"given":{"modelled_seconds"' $autotune bench reduce n=1000 op=max --config BLOCK=64 --json
refuses 2 "one problem" $autotune bench reduce --config BLOCK=64
refuses 2 "FINISH=atomic needs a sum" $autotune bench reduce n=1000 op=max --config FINISH=atomic

refuses 2 "neither stream nor graph" $autotune bench reduce n=1000 --timing fast
refuses 2 "no graphs" $autotune bench reduce n=1000 --timing graph

# ---- steps
prints "* " $autotune compare scan n=3000 --by ALG --budget 2 --quiet
grep -q "^  *chained .*trials" "$folder/out" || grep -q "^\* chained .*trials" "$folder/out" ||
  complain "no step of chained: $(cat "$folder/out")"
cp "$folder/out" "$folder/first"
prints "modelled" $autotune compare scan n=3000 --by ALG --budget 2 --quiet
cmp -s "$folder/first" "$folder/out" || complain "the same comparison again differs"
prints "modelled" $autotune compare scan n=3000 --by ALG --budget 0
cmp -s "$folder/first" "$folder/out" || complain "what is stored differs"
prints '"value":"lookback"' $autotune compare scan n=3000 --by ALG --budget 0 --json
prints "TERMS=printed" $autotune compare ripple dim=40 --by ALG --budget 1 --quiet --vs textbook
prints " x textbook" $autotune bench ripple dim=40 --vs textbook
prints "15 points of BLOCK x VEC, 0 failed" $autotune compare saxpy n=1000 --search BLOCK,VEC --quiet
grep -q "^  one axis at a time  *[0-9.]* us  *1.00 x  BLOCK=" "$folder/out" || complain "$(cat "$folder/out")"
grep -q "the filter by instructions and warps leaves [0-9]* of 15; the best point is " "$folder/out" || complain "$(cat "$folder/out")"
refuses 2 "--search takes two parameters or more" $autotune compare saxpy n=1000 --search BLOCK
refuses 2 "did you mean 'VEC'" $autotune compare saxpy n=1000 --search BLOCK,VEK
refuses 2 "--search names VEC twice" $autotune compare saxpy n=1000 --search VEC,BLOCK,VEC
refuses 2 "leave out --by" $autotune compare saxpy n=1000 --search BLOCK,VEC --by VEC
prints "BLOCK" $autotune compare saxpy --by BLOCK --sizes 1000,2000 --budget 2 --quiet --plot "$folder/steps.svg"
[ "$(grep -c '^n=.*us\*' "$folder/out")" = 2 ] || complain "no best in every row: $(cat "$folder/out")"
grep -q '<rect x=' "$folder/steps.svg" || complain "the plot of steps has no bars"
prints "no valid point" $autotune compare saxpy n=1001 --by VEC --budget 2 --quiet
prints "trial" $autotune coulomb nx=8 n=8 --budget 1
prints "nothing stored" $autotune compare coulomb nx=8 n=8 --by ALG --budget 0
refuses 1 "no trial of 'saxpy n=5000" $autotune compare saxpy n=5000 --by BLOCK --budget 0

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
