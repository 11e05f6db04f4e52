#!/bin/sh
# test_tune_faults.sh -- tuning when the disk is full, the database read-only, the space empty, and when
# two searches share one database.
set -u
. tests/fixtures/cli_fixture.sh

# ---- a full disk: one line, a failure, and every trial reported before is stored
cp_db="$folder/full.db"
prints "2 trials" $autotune saxpy n=1000 --budget 2 --db "$cp_db"
blocks=$(($(stat -c %s "$cp_db") / 512 + 400)) # room for some more trials and images, in the shell's unit
(
  ulimit -f $blocks
  $autotune saxpy n=2000 --budget 400 --json --db "$cp_db" >"$folder/full" 2>"$folder/err"
)
status=$?
[ $status = 1 ] || complain "a full disk: status $status, $(cat "$folder/err")"
[ "$(grep -c . "$folder/err")" = 1 ] || complain "a full disk is told in: $(cat "$folder/err")"
grep -qE "no room to grow|could not be read or written" "$folder/err" || complain "a full disk: $(cat "$folder/err")"
seen=$(grep -c '"event":"trial"' "$folder/full")
stored=$($autotune show saxpy n=2000 --json --top 1000 --db "$cp_db" | wc -l)
[ "$seen" -gt 0 ] && [ "$stored" -ge "$seen" ] || complain "full disk: $seen trials reported, $stored stored"
prints "sound" $autotune db verify --db "$cp_db"
prints "trials" $autotune saxpy n=2000 --budget 30 --db "$cp_db" # with room again it goes on

if [ "$(id -u)" = 0 ] && mkdir "$folder/small" && mount -t tmpfs -o size=256k none "$folder/small" 2>/dev/null; then
  echo "an earlier file" >"$folder/small/kept.txt"
  refuses 1 "no room to grow" $autotune saxpy n=3000 --budget 400 --quiet --db "$folder/small/tuned.db"
  prints "sound" $autotune db verify --db "$folder/small/tuned.db"
  dd if=/dev/zero of="$folder/small/filler" bs=4096 2>/dev/null
  refuses 1 "No space left" $autotune db export "$folder/small/kept.txt" --db "$cp_db"
  refuses 1 "No space left" $autotune export-results "$folder/small/results.json" saxpy n=1000 --db "$cp_db"
  refuses 1 "No space left" $autotune export saxpy n=1000 --ptx "$folder/small/k.ptx" --db "$cp_db"
  refuses 1 "no room to grow" $autotune base "$folder/small/base" saxpy --arch sm_80
  [ "$(cat "$folder/small/kept.txt")" = "an earlier file" ] || complain "a full disk: an export spoils the earlier file"
  [ -z "$(ls "$folder/small" | grep -vE '^(tuned.db|kept.txt|filler)')" ] || complain "left on a full disk: $(ls "$folder/small")"
  mount -o remount,ro "$folder/small"
  refuses 1 "Read-only" $autotune db export "$folder/small/kept.txt" --db "$cp_db"
  umount "$folder/small"
fi

# ---- a folder that cannot be written
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir "$folder/theirs"
  cp "$TUNED_DB" "$folder/theirs/tuned.db" 2>/dev/null || cp "$cp_db" "$folder/theirs/tuned.db"
  cp "$autotune" "$folder/autotune"
  chmod 755 "$folder" "$folder/theirs"
  chmod 644 "$folder/theirs/tuned.db"
  as="setpriv --reuid=65534 --clear-groups"
  refuses 1 "writable" $as "$folder/autotune" saxpy n=1000 --budget 3 --quiet --db "$folder/theirs/tuned.db"
  refuses 1 "--db" $as "$folder/autotune" saxpy n=1000 --budget 3 --quiet --db "$folder/theirs/new.db"
fi

# ---- a space without a point: the requirement that empties it
refuses 2 "blocks of a million threads" $autotune $scale make=pointless --quiet
printf 'n=10 make=pointless\nn=20 make=pointless\n' >"$folder/sizes"
refuses 2 "2 of 2 problems could not be tuned" $autotune $scale --sizes "$folder/sizes" --quiet
grep -q "blocks of a million threads" "$folder/out" || complain "no reason in the table: $(cat "$folder/out")"

# ---- two searches of one problem: both finish, share their results, and lose none
for i in 1 2; do
  $autotune saxpy n=200000 --budget 40 --strategy random --json >"$folder/out$i" 2>"$folder/err$i" &
  eval pid$i=$!
done
for i in 1 2; do
  eval wait \$pid$i || complain "search $i of two failed: $(cat "$folder/err$i")"
done
stored=$($autotune show saxpy n=200000 --json --top 1000 | wc -l)
own1=$(grep -c '"event":"trial"' "$folder/out1") own2=$(grep -c '"event":"trial"' "$folder/out2")
[ "$stored" -ge 32 ] && [ "$stored" -le 64 ] || complain "two searches of 40 stored $stored ($own1, $own2)"
[ $((own1 + own2)) -lt 76 ] || complain "two searches of 40 tried $own1 and $own2: they share nothing"
prints "sound" $autotune db verify

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
