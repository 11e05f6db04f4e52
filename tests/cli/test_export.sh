#!/bin/sh
# test_export.sh -- exported files from the outside: an image for each architecture, one C source that picks
# among them, a manifest, and a portfolio as C that serves untuned sizes. Exported files are compiled with
# every warning and run on the emulated device, through the few driver functions that they call.
set -u
. tests/fixtures/cli_fixture.sh
. tests/fixtures/build.sh
here=$PWD
flags="-std=c11 -pedantic -Wall -Wextra -Werror $includes"
build() { # PROGRAM SOURCE...: with the driver's functions over the emulated device
  program=$1
  shift
  # shellcheck disable=SC2086
  "$CC" $flags -I"$folder" "$@" tests/fixtures/driver_on_emu.c "$B/libtuned.a" -ldl -lm -lpthread -o "$folder/$program" ||
    complain "$program does not compile"
}
is_json() { python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" || complain "$1 is no JSON"; }

# ---- one problem
"$autotune" sgemm m=64 n=64 k=32 --budget 2 --quiet >/dev/null || complain "tuning failed"
export="$autotune export sgemm m=64 n=64 k=32"
refuses 2 "--embed F.c goes with --header F.h" $export --embed "$folder/e.c"
refuses 2 "has no machine code" $export --arch compute_90 --cubin "$folder/e.cubin"
refuses 2 "sm_80,sm_90" $export --arch sm_80,,sm_90 --ptx "$folder/e.ptx"
prints "tuned, ALG=" $export --arch sm_80,sm_90,compute_90 --cubin "$folder/k.cubin" --ptx "$folder/k.ptx" \
  --header "$folder/k.h" --embed "$folder/k.c" --manifest "$folder/k.json"
for file in k.sm_80.cubin k.sm_90.cubin k.sm_80.ptx k.sm_90.ptx k.compute_90.ptx; do
  [ -s "$folder/$file" ] || complain "$file was not written"
done
grep -q "sm_90 goes without instructions of sm_90a" "$folder/err" || complain "nothing tells that sm_90 has less"
! cmp -s "$folder/k.sm_80.cubin" "$folder/k.sm_90.cubin" || complain "both architectures got one image"
is_json "$folder/k.json"
for word in '"modelled": {"modelled_seconds"' '"device_key": "emu:h200"' '"hash"' '"archs": ["sm_80", "sm_90", "compute_90"]' \
  '"when": "20' '"embed"'; do
  grep -qF "$word" "$folder/k.json" || complain "the manifest has no $word: $(cat "$folder/k.json")"
done

# which image each device would load
cat >"$folder/pick.c" <<'C'
#include <stdio.h>
#include "k.c"
int main(void) {
  static const int devices[] = {75, 80, 86, 89, 90, 100, 120};
  for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
    const struct image *image = find_image(images[0], 3, devices[i]);
    printf("%d:%d ", devices[i], image == &images[0][0] ? 80 : image == &images[0][1] ? 90 : image == &images[0][2]);
  }
  return 0;
}
C
build pick "$folder/pick.c"
[ "$("$folder/pick")" = "75:0 80:80 86:80 89:80 90:90 100:1 120:1 " ] || complain "picked: $("$folder/pick")"

# code for sm_90a, which no other version runs
prints "tuned, ALG=" $export --arch sm_80,sm_90a,compute_90 --header "$folder/k.h" --embed "$folder/k.c"
sed -i 's/{75, .*}/{90, 92, 100}/' "$folder/pick.c"
build pick_a "$folder/pick.c"
[ "$("$folder/pick_a")" = "90:90 92:1 100:1 " ] || complain "of sm_90a picked: $("$folder/pick_a")"

# exported C overlaps the launches that libtuned overlaps
prints "FINISH=two_launch" "$autotune" export sgemm m=64 n=64 k=512 --config SPLITK=2,FINISH=two_launch --arch compute_90 \
  --header "$folder/k.h" --embed "$folder/k.c"
cat >"$folder/overlap.c" <<'C'
#include <stdio.h>
#include "driver_on_emu.h"
#include "k.h"
int main(void) {
  CUmodule module;
  sgemm_kernels k;
  const CUdeviceptr workspaces[] = {256, 512};
  driver_notes.dry = true;
  if (cuInit(0) || sgemm_load_module(0, &module) || sgemm_load(module, &k) ||
      sgemm_launch(&k, NULL, workspaces, 1, 256, 64, 256, 512, 0, 256, 64, 0, 0)) {
    return 1;
  }
  printf("%d launches, %d %d", driver_notes.n, driver_notes.list[0].overlap, driver_notes.list[1].overlap);
  return 0;
}
C
build overlap "$folder/overlap.c" "$folder/k.c"
[ "$("$folder/overlap")" = "2 launches, 0 1" ] || complain "of two launches: $("$folder/overlap")"

