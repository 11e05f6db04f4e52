# autotune and libtuned. `make quickstart` sets everything up and runs the main job;
# `make check` builds and passes all tests. `make help` lists the targets.

CC ?= gcc
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda build/cuda/nvidia/cu13))
PREFIX ?= /usr/local
DESTDIR ?=
B ?= build
SAN ?=
Q := $(if $(V),,@)

VERSION := 0.2.0
LUA_INCLUDE := /usr/include/lua5.4
LIBDIR := $(shell $(CC) -print-multiarch 2>/dev/null)
# Lua, SQLite and zlib are linked statically (xxHash is only a header), so that one file runs on any machine.
STATIC_LIBS = $(wildcard /usr/lib/$(LIBDIR)/liblua5.4.a) $(wildcard /usr/lib/$(LIBDIR)/libsqlite3.a) \
  $(wildcard /usr/lib/$(LIBDIR)/libz.a)

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wno-missing-field-initializers
# File names are unique in the tree, so a source includes a header of any room by its bare name;
# tests/layers.sh says which room may include which.
ROOMS := $(shell find runtime generator db tuner -name '*.h' -printf '%h\n' | LC_ALL=C sort -u)
INCLUDES := $(ROOMS:%=-I%) -I$(B) -isystem $(LUA_INCLUDE) -isystem $(CUDA_HOME)/include
CFLAGS ?= -O2 -g
TEST_CFLAGS ?= -O0
ALL_CFLAGS = -std=c11 -fopenmp-simd $(CFLAGS) $(SAN) $(WARN) $(INCLUDES) -fPIC -fvisibility=hidden -MMD -MP \
  -DTUNED_VERSION='"$(VERSION)"'
# Only autotune itself reads recorded spaces; libtuned has no need of Jansson.
TUNER_LIBS = $(wildcard /usr/lib/$(LIBDIR)/libjansson.a)
LDLIBS = $(STATIC_LIBS) -lm -ldl -lpthread

comma := ,
find_files = $(shell find $(1) -name '$(2)' | LC_ALL=C sort)
# Programs that write sources of the library.
TYPED_CALLS_SRC := $(call find_files,runtime,typed_calls.c)
EMBED_PORTFOLIOS_SRC := $(call find_files,runtime,embed_portfolios.c)
# A library of its own: it exports the calls of the CUDA runtime.
CUDART_SRC := $(call find_files,runtime/cudart,*.c)
SRC := $(filter-out $(TYPED_CALLS_SRC) $(EMBED_PORTFOLIOS_SRC) $(CUDART_SRC),$(call find_files,generator db runtime,*.c))
OBJ := $(SRC:%.c=$(B)/%.o) $(B)/embedded.o $(B)/embedded_portfolios.o $(B)/tuned_calls.o
TUNER_SRC := $(call find_files,tuner,*.c)
TUNER_MAIN := $(B)/$(patsubst %.c,%.o,$(filter %/main.c,$(TUNER_SRC)))
TUNER_OBJ := $(TUNER_SRC:%.c=$(B)/%.o) $(B)/tuner_files.o
TUNER_FILES := $(call find_files,tuner,*.cu) $(call find_files,tuner,peer_cub.h) $(call find_files,tuner,*.txt)
# A test program's name is unique: build/tests/NAME comes from tests/ROOM/NAME.c.
TEST_ROOMS := $(filter-out tests/bench,$(shell find tests -name '*.c' -printf '%h\n' | LC_ALL=C sort -u))
TEST_SRC := $(call find_files,tests,test_*.c)
TESTS := $(patsubst %.c,$(B)/tests/%,$(notdir $(TEST_SRC)))
TEST_SCRIPTS := $(call find_files,tests,test_*.sh)
# Keeps what NVRTC returned, for all tests (tests/run.sh). The toolkit's headers are looked for beside it.
NVRTC_CACHE := $(B)/nvrtc/lib/libnvrtc_cache.so
# What takes longest begins.
LONGEST := $(addprefix $(B)/tests/,test_families test_family_gemm test_sort) tests/cli/test_export.sh tests/cli/test_install.sh
TEMPLATES := $(call find_files,templates,*.lua) $(call find_files,templates,*.cu) $(call find_files,templates,*.cuh) \
  templates/digests.txt
