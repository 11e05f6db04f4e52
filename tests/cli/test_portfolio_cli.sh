#!/bin/sh
# test_portfolio_cli.sh -- the verbs portfolio and tune-captured: a portfolio is made, continued, shown, exported
# with the database's text and merged, and wrong input costs one line.
set -u
. tests/fixtures/cli_fixture.sh

"$autotune" saxpy n=4096 --device emu --budget 6 --quiet >/dev/null || complain "tuning saxpy failed"
"$autotune" saxpy n=100001 --device emu --budget 6 --quiet >/dev/null || complain "tuning saxpy failed"

portfolio() { "$autotune" portfolio saxpy --grid "n=500..100000" --sample 8 "$@"; }
sizes_in() { python3 -c 'import json, sys; print(json.load(sys.stdin)["sizes"])' <"$1"; }

refuses 1 "nothing of copy is tuned on emu:h200" "$autotune" portfolio copy --quiet
refuses 2 "--loss '5x' is not a share" "$autotune" portfolio saxpy --loss 5x
refuses 2 "LEAST..MOST" "$autotune" portfolio saxpy --grid n=5..1
refuses 2 "not as words: 'n=100'" "$autotune" portfolio saxpy n=100
refuses 2 "number of seconds" "$autotune" portfolio saxpy --budget 50

refuses 1 "there is no portfolio of saxpy" portfolio --more --quiet
prints "portfolio of" portfolio
grep -q " 8 of 8 " "$folder/err" || complain "portfolio: no progress on standard error"
"$autotune" cover saxpy --grid "n=500..100000" --sample 8 --json >"$folder/one" 2>"$folder/err" || complain "portfolio again"
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["portfolio"] == "saxpy" and d["sizes"] == 8 and d["configs"] and d["tree"]' "$folder/one" ||
  complain "portfolio --json: $(cat "$folder/one")"
portfolio 2>&1 >/dev/null | tail -n 1 | grep -q " 0 measured" || complain "what is known was measured again"
prints "choice:" "$autotune" show saxpy
prints '"expected_loss"' "$autotune" show saxpy --json

# its configurations at further sizes: those timed already are not timed again
portfolio --more --sample 12 >/dev/null 2>"$folder/err" || complain "portfolio --more: $(cat "$folder/err")"
portfolio --more --sample 12 --json >"$folder/more" || complain "portfolio --more again"
[ "$(sizes_in "$folder/more")" = 12 ] || complain "--more: of 12 sizes that begin with its 8: $(cat "$folder/more")"
[ "$(grep -c " of 8 .* 0 measured" "$folder/err")" = 8 ] || complain "--more timed known sizes: $(cat "$folder/err")"
python3 -c 'import json, sys
a, b = (json.load(open(f))["configs"] for f in sys.argv[1:])
assert a == b' "$folder/one" "$folder/more" || complain "--more changed the configurations"
portfolio --more --seed 5 --budget 60s --json >"$folder/more" 2>"$folder/err" || complain "portfolio --more: $(cat "$folder/err")"
[ "$(sizes_in "$folder/more")" = 20 ] || complain "--more: 12 sizes and 8 others: $(cat "$folder/more")"

[ "$("$autotune" portfolio saxpy --sizes "n=700,800" --grid n=800..801 --sample 9 --quiet --json | tee "$folder/both" >/dev/null; sizes_in "$folder/both")" = 3 ] ||
  complain "a list and a grid: 700, 800 and 801, each once: $(cat "$folder/both")"

seq -f "saxpy n=%.0f" 1 4096 >"$folder/many"
refuses 2 "more than the 4096" "$autotune" portfolio saxpy --sizes "$folder/many" --grid n=5000..9000 --sample 9

# without --grid: the tuned sizes, not those measured above
prints "for 2 sizes" "$autotune" portfolio saxpy

# as text, and by merging
"$autotune" db export "$folder/text" || complain "export"
grep -q "	portfolio	" "$folder/text" || complain "the portfolio is not in the exported text"
TUNED_DB=$folder/other.db "$autotune" db import "$folder/text" >/dev/null || complain "import"
TUNED_DB=$folder/other.db prints "choice:" "$autotune" show saxpy
TUNED_DB=$folder/third.db "$autotune" db merge "$TUNED_DB" >/dev/null || complain "merge"
TUNED_DB=$folder/third.db prints "choice:" "$autotune" show saxpy

# ---- problems captured from a program
printf '# a comment\nsaxpy n=3000 align=4  # 7 calls\n\nreduce n=5000 # 1 calls\nsaxpy n=3100\n' >"$folder/asked"
prints "saxpy n=3100" "$autotune" tune-captured "$folder/asked" --budget 1
grep -q "saxpy n=3000" "$folder/out" && grep -q "reduce n=5000" "$folder/out" || complain "not all captured problems were tuned"
echo "n=100" >"$folder/asked"
refuses 2 "asked:1: a line starts with the family" "$autotune" tune-captured "$folder/asked"
echo "# nothing" >"$folder/asked"
printf '\n# saxpy\n\nsaxpy m=4\n' >"$folder/asked"
refuses 2 "asked:4: saxpy: unknown field 'm'" "$autotune" tune-captured "$folder/asked" --budget 1
printf 'saxpy n=4\nsaxpi n=4\n' >"$folder/asked"
refuses 1 "asked:2: saxpi: there is no template" "$autotune" tune-captured "$folder/asked" --budget 1 --quiet
printf '# accounts\nroot:x:0:0:root:/root:/bin/sh\n' >"$folder/asked"
refuses 2 "asked:2: 'root:x:0:0:root:/root:/bin/sh' is neither" "$autotune" tune-captured "$folder/asked"
grep -q "not a list of captured problems" "$folder/err" || complain "what the file is not: $(cat "$folder/err")"
printf '/usr/bin/env n=4\n' >"$folder/asked"
refuses 2 "asked:1: '/usr/bin/env' is neither" "$autotune" tune-captured "$folder/asked"
printf '\n%s/absent one.lua n=4\n' "$folder" >"$folder/asked"
refuses 1 "asked:2: $folder/absent one.lua: cannot open" "$autotune" tune-captured "$folder/asked"
echo "saxpy hello" >"$folder/asked"
refuses 2 "asked:1: saxpy: 'hello' is not FIELD=VALUE" "$autotune" tune-captured "$folder/asked"
printf '%s # 3 calls\n%s n=50\n' "$PWD/$scale" "$PWD/$scale" >"$folder/asked"
prints "scale n=1000" "$autotune" tune-captured "$folder/asked" --budget 1
grep -q "scale n=50" "$folder/out" || complain "what stands beside a problem without fields was not tuned"
printf 'saxpy\033 n=4\n' >"$folder/asked"
refuses 2 "asked:1: not a text file" "$autotune" tune-captured "$folder/asked"
: >"$folder/asked"
refuses 1 "names no problem" "$autotune" tune-captured "$folder/asked"
refuses 1 "absent" "$autotune" tune-captured "$folder/absent"
refuses 2 "name the file" "$autotune" tune-captured
echo "sgemm m=0" >"$folder/asked"
"$autotune" tune-captured "$folder/asked" --budget 1 >"$folder/out" 2>&1 && complain "a problem of nothing was tuned"
grep -q "is left out: .*launches nothing" "$folder/out" || complain "why it was not tuned: $(cat "$folder/out")"

exit $bad
