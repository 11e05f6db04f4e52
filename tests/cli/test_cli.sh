#!/bin/sh
# test_cli.sh -- a mistyped command costs one line that says what is wrong and how to correct it, and a
# status other than 0. And the main job on the emulated device, twice. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh

# ---- words
refuses 1 "did you mean" $autotune sgem
refuses 2 "did you mean 'm'" $autotune sgemm mm=5
refuses 2 "whole number" $autotune sgemm m=0x
refuses 2 "m" $autotune sgemm m=-1
refuses 2 "m" $autotune sgemm m=2^40
refuses 2 "m" $autotune sgemm m=ten
refuses 2 "nothing to tune" $autotune sgemm m=0 --quiet
refuses 2 "ta" $autotune sgemm ta=x
refuses 2 "m" $autotune sgemm m=1 m=2
refuses 2 "--budget" $autotune sgemm --budget 0
refuses 2 "--budget" $autotune sgemm --budget soon
refuses 2 "--budget" $autotune sgemm --budget 1,2,3
refuses 2 "did you mean 'random'" $autotune sgemm --strategy randm
refuses 2 "--jobs" $autotune sgemm --jobs 0
refuses 2 "did you mean --budget" $autotune sgemm --budgt 5
refuses 2 "needs a value" $autotune sgemm --budget
refuses 2 "takes no option --vs" $autotune emit sgemm --vs cublas
refuses 2 "is not an option" $autotune sgemm -x
refuses 2 "takes no value" $autotune sgemm --quiet=1
refuses 2 "name a family" $autotune emit
refuses 2 "BM" $autotune emit saxpy --config BM=128
refuses 2 "BLOCK" $autotune emit saxpy --config BLOCK=100
refuses 2 "x and y are not aligned to VEC floats (VEC <= align)" $autotune emit saxpy n=1001 --config VEC=4
[ -s "$folder/out" ] && complain "emit printed what is not valid: $(head -c 200 "$folder/out")"
refuses 2 "x and y are not aligned to VEC floats" $autotune check saxpy n=1001 --config VEC=4
refuses 2 "name what to write" $autotune export saxpy n=1000
refuses 2 "no word 'saxpy'" $autotune doctor saxpy
refuses 2 "no word 'saxpy'" $autotune devices saxpy
refuses 2 "no word 'n=5'" $autotune list saxpy n=5
refuses 1 "did you mean 'saxpy'" $autotune list saxpi
refuses 2 "no verb or family 'benhc'" $autotune help benhc
refuses 2 "no such folder" $autotune space saxpy --templates "$folder/none"
refuses 2 "nothing to compare" $autotune compare sgemm m=0 --by ALG --budget 2 --quiet
prints "modelled" $autotune bench saxpy n=1000
if [ -c /dev/full ]; then
  for words in --help --version list; do
    $autotune $words >/dev/full 2>"$folder/err" && complain "$words: succeeded with nowhere to write"
  done
fi

# ---- devices
refuses 1 "there is no device" $autotune saxpy n=1000 --device gpu
refuses 1 "emu" $autotune saxpy n=1000 --device emu:gtx285
if ! $autotune devices | grep -q '^0 '; then
  refuses 1 "--device emu" $autotune saxpy n=1000 --device 0
fi

# ---- templates
refuses 1 "no-such.lua" $autotune ./no-such.lua
printf 'return {' >"$folder/broken.lua"
refuses 1 "broken.lua:1" $autotune emit "$folder/broken.lua"
printf 'while true do end' >"$folder/endless.lua"
refuses 1 "endless.lua:1" $autotune emit "$folder/endless.lua"
printf 'local t = {} while true do t[#t + 1] = ("x"):rep(1000000) .. #t end' >"$folder/greedy.lua"
refuses 1 "greedy.lua:1" $autotune emit "$folder/greedy.lua"
line=$(grep -n undefined_name tests/fixtures/templates/scale.cu | cut -d: -f1)
$autotune build $scale n=1000 make=uncompilable >"$folder/out" 2>"$folder/err" && complain "undefined_name was built"
grep -q "scale.cu:$line: .*undefined_name" "$folder/err" || complain "no template line: $(cat "$folder/err")"
$autotune check $scale n=1000 make=wrong --sample 1 >"$folder/out" 2>"$folder/err" && complain "wrong results passed"
grep -q "reference" "$folder/out" || complain "no word on the wrong result: $(cat "$folder/out")"

# ---- the database
printf 'this is not a database, and long enough to be looked at' >"$folder/text.db"
refuses 1 "text.db" $autotune saxpy n=1000 --db "$folder/text.db"
grep -q "this is not" "$folder/text.db" || complain "a file that is no database was changed"
refuses 1 "/proc/none" $autotune saxpy n=1000 --db /proc/none/tuned.db
refuses 1 "missing.db" $autotune show saxpy --db "$folder/missing.db"

# ---- the main job
prints "saxpy n=1000" $autotune saxpy n=1000 --budget 6 --quiet
prints "modelled" $autotune saxpy n=1000 --budget 6
grep -q "nothing to measure" "$folder/out" || complain "the second run measured again: $(cat "$folder/out")"
prints "9 trials" $autotune saxpy n=1000 --budget 9
prints '"event":"result"' $autotune saxpy n=1000 --budget 10 --json
prints "saxpy n=1000" $autotune list
prints "m n k ta=n|t tb=n|t align=" $autotune list
prints "n             0..2147483647, default m: columns of" $autotune list sgemm
prints "BLOCK=" $autotune show saxpy n=1000
prints "valid" $autotune space saxpy n=1000
prints "autotune emit saxpy n=1000" $autotune emit saxpy n=1000 --config VEC=2
refuses 2 "emulated device" $autotune check saxpy n=10 --device 0 --emu-memory 1000
refuses 2 "whole number" $autotune check saxpy n=10 --device emu --emu-memory much
refuses 1 "is not an option" $autotune check saxpy n=10 --device emu:h200,speed=2
refuses 1 "take a smaller one" $autotune check saxpy n=100000 --device emu:a100 --emu-memory 100000
prints "2 right" $autotune check saxpy n=1000 --device emu --no-checks --sample 2
prints "registers" $autotune build saxpy n=1000 --arch sm_90
prints "0 wrong" $autotune check saxpy n=1027 --sample 5
prints "tuned" $autotune export saxpy n=1000 --cubin "$folder/k.cubin" --ptx "$folder/k.ptx" \
  --source "$folder/k.cu" --header "$folder/k.h"
for f in k.cubin k.ptx k.cu k.h; do [ -s "$folder/$f" ] || complain "export wrote no $f"; done
prints "export and import" $autotune --help
for verb in tune emit space build check devices list show doctor export bench compare; do
  prints "usage: autotune" $autotune $verb --help
done

# ---- killed and started again: nothing that was finished is lost
: >"$folder/killed"
$autotune saxpy n=4096 --budget 400 --json >"$folder/killed" 2>/dev/null &
pid=$!
while [ "$(wc -l <"$folder/killed")" -lt 3 ] && kill -0 $pid 2>/dev/null; do sleep 0.1; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
seen=$(grep -c '"event":"trial"' "$folder/killed")
stored=$($autotune show saxpy n=4096 --json --top 1000 | wc -l)
[ "$seen" -gt 0 ] && [ "$stored" -ge "$seen" ] || complain "$seen trials were reported, $stored are stored"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
