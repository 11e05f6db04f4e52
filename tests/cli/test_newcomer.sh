#!/bin/sh
# test_newcomer.sh -- the first mistakes of somebody who has never used autotune: each costs one line that says
# what is wrong and how to mend it. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh
mistake=tests/fixtures/templates/mistake.lua

# says WORDS TIMES COMMAND...: fails with status 1; WORDS come so many times in what it prints
says() {
  words=$1 times=$2
  shift 2
  "$@" >"$folder/out" 2>&1
  [ $? = 1 ] || complain "$*: did not fail with status 1"
  [ "$(grep -cF -e "$words" "$folder/out")" = "$times" ] || complain "$*: wanted '$words' $times times: $(cat "$folder/out")"
}

# ---- a stage whose args are not the kernel's parameters; a kernel that is not there
scale="$mistake:[0-9]*: kernel scale has 4 parameters of 8, 4, 8, 8 bytes, but the stage's args are"
for make in few:"3: n (8), a (4), x (8)" many:"5: n (8), a (4), x (8), y (8), BLOCK (4)" sizes:"4: n (4), a (4), x (8), y (8)"; do
  says "but the stage's args are ${make#*:}" 1 $autotune check $mistake make="${make%%:*}"
  grep -q "$scale" "$folder/out" || complain "no place and parameters: $(cat "$folder/out")"
  says "but the stage's args are ${make#*:}" 1 $autotune $mistake make="${make%%:*}"
done
says "the source has no kernel 'scael'; did you mean 'scale'?" 1 $autotune check $mistake make=misspelt
says "the source has no kernel 'scael'; did you mean 'scale'?" 1 $autotune $mistake make=misspelt
says 'extern "C" __global__' 1 $autotune $mistake make=mangled
prints "2 right, 0 wrong" $autotune check $mistake

# ---- a template's text: brackets that end it, scratch memory, keys that may be left out
altered() { # WHAT, BY: the template with something else in it
  sed "s/$1/$2/" $mistake >"$folder/altered.lua"
  cmp -s $mistake "$folder/altered.lua" && complain "$1 is not in the template"
}
line=$(grep -n 'a \* x\[i\];' $mistake | head -1 | cut -d: -f1)
altered 'a \* x\[i\];' 'a * x[x[i]];'
refuses 1 "ends at the ]] of a subscript in line $line: write it between [==[ and ]==]" $autotune check "$folder/altered.lua"
altered '^  space' '  scratch = { { "tmp", "f32", "n" } }, space'
refuses 1 "a key 'scratch' means nothing here; scratch memory of kernels is a workspace" $autotune check "$folder/altered.lua"
altered '^  space' '  workspace = { { "tmp", "f32", count = "n" } }, space'
refuses 1 "a key 'count' means nothing here; a buffer has a direction" $autotune check "$folder/altered.lua"
altered ', fill = { "uniform", -1, 1 }' ''
sed -i '/^  sizes/d' "$folder/altered.lua"
prints "2 right, 0 wrong" $autotune check "$folder/altered.lua"
prints "2 trials" $autotune "$folder/altered.lua" # without sizes: the problem with its defaults

# ---- nothing that was tried works
says "every trial of 'scale n=1000" 1 $autotune tests/fixtures/templates/scale.lua n=1000 make=wrong
says "every trial of 'scale n=1000" 1 $autotune tests/fixtures/templates/scale.lua n=1000 make=wrong # nothing new to try
says "problems could not be tuned" 1 $autotune tests/fixtures/templates/scale.lua --sizes "make=wrong n=1000,1001"

