#!/bin/sh
# test_cache.sh -- the cache of compiled images: a search again, from an empty database, compiles nothing, nor does
# one that is resumed; the database stays small; autotune cache looks after the file; one that can't be used costs a
# line of doctor's and nothing else.
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
compiled=$(sqlite3 "$folder/second.db" 'SELECT count(*) FROM image WHERE sec > 0')
[ "$compiled" = 0 ] || complain "the same search compiled $compiled images again"

# the database has the images of the best, and of no others
kept=$(sqlite3 "$folder/first.db" 'SELECT count(*) FROM image_bulk')
[ "$kept" -ge 1 ] && [ "$kept" -le 3 ] || complain "the database has $kept images of 6"
prints "is sound" "$autotune" db verify --db "$folder/first.db"

# a search that was killed is resumed: what it knows is not compiled again, and its best images are stored
"$autotune" sgemm m=24 --device emu --budget 100 --quiet --db "$folder/killed.db" >"$folder/out" 2>&1 &
pid=$!
trials=0 waited=0
while [ "$trials" -lt 6 ] && [ $waited -lt 600 ]; do
  sleep 0.1
  waited=$((waited + 1))
  trials=$(sqlite3 "$folder/killed.db" 'SELECT count(*) FROM trial' 2>/dev/null || echo 0)
done
kill -9 $pid
wait $pid 2>/dev/null
trials=$(sqlite3 "$folder/killed.db" 'SELECT count(*) FROM trial')
compiled='SELECT count(*) FROM image WHERE sec > 0'
before="$(sqlite3 "$folder/killed.db" "$compiled") $(images)"
"$autotune" sgemm m=24 --device emu --budget "$trials" --quiet --db "$folder/killed.db" >"$folder/out" 2>&1 ||
  complain "the search was not resumed: $(cat "$folder/out")"
after="$(sqlite3 "$folder/killed.db" "$compiled") $(images)"
[ "$before" = "$after" ] || complain "resumed after $trials trials, it compiled: $before, then $after"
kept=$(sqlite3 "$folder/killed.db" 'SELECT count(*) FROM image_bulk')
[ "$kept" -ge 1 ] && [ "$kept" -le 3 ] || complain "the database has $kept images of $trials"
nbytes=$(stat -c %s "$folder/killed.db")
[ "$nbytes" -lt 1000000 ] || complain "the database has $nbytes bytes after $trials trials"

n=$(images)
prints "$n images" "$autotune" cache stat
prints "is sound" "$autotune" cache verify
sqlite3 "$TUNED_CACHE/images.db" "UPDATE image SET ptx = x'00' WHERE rowid = 1"
prints "1 damaged" "$autotune" cache verify
prints "is sound" "$autotune" cache verify
prints "images deleted" "$autotune" cache clear
prints " 0 images" "$autotune" cache stat
refuses 2 "stat, verify, clear" "$autotune" cache
refuses 2 "stat, verify, clear" "$autotune" cache empty
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
