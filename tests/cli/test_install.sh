#!/bin/sh
# test_install.sh -- install into a scratch folder, then use libtuned from there as a user does: the
# examples with pkg-config, shared and static, as C and as C++; the exported kernel without libtuned.
# Runs the results on the emulated device. B names the build folder (default: build).
set -eu
. tests/fixtures/build.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say() { echo "install: $*"; }
fail() {
  say "$*" >&2
  exit 1
}

unset TUNED_BASE
install() { # FOLDER, then settings: with a base set that takes no minutes
  folder=$1
  shift
  MAKEFLAGS='' make -s B="$B" PREFIX=/opt/tuned DESTDIR="$folder" BASE_FILE="$scratch/small.base" BASE_FAMILIES=saxpy \
    BASE_ARCHS="${BASE_ARCHS-sm_80 compute_80}" install
}
install "$scratch"
at=$scratch/opt/tuned
# pkg-config's answers as if the scratch folder were the root
export PKG_CONFIG_SYSROOT_DIR="$scratch" PKG_CONFIG_PATH="$at/lib/pkgconfig"
export TUNED_DEVICE=emu TUNED_DB="$scratch/none.db" LD_LIBRARY_PATH="$at/lib"
examples=$at/share/doc/libtuned/examples

# neither library shows names other than tuned_*
for list in "nm -D --defined-only $at/lib/libtuned.so" "nm -g --defined-only $at/lib/libtuned.a"; do
  $list | awk 'NF == 3 { print $3 }' >"$scratch/names"
  grep -q '^tuned_sgemm$' "$scratch/names" || fail "$list: tuned_sgemm is not there"
  ! grep -v '^tuned_' "$scratch/names" || fail "$list: these names should not show"
done
[ "$(objdump -p "$at/lib/libtuned.so" | awk '$1 == "SONAME" { print $2 }')" = libtuned.so.0 ] ||
  fail "the shared library's soname is not libtuned.so.0"

for script in bash-completion/completions/autotune zsh/site-functions/_autotune fish/vendor_completions.d/autotune.fish; do
  grep -q "made by: autotune completion" "$at/share/$script" || fail "no completion in share/$script"
done

"$at/bin/autotune" doctor >"$scratch/out" || true
grep -q "^ok *base set *$at/lib/tuned.base: 2 images.* sm_80 compute_80$" "$scratch/out" ||
  fail "the base set is not found: $(cat "$scratch/out")"
grep -q /opt/tuned/lib "$at/lib/libtuned.a" && grep -q /opt/tuned/lib "$at/lib/libtuned.so" ||
  fail "the libraries do not know where the base set is installed"
BASE_ARCHS='' install "$scratch/without"
[ ! -e "$scratch/without/opt/tuned/lib/tuned.base" ] || fail "a base set was installed without architectures"
AUTOTUNE_NVRTC=/nonexistent "$at/bin/autotune" base "$scratch/none.base" 2>"$scratch/out" ||
  fail "no base set without NVRTC is an error: $(cat "$scratch/out")"
grep -q 'no base set is made' "$scratch/out" && [ "$(wc -l <"$scratch/out")" = 1 ] && [ ! -e "$scratch/none.base" ] ||
  fail "without NVRTC: $(cat "$scratch/out")"
rm -r "$scratch/without"
say "the base set is installed and found"

build() { # $1: program, $2: static or shared, $3: compiler; then its flags
  program=$1 how=$2 compiler=$3
  shift 3
  libs=$(pkg-config --cflags --libs tuned)
  [ "$how" = shared ] || libs="$(pkg-config --cflags tuned) $at/lib/libtuned.a $(pkg-config --static --libs tuned |
    sed 's/ *-ltuned */ /')"
  # shellcheck disable=SC2086
  "$compiler" "$@" -Wall -Wextra -Werror "$examples/$program.c" -x none $libs -lm -o "$scratch/$program-$how"
}
uses_library() { objdump -p "$1" | grep -q 'NEEDED *libtuned.so.0'; }

for program in saxpy sgemm; do
  build "$program" shared "$CC" -std=c11 -pedantic
  uses_library "$scratch/$program-shared" || fail "$program does not use the shared library"
  "$scratch/$program-shared" || fail "$program, shared, C"
  build "$program" static "$CC" -std=c11
  ! uses_library "$scratch/$program-static" || fail "$program is not linked statically"
  "$scratch/$program-static" || fail "$program, static, C"
  build "$program" static "$CXX" -x c++ -std=c++17 -pedantic
  "$scratch/$program-static" || fail "$program, static, C++"
done
say "examples run as C and C++, shared and static"

# ---- without NVRTC, from the base set: beside the shared library, and named
export TUNED_CACHE="$scratch/no-cache"
AUTOTUNE_NVRTC=/nonexistent "$scratch/saxpy-shared" || fail "saxpy, shared, is not served from the base set"
AUTOTUNE_NVRTC=/nonexistent TUNED_BASE="$at/lib/tuned.base" "$scratch/saxpy-static" ||
  fail "saxpy, static, is not served from the base set"
