#!/bin/sh
# results.sh -- measures what the README claims, and writes tests/bench/RESULTS.md from it.
#
#   sh tests/bench/results.sh measure FOLDER [DEVICE [FAMILY...]]   every suite beside the vendor's library, then the
#                                                                   benchmark programs; a file a run in FOLDER
#   sh tests/bench/results.sh unseen FOLDER [DEVICE [FAMILY...]]    bench_unseen of each family: calls drawn at random
#   sh tests/bench/results.sh page FOLDER > tests/bench/RESULTS.md  the page: a row a suite, then every run in full
#
# Runs that FOLDER has already are skipped, so the same command continues where it was cut off. Nothing is tuned:
# the times are of what libtuned serves right after its installation. B is the build folder, COMMIT the commit that
# the page names and that chooses the seeds of unseen; N calls a seed (200), SEC seconds a family at most, and TUNE
# seconds of tuning for 20 of a family's problems are for unseen, too.
set -eu
B=${B:-build}
usage() {
  sed -n 's/^#  *\(sh tests.*\)/\1/p' "$0" >&2
  exit 2
}
[ $# -ge 2 ] || usage
mode=$1 folder=$2
shift 2

# Each family and the library it is compared with, in all of its suites.
peers='
sgemm cublas
gemm cublas
gemm_batched cublas
gemv cublas
dot cublas
reduce cub
argmax cub
scan cub
histogram cub
radix_sort cub
merge cub
merge_sort cub
segmented_reduce cub
segmented_scan cub
segmented_sort cub
transpose cublas
spmv cusparse
copy driver
vector_add cub
ripple textbook
fhd textbook
mri_q textbook
cmp_mu textbook
rgb_to_grey npp
box_blur npp
conv1d cudnn
conv2d cudnn
conv3d cudnn
julia textbook
bezier textbook
bfs textbook
quadtree cub
coulomb textbook
stencil textbook
'

suites_of() { # $1: family
  sed -n 's/^\[\([^]]*\)\].*/\1/p' "$(find tuner -path "*/suites/$1.txt")"
}

run() { # $1: name of the file, then the command
  file=$folder/$1.txt
  shift
  [ ! -e "$file" ] || return 0
  echo "$*" >&2
  if { echo "$*" && "$@" 2>/dev/null; } >"$file.part"; then
    mv "$file.part" "$file"
  else
    echo "results.sh: failed: $*" >&2
    mv "$file.part" "$file.failed"
  fi
}

wanted() { # $1: family; then those asked for, none: all
  family=$1
  shift
  [ $# -gt 0 ] || return 0
  for f; do [ "$f" != "$family" ] || return 0; done
  return 1
}

about() { # of the machine
  mkdir -p "$folder"
  export TUNED_DB="$folder/nothing-tuned.db"
  [ -e "$folder/about" ] || {
    echo "$(date -u +%Y-%m-%d)${COMMIT:+, commit $COMMIT}"
    "$B/autotune" devices | sed '/^emu/,$d'
    "$B/autotune" doctor | grep -vE '^ok *(database|cache)'
  } >"$folder/about" 2>&1
}

measure() { # DEVICE [FAMILY...]
  device=${1:-0}
  [ $# -eq 0 ] || shift
  about
  echo "$peers" | while read -r family peer; do
    [ -n "$family" ] && wanted "$family" "$@" || continue
    for suite in $(suites_of "$family"); do
      run "$family.$suite" "$B/autotune" bench "$family" --suite "$suite" --vs "$peer" --device "$device"
    done
  done
  wanted programs "$@" || return 0
  for program in bench_cold bench_first_use bench_launch bench_new_size bench_threads; do
    [ ! -x "$B/tests/bench/$program" ] || run "program.$program" "$B/tests/bench/$program" --device "$device"
  done
}

unseen() { # DEVICE [FAMILY...]
  device=${1:-0}
  [ $# -eq 0 ] || shift
  about
  echo "$peers" | while read -r family peer; do
    [ -n "$family" ] && wanted "$family" "$@" || continue
    file=$folder/unseen.$family
    [ ! -e "$file.txt" ] || continue
    command="$B/tests/bench/bench_unseen $family --device $device --n ${N:-200}${SEC:+ --sec $SEC}"
    command="$command${TUNE:+ --tune $TUNE --of 20}"
    echo "$command" >&2
    status=0
    { echo "$command" && $command --save "$file.tsv" --tuned-db "$folder/tuned.db"; } >"$file.part" </dev/null || status=$?
    case $status in
    0) mv "$file.part" "$file.txt" ;;
    2) echo "results.sh: $family has calls left; the same command continues" >&2 ;;
    *) mv "$file.part" "$file.failed" && echo "results.sh: wrong results, or failed: $file.failed" >&2 ;;
    esac
  done
}

summary() { # a file's last lines: how many, geometric mean, how many ahead, the worst
  sed -n 's/^geometric mean of \([0-9]*\): \([0-9.]*\) x \(.*\); at least as fast in \([0-9]*\); worst \([0-9.]*\) at \(.*\)/\2|\4 of \1|\5 (\6)|\3/p' "$1"
}

in_full() { # a run as a block, the build folder's name left out
  printf '\n```\n'
  sed "s|^$B/||; s|^tests/bench/||" "$1"
  printf '```\n'
}

unseen_table() {
  ls "$folder"/unseen.*.txt >/dev/null 2>&1 || return 0
  printf '\n## Calls that nobody tuned\n\nDrawn at random over all that a typed call may be given; the seeds are the '
  printf 'first digits of the commit and the next numbers. Warm buffers. x the peer: geometric mean, median, 10th and 5th '
  printf 'percentile, worst. x floor: times the larger of bytes / bandwidth and operations / peak rate, of the calls at '
  printf 'least as fast as the peer and of the slower ones.\n\n| family | calls | mean | median | 10th | 5th | worst | at least as fast | x floor | slower ones | wrong | peer |\n'
  printf '|---|---|---|---|---|---|---|---|---|---|---|---|\n'
  for file in "$folder"/unseen.*.txt; do
    peer=$(sed -n 's/^[a-z_]* on .*, \(.*\); warm.*/\1/p' "$file")
    floors=$(sed -n 's/^x floor .*: \([-0-9.na]*\); slower ones \([-0-9.na]*\)$/\1 | \2/p' "$file")
    awk -v peer="$peer" -v floors="${floors:-- | -}" '$2 ~ /^(all|[0-9]+)$/ && $1 ~ /^[a-z_]+$/ { total = $0 } END { $0 = total; printf "| `%s` | %s | %s | %s | %s | %s | %s | %s %% | %s | %s | %s |\n",
      $1, $4, $5, $6, $7, $8, $9, $10, floors, $12, peer }' "$file"
  done
}

