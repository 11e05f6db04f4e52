#!/bin/sh
# test_cache_faults.sh -- a program that serves kernels beside a cache of compiled images that is shared, half
# written, damaged, older, read-only, or on a full disk: the kernel runs, autotune doctor tells in one line, and a
# cache that can be rebuilt is.
set -u
. tests/fixtures/build.sh
. tests/fixtures/cli_fixture.sh
TUNED_CACHE=$folder/cache
export TUNED_CACHE
file=$TUNED_CACHE/images.db
program examples/saxpy.c "$folder/saxpy" || exit 1

images() { "$autotune" cache stat --json | sed 's/.*"images": *\([0-9]*\).*/\1/'; }
serves() { "$folder/saxpy" >"$folder/out" 2>&1 || complain "$1: the program failed: $(cat "$folder/out")"; }
keeps() { [ "$(images)" = 1 ] || complain "$1: $(images) images, not 1"; }
# doctor_says CASE WORDS: in one line, which ends with success
doctor_says() {
  "$autotune" doctor >"$folder/out" 2>"$folder/err" || complain "$1: doctor failed: $(cat "$folder/err")"
  [ "$(grep -cF -e "$2" "$folder/out")" = 1 ] || complain "$1: doctor does not say '$2': $(cat "$folder/out")"
}

# ---- processes that start together
for i in 1 2 3 4 5 6 7 8 9 10; do
  "$folder/saxpy" >"$folder/saxpy.$i" 2>&1 &
  pids="${pids:-} $!"
done
for pid in $pids; do wait "$pid" || complain "one of ten processes failed: $(cat "$folder"/saxpy.*)"; done
keeps "ten processes"
doctor_says "ten processes" "ok       cache      $file"

# ---- kill -9 at any moment
for sec in 0.02 0.05 0.1 0.2 0.3 0.4 0.5 0.7; do
  rm -rf "$TUNED_CACHE"
  "$folder/saxpy" >/dev/null 2>&1 &
  pid=$!
  sleep $sec
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  serves "killed after $sec s"
  keeps "killed after $sec s"
done
prints "is sound" "$autotune" cache verify

# ---- turned bits: in an image, in the pages, all of the file
sqlite3 "$file" "UPDATE image SET ptx = x'00'"
doctor_says "a damaged image" "1 damaged images dropped"
serves "a damaged image"
keeps "a damaged image"
for part in 1 0; do # but for its first page; whole
  n=$(stat -c %s "$file")
  dd if=/dev/urandom of="$file" bs=4096 seek=$part count=$((n / 4096 - part)) conv=notrunc 2>/dev/null
  [ $part = 1 ] && words="damaged images dropped" || words="damaged and has been begun anew"
  doctor_says "damaged from page $part" "$words"
  serves "damaged from page $part"
  keeps "damaged from page $part"
  dd if=/dev/urandom of="$file" bs=4096 seek=$part count=$((n / 4096 - part)) conv=notrunc 2>/dev/null
  serves "damaged from page $part, before doctor"
  keeps "damaged from page $part, before doctor"
done

# ---- an earlier version: a file in which nothing was stored yet; a later one
rm -rf "$TUNED_CACHE"
mkdir "$TUNED_CACHE"
sqlite3 "$file" "PRAGMA application_id = $((0x4175496d))"
chmod 600 "$file"
serves "an earlier version"
keeps "an earlier version"
version=$(sqlite3 "$file" "PRAGMA user_version")
sqlite3 "$file" "PRAGMA user_version = 99"
serves "a later version"
doctor_says "a later version" "newer version"
sqlite3 "$file" "PRAGMA user_version = $version"
keeps "a later version"

# ---- file systems that refuse: read-only, full
if mkdir "$folder/small" && mount -t tmpfs -o size=256k tmpfs "$folder/small" 2>/dev/null; then
  trap 'umount "$folder/small"; rm -rf "$folder"' EXIT
  TUNED_CACHE=$folder/small
  file=$TUNED_CACHE/images.db
  serves "a small disk"
  keeps "a small disk"
  dd if=/dev/zero of="$TUNED_CACHE/filler" bs=4096 >/dev/null 2>&1
  doctor_says "a full disk" "missing  cache      database $file"
  serves "a full disk"
  rm -f "$TUNED_CACHE/filler"
  serves "a disk with space again"
  keeps "a disk with space again"
  doctor_says "a disk with space again" "ok       cache      $file"
  dd if=/dev/zero of="$TUNED_CACHE/filler" bs=4096 >/dev/null 2>&1
  rm -f "$file"*
  serves "a full disk without a cache"
  rm -f "$TUNED_CACHE/filler"
  serves "rebuilt"
  keeps "rebuilt"
  mount -o remount,ro "$folder/small"
  doctor_says "read-only" "cannot be written"
  serves "read-only"
  mount -o remount,rw "$folder/small"
  keeps "read-only"
fi

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
