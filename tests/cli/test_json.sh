#!/bin/sh
# test_json.sh -- every verb takes --json, and every line it prints with it, errors included, is valid by
# tuner/cli/autotune.schema.json. AUTOTUNE names the program; needs python3-jsonschema.
set -u
. tests/fixtures/cli_fixture.sh
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3-jsonschema is not installed"; exit 77; }
export TUNED_CACHE="$folder/cache"
scale=tests/fixtures/templates/scale.lua

for verb in $($autotune --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
  $autotune "$verb" --help | grep -q '^  --json' || complain "$verb takes no --json"
done

lines() { # STATUS COMMAND...: its lines are kept for validation
  wanted=$1
  shift
  $autotune "$@" --json >"$folder/one" 2>/dev/null
  got=$?
  [ $got = "$wanted" ] || complain "$*: status $got, wanted $wanted"
  [ -s "$folder/one" ] || complain "$*: prints nothing"
  cat "$folder/one" >>"$folder/all"
}

cat >"$folder/t1.json" <<'END'
{"General": {"BenchmarkName": "toy"}, "ConfigurationSpace": {"TuningParameters":
 [{"Name": "a", "Type": "int", "Values": "[1, 2, 3]"}], "Conditions": [{"Expression": "a > 1", "Parameters": ["a"]}]},
 "KernelSpecification": {"Language": "CUDA", "KernelName": "k"}}
END
echo 'saxpy n=2^12 | VEC=4 > VEC=1 | BLOCK=256 | test' >"$folder/claims"
$autotune build $scale --ptx "$folder/k.ptx" >/dev/null || complain "no PTX"

lines 0 saxpy n=1000 --budget 30
lines 1 $scale n=100 make=wrong
lines 0 list
lines 0 show saxpy n=1000
lines 0 show saxpy n=1000 --importance
lines 0 show saxpy n=1000 --objective "sec * 2"
lines 0 learned saxpy
lines 0 space saxpy
lines 0 spec "$folder/t1.json"
lines 0 emit saxpy n=1000
lines 0 build $scale --arch sm_90
lines 0 profile $scale
lines 0 devices
lines 0 doctor
lines 0 completion bash
lines 1 check $scale make=wrong
lines 0 bench saxpy n=1000
lines 0 compare saxpy n=1000 --by BLOCK --budget 2
lines 0 compare saxpy n=1000 --search VEC,COARSE
lines 0 claims --claims "$folder/claims"
lines 0 export saxpy n=1000 --header "$folder/h.h"
lines 0 portfolio saxpy --sizes "n=1000"
lines 0 export saxpy --portfolio --header "$folder/h.h" --embed "$folder/h.c"
lines 0 show saxpy
lines 0 export-results "$folder/r.json" saxpy n=1000
lines 0 import "$folder/r.json" --db "$folder/other.db"
lines 0 db export
lines 0 db export "$folder/x.txt"
lines 0 db export --presets "$folder/presets" --device emu
lines 0 db import "$folder/x.txt" --db "$folder/other.db"
lines 0 db merge "$TUNED_DB" --db "$folder/third.db"
for action in stat verify prune; do lines 0 db $action; done
lines 0 warm saxpy --sizes n=1000
for action in stat verify clear; do lines 0 cache $action; done
lines 0 base "$folder/b.base" saxpy --arch compute_80
lines 0 replay "$folder/r.json" --runs 1 --strategy random
lines 0 run-ptx "$folder/k.ptx" scale --grid 8 --block 128 --args "i64:1000 f32:2 buf:f32:1000 buf:f32:1000"
$autotune run-program --json true >>"$folder/all" || complain "run-program: status $?"
lines 1 nosuch
lines 2 saxpy nn=5
lines 2 saxpy --budgt 4
lines 2 db improt
lines 1 tune-captured "$folder/none"

python3 - tuner/cli/autotune.schema.json "$folder/all" >"$folder/out" 2>&1 <<'END' || complain "$(cat "$folder/out")"
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
known, seen = schema["definitions"], set()
validators = {n: jsonschema.Draft7Validator({**known[n], "definitions": known}) for n in known}
named = {one["$ref"].split("/")[-1] for one in schema["oneOf"]}
bad = [] if named | {"real"} == set(known) else ["oneOf and definitions differ"]
for line in open(sys.argv[2]):
    one = json.loads(line)
    event = one.get("event")
    seen.add(event)
    if event not in named:
        bad.append("no event of the schema: " + line[:200])
    else:
        bad += [event + ": " + x.message[:300] for x in validators[event].iter_errors(one)]
bad += ["no line of event " + name for name in sorted(named - seen)]
if jsonschema.Draft7Validator(schema).is_valid({"event": "error", "code": 3}):
    bad.append("a line without its members is valid")
print("\n".join(bad))
sys.exit(bool(bad))
END

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
