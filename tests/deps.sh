#!/bin/sh
# deps.sh -- install what building needs and is missing: Debian packages, and, where no CUDA toolkit is
# installed, NVIDIA's headers, NVRTC and nvFatbin from PyPI into build/cuda (no GPU and no driver needed).
set -eu

packages='gcc make pkg-config liblua5.4-dev libsqlite3-dev sqlite3 libxxhash-dev libcmocka-dev zlib1g-dev libjansson-dev cmake'
# Only a test needs it, and pip may have brought it.
python3 -c 'import jsonschema' 2>/dev/null || packages="$packages python3-jsonschema"
missing=
for p in $packages; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ]; then
    sudo=
  elif command -v sudo >/dev/null; then
    sudo=sudo
  else
    echo "please install:$missing" >&2
    exit 1
  fi
  echo "installing$missing"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

cuda=${CUDA_HOME:-/usr/local/cuda}
if [ ! -e "$cuda/include/cuda.h" ] && [ ! -e build/cuda/nvidia/cu13/include/cuda.h ]; then
  echo "no CUDA toolkit in $cuda: fetching its headers and NVRTC into build/cuda"
  command -v pip3 >/dev/null || { echo "please install a CUDA toolkit, or python3-pip" >&2; exit 1; }
  pip3 install --quiet --target build/cuda 'nvidia-cuda-runtime~=13.0.0' 'nvidia-cuda-nvrtc~=13.0.0' 'nvidia-cuda-crt~=13.0.0' \
    'nvidia-nvfatbin~=13.0.0' 'nvidia-nvjitlink~=13.0.0'
fi