PORTFOLIOS := $(call find_files,db/presets,*.portfolio.txt)
EMBEDDED := $(TEMPLATES) $(call find_files,runtime,*.cu) \
  $(call find_files,runtime,exported_*.h) $(call find_files,runtime,expression_math.h) $(call find_files,runtime,chooser*.[ch]) \
  $(filter-out $(PORTFOLIOS),$(call find_files,db/presets,*.txt))

all: $(B)/autotune $(B)/libtuned.a $(B)/libtuned_emu_cudart.so

# ---- what a newcomer types -----------------------------------------------------------------------

help:
	@echo 'make quickstart   install what is needed, build, tune sgemm (on GPU 0, else on the emulated device)'
	@echo 'make check        install what is needed, build, pass all tests'
	@echo 'make              build build/autotune and build/libtuned.a'
	@echo 'make install      into PREFIX=$(PREFIX), with the base set; DESTDIR= for packagers, BASE_ARCHS= without the set'
	@echo 'make base         compile the base set, $(BASE_FILE) (minutes; needs NVRTC): BASE_ARCHS=, BASE_FAMILIES='
	@echo 'make deps         only install the packages'
	@echo 'make lint         formatting, static analysis, the rule which folder may include which'
	@echo 'make asan         all tests under address and undefined-behaviour sanitizers'
	@echo 'make fuzz         PTX, templates, texts, databases and command lines at random: FUZZ_SEC= a target (default 8)'
	@echo 'make faults       fail each of the first 5,000 calls of every kind inside a tuning (ten minutes)'
	@echo 'make rows         what autotune and libtuned take for a database of a million trials (half an hour)'
	@echo 'make tsan         tests of several threads in one context under the thread sanitizer'
	@echo 'make format       clang-format every C file'
	@echo 'make check-peers  compile the peers of autotune bench with the toolkit (a minute; needs nvcc)'
	@echo 'make cccl         fetch the newest CUB from PyPI; make check-newest-peers compiles the peers with it'
	@echo 'make check-cuda   compile what the templates emit with nvcc'
	@echo 'make check-foreign tune ten kernels that are not ours, from samples and other tuners (minutes; fetches them)'
	@echo 'make check-programs compile CUDA programs that are not ours, and run them emulated (minutes; nvcc; fetches them)'
	@echo 'make digests      put the present digests of templates into templates/digests.txt'
	@echo 'make presets      write shipped results with the fields that problems have now'
	@echo 'make machine-code compile what is tuned, default or suggested and compare its machine code (5 minutes)'
	@echo 'make golden       rewrite the golden files of tests/unit/golden; review the diff'

quickstart: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	tests/quickstart.sh $(B)/autotune

check: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@sh tests/layers.sh
	@B=$(B) sh tests/run.sh $(LONGEST) $(filter-out $(LONGEST),$(TESTS) $(TEST_SCRIPTS))

tests: $(TESTS) $(NVRTC_CACHE) $(B)/tests/cublas_calls $(B)/tests/npp_calls $(B)/tests/cudnn_calls $(B)/tests/many_rows $(B)/tests/bench/bench_model $(B)/tests/bench/bench_unseen $(B)/tests/bench/bench_calls

deps:
	@sh tests/deps.sh

asan: deps
	@$(MAKE) --no-print-directory -j$$(nproc) B=build-asan CFLAGS='-O1 -g' \
	  SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' all tests
	@ASAN_OPTIONS=detect_leaks=1 B=build-asan sh tests/run.sh $(TESTS:$(B)/%=build-asan/%)

