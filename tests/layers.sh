#!/bin/sh
# layers.sh -- which room may include which (README, "Where things are"), checked over the #include lines, and
# that the files of a room stand in an order: no two of them include each other, not by way of others either.
set -eu
bad=0

# ROOM: the rooms it may include from, besides itself and its sub-folders. A sub-folder without a line of its
# own belongs to its parent's room; a file with one is a room by itself.
rooms='
runtime/base:
runtime/matrix: runtime/base
generator: runtime/base runtime/matrix
generator/expr: runtime/base
generator/plain: runtime/base generator generator/expr
generator/template: runtime/base runtime/matrix generator generator/expr generator/plain
generator/space: runtime/base generator generator/expr generator/template
db: runtime/base
runtime/device: runtime/base
runtime/emu/isa:
runtime/emu/code: runtime/base runtime/emu/isa
runtime/emu/parse: runtime/base runtime/emu/isa runtime/emu/code
runtime/emu/decode: runtime/base runtime/emu/isa runtime/emu/code runtime/emu/parse
runtime/emu/memory: runtime/base runtime/emu/isa runtime/emu/code
runtime/emu/exec: runtime/base runtime/emu/isa runtime/emu/code runtime/emu/memory
runtime/emu/async: runtime/base runtime/device runtime/emu/isa runtime/emu/code runtime/emu/memory runtime/emu/exec
runtime/emu/launch: runtime/base runtime/emu/code runtime/emu/memory runtime/emu/exec runtime/emu/async
runtime/emu/cost: runtime/base runtime/device runtime/emu/isa runtime/emu/code runtime/emu/memory
runtime/emu: runtime/base runtime/device runtime/emu/code runtime/emu/decode runtime/emu/memory runtime/emu/async runtime/emu/launch runtime/emu/cost
runtime/cudart: runtime/base runtime/device runtime/emu
runtime/cache: runtime/base db runtime/device
runtime/run: runtime/base runtime/matrix generator runtime/device runtime/emu
runtime/search: runtime/base generator
runtime/search/strategies: runtime/base generator runtime/search
runtime/portfolio: runtime/base generator generator/space
runtime/export: runtime/base generator runtime/portfolio
runtime/serve/tuned.h: runtime/base
runtime/serve/choose: runtime/base generator db runtime/device runtime/run runtime/portfolio runtime/serve/tuned.h
runtime/serve: runtime/base generator db runtime/device runtime/run runtime/portfolio runtime/serve/tuned.h runtime/serve/choose runtime/cache
runtime/serve/capture: runtime/base generator runtime/device runtime/run runtime/serve runtime/serve/tuned.h runtime/serve/choose
runtime/serve/online: runtime/base generator db runtime/device runtime/run runtime/search runtime/serve runtime/serve/tuned.h runtime/serve/choose runtime/cache
runtime/serve/tuned_api.c: runtime/base runtime/device runtime/serve runtime/serve/tuned.h runtime/serve/choose runtime/serve/capture runtime/serve/online
tuner/print: runtime/base generator runtime/device runtime/run
tuner/workers: runtime/base generator db runtime/device runtime/run
tuner/tune: runtime/base generator db runtime/device runtime/run runtime/search runtime/portfolio runtime/serve/tuned.h runtime/serve/choose tuner/workers
tuner/formats: runtime/base generator db runtime/device runtime/emu runtime/run runtime/search tuner/workers tuner/tune
tuner/peers: runtime/base generator generator/expr db runtime/device runtime/emu runtime/run tuner/print runtime/cache
tuner/report: runtime/base generator db runtime/device runtime/emu runtime/run runtime/search runtime/portfolio runtime/serve/tuned.h runtime/serve/choose tuner/print tuner/formats tuner/workers tuner/tune
tuner/base_set: runtime/base generator db runtime/device runtime/emu runtime/run tuner/workers
tuner/portfolio: runtime/base generator db runtime/device runtime/run runtime/portfolio runtime/export runtime/serve/tuned.h runtime/serve/choose tuner/workers tuner/tune tuner/peers
tuner/warm: runtime/base generator db runtime/device runtime/cache runtime/run runtime/portfolio runtime/serve/tuned.h runtime/serve/choose tuner/workers tuner/portfolio
tuner/cli: runtime/cudart runtime/base generator db runtime/device runtime/emu runtime/run runtime/search runtime/portfolio runtime/export runtime/serve/tuned.h runtime/serve/choose tuner/print tuner/formats tuner/peers tuner/report tuner/workers tuner/tune tuner/portfolio tuner/warm tuner/base_set runtime/cache
'
# ROOM: its headers that others may include, besides its sub-folders; without a line: all.
faces='
runtime/emu: emu.h
runtime/cudart: cudart_counts.h
runtime/serve/choose: serve_pick.h serve_known.h serve_former.h serve_presets.h serve_choose.h serve_distance.h
runtime/serve/capture: serve_capture.h
runtime/serve/online: serve_online.h
'

