#!/bin/sh
# test_man.sh -- the manual pages: no warning of groff, and every verb, option, public function, error
# code, origin and environment variable is described.
set -u
bad=0
complain() {
  echo "$1"
  bad=$((bad + 1))
}

# told PAGE WORD...: the printed page has each word
told() {
  page=$1
  shift
  text=$(sed 's/\\-/-/g; s/\\f.//g' "$page")
  for word; do
    printf '%s\n' "$text" | grep -qE -e "(^|[^a-zA-Z_-])$word([^a-zA-Z_-]|\$)" || complain "$page: nothing about $word"
  done
}

for page in tuner/cli/autotune.1 runtime/serve/libtuned.3; do
  if command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [ -z "$warnings" ] || complain "$warnings"
  fi
done

options=$(sed -n '/define CLI_OPTIONS/,/^$/s/^  X(\([a-z_]*\),.*/--\1/p' tuner/cli/cli.h | sed 's/_$//; s/_/-/g')
verbs=$(sed -n '/cli_verbs\[\] = {/,/^    {NULL}/s/^    {"\([a-z-]*\)",.*/\1/p' tuner/cli/verbs.c)
[ "$(echo "$options" | wc -l)" -gt 20 ] && [ "$(echo "$verbs" | wc -l)" -gt 10 ] || complain "options or verbs not found"
told tuner/cli/autotune.1 $options $verbs

names=$(sed -n 's/^TUNED_API .*[ *]\(tuned_[a-z_]*\)(.*/\1/p; s/^  \(TUNED_[A-Z_]*\)[ ,].*/\1/p' runtime/serve/tuned.h |
  grep -v '^TUNED_OK$')
[ "$(echo "$names" | wc -l)" -gt 25 ] || complain "names of tuned.h not found: $names"
told runtime/serve/libtuned.3 $names
variables=$(grep -ohE '(environment\(|getenv\(|variable = )"(TUNED|AUTOTUNE)_[A-Z]*"' $(find runtime db -name '*.c' ! -name fatbin.c) |
  sed 's/.*"\(.*\)"/\1/' | sort -u)
told runtime/serve/libtuned.3 $variables

[ $bad = 0 ]