# Random changes of kept inputs, guided by coverage; FUZZ_SEC a target (8), FUZZ_SEED another order,
# FUZZ_TARGETS="run texts" some targets only.
fuzz: deps $(B)/autotune
	@sh tests/fuzz.sh $(FUZZ_TARGETS)

# Each of the first 5,000 allocations, writes, reads, ... inside a tuning fails.
faults: deps $(B)/autotune $(NVRTC_CACHE)
	@FAULTS=5000 AUTOTUNE_NVRTC=$(abspath $(NVRTC_CACHE)) NVRTC_CACHE=$(abspath $(B)/nvrtc-cache) TUNED_BASE=/nonexistent \
	  sh tests/cli/test_call_faults.sh

# A database of a million trials: CPU time of each verb.
rows: deps $(B)/autotune $(B)/tests/many_rows
	@ROWS=1000000 TUNED_BASE=/nonexistent sh tests/cli/test_many_rows.sh

# The tests in which several threads use one context; the emulator's fences are not seen by gcc's.
TSAN_TESTS = test_serve test_plan test_serve_refusals test_background test_typed_calls test_workspace test_online test_nearest
tsan: deps
	@$(MAKE) --no-print-directory -j$$(nproc) B=build-tsan CFLAGS='-O1 -g' SAN='-fsanitize=thread -Wno-tsan' \
	  $(TSAN_TESTS:%=build-tsan/tests/%) build-tsan/tests/bench/bench_threads
	@sh tests/run.sh $(TSAN_TESTS:%=build-tsan/tests/%)

SOURCES = $(call find_files,runtime generator db tuner tests examples,*.[ch])
# Leaks are left to `make asan`: cppcheck loses sight of memory that a struct takes over.
lint:
	sh tests/layers.sh
	@clang-format --dry-run -Werror $(SOURCES)
	@grep -L '^ *@' $(call find_files,templates,*.cu) $(call find_files,templates,*.cuh) | xargs clang-format --dry-run -Werror
	cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
	  --suppress=missingIncludeSystem --suppress=memleak --suppress='shiftTooManyBitsSigned:tests/*' \
	  $(filter -I%,$(INCLUDES)) -Itests/fixtures -Itests/fixtures/fakes $(filter %.c,$(SOURCES))

format:
	@clang-format -i $(SOURCES)

golden: $(B)/tests/test_gen
	$(B)/tests/test_gen --update

# What bench compiles of the toolkit's own libraries; takes nvcc a minute.
check-peers: deps
	@$(MAKE) --no-print-directory -j$$(nproc) $(B)/tests/peer_builds
	$(B)/tests/peer_builds

# The same with the newest CCCL on PyPI, for which bench --vs cub is run with TUNED_CCCL=$(NEWEST_CCCL).
NEWEST_CCCL = $(B)/cccl/nvidia/cu13/include/cccl
cccl:
	pip3 install --quiet --upgrade --no-deps --target $(B)/cccl nvidia-cuda-cccl
	@sed -n 's/^#define CUB_VERSION \([0-9]*\).*/CUB \1 in $(subst /,\/,$(NEWEST_CCCL))/p' $(NEWEST_CCCL)/cub/version.cuh
check-newest-peers: cccl
	@TUNED_CCCL=$(abspath $(NEWEST_CCCL)) $(MAKE) --no-print-directory check-peers

# What the templates emit, by nvcc: see tests/device/check_cuda.sh.
check-cuda: $(B)/tests/bench/machine_code
	sh tests/device/check_cuda.sh $<

# Plain CUDA files of others: see tests/foreign/check_foreign.sh.
check-foreign: $(B)/autotune
	sh tests/foreign/check_foreign.sh $< $(B)/foreign

# Whole CUDA programs of others on the emulated device: see tests/foreign/check_programs.sh.
check-programs: all
	sh tests/foreign/check_programs.sh $(B)/autotune $(B)/foreign/programs