# ---- exported without a GPU: what ships for the architecture, and a warning where nothing does
prints "for sm_90a: tuned on NVIDIA H200, ALG=" $autotune export sgemm m=128 --arch sm_90a --header "$folder/k.h" --manifest "$folder/k.json"
grep -q 'tuned on NVIDIA H200; .* measured' "$folder/k.h" || complain "the header does not say where it was measured"
grep -q '"device": "NVIDIA H200"' "$folder/k.json" || complain "the manifest does not say where: $(cat "$folder/k.json")"
prints "for sm_80: the template's default" $autotune export saxpy n=1000 --arch sm_80 --header "$folder/k.h"
grep -q "^autotune: warning: nothing near 'saxpy n=1000 align=4' is tuned for sm_80" "$folder/err" || complain "no warning: $(cat "$folder/err")"
$autotune export saxpy n=1000 --arch sm_80 --header "$folder/k.h" --quiet >"$folder/out" 2>"$folder/err" || complain "no export"
[ ! -s "$folder/err" ] && [ ! -s "$folder/out" ] || complain "--quiet is not: $(cat "$folder/err" "$folder/out")"

# ---- finding one's way
refuses 2 "there is no verb or family 'tuen'; did you mean 'tune'?" $autotune tuen sgemm
refuses 2 "did you mean 'doctor'?" $autotune doktor
refuses 2 "did you mean 'bench'?" $autotune help benhc
refuses 1 "did you mean 'sgemm'?" $autotune help sgem
refuses 2 "has no action 'improt', did you mean 'import'?" $autotune db improt x
refuses 2 "did you mean 'verify'?" $autotune cache verfiy
for words in "saxpy --help" "help saxpy" "list saxpy"; do
  prints "n             0..68719476736, default 16777216: elements" $autotune $words
  for text in "align         4|2|1, default pow2div(n, 4)" "VEC           1|2|4, default 1: floats per load and store"; do
    grep -qF "$text" "$folder/out" || complain "$words: no '$text'"
  done
done
prints "ALG=ffma|" $autotune help sgemm
prints '"parameters":[{"name":"BLOCK"' $autotune list saxpy --json
# an option's text belongs to its verb
for words in "tune:--top N            configurations to show (default 5)" "run-ptx:--grid WHAT        blocks of the launch: X,Y,Z" \
  "portfolio:--grid WHAT        ranges of sizes:" "export:--arch NAME        compile for these:"; do
  prints "${words#*:}" $autotune "${words%%:*}" --help
done
AUTOTUNE_NVFATBIN="$folder/none" $autotune doctor >"$folder/out"
grep -q "^missing  nvfatbin" "$folder/out" || complain "doctor: nothing about nvFatbin: $(cat "$folder/out")"

