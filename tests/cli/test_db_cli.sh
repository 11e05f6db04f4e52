#!/bin/sh
# test_db_cli.sh -- autotune db, from a tuning run to a preset file that can be built into the library,
# and back into another database. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh
root=$PWD

# ---- wrong words, and no database yet
refuses 2 "name an action" "$autotune" db
refuses 2 "did you mean 'export'" "$autotune" db exprot
refuses 2 "takes no word" "$autotune" db stat now
refuses 2 "name a file" "$autotune" db import
refuses 1 "no database" "$autotune" db stat
refuses 1 "no database" "$autotune" db export
refuses 1 "no database" "$autotune" db prune
[ ! -e "$TUNED_DB" ] || complain "looking made a database"

# ---- export and import
for n in 1000 4000; do
  "$autotune" saxpy n=$n --budget 4 --quiet >/dev/null || complain "tuning failed"
done
prints "saxpy n=4000" "$autotune" db export
"$autotune" db export "$folder/results.txt" saxpy --quiet || complain "no export"
"$autotune" db export "$folder/none.txt" sgemm --quiet || complain "no export of nothing"
refuses 1 "there is no template 'saxpi'; did you mean 'saxpy'" "$autotune" db export "$folder/slip.txt" saxpi
[ "$(grep -c '^[^#]' "$folder/results.txt")" = 2 ] || complain "not two results"
[ "$(grep -c '^[^#]' "$folder/none.txt")" = 0 ] || complain "results of another family"
prints "2 results, 2 of them new" "$autotune" db import "$folder/results.txt" --db "$folder/b.db"
prints "2 results, 0 of them new" "$autotune" db import "$folder/results.txt" --db "$folder/b.db"
"$autotune" db export "$folder/again.txt" --db "$folder/b.db" --quiet
sed '/^# end/d; s/nvrtc [0-9]*/nvrtc 0/' "$folder/results.txt" >"$folder/expected.txt"
grep -v '^# end' "$folder/again.txt" | cmp "$folder/expected.txt" - || complain "out, in and out again differs"

# ---- a file that was cut, changed or concatenated: its last line has the number and the digest of the results
grep -q '^# end: 2 results, digest [0-9a-f]*$' "$folder/results.txt" || complain "no closing line"
grep -q '^# end: 0 results' "$folder/none.txt" || complain "nothing is not closed"
grep -v 'n=1000' "$folder/results.txt" >"$folder/fewer.txt"
refuses 2 "fewer.txt:4: it closes 2 results, but 1 are here" \
  "$autotune" db import "$folder/fewer.txt" --db "$folder/closed.db"
awk -F'	' -v OFS='	' 'NR == 3 { $12 = "1e-06" } 1' "$folder/results.txt" >"$folder/changed.txt"
refuses 2 "changed.txt:5: the 2 results before it were changed" \
  "$autotune" db import "$folder/changed.txt" --db "$folder/closed.db"
