#!/bin/sh
# test_warm.sh -- autotune warm: a program that is served afterwards compiles nothing.
set -u
. tests/fixtures/build.sh
. tests/fixtures/cli_fixture.sh
TUNED_CACHE=$folder/cache
export TUNED_CACHE
program tests/fixtures/find_problems.c "$folder/find" || exit 1
images() { "$autotune" cache stat --json | sed 's/.*"images": *\([0-9]*\).*/\1/'; }
# finds CASE PROBLEM...: without a compilation
finds() {
  case=$1
  shift
  before=$(images)
  "$folder/find" "$@" >"$folder/out" 2>&1 || complain "$case: $(cat "$folder/out")"
  [ "$(wc -l <"$folder/out")" = $# ] || complain "$case: not every problem was found: $(cat "$folder/out")"
  [ "$(images)" = "$before" ] || complain "$case: $before images, then $(images)"
}

prints "(0 were there)" "$autotune" warm saxpy transpose --device emu
[ ! -s "$TUNED_CACHE/images.db-wal" ] || complain "a log is left beside the file"
n=$(images)
[ "$n" -gt 10 ] || complain "only $n images"
[ "$(sqlite3 "$TUNED_CACHE/images.db" "SELECT count(*) FROM note")" -ge "$n" ] || complain "no notes of texts"
prints "compiled 0 images for compute_90a ($n were there)" "$autotune" warm saxpy transpose --device emu
set -- "saxpy n=1000" "saxpy n=4097" "saxpy n=1048576" "saxpy n=999 align=1" "transpose rows=1000 cols=300" \
  "transpose rows=4096 cols=4096" "transpose rows=77 cols=1234 dtype=f64" "transpose rows=33 cols=5000 dtype=u8 align=1" \
  "transpose rows=512 cols=512 batch=20 dtype=f16"
finds "warmed families" "$@"
AUTOTUNE_NVRTC=/nowhere finds "without NVRTC" "$@"

# the folder of the system: it serves users, who have a folder of their own
TUNED_CACHE=$folder/own:$folder/cache
AUTOTUNE_NVRTC=/nowhere finds "from a shared folder" "$@"
[ "$(images)" = 0 ] || complain "$(images) images in the user's own folder"
prints "compiled 0 images for compute_90a" "$autotune" warm saxpy --device emu
prints "shared     $folder/cache/images.db: $n images" "$autotune" doctor
TUNED_CACHE=$folder/cache

# the user's results: an image that the database has is not compiled again, one that was pruned is
"$autotune" saxpy n=5000 --budget 4 --quiet >"$folder/out" 2>&1 || complain "saxpy: $(cat "$folder/out")"
prints "" "$autotune" cache clear
"$autotune" warm saxpy --sizes "n=5000" --json >"$folder/out" 2>&1
grep -q '"wanted":0,' "$folder/out" || complain "of a stored result: $(cat "$folder/out")"
sqlite3 "$TUNED_DB" "DELETE FROM image_bulk"
prints '"wanted":1,' "$autotune" warm saxpy --sizes "n=5000" --json
finds "a pruned result" "saxpy n=5000"
grep -q "exact" "$folder/out" || complain "a pruned result: $(cat "$folder/out")"
rm "$TUNED_DB"

# a limit, an interruption, another architecture
prints "" "$autotune" cache clear
"$autotune" warm transpose --device emu --limit 400000 >"$folder/out" 2>&1 || complain "limit: $(cat "$folder/out")"
grep -q "would exceed --limit 400000" "$folder/out" || complain "limit: $(cat "$folder/out")"
nbytes=$("$autotune" cache stat --json | sed 's/.*"nbytes": *\([0-9]*\).*/\1/')
[ "$nbytes" -gt 0 ] && [ "$nbytes" -le 400000 ] || complain "--limit 400000 left $nbytes bytes"
"$autotune" warm sgemm --device emu >"$folder/out" 2>&1 &
pid=$!
sleep 1
kill -INT $pid
wait $pid
status=$?
[ $status = 130 ] || complain "interrupted: status $status: $(cat "$folder/out")"
prints "is sound" "$autotune" cache verify
prints "compiled 1 images for sm_90a (0 were there)" "$autotune" warm saxpy --arch sm_90a --sizes "n=4096"
prints "compiled 0 images for sm_90a" "$autotune" warm saxpy --arch sm_90a --sizes "n=4096"

refuses 2 "name one with --device" "$autotune" warm saxpy --arch sm_99
refuses 2 "is not the architecture of emu:h200" "$autotune" warm saxpy --arch sm_80 --device emu
refuses 2 "of one family" "$autotune" warm --sizes "n=4096"
refuses 1 "there is no template" "$autotune" warm saxpi --device emu
refuses 2 "--limit" "$autotune" warm saxpy --limit 0
chmod 666 "$TUNED_CACHE/images.db"
refuses 1 "others can write" "$autotune" warm saxpy --device emu

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