page() {
  printf '# Results\n\nWritten by `sh tests/bench/results.sh`: `measure FOLDER DEVICE`, then `page FOLDER`.\n'
  printf 'Nothing was tuned for these runs: they time what the library serves when it has just been installed.\n'
  printf 'Cold second-level cache; ours and the peer are interleaved in one run; medians.\n\n```\n'
  cat "$folder/about"
  printf '```\n\n| suite | x the peer, geometric mean | at least as fast | worst | peer |\n|---|---|---|---|---|\n'
  echo "$peers" | while read -r family peer; do
    [ -n "$family" ] || continue
    for suite in $(suites_of "$family"); do
      file=$folder/$family.$suite.txt
      [ ! -e "$file" ] || summary "$file" | while IFS='|' read -r mean ahead worst against; do
        echo "| \`$family --suite $suite\` | $mean | $ahead | $worst | $against |"
      done
    done
  done
  missing=$(echo "$peers" | while read -r family peer; do
    [ -z "$family" ] || for suite in $(suites_of "$family"); do
      [ -e "$folder/$family.$suite.txt" ] || echo "\`$family --suite $suite\`"
    done
  done | paste -sd, | sed 's/,/, /g')
  [ -z "$missing" ] || printf '\nNot run this time: %s.\n' "$missing"
  unseen_table
  [ ! -e tests/bench/earlier.md ] || { echo; cat tests/bench/earlier.md; }
  printf '\n## Every run in full\n'
  for file in "$folder"/*.txt; do in_full "$file"; done
}

case $mode in
measure) measure "$@" ;;
unseen) unseen "$@" ;;
page) page ;;
*) usage ;;
esac