# ---- one file of all architectures
fat="$export --arch sm_80,sm_90a,compute_90 --fatbin $folder/k.fatbin"
fixture fake_nvfatbin "$folder/libnvfatbin.so.13" || complain "fake_nvfatbin.c does not compile"
prints "tuned, ALG=" env AUTOTUNE_NVFATBIN="$folder/libnvfatbin.so.13" $fat --manifest "$folder/k.json"
[ "$(cat "$folder/k.fatbin")" = "cubin 80 large ELF
cubin 90a large ELF
ptx 90 large //" ] || complain "put into the file: $(cat "$folder/k.fatbin")"
grep -q '"fatbin": ' "$folder/k.json" || complain "the manifest has no fatbin"
refuses 1 "nvFatbin, sm_80: not this one" env FAKE_NVFATBIN=refuse AUTOTUNE_NVFATBIN="$folder/libnvfatbin.so.13" $fat
refuses 1 "has no nvFatbinCreate" env AUTOTUNE_NVFATBIN=libm.so.6 $fat
refuses 1 "AUTOTUNE_NVFATBIN is /nowhere/lib.so" env AUTOTUNE_NVFATBIN=/nowhere/lib.so $fat
rm -f "$folder/k.fatbin"
if $fat >/dev/null 2>"$folder/err"; then # NVIDIA's own is here: its magic number, and both machine codes' size at least
  [ "$(od -An -tx4 -N4 "$folder/k.fatbin" | tr -d ' ')" = ba55ed50 ] || complain "k.fatbin is no fat binary"
else
  grep -q "pip install .*nvidia-nvfatbin" "$folder/err" || complain "without nvFatbin: $(cat "$folder/err")"
fi

# ---- a portfolio
prints "a portfolio of" "$autotune" export sgemm --portfolio --arch compute_90 --top 4 --manifest "$folder/s.json" \
  --header "$folder/s.h" --embed "$folder/s.c" # the shipped one
grep -q '"device": "NVIDIA H200"' "$folder/s.json" && grep -q 'tuned on NVIDIA H200' "$folder/s.h" ||
  complain "where the shipped portfolio was measured"
refuses 1 "there is no portfolio of saxpy" "$autotune" export saxpy --portfolio --header "$folder/p.h" --embed "$folder/p.c"
"$autotune" sgemm m=33 n=50 k=70 --budget 2 --quiet >/dev/null || complain "tuning failed"
"$autotune" portfolio sgemm --grid "m=16..128 n=16..128 k=16..128" --sample 4 --quiet >/dev/null || complain "making a portfolio failed"
refuses 2 "written with --header" "$autotune" export sgemm --portfolio --cubin "$folder/p.cubin"
refuses 2 "written with --header" "$autotune" export sgemm --portfolio --header "$folder/p.h" --embed "$folder/p.c" --fatbin "$folder/p"
refuses 2 "m=5: a portfolio has its own sizes" "$autotune" export sgemm m=5 --portfolio --header "$folder/p.h" --embed "$folder/p.c"
refuses 2 "not made for ta=t" "$autotune" export sgemm ta=t --portfolio --header "$folder/p.h" --embed "$folder/p.c"
prints "a portfolio of" "$autotune" export sgemm ta=n tb=t --portfolio --arch compute_90 --top 2 --header "$folder/p.h" --embed "$folder/p.c" \
  --db "$folder/none.db" # the shipped one
[ "$(sed -n '/^static const struct config configs/,/^}/p' "$folder/p.c" | cut -d, -f 2,3 | grep -c TEXT)" = "$(
  sed -n '/^static const struct config configs/,/^}/p' "$folder/p.c" | grep -c 'SGEMM_TEXT_n, SGEMM_TEXT_t,')" ] ||
  complain "ta=n tb=t exported others"
for how in tree models; do
  prints "a portfolio of" "$autotune" export sgemm --portfolio --arch sm_80,compute_90 --top 4 --dispatch $how --manifest "$folder/p.json" \
    --header "$folder/sgemm_portfolio.h" --embed "$folder/sgemm_portfolio.c"
  is_json "$folder/p.json"
  grep -q '"expected_loss"' "$folder/p.json" || complain "the manifest does not tell the loss"
  [ "$(grep -c 'static const chooser_fit models' "$folder/sgemm_portfolio.c")$how" != 1tree ] || complain "--dispatch tree has models"
  build portfolio "$here/examples/exported_portfolio.c" "$folder/sgemm_portfolio.c"
  "$folder/portfolio" 150 100 70 64 64 64 33 17 101 1 1 1 128 8 300 >"$folder/out" 2>&1 || complain "wrong: $(cat "$folder/out")"
  [ "$(grep -c ' ok; expected to lose ' "$folder/out")" = 5 ] || complain "not all ran: $(cat "$folder/out")"
done
echo '#include "sgemm_portfolio.h"' | ${CXX:-c++} -x c++ -std=c++17 -pedantic -Wall -Wextra -Werror -I"$folder" \
  -isystem "$CUDA_HOME/include" -fsyntax-only - || complain "the header is no C++"
${CXX:-c++} -x c++ -std=c++17 -Wall -Wextra -Werror -isystem "$CUDA_HOME/include" -fsyntax-only "$folder/sgemm_portfolio.c" ||
  complain "the source is no C++"

# for many problems of the shipped portfolio, exported C decides what the template's Lua decides, and its models
# give the times of the library's
shipped=db/presets/nvidia-h200.portfolio.txt
"$autotune" db export "$folder/text" 2>/dev/null || complain "db export"
{
  head -n 2 $shipped
  awk -F'\t' -v OFS='\t' 'NR == FNR { if ($5 == "sgemm") hash = $7; next }
    $5 == "sgemm" && $11 == "portfolio" { $1 = "emu:h200"; $7 = hash; $10 = priced($10); print }
    # models with a cost for the work of blocks
    function priced(text,  line, word, n, k, i, out) {
      n = split(text, line, "%0A")
      for (i = 1; i <= n; i++) {
        if (line[i] ~ /^costs /) {
          for (k = split(line[i], word, " "); k < 26; k++) line[i] = line[i] " 0"
          if (k == 26) line[i] = line[i] " 1e-13 2e-13 1e-16 1e-9 2e-9 1e-12 1e-11 2e-11 1e-14"
        }
        out = out (i > 1 ? "%0A" : "") line[i]
      }
      return out
    }' "$folder/text" $shipped
} >"$folder/shipped"
tail -n 1 "$folder/shipped" | cut -f 10 | sed 's/%0A/\n/g' >"$folder/shipped_portfolio"
TUNED_DB=$folder/shipped.db "$autotune" db import "$folder/shipped" --quiet >/dev/null || complain "importing the portfolio failed"
refuses 2 "neither models nor tree" env TUNED_DB="$folder/shipped.db" "$autotune" export sgemm --portfolio --dispatch trees \
  --header "$folder/sgemm_portfolio.h" --embed "$folder/sgemm_portfolio.c"
TUNED_DB=$folder/shipped.db prints "a portfolio of $(grep -c "^config " "$folder/shipped_portfolio") configurations" "$autotune" export sgemm --portfolio --arch compute_90 --top 32 \
  --header "$folder/sgemm_portfolio.h" --embed "$folder/sgemm_portfolio.c"
# shellcheck disable=SC2086
"$CC" -std=c11 -Wall -Wextra -Wno-unused-function -I"$folder" $includes tests/cli/exported_choice.c \
  tests/fixtures/driver_on_emu.c $(objects sample_sizes sizes suite tuner_files) \
  "$B/libtuned.a" $archives -o "$folder/choice" || complain "exported_choice does not compile"
"$folder/choice" "$folder/shipped_portfolio" >"$folder/out" 2>&1 || complain "C and Lua differ: $(cat "$folder/out")"
grep -q " 0 differences" "$folder/out" || complain "$(cat "$folder/out")"

# where a text depends on a derived value, such as the alignment, each value has its own kernel, and C picks it
"$autotune" $scale n=4096 make=by_alignment --budget 1 --quiet >/dev/null || complain "tuning scale.lua failed"
"$autotune" portfolio $scale --grid "n=1000..9000 align=1,4 make=by_alignment" --sample 12 --quiet >/dev/null ||
  complain "making a portfolio of scale.lua failed"
prints " 2 kernels" "$autotune" export $scale --portfolio --arch compute_90 --header "$folder/scale.h" \
  --embed "$folder/scale.c"
cat >"$folder/which.c" <<'END'
#include <stdio.h>
#include "scale.c"
int main(void) {
  scale_portfolio k = {.dev_cc = 90, .dev_sms = 132, .dev_threads_block = 1024, .dev_threads_sm = 2048};
  for (int64_t align = 1; align <= 4; align *= 2) {
    const scale_problem p = {.n = 4096, .align = align, .make = SCALE_TEXT_by_alignment};
    const scale_problem aligned = {.n = 4096, .align = 4, .make = SCALE_TEXT_by_alignment};
    const int i = scale_choose(&k, &p);
    printf("%d ", i < 0 ? -1 : configs[i].source == configs[scale_choose(&k, &aligned)].source);
  }
  return 0;
}
END
build which "$folder/which.c" "$folder/sgemm_portfolio.c" # two exports in one program
[ "$("$folder/which")" = "0 0 1 " ] || complain "of alignments 1, 2 and 4 the last's kernel has: $("$folder/which")"

# a template whose text depends on the size is refused with the reason
"$autotune" tests/fixtures/templates/sized.lua n=4096 --budget 1 --quiet >/dev/null || complain "tuning sized.lua failed"
"$autotune" portfolio tests/fixtures/templates/sized.lua --grid n=1000..9000 --sample 3 --quiet >/dev/null || complain "making a portfolio of sized.lua failed"
refuses 2 "text of sized depends on the size" "$autotune" export tests/fixtures/templates/sized.lua --portfolio --header "$folder/c.h" \
  --embed "$folder/c.c"
exit $bad
