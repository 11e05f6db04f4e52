#!/bin/sh
# test_tune_cli.sh -- efforts, budgets and lists of sizes on the command line, on the emulated device.
set -u
. tests/fixtures/cli_fixture.sh

# ---- what is refused
refuses 2 "did you mean 'patient'" $autotune saxpy --effort pateint
refuses 2 "none of: all, tuned, none" $autotune saxpy --start some
refuses 1 "starts.txt" $autotune saxpy --start "$folder/starts.txt"
cat >"$folder/starts.txt" <<'END'
# the last two are for other problems
BLOCK=1024,VEC=2
n=3004 : BLOCK=64,VEC=4,COARSE=2
saxpy n=3004: BLOCK=512,VEC=4
saxpy n=3001 : BLOCK=512,VEC=1,COARSE=2
sgemm m=100 : BM=64
END
prints "BLOCK=64,VEC=4,COARSE=2" $autotune saxpy n=3004 --db "$folder/starts.db" --start "$folder/starts.txt" --budget 4 --device emu --top 9
for words in BLOCK=1024,VEC=2 BLOCK=512,VEC=4; do
  grep -q "$words" "$folder/out" || complain "$words was not tried: $(cat "$folder/out")"
done
grep -q "BLOCK=512,VEC=1" "$folder/out" && complain "another problem's was tried"
echo "n=3004 : BLOCK=65" >>"$folder/starts.txt"
refuses 2 "starts.txt:7: BLOCK=65" $autotune saxpy n=3004 --start "$folder/starts.txt" --device emu
refuses 1 "/no/such/sizes" $autotune saxpy --sizes /no/such/sizes
printf 'n=100\n# ok\nn=ten\n' >"$folder/sizes"
refuses 2 "$folder/sizes:3" $autotune saxpy --sizes "$folder/sizes"
: >"$folder/sizes"
refuses 2 "names no problem" $autotune saxpy --sizes "$folder/sizes"
refuses 2 "given twice" $autotune saxpy n=5 --sizes "n=7"
refuses 2 "nothing to tune" $autotune saxpy n=0 --quiet

refuses 2 "does not report energy" $autotune saxpy n=5 --objective energy --quiet
refuses 2 "there is no 'speed' here, in" $autotune saxpy n=5 --objective speed
refuses 2 "write \"min VEC\" or \"max VEC\"" $autotune saxpy n=5 --objective VEC --quiet

# ---- an effort is a budget; the same one again has nothing to do
prints "8 trials" $autotune saxpy n=1000 --effort estimate
prints "nothing to measure" $autotune saxpy n=1000 --effort estimate
prints "2 new in" $autotune saxpy n=1000 --effort estimate --budget 10
prints '"phases":{"jobs":' $autotune saxpy n=1000 --budget 11 --json

# ---- an interrupted search leaves nothing worse than what was served before
prints "8 trials" $autotune saxpy n=20000 --budget 8
best=$($autotune show saxpy n=20000 --json | grep -o '"config":"[^"]*"' | head -1)
[ "$best" != "" ] || complain "no best configuration of saxpy n=20000"
prints "new in" $autotune saxpy n=20001 --budget 0.1s
$autotune show saxpy n=20001 --json >"$folder/out"
grep -qF "$best" "$folder/out" || complain "the neighbour's best was not tried: $(cat "$folder/out")"

# ---- a list of sizes: ordered, summed up, and continued
printf '# sizes of saxpy\nn=64,3000 # far from each other\nn=1500\n' >"$folder/sizes"
prints "3 problems" $autotune saxpy --sizes "$folder/sizes" --budget 3
order=$(sed -n 's/^saxpy n=\([0-9]*\) .* on .*/\1/p' "$folder/out" | tr '\n' ' ')
[ "$order" = "1500 3000 64 " ] || complain "sizes came in the order $order"
prints "3 problems, 0 new trials" $autotune saxpy --sizes "$folder/sizes" --budget 3
prints "3 problems, 3 new trials" $autotune saxpy --sizes "$folder/sizes" --budget 4

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