prints '"trial":0' "$autotune" db stat --json --db "$folder/closed.db" # nothing of them is stored
head -3 "$folder/results.txt" >"$folder/cut.txt"
prints "1 results, 1 of them new" "$autotune" db import "$folder/cut.txt" --db "$folder/cut.db"
grep -q 'cut.txt does not end with a line "# end: ' "$folder/err" || complain "the cut was not told: $(cat "$folder/err")"
sed -n '1,2p;4p;3p;5p' "$folder/results.txt" >"$folder/sorted.txt" # in another order they are the same
cat "$folder/sorted.txt" "$folder/results.txt" "$folder/none.txt" >"$folder/both.txt"
prints "4 results, 2 of them new" "$autotune" db import "$folder/both.txt" --db "$folder/closed.db"
[ ! -s "$folder/err" ] || complain "closed files one behind the other: $(cat "$folder/err")"
grep -h '^[^#]' "$folder/results.txt" >>"$folder/both.txt"
prints "6 results, 0 of them new" "$autotune" db import "$folder/both.txt" --db "$folder/closed.db"
grep -q "does not end with" "$folder/err" || complain "lines behind the end were not told"
portfolios=$(grep -c "^[^#]" db/presets/nvidia-h200.portfolio.txt)
prints "nvidia-h200.portfolio.txt: $portfolios results, " "$autotune" db import db/presets/*.txt --db "$folder/presets.db"
# results and portfolios are exported apart, and are imported as they were
prints "$portfolios portfolios in $folder/again/nvidia-h200.portfolio.txt" "$autotune" db export --presets "$folder/again" --db "$folder/presets.db"
grep -q '	portfolio	' "$folder/again/nvidia-h200.txt" && complain "a portfolio is among the results"
cut -f 5,9,12 db/presets/nvidia-h200.txt >"$folder/shipped"
grep '^[^#]' "$folder/again/nvidia-h200.txt" | cut -f 5,9,12 | grep -qvxFf "$folder/shipped" && complain "results changed on the way"
for file in db/presets/nvidia-h200.portfolio.txt "$folder/again/nvidia-h200.portfolio.txt"; do
  grep '^[^#]' "$file" | cut -f 5,10,11 | sed 's/%0A/\n/g' | grep -c '^config '
done | uniq | wc -l | grep -qx 1 || complain "the portfolio lost configurations on the way"

# ---- a line written by hand gets the canonical text of its problem; a wrong problem is named
sed '/^# end/d; s/saxpy n=\([0-9]*\)[^	]*	/saxpy  n=\1	/' "$folder/results.txt" >"$folder/hand.txt"
cmp -s "$folder/hand.txt" "$folder/results.txt" && complain "the lines by hand are canonical already"
prints "2 results, 2 of them new" "$autotune" db import "$folder/hand.txt" --db "$folder/hand.db"
prints "2 results, 0 of them new" "$autotune" db import "$folder/results.txt" --db "$folder/hand.db"
sed '/^# end/d; s/	saxpy n=4000[^	]*	/	saxpy nn=4000	/' "$folder/results.txt" >"$folder/no-field.txt"
refuses 2 "unknown field 'nn'" "$autotune" db import "$folder/no-field.txt" --db "$folder/hand.db"

# ---- broken lines are named, the others are imported
sed 's/	90	/	ninety	/' "$folder/results.txt" | head -3 >"$folder/broken.txt"
grep 'n=4000' "$folder/results.txt" >>"$folder/broken.txt"
refuses 2 "broken.txt:3: column cc" "$autotune" db import "$folder/broken.txt" --db "$folder/c.db"
prints "n=4000" "$autotune" db export --db "$folder/c.db"
refuses 2 "does not start with" "$autotune" db import "$root/Makefile" --db "$folder/c.db"
refuses 1 "nowhere" "$autotune" db import /nowhere/results.txt --db "$folder/c.db"

# ---- merging in either direction, and again, gives the same export
for seed in 1 2; do
  "$autotune" saxpy n=1000 --budget 4 --seed $seed --db "$folder/host$seed.db" --quiet >/dev/null || complain "tuning failed"
  cp "$folder/host$seed.db" "$folder/merged$seed.db"
done
"$autotune" db merge "$folder/host2.db" "$folder/host2.db" --db "$folder/merged1.db" --quiet || complain "no merge"
"$autotune" db merge "$folder/host1.db" "$folder/merged1.db" --db "$folder/merged2.db" --quiet || complain "no merge"
for n in 1 2; do
  "$autotune" db export "$folder/merged$n.txt" --db "$folder/merged$n.db" --quiet || complain "no export"
done
cmp "$folder/merged1.txt" "$folder/merged2.txt" || complain "the order of merges makes a difference"

# ---- merging, pruning, verifying
prints "merged" "$autotune" db merge "$TUNED_DB" --db "$folder/b.db"
prints "sound" "$autotune" db verify --db "$folder/b.db"
prints '"problem":2' "$autotune" db stat --json --db "$folder/b.db"
refuses 1 "not a database" "$autotune" db merge "$root/Makefile" --db "$folder/b.db"
prints "images deleted" "$autotune" db prune --top 1 --db "$folder/b.db"
prints "sound" "$autotune" db verify --db "$folder/b.db"

# ---- presets: only measured results, or those of the emulated device that is named
refuses 1 "no measured result" "$autotune" db export --presets "$folder/db/presets"
prints "2 results in $folder/db/presets/emu-h200.txt" \
  "$autotune" db export --presets "$folder/db/presets" --device emu
(cd "$folder" && sh "$root/generator/embed.sh" serve_presets:serve_presets.h:db/presets -- db/presets/emu-h200.txt) >"$folder/embedded.c"
sed -n '/serve_presets\[\] = {/,/};/p' "$folder/embedded.c" | grep -q '"emu-h200.txt"' ||
  complain "the presets are not embedded"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
