#!/bin/sh
# test_manual.sh -- what the READMEs show works: the smallest template of templates/README.md, the mistakes it
# explains, and the files that the READMEs link to.
set -u
. tests/fixtures/cli_fixture.sh

template=$folder/scale.lua
awk '/^-- scale.lua/ { on = 1 } /^```/ { if (on) exit } on' templates/README.md >"$template"
grep -q 'name = "scale"' "$template" || complain "templates/README.md has no smallest template"
prints "12 right, 0 wrong" $autotune check "$template" n=1000 --device emu

explains() { # VERB, what is replaced, what by, the message
  sed "s/$2/$3/" "$template" >"$folder/wrong.lua"
  cmp -s "$template" "$folder/wrong.lua" && complain "$2 is not in the template"
  $autotune "$1" "$folder/wrong.lua" n=1000 --device emu >"$folder/out" 2>&1 && complain "$3 is accepted"
  grep -qF "$4" "$folder/out" || complain "$3: $(cat "$folder/out")"
  grep -qF "$4" templates/README.md || complain "templates/README.md does not explain: $4"
}
explains emit 'ceildiv(n, BLOCK' 'ceildiv(n, BLOK' "there is no 'BLOK' here; did you mean 'BLOCK'?"
explains emit 'default = { B' 'defaults = { B' "a key 'defaults' means nothing here; did you mean 'default'?"
explains emit ', COARSE = 1 }' ' }' "'COARSE' is missing here"
explains emit 'require = {}' "require = { { 'x', \"BLOCK > 'a'\" } }" "'>' cannot compare a number with a text"
explains space 'require = {}' "require = { { 'BLOCK of 1000', 'BLOCK == 1000' } }" "12 of 12 are rejected by: BLOCK of 1000"
explains emit 'require = {}' "require = { { 'BLOCK of 64', 'BLOCK == 64' } }" "BLOCK of 64 (BLOCK == 64)"
explains check 'x\[i\] \*= a;' 'y[i] *= a;' 'identifier "y" is undefined'
explains check 'if (i < n) x' 'x' "global memory out of bounds"
explains check '\*= a;' '*= a + 1;' "1000 of 1000 wrong"

git ls-files '*README.md' >"$folder/pages" 2>/dev/null || find . -name README.md -not -path './build*' >"$folder/pages"
while read -r page; do
  grep -o '](\([^)#]*\))' "$page" | sed 's/](\(.*\))/\1/' | grep -v '^http' | while read -r link; do
    [ -e "$(dirname "$page")/$link" ] || echo "$page links to $link, which is not there"
  done
done <"$folder/pages" >"$folder/dead"
[ ! -s "$folder/dead" ] || complain "$(cat "$folder/dead")"
[ "$(wc -l <README.md)" -le 150 ] || complain "README.md has more than 150 lines"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
