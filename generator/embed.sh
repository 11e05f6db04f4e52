#!/bin/sh
# embed.sh FILE... -- C on standard output that builds the files into the library as text, each
# followed by a NUL: what lies in templates/ as gen_builtin[], device code of the runtime as rt_kit[],
# shipped results as serve_presets[].
set -eu
table() { # $1: symbol, $2: folder, then the files
  symbol=$1 folder=$2
  shift 2
  echo "const gen_file $symbol[] = {"
  i=0
  for f; do
    case $f in "$folder"/*) printf '  {"%s", (const char *)file%d, sizeof file%d - 1},\n' "${f##*/}" $i $i ;; esac
    i=$((i + 1))
  done
  echo '  {0, 0, 0}};'
}
echo '#include "gen.h"'
echo '#include "kit.h"'
echo '#include "serve_presets.h"'
i=0
for f; do
  echo "static const unsigned char file$i[] = {"
  od -An -v -tx1 "$f" | sed 's/ \(..\)/0x\1,/g'
  echo '0};'
  i=$((i + 1))
done
table gen_builtin templates "$@"
table rt_kit runtime/run "$@"
table serve_presets db/presets "$@"
