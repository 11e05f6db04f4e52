#!/bin/sh
# test_order.sh -- copies of merge and merge_sort: with another order, in which different keys are equal, so that the
# check against the stable reference shows whether equal keys keep their order; and with one value of STORE.
set -u
. tests/fixtures/cli_fixture.sh

cp templates/merge/merge.lua templates/merge_sort/merge_sort.lua "$folder/"
sed 's/return x < y;/return x % 100 > y % 100;/' templates/shared/sort/merge_order.cuh >"$folder/merge_order.cuh"
cmp -s templates/shared/sort/merge_order.cuh "$folder/merge_order.cuh" && complain "the order is still the old one"
stable="NETWORK=odd_even"
few="SORT_BLOCK=128,SORT_ITEMS=12,CLUSTER=4,CLUSTERS=4,SAMPLES=128"

check_sort() { # CONFIG [PROBLEM...]
  config=$1
  shift
  prints "1 right, 0 wrong" "$autotune" check "$folder/merge_sort.lua" n=6001 "$@" --config "$config"
}
check_sort "SORT_BLOCK=64,SORT_ITEMS=5,BLOCK=64,ITEMS=5,$stable"
check_sort "ALG=sample_sort,$few,BINS=32,$stable"
check_sort "ALG=sample_sort,SORT_BLOCK=512,SORT_ITEMS=12,CLUSTER=1,CLUSTERS=8,SAMPLES=64,BINS=64" dtype=u16 value=4
check_sort "ALG=rank_sort,SORT_BLOCK=512,SORT_ITEMS=12,KEYS_PER_BLOCK=32"
check_sort "ALG=sample_passes,NETWORK=batcher,WARP_MERGE=shuffle,SORT_BLOCK=64,SORT_ITEMS=16,OVERSAMPLE=32,SPLITTERS=32,\
BLOCK=64,ITEMS=8" value=4
check_sort "ALG=bitonic,SORT_BLOCK=256,SORT_ITEMS=8,CLUSTER=4" value=4
"$autotune" check "$folder/merge_sort.lua" n=6001 --config "ALG=sample_sort,$few,NETWORK=batcher" >"$folder/out" 2>&1 &&
  complain "an unstable sort passed the check"
grep -q "0 right, 1 wrong" "$folder/out" || complain "the unstable sort: $(cat "$folder/out")"

for family in merge merge_sort; do
  sed -e 's/{ "STORE", { "direct", "block", "warp" }/{ "STORE", { "block" }/' \
    -e 's/STORE = "[a-z]*"/STORE = "block"/' -e 's/config.STORE = "block", "warp"/config.STORE = "block", "block"/' \
    "templates/$family/$family.lua" >"$folder/$family.lua"
  cmp -s "templates/$family/$family.lua" "$folder/$family.lua" && complain "$family still has three values of STORE"
done
rm "$folder/merge_order.cuh"
prints "1 right, 0 wrong" "$autotune" check "$folder/merge_sort.lua" n=6001 --sample 1
prints "1 right, 0 wrong" "$autotune" check "$folder/merge.lua" m=3000 n=2000 --sample 1

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