! AUTOTUNE_NVRTC=/nonexistent "$scratch/saxpy-static" >"$scratch/out" 2>&1 || fail "what served saxpy, static?"
say "saxpy runs without NVRTC"

# ---- with the header of another version
for library in "-L$at/lib -ltuned" "$at/lib/libtuned.a $(pkg-config --static --libs tuned | sed 's/ *-ltuned */ /')"; do
  # shellcheck disable=SC2086
  "$CC" -std=c11 -Wall -Wextra -Werror tests/fixtures/program_0_1.c $library -lm -o "$scratch/program_0_1"
  "$scratch/program_0_1" || fail "a program of version 0.1"
done
say "a program compiled with the first header runs"

# ---- as part of another project: a Makefile, and CMake by find_package and by pkg-config
consumer=$scratch/consumer
cp -r "$examples" "$consumer"
make -s -C "$consumer" CC="$CC" saxpy sgemm || fail "the examples' Makefile"
"$consumer/saxpy" && "$consumer/sgemm" || fail "what the examples' Makefile built"
cat >"$consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
find_package(tuned 0.1 REQUIRED)
add_executable(with_shared sgemm.c)
target_link_libraries(with_shared PRIVATE tuned::tuned m)
add_executable(with_static sgemm.c)
target_link_libraries(with_static PRIVATE tuned::tuned_static)
file(WRITE ${CMAKE_BINARY_DIR}/version.cpp "#include <tuned.h>\n#include <cstdio>\nint main() { std::puts(tuned_version()); }\n")
add_executable(with_cxx ${CMAKE_BINARY_DIR}/version.cpp)
target_link_libraries(with_cxx PRIVATE tuned::tuned_static)
find_package(PkgConfig REQUIRED)
pkg_check_modules(TUNED REQUIRED IMPORTED_TARGET tuned)
add_executable(with_pkgconfig saxpy.c)
target_link_libraries(with_pkgconfig PRIVATE PkgConfig::TUNED m)
CMAKE
cmake -S "$consumer" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$at" >"$scratch/cmake.log" 2>&1 &&
  cmake --build "$scratch/cmake" >>"$scratch/cmake.log" 2>&1 || fail "CMake: $(tail -n 20 "$scratch/cmake.log")"
for program in with_shared with_static with_cxx with_pkgconfig; do
  "$scratch/cmake/$program" >"$scratch/out" || fail "$program: $(cat "$scratch/out")"
done
uses_library "$scratch/cmake/with_shared" && uses_library "$scratch/cmake/with_pkgconfig" ||
  fail "CMake's programs do not use the shared library"
! uses_library "$scratch/cmake/with_static" || fail "CMake's static program uses the shared library"
sed -i 's/find_package(tuned 0.1/find_package(tuned 0.3/' "$consumer/CMakeLists.txt"
! cmake -S "$consumer" -B "$scratch/cmake2" -DCMAKE_PREFIX_PATH="$at" >/dev/null 2>&1 || fail "CMake took version 0.2 for 0.3"
say "Makefile and CMake projects build and run"

# The example is served what the installed autotune finds.
autotune=$at/bin/autotune
export TUNED_DB="$scratch/tuned.db"
"$autotune" sgemm m=160 n=96 k=64 tb=t --device emu --budget 3 --quiet
"$scratch/sgemm-static" >"$scratch/out" || fail "sgemm with a tuned kernel"
grep -q '^exact: ' "$scratch/out" || fail "the tuned kernel was not served: $(cat "$scratch/out")"
say "the tuned kernel is served"

# The exported files need the driver API only; here a few of its functions, over the emulated device.
for config in SPLITK=1 SPLITK=2,FINISH=last_block SPLITK=2,FINISH=two_launch SPLITK=2,FINISH=atomic; do
  (cd "$scratch" && "$autotune" export sgemm m=50 n=33 k=70 tb=t --config $config --device emu \
    --ptx sgemm.ptx --header sgemm_kernel.h --source sgemm.cu >out) || fail "export $config"
  for standard in c11 c++17; do
    language=$([ $standard = c11 ] && echo c || echo c++)
    echo '#include "sgemm_kernel.h"' | "$CC" -x "$language" -std=$standard -pedantic -Wall -Wextra -Werror \
      -I"$scratch" -isystem "$CUDA_HOME/include" -fsyntax-only - || fail "the exported header as $standard"
  done
  # shellcheck disable=SC2086
  "$CC" -std=c11 -Wall -Wextra -I"$scratch" $includes \
    "$examples/exported.c" tests/fixtures/driver_on_emu.c "$B/libtuned.a" -ldl -lm -lpthread -o "$scratch/exported"
  "$scratch/exported" "$scratch/sgemm.ptx" || fail "the exported kernel, $config"
done
say "the exported kernel runs without libtuned"

MAKEFLAGS='' make -s B="$B" PREFIX=/opt/tuned DESTDIR="$scratch" uninstall
[ -z "$(find "$at" -type f -o -type l)" ] || fail "uninstall left: $(find "$at" -type f -o -type l)"
