#!/bin/sh
# layers.sh -- which folder may include which, checked over the #include lines (README, "Where things are").
#   runtime/base <- generator, db, runtime/device, runtime/emu <- runtime/run <- runtime/serve <- tuner
set -eu
bad=0

headers_of() { # headers of folders, as one alternation
  for d; do ls "$d"/*.h 2>/dev/null; done | sed 's|.*/||; s|\.|\\.|g' | paste -sd'|'
}

forbid() { # $1: folder; then the folders it must not include from
  folder=$1
  shift
  names=$(headers_of "$@")
  [ -n "$names" ] || return 0
  if grep -nE "#include \"($names)\"" "$folder"/*.c "$folder"/*.h 2>/dev/null; then
    echo "layers: $folder/ must not include from: $*" >&2
    bad=1
  fi
}

forbid runtime/base generator db runtime/device runtime/emu runtime/run runtime/serve tuner
forbid generator db runtime/device runtime/emu runtime/run runtime/serve tuner
forbid db generator runtime/device runtime/emu runtime/run runtime/serve tuner
forbid runtime/device generator db runtime/run runtime/serve tuner
forbid runtime/emu generator db runtime/run runtime/serve tuner
forbid runtime/run db runtime/serve tuner
forbid runtime/serve tuner

only() { # $1: header, $2: the one folder that may include it
  if grep -nE "^#include <$1>" -rs generator db runtime tuner --include='*.[ch]' | grep -v "^$2/"; then
    echo "layers: only $2/ may include <$1>" >&2
    bad=1
  fi
}
only 'sqlite3\.h' db
only 'l(ua|auxlib|ualib)\.h' generator
only 'cuda\.h' runtime/device
only 'nvrtc\.h' runtime/device
exit $bad