# ---- completion, from the table of verbs and options
for shell in bash zsh fish; do
  $autotune completion $shell >"$folder/complete.$shell" || complain "no completion for $shell"
  if command -v $shell >/dev/null; then
    $shell -n "$folder/complete.$shell" || complain "completion for $shell is no script"
  fi
  for verb in $($autotune --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    grep -q -e "$verb" "$folder/complete.$shell" || complain "$shell: no $verb"
  done
done
refuses 2 "one of: bash, zsh, fish" $autotune completion
refuses 2 "did you mean 'fish'?" $autotune completion fisch
completes() { # WORDS, WANTED: the last word's completions by bash
  command -v bash >/dev/null || return
  got=$(bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _autotune; echo "${COMPREPLY[*]}"' - "$folder/complete.bash" $1 "${3-}")
  [ "$got" = "$2" ] || complain "autotune $1${3-} completes to '$got', not to '$2'"
}
completes "autotune" "sgemm" sge
completes "autotune" "spmv space spec" sp
completes "autotune saxpy" "n=" n
completes "autotune bench saxpy" "--suite" --su
completes "autotune db" "import" im
completes "autotune check" "transpose" transp
PATH=$(realpath "$(dirname "$autotune")"):$PATH # the scripts ask for what a file says
completes "autotune examples/matmul.cu" "n=" n
completes "autotune examples/matmul.cu" "--param --problem" --p
completes "autotune check examples/matmul.cu" "--grid" --gr
completes "autotune examples/matmul.cu --config" "BLOCK=" B
completes "autotune bench sgemm --config" "SPLITK=" SPLIT
if command -v fish >/dev/null; then
  [ "$(fish -c "source $folder/complete.fish; complete -C 'autotune examples/matmul.cu --config R'")" = "ROWS=" ] &&
    [ "$(fish -c "source $folder/complete.fish; complete -C 'autotune examples/matmul.cu --gri'" | cut -f1)" = "--grid" ] ||
    complain "fish does not complete matmul.cu"
fi
if command -v zsh >/dev/null; then
  zsh -fc 'compadd() { echo ${@[3,-1]} ${(P)4}; }; _describe() { echo ${(P)2}; }; _files() { }
    words=(autotune examples/matmul.cu "$2") CURRENT=3; complete() { . "$1"; }; complete "$1"' - "$folder/complete.zsh" "" >"$folder/out"
  grep -q "^-a fields n=" "$folder/out" && grep -q -e "--grid:blocks" "$folder/out" || complain "zsh: $(cat "$folder/out")"
fi

# ---- reading: what differs from the default comes first; on a terminal within its width, coloured, with a bar
$autotune saxpy n=3001 --budget 12 >"$folder/out" 2>"$folder/err" || complain "tuning failed"
sed -n 's/^  [0-9]*\. .* peak *//p' "$folder/out" >"$folder/rows"
[ -s "$folder/rows" ] || complain "no rows: $(cat "$folder/out")"
grep -E '(VEC=1|COARSE=1|BLOCK=256|ORDER=interleaved),.*(VEC=[24]|COARSE=[248]|BLOCK=(64|128|512|1024)|ORDER=contiguous)' "$folder/rows" &&
  complain "a default stands before what differs"
grep -q "$(printf '\033')" "$folder/out" "$folder/err" && complain "colours in a file"
$autotune saxpy n=3001 --budget 14 --quiet >"$folder/out" 2>"$folder/err"
[ ! -s "$folder/err" ] || complain "--quiet talks: $(cat "$folder/err")"
grep -qE "new in|compiling|stored in" "$folder/out" && complain "--quiet tells how the time was spent: $(cat "$folder/out")"
if command -v script >/dev/null; then
  on_terminal() { # COLUMNS COMMAND: what it prints on a terminal of that width
    TERM=xterm script -qec "stty cols $1; $2" /dev/null | tr -d '\r' >"$folder/out"
  }
  escape=$(printf '\033')
  on_terminal 64 "$autotune saxpy n=3001 --budget 20"
  grep -q "^.*\[#*-*\] *[0-9]* %, [0-9]* s left" "$folder/out" || complain "no bar: $(cat -v "$folder/out")"
  sed "s/$escape\[[0-9]*m//g" "$folder/out" | grep ' peak .*=' >"$folder/rows"
  [ "$(awk 'length($0) > 64' "$folder/rows" | wc -l)" = 0 ] && grep -q ' \.\.\.$' "$folder/rows" ||
    complain "rows are longer than the terminal: $(cat "$folder/rows")"
  grep -q "$escape\[32m" "$folder/out" || complain "no colour on a terminal"
  on_terminal 200 "NO_COLOR=1 $autotune show saxpy n=3001; NO_COLOR=1 $autotune nosuch"
  grep -q "$escape\[3" "$folder/out" && complain "colours in spite of NO_COLOR"
  grep -q "ORDER=[a-z]*$" "$folder/out" || complain "rows are cut on a wide terminal: $(cat "$folder/out")"
fi

# ---- databases: what a merge adds; only the default folder is created silently
$autotune saxpy n=1000 --budget 2 --db "$folder/new/folder/a.db" >/dev/null 2>"$folder/err"
grep -q "created the folder $folder/new/folder" "$folder/err" || complain "a folder was created silently: $(cat "$folder/err")"
XDG_DATA_HOME="$folder/xdg" TUNED_DB='' $autotune saxpy n=1000 --budget 2 >/dev/null 2>"$folder/err"
grep -q "created the folder" "$folder/err" && complain "the default folder is told"
prints ": 1 problem, 2 trials, " $autotune db merge "$folder/new/folder/a.db" --db "$folder/b.db"
prints ": 0 problems, 0 trials, " $autotune db merge "$folder/new/folder/a.db" --db "$folder/b.db"

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
