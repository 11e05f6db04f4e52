#!/bin/sh
# test_draws.sh -- finalists are judged on several draws of their data, by a high quantile.
set -u
. tests/fixtures/cli_fixture.sh

tune() { # $1: how many draws
  rm -f "$folder/lucky.db"
  $autotune tests/fixtures/templates/lucky.lua n=32 --device emu --budget 10 --quiet --db "$folder/lucky.db" --draws "$1"
}
best() { # the first configuration of the table
  sed -n '2s/.*WAY=//p' "$folder/out"
}
# on one draw, one of the two that are fast on half of all data wins; on many, the steady one does
prints "WAY=" tune 1
[ "$(best)" = even ] || [ "$(best)" = odd ] || complain "one draw: $(cat "$folder/out")"
prints "WAY=" tune 12
[ "$(best)" = steady ] || complain "twelve draws: $(cat "$folder/out")"
# the other two are slow on equal data, which are the second draw
$autotune tests/fixtures/templates/lucky.lua n=32 --device emu --budget 10 --quiet --db "$folder/kinds.db" --draws 2 \
  --kinds equal >"$folder/out" 2>&1 || complain "kinds: $(cat "$folder/out")"
[ "$(best)" = steady ] || complain "equal data: $(cat "$folder/out")"
# a template says so itself, and for which problems
kinds() { # $1: the kinds; more: options
  sed "s/^  problem = /  kinds = { 'equal', when = \"$1\" },\n&/" tests/fixtures/templates/lucky.lua >"$folder/kinds.lua"
  shift
  rm -f "$folder/kinds.db"
  prints "WAY=" $autotune "$folder/kinds.lua" n=32 --device emu --budget 10 --quiet --db "$folder/kinds.db" --draws 2 "$@"
}
kinds "n == 32"
[ "$(best)" = steady ] || complain "kinds of the template: $(cat "$folder/out")"
kinds "n > 32"
own=$(best)
kinds "n == 32" --kinds own
[ "$(best)" = "$own" ] || complain "--kinds own: $(cat "$folder/out"), not $own"
refuses 2 "--kinds: 'sortid' is no kind of data" $autotune saxpy n=1000 --device emu --kinds sortid
refuses 2 "--draws" $autotune saxpy n=1000 --device emu --draws 0

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