find generator db runtime tuner -name '*.[ch]' | LC_ALL=C sort | xargs grep -nE '^#include "' | awk -v rooms="$rooms" -v faces="$faces" '
  function room_of(path,  d) { # the file itself if it is listed, else the longest listed folder above it
    d = path
    do if (d in allowed) return d; while (sub(/\/[^\/]*$/, "", d))
    return ""
  }
  function allows(room, other,  i, n, list) {
    if (room == other) return 1
    n = split(allowed[room], list, " ")
    for (i = 1; i <= n; i++) if (list[i] == other) return 1
    return 0
  }
  function shows(room, other, name) { # is the header one that this room may see of the other?
    return !(other in shown) || room == other || index(room "/", other "/") == 1 || index(shown[other] " ", " " name " ")
  }
  function unit(path) { sub(/\.[ch]$/, "", path); return path } # a header and its source are one
  function fail(text) { print "layers: " text > "/dev/stderr"; bad = 1 }
  BEGIN {
    n = split(rooms, line, "\n")
    for (i = 1; i <= n; i++) if (split(line[i], part, ":") == 2) allowed[part[1]] = part[2]
    n = split(faces, line, "\n")
    for (i = 1; i <= n; i++) if (split(line[i], part, ":") == 2) shown[part[1]] = part[2]
    while (("find generator db runtime tuner -name \"*.h\"" | getline path) > 0) {
      name = path; sub(/.*\//, "", name)
      if (name in place) fail(path " has the name of " place[name])
      place[name] = path
    }
  }
  {
    split($0, part, ":")
    from = part[1]; name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
    if (!(name in place)) next # of the build folder
    to = place[name]; a = room_of(from); b = room_of(to)
    if (!allows(a, b)) fail(from ":" part[2] ": " a "/ must not include from " b "/: " name)
    if (!shows(a, b, name)) fail(from ":" part[2] ": " name " is private to " b "/")
    if (a == b && unit(from) != unit(to) && !((unit(from), unit(to)) in edge)) {
      edge[unit(from), unit(to)] = left[unit(from)] = left[unit(to)] = 1
      n_needs[unit(from)]++
      n_users[unit(to)]++
    }
  }
  END { # take away what needs nothing that is left, or what nothing left needs, again and again: circles remain
    do {
      changed = 0
      for (u in left) {
        if (n_needs[u] && n_users[u]) continue
        for (v in left) {
          if ((u, v) in edge) n_users[v]--
          if ((v, u) in edge) n_needs[v]--
        }
        delete left[u]; changed = 1
        break
      }
    } while (changed)
    for (u in left) circle = circle " " u
    if (circle != "") fail("files that include each other in a circle:" circle)
    exit bad
  }' || bad=1

# Exported C, whose text runtime/export/exported_*.h are, includes <cuda.h> on its own account.
only() { # $1: header, $2: the one folder that may include it
  if grep -nE "^#include <$1>" -rs generator db runtime tuner --include='*.[ch]' --exclude='exported_*.h' | grep -v "^$2/"; then
    echo "layers: only $2/ may include <$1>" >&2
    bad=1
  fi
}
only 'sqlite3\.h' db
only 'l(ua|auxlib|ualib)\.h' generator/template
only 'cuda\.h' runtime/device
only 'nvrtc\.h' runtime/device
only 'cuda_runtime_api\.h' runtime/cudart

# Variables name code, databases, templates, caches and trust: a program with more rights than its user must
# not follow them.
if grep -nE '(^|[^_a-z])getenv\(' -rs generator db runtime tuner --include='*.[ch]' --exclude=progress.c; then
  echo "layers: secure_getenv, not getenv" >&2
  bad=1
fi
exit $bad
