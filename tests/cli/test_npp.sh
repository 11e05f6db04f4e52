#!/bin/sh
# test_npp.sh -- the NPP peer over fake libraries, which compute on the host: needs no GPU.
set -eu
. tests/fixtures/build.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for name in libnppc libnppicc libnppif; do
  fixture fake_npp "$scratch/$name.so.13"
done
LD_LIBRARY_PATH="$scratch" "$B"/tests/npp_calls
