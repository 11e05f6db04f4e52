#!/bin/sh
# quickstart.sh AUTOTUNE -- the main job in less than a minute: tune sgemm on GPU 0, or on the
# emulated device where there is no GPU, and show what was found.
set -eu
autotune=$1
"$autotune" doctor
echo
if "$autotune" devices | grep -q '^0 '; then
  "$autotune" sgemm m=1024 n=1024 k=1024 --device 0 --budget 30s
  echo
  "$autotune" bench sgemm m=1024 n=1024 k=1024 --device 0 --vs cublas ||
    "$autotune" bench sgemm m=1024 n=1024 k=1024 --device 0
else
  "$autotune" sgemm m=256 n=256 k=256 --device emu --budget 30s
fi
echo
echo "next: $autotune --help; $autotune show sgemm; $autotune emit sgemm m=256 n=256 k=256"
