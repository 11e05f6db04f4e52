#!/bin/sh
# check_cuda.sh MACHINE_CODE -- nvcc accepts what the templates emit: one text of each algorithm of each family,
# and device code that has no lines of Lua as it stands in its file, behind the constants of that configuration.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0 n=0

compile() { # NAME OPTION... FILE
  name=$1
  shift
  n=$((n + 1))
  nvcc -std=c++17 -arch=sm_90a -cubin -o "$folder/cubin" -diag-suppress 177,68,39 "$@" >"$folder/log" 2>&1 || {
    echo "$name: nvcc refuses it: $(grep -m 3 -E 'error|fatal' "$folder/log")"
    bad=$((bad + 1))
  }
}

has_lua() { # FILE: it or what it includes
  ! grep -qE '^[ \t]*@|@\{' "$1" || return 0
  for name in $(sed -n 's/^#include "\(.*\)"/\1/p' "$1"); do
    for file in templates/*/"$name"; do
      ! has_lua "$file" || return 0
    done
  done
  return 1
}

"$1" --write "$folder" tests/bench/machine_code.gz || exit 1
for text in "$folder"/*.cu; do
  name=$(basename "$text" .cu)
  compile "$name" "$text"
  file=$(sed -n 's/^#line [0-9]* "\(.*\)"/\1/p' "$text" | grep -m 1 '/'"${name%%.*}"'/')
  case $file in *.cu)
    if ! (has_lua "$file"); then
      sed '/^#line/,$d' "$text" >"$folder/constants.h"
      compile "$file behind its constants" -include "$folder/constants.h" -I templates/shared -I templates/shared/sort -I "${file%/*}" "$file"
    fi
    ;;
  esac
done
echo "$n texts, $bad refused"
[ $bad = 0 ]
