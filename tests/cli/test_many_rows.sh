#!/bin/sh
# test_many_rows.sh -- a database of ROWS trials (default 4,000; `make rows`: a million, half an hour), once of one
# problem, once of a tenth as many problems: what autotune does with it takes time and memory that grow with the rows
# and no faster. Prints CPU seconds and memory of each verb.
set -u
. tests/fixtures/build.sh
. tests/fixtures/cli_fixture.sh
rows=${ROWS:-4000}
sec=$((3 + rows / 7000)) # of CPU: several times what is needed, a hundredth of what quadratic work would take
kib=$((400000 + rows))
[ -e "$B/tests/many_rows" ] || { echo "$B/tests/many_rows is not built" && exit 77; }
export TUNED_CACHE="$folder/cache" TUNED_DB="$folder/rows.db"

# takes NAME COMMAND...: succeeds within the bounds
takes() {
  name=$1
  times >"$folder/from"
  shift
  (ulimit -t "${limit:-$sec}" && ulimit -v $((4 * kib + 4000000)) && exec "$@") >"$folder/out" 2>"$folder/err"
  status=$?
  [ $status = 0 ] || complain "$name: status $status: $(head -c 300 "$folder/err")"
  times >"$folder/to"
  awk -v name="$name" -v rows="$rows" '
    FNR == 2 { split($1 "m" $2, t, /[ms]+/); sec = 60 * t[1] + t[2] + 60 * t[3] + t[4] - sec }
    END { printf "%8d rows  %-16s %8.2f s CPU\n", rows, name, sec }' "$folder/from" "$folder/to"
}

verbs() { # PROBLEM
  takes "db verify" "$autotune" db verify
  takes "db stat" "$autotune" db stat
  takes "show family" "$autotune" show sgemm
  takes "show problem" "$autotune" show sgemm $1
  takes "list" "$autotune" list
  takes "db export" "$autotune" db export "$folder/best.txt" --quiet
  takes "db import" "$autotune" db import "$folder/best.txt" --db "$folder/imported.db"
  takes "export-results" "$autotune" export-results "$folder/results.csv" sgemm $1 --format csv
  takes "db merge" "$autotune" db merge "$TUNED_DB" --db "$folder/merged.db"
  takes "db merge again" "$autotune" db merge "$TUNED_DB" --db "$folder/merged.db"
  takes "db prune" "$autotune" db prune --db "$folder/merged.db"
  takes "serve" "$folder/find" "sgemm m=16 n=16 k=64" "sgemm m=21 n=17 k=65" "sgemm m=999 n=999 k=999"
  rm -f "$TUNED_DB"* "$folder"/merged.db* "$folder"/imported.db* "$folder"/best.txt "$folder"/results.csv
}

program tests/fixtures/find_problems.c "$folder/find" || exit 1
for problems in 1 $((rows / 10)); do
  echo "$problems problems"
  limit=$((10 * sec)) takes "make" "$B/tests/many_rows" "$TUNED_DB" $problems $((rows / problems))
  verbs "m=16 n=16 k=64"
done

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
