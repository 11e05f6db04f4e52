# cli_kit.sh -- what the tests of the command line share; sourced, after `set -u`. Gives $autotune, a $folder
# that goes at the end, a database and the emulated device; complaints are counted in $bad.
autotune=${AUTOTUNE:-build/autotune}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUNED_DEVICE=emu TUNED_DB="$folder/tuned.db" TUNED_TEMPLATES=
bad=0

complain() {
  echo "$1"
  bad=$((bad + 1))
}

# refuses STATUS WORDS COMMAND...: exits with STATUS, one line on standard error that holds WORDS
refuses() {
  status=$1 words=$2
  shift 2
  "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  [ $got = "$status" ] || complain "$*: status $got, wanted $status"
  grep -qF -e "$words" "$folder/err" || complain "$*: says '$(cat "$folder/err")', wanted '$words'"
  [ "$(wc -l <"$folder/err")" -le 1 ] || complain "$*: says more than one line: $(cat "$folder/err")"
}

# prints WORDS COMMAND...: succeeds with WORDS on standard output
prints() {
  words=$1
  shift
  "$@" >"$folder/out" 2>"$folder/err" || complain "$*: failed: $(cat "$folder/err")"
  grep -qF -e "$words" "$folder/out" || complain "$*: no '$words' in: $(head -c 2000 "$folder/out")"
}
