#!/bin/sh
# test_cache.sh -- the cache of compiled images: a search again, from an empty database, compiles nothing;
# autotune cache looks after it; one that can't be used costs a line of doctor's and nothing else.
set -u
. tests/fixtures/cli_fixture.sh
TUNED_CACHE=$folder/cache
export TUNED_CACHE
images() { "$autotune" cache stat --json | sed 's/.*"images": *\([0-9]*\).*/\1/'; }
search() { "$autotune" saxpy n=20000 --device emu --budget 6 --quiet --db "$folder/$1.db"; }

search first >"$folder/out" 2>&1 || complain "the search failed: $(cat "$folder/out")"
n=$(images)
[ "$n" -ge 6 ] || complain "6 trials left $n images"
search second >"$folder/out" 2>&1 || complain "the search failed: $(cat "$folder/out")"
[ "$(images)" = "$n" ] || complain "the same search compiled again: $n images, then $(images)"

# the database has the images of the best, and of no others
kept=$(sqlite3 "$folder/first.db" 'SELECT count(*) FROM image_bulk')
[ "$kept" -ge 1 ] && [ "$kept" -le 3 ] || complain "the database has $kept images of 6"
prints "is sound" "$autotune" db verify --db "$folder/first.db"

prints "$n images" "$autotune" cache stat
prints "is sound" "$autotune" cache verify
sqlite3 "$TUNED_CACHE/images.db" "UPDATE image SET ptx = x'00' WHERE rowid = 1"
prints "1 damaged" "$autotune" cache verify
prints "is sound" "$autotune" cache verify
prints "images deleted" "$autotune" cache clear
prints " 0 images" "$autotune" cache stat
refuses 2 "stat, verify or clear" "$autotune" cache
refuses 2 "stat, verify or clear" "$autotune" cache empty
refuses 2 "no word 'now'" "$autotune" cache clear now

# a cache that can't be used: told, and everything works without it
prints "ok       cache" "$autotune" doctor
chmod 666 "$TUNED_CACHE/images.db"
prints "others can write" "$autotune" doctor
refuses 1 "others can write" "$autotune" cache stat
search third >"$folder/out" 2>&1 || complain "no search without a cache: $(cat "$folder/out")"
chmod 600 "$TUNED_CACHE/images.db"
sqlite3 "$TUNED_CACHE/images.db" "PRAGMA user_version = 99"
prints "newer version" "$autotune" doctor
search fourth >"$folder/out" 2>&1 || complain "no search beside a newer cache: $(cat "$folder/out")"
sqlite3 "$TUNED_CACHE/images.db" "PRAGMA user_version = 1"
TUNED_CACHE=/proc/none
prints "/proc/none" "$autotune" doctor
search fifth >"$folder/out" 2>&1 || complain "no search without a folder: $(cat "$folder/out")"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
