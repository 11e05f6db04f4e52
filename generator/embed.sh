#!/bin/sh
# embed.sh SYMBOL:HEADER:FOLDER ... -- FILE... -- C on standard output that builds the files into a
# program as text, each followed by a NUL: what lies below FOLDER as SYMBOL[], which HEADER declares, by
# bare names.
set -eu
tables=
while [ "$1" != -- ]; do
  tables="$tables $1"
  shift
done
shift
table() { # $1: symbol, $2: folder, then the files
  symbol=$1 folder=$2
  shift 2
  echo "const gen_file $symbol[] = {"
  i=0
  for f; do
    case $f in "$folder"/*) printf '  {"%s", (const char *)file%d, sizeof file%d - 1, "%s"},\n' "${f##*/}" $i $i "$f" ;; esac
    i=$((i + 1))
  done
  echo '  {0, 0, 0, 0}};'
}
for t in $tables; do
  t=${t#*:}
  echo "#include \"${t%%:*}\""
done
i=0
for f; do
  echo "static const unsigned char file$i[] = {"
  od -An -v -tx1 "$f" | sed 's/ \(..\)/0x\1,/g'
  echo '0};'
  i=$((i + 1))
done
for t in $tables; do
  table "${t%%:*}" "${t##*:}" "$@"
done