# Templates changed, their kernels did not: say so in the table of digests.
digests: $(B)/autotune
	sh templates/digests.sh $(B)/autotune

# Fields of problems were renamed or added: say so in the shipped results.
presets: $(B)/tests/bench/present_presets
	$< db/presets/*.txt

# Is the machine code of kernels what it was? See tests/bench/machine_code.c; FAMILIES= for some only.
machine-code: $(B)/tests/bench/machine_code
	$< --cache $(B)/machine_code.cache tests/bench/machine_code.gz $(FAMILIES)

.PHONY: all help quickstart check check-peers check-newest-peers cccl check-cuda check-programs digests presets machine-code tests deps asan fuzz faults rows tsan lint format golden

# ---- building ------------------------------------------------------------------------------------

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC  $<'
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# Templates, the runtime's own device code and shipped results travel inside the library.
$(B)/embedded.c: $(EMBEDDED) generator/embed.sh Makefile
	@mkdir -p $(@D)
	sh generator/embed.sh gen_builtin:gen.h:templates rt_fill_check:checker.h:runtime/run \
	  export_texts:export_parts.h:runtime/export chooser_texts:export_parts.h:runtime/portfolio \
	  serve_presets:serve_presets.h:db/presets -- $(EMBEDDED) > $@
$(B)/embedded.o: $(B)/embedded.c $(EMBEDDED)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# What is remembered of generated texts counts for one generator only.
$(B)/generator_digest.h: $(call find_files,generator,*.[ch])
	@mkdir -p $(@D)
	@echo "#define GENERATOR_DIGEST \"$$(cat $^ | sha256sum | cut -c 1-32)\"" > $@
$(B)/generator/template/gen_source_rows.o: $(B)/generator_digest.h

# What is remembered of choices, likewise for one way to choose, and for what there is to choose from.
$(B)/chooser_digest.h: $(call find_files,runtime/portfolio runtime/serve/choose runtime/run runtime/device,*.[ch]) \
  $(call find_files,db/presets,*.txt) templates/digests.txt
	@mkdir -p $(@D)
	@echo "#define CHOOSER_DIGEST \"$$(cat $^ | sha256sum | cut -c 1-32)\"" > $@
$(B)/runtime/serve/serve_notes.o: $(B)/chooser_digest.h

# What autotune itself carries: suites of problems, and the text of the peers that nvcc compiles.
$(B)/tuner_files.c: $(TUNER_FILES) generator/embed.sh
	@mkdir -p $(@D)
	sh generator/embed.sh tuner_files:tuner_files.h:tuner -- $(TUNER_FILES) > $@
$(B)/tuner_files.o: $(B)/tuner_files.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# The database's schema becomes an array of C strings, one per "-- step" line (see db/schema.sql).
$(B)/schema_steps.h: db/schema.sql db/embed_steps.awk
	@mkdir -p $(@D)
	awk -f db/embed_steps.awk $< > $@
$(B)/db/db_open.o: $(B)/schema_steps.h

# The typed calls (tuned_sgemm, ...) are written by a program of ours that reads the templates.
TYPED_CALLS_OBJ := $(TYPED_CALLS_SRC:%.c=$(B)/%.o) $(patsubst %.c,$(B)/%.o,$(filter %/serve_key.c,$(SRC)))
$(B)/typed_calls: $(TYPED_CALLS_OBJ) $(filter $(B)/runtime/base/% $(B)/runtime/matrix/% $(B)/generator/%,$(OBJ)) $(B)/embedded.o
	$(CC) $(CFLAGS) $(SAN) $^ $(LDLIBS) -o $@
$(B)/tuned_calls.h $(B)/tuned_calls.c &: $(B)/typed_calls
	$< $(B)/tuned_calls.h $(B)/tuned_calls.c
# Vector instructions would only gather addresses there, in more bytes of code.
$(B)/tuned_calls.o: $(B)/tuned_calls.c
	$(Q)$(CC) $(ALL_CFLAGS) -fno-tree-slp-vectorize -c $< -o $@
# tuned.h includes tuned_calls.h, which must be there before the first compilation that needs it.
$(filter-out $(TYPED_CALLS_OBJ),$(filter $(B)/runtime/serve/% $(B)/runtime/portfolio/% $(B)/runtime/export/%,$(OBJ))) $(TUNER_OBJ): \
  | $(B)/tuned_calls.h

# Shipped portfolios are read once, by the build: they become tables of the library.
EMBED_PORTFOLIOS_OBJ := $(EMBED_PORTFOLIOS_SRC:%.c=$(B)/%.o) $(B)/db/db_text.o
$(B)/embed_portfolios: $(EMBED_PORTFOLIOS_OBJ) \
  $(filter $(B)/runtime/base/% $(B)/runtime/matrix/% $(B)/generator/% $(B)/runtime/portfolio/%,$(OBJ)) $(B)/embedded.o
	$(Q)$(CC) $(CFLAGS) $(SAN) $^ $(LDLIBS) -o $@
$(B)/embedded_portfolios.c: $(B)/embed_portfolios $(PORTFOLIOS)
	$< $(PORTFOLIOS) > $@.new && mv $@.new $@
$(B)/embedded_portfolios.o: $(B)/embedded_portfolios.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(B)/libtuned.a: $(OBJ)
	@echo '  AR  $@'
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/autotune: $(TUNER_OBJ) $(B)/libtuned.a
	@echo '  LD  $@'
	$(Q)$(CC) $(CFLAGS) $(SAN) -rdynamic $^ $(TUNER_LIBS) $(LDLIBS) -o $@

# The CUDA runtime for programs that run on the emulated device (autotune run-program).
CUDART_MAP := $(call find_files,runtime/cudart,*.map)
$(B)/libtuned_emu_cudart.so: $(CUDART_SRC:%.c=$(B)/%.o) $(B)/libtuned.a $(CUDART_MAP)
	@echo '  LD  $@'
	$(Q)$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,libtuned_emu_cudart.so $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,--gc-sections \
	  -Wl,--version-script=$(CUDART_MAP) $(CUDART_SRC:%.c=$(B)/%.o) $(B)/libtuned.a -lm -ldl -lpthread -o $@

# What all test programs are linked with, in one object and without debug lines, which each link would read
# again: that takes half the time. TEST_DEBUG=1 keeps them, and so do sanitizers.
$(B)/tests/library.o: $(filter-out $(TUNER_MAIN),$(TUNER_OBJ)) $(OBJ)
	@mkdir -p $(@D)
	@echo '  LD  $@'
	$(Q)$(CC) -r -nostdlib $(if $(SAN)$(TEST_DEBUG),,-Wl$(comma)-S) $^ -o $@

# What tests themselves compute is little: to compile them with optimisation takes longer than it saves.
$(TESTS): private ALL_CFLAGS += $(TEST_CFLAGS)
vpath %.c tests $(TEST_ROOMS)
$(TESTS): $(B)/tests/%: %.c $(B)/tests/library.o
	@mkdir -p $(@D) $(B)/$(<D)
	@echo '  LD  $@'
	$(Q)$(CC) $(ALL_CFLAGS) -MF $(B)/$(<:.c=.d) -Itests/fixtures -Itests/fixtures/fakes $< $(B)/tests/library.o -lcmocka $(TUNER_LIBS) $(LDLIBS) -o $@
$(B)/tests/%: %.c $(B)/libtuned.a $(filter-out $(TUNER_MAIN),$(TUNER_OBJ))
	@mkdir -p $(@D) $(B)/$(<D)
	@echo '  LD  $@'
	$(Q)$(CC) $(ALL_CFLAGS) -MF $(B)/$(<:.c=.d) -Itests/fixtures -Itests/fixtures/fakes $< $(filter-out $(TUNER_MAIN),$(TUNER_OBJ)) $(B)/libtuned.a -lcmocka $(TUNER_LIBS) $(LDLIBS) -o $@

# It counts what is compiled, and takes the times of the parts of a call.
$(B)/tests/bench/bench_cold: private LDLIBS += \
  $(addprefix -Wl$(comma)--wrap=,rt_compile serve_choose_next gen_source_make ready_images_find rt_loaded_new)

# Plans of an example, by typed calls.
$(B)/ell_calls.h $(B)/ell_calls.c &: $(B)/typed_calls examples/ell.lua
	$< $(B)/ell_calls.h $(B)/ell_calls.c examples/ell.lua
$(B)/ell_calls.o: $(B)/ell_calls.c $(B)/tuned_calls.h
	$(Q)$(CC) $(ALL_CFLAGS) -include tuned.h -include $(B)/ell_calls.h -c $< -o $@
$(B)/tests/test_plan: $(B)/ell_calls.o
$(B)/tests/test_plan: private LDLIBS += $(B)/ell_calls.o

$(NVRTC_CACHE): tests/fixtures/nvrtc_cache.c $(B)/libtuned.a
	@mkdir -p $(@D)
	ln -sfn $(abspath $(CUDA_HOME))/include $(@D)/../include
	$(Q)$(CC) $(ALL_CFLAGS) -shared $< $(B)/libtuned.a -ldl -lpthread -o $@

# ---- installing -----------------------------------------------------------------------------------
# Both libraries show nothing but tuned_*. The static one carries Lua, SQLite and zlib inside and is a single
# object whose other names are made local, so that they can't meet those of the program it goes into.
# The shared one stays loaded, since a thread may compile on after its context is closed, and needs
# liblua5.4.so and libz.so, because Debian's static ones are not position-independent.

# The base set: what libtuned serves before it has compiled anything. Only what changed is compiled.
BASE_FILE ?= $(B)/tuned.base
BASE_ARCHS ?= sm_80,sm_90a,compute_80,compute_90
BASE_FAMILIES ?=
base: $(B)/autotune
	$< base $(BASE_FILE) $(BASE_FAMILIES) --arch '$(BASE_ARCHS)'

# Installed libraries look for it where they are installed, too.
$(B)/install/prefix: FORCE
	@mkdir -p $(@D)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@
BASE_PATH_SRC := $(call find_files,runtime,base_path.c)
$(B)/install/base_path.o: $(BASE_PATH_SRC) $(B)/install/prefix
	$(Q)$(CC) $(ALL_CFLAGS) -DTUNED_LIBRARY_FOLDER='"$(PREFIX)/lib"' -c $< -o $@
INSTALLED_OBJ := $(filter-out $(BASE_PATH_SRC:%.c=$(B)/%.o),$(OBJ)) $(B)/install/base_path.o
.PHONY: base FORCE

$(B)/libtuned.so.0: $(INSTALLED_OBJ) runtime/serve/libtuned.map
	$(CC) $(CFLAGS) $(SAN) -shared -Wl,-soname,libtuned.so.0 -Wl,-z,defs -Wl,-z,nodelete \
	  -Wl,--version-script=runtime/serve/libtuned.map $(INSTALLED_OBJ) \
	  $(filter-out %lua5.4.a %libz.a,$(STATIC_LIBS)) -llua5.4 -lz -lm -ldl -lpthread -o $@
$(B)/install/libtuned.a: $(INSTALLED_OBJ)
	@mkdir -p $(@D)
	$(CC) -r -nostdlib $(INSTALLED_OBJ) $(STATIC_LIBS) -o $(@D)/libtuned.o
	objcopy --wildcard --keep-global-symbol='tuned_*' $(@D)/libtuned.o
	rm -f $@ && ar rcs $@ $(@D)/libtuned.o

TO := $(DESTDIR)$(PREFIX)
DOC := share/doc/libtuned/examples
install: $(B)/autotune $(B)/libtuned.so.0 $(B)/install/libtuned.a $(B)/libtuned_emu_cudart.so $(if $(BASE_ARCHS),base)
	install -d $(TO)/bin $(TO)/lib/pkgconfig $(TO)/include $(TO)/share/autotune/templates $(TO)/$(DOC) \
	  $(TO)/share/man/man1 $(TO)/share/man/man3 $(TO)/lib/cmake/tuned
	install -m 755 $(B)/autotune $(TO)/bin
	install -m 755 $(B)/libtuned.so.0 $(B)/libtuned_emu_cudart.so $(TO)/lib
	ln -sf libtuned.so.0 $(TO)/lib/libtuned.so
	install -m 644 $(B)/install/libtuned.a $(TO)/lib
	$(if $(BASE_ARCHS),test ! -e $(BASE_FILE) || install -m 644 $(BASE_FILE) $(TO)/lib/tuned.base)
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' runtime/serve/tuned.pc.in \
	  > $(TO)/lib/pkgconfig/tuned.pc
	install -m 644 runtime/serve/tunedConfig.cmake $(TO)/lib/cmake/tuned
	sed 's|@VERSION@|$(VERSION)|' runtime/serve/tunedConfigVersion.cmake.in \
	  > $(TO)/lib/cmake/tuned/tunedConfigVersion.cmake
	install -m 644 runtime/serve/tuned.h $(B)/tuned_calls.h $(TO)/include
	for f in $(TEMPLATES); do install -D -m 644 $$f $(TO)/share/autotune/$$f; done
	install -m 644 tuner/cli/autotune.schema.json $(TO)/share/autotune
	install -m 644 examples/*.c examples/*.cu examples/*.lua examples/*.mtx examples/Makefile $(TO)/$(DOC)
	install -d $(TO)/share/bash-completion/completions $(TO)/share/zsh/site-functions $(TO)/share/fish/vendor_completions.d
	$(B)/autotune completion bash > $(TO)/share/bash-completion/completions/autotune
	$(B)/autotune completion zsh > $(TO)/share/zsh/site-functions/_autotune
	$(B)/autotune completion fish > $(TO)/share/fish/vendor_completions.d/autotune.fish
	sed 's|@VERSION@|$(VERSION)|' tuner/cli/autotune.1 > $(TO)/share/man/man1/autotune.1
	sed 's|@VERSION@|$(VERSION)|' runtime/serve/libtuned.3 > $(TO)/share/man/man3/libtuned.3
uninstall:
	rm -f $(TO)/bin/autotune $(TO)/lib/libtuned.a $(TO)/lib/libtuned.so $(TO)/lib/libtuned.so.0 $(TO)/lib/libtuned_emu_cudart.so $(TO)/lib/tuned.base
	rm -f $(TO)/lib/pkgconfig/tuned.pc $(TO)/include/tuned.h $(TO)/include/tuned_calls.h
	rm -f $(TO)/share/man/man1/autotune.1 $(TO)/share/man/man3/libtuned.3
	rm -f $(TO)/share/bash-completion/completions/autotune $(TO)/share/zsh/site-functions/_autotune \
	  $(TO)/share/fish/vendor_completions.d/autotune.fish
	rm -f $(TO)/share/autotune/autotune.schema.json
	rm -rf $(TO)/share/autotune/templates $(TO)/share/doc/libtuned $(TO)/lib/cmake/tuned
	rmdir $(TO)/share/autotune 2>/dev/null || true
.PHONY: install uninstall

clean:
	rm -rf $(B)
.PHONY: clean

-include $(CUDART_SRC:%.c=$(B)/%.d) $(OBJ:.o=.d) $(TYPED_CALLS_OBJ:.o=.d) $(EMBED_PORTFOLIOS_OBJ:.o=.d) $(TUNER_OBJ:.o=.d) $(TEST_SRC:%.c=$(B)/%.d)
