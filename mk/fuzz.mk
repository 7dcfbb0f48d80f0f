# mk/fuzz.mk: fuzz targets, tests/fuzz/fuzz_*.c. `make fuzz` runs each for FUZZ_SECONDS under ASan and UBSan: with clang's libFuzzer when there is a
# clang, else with the driver in tests/fuzz/driver.c, which is also what `make test` runs for a few seconds.
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60
FUZZ_ENGINE ?= $(B)/tests/fuzz/driver.o
HAVE_CLANG := $(shell command -v clang 2>/dev/null)

# The rooms that parse files: an older clang may not build the others.
FUZZ_ROOMS := probe/base probe/trace probe/net probe/storage probe/columns probe/dataset probe/decode collectors/store report
FUZZ_FILES := $(addprefix collectors/stacks/,code.c frames.c tree.c) $(addprefix collectors/attach/,activity.c namemap.c session_files.c rank_session.c loaders.c order_files.c python_runtime.c) \
  $(addprefix probe/ranks/,identity.c lease_dir.c) probe/sampler/shuffle_quality.c \
  $(filter-out collectors/import/import.c,$(wildcard collectors/import/*.c))
FUZZ_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(filter-out $(LEFT_OUT),$(shell find $(FUZZ_ROOMS) -name '*.c'))) $(FUZZ_FILES))
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz-bins fuzz
fuzz-bins: $(FUZZ)
helpers: $(if $(findstring address,$(SAN)),fuzz-bins)

FUZZ_SUPPORT := $(addprefix $(B)/tests/support/,hostile_schema.o chunk_encode.o made_parquet.o made_arrow.o far_storage.o)
$(B)/tests/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/scratch.o $(FUZZ_SUPPORT) $(FUZZ_ENGINE) $(FUZZ_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

fuzz:
ifneq ($(HAVE_CLANG),)
	$(Q)$(MAKE) CC=clang B=build/libfuzzer SAN=address,undefined,fuzzer-no-link FUZZ_ENGINE= LDFLAGS='-fsanitize=address,undefined,fuzzer' fuzz-bins
	$(Q)for f in $(FUZZ_NAMES); do mkdir -p build/libfuzzer/corpus-$$f && FUZZ_CORPUS=build/libfuzzer/corpus-$$f build/libfuzzer/tests/fuzz/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -max_len=1048576 -rss_limit_mb=4096 -print_final_stats=1 build/libfuzzer/corpus-$$f || exit 1; done
else
	$(Q)$(MAKE) SAN=address,undefined fuzz-bins
	$(Q)for f in $(FUZZ_NAMES); do build/address-undefined/tests/fuzz/fuzz_$$f --seconds $(FUZZ_SECONDS) || exit 1; done
endif

# Once a night: FUZZ_INPUTS changed files for each target, and of those that read several formats for each file to start with, traces of other profilers
# among them. It goes on behind a crash, and ends with the counts, build/fuzz-nightly.txt. FUZZ_ONLY: the names of some.
FUZZ_INPUTS ?= 10000
FUZZ_ONLY ?= $(FUZZ_NAMES)
FUZZ_OF_FORMATS := formats image trace
FUZZ_TRACES := $(wildcard tests/recordings/*.xplane.pb.gz tests/recordings/dftracer/*)
.PHONY: fuzz-nightly
fuzz-nightly:
	$(Q)$(MAKE) SAN=address,undefined fuzz-bins
	$(Q)mkdir -p build/fuzz-traces && for f in $(FUZZ_TRACES); do gzip -dcf $$f >build/fuzz-traces/$$(basename $$f .gz) || exit 1; done
	$(Q)for f in $(FUZZ_ONLY); do from=; [ $$f != trace ] || from=$$(printf -- '--from %s ' build/fuzz-traces/*); \
	  how=--inputs; case ' $(FUZZ_OF_FORMATS) ' in *" $$f "*) how=--each ;; esac; \
	  timeout 7200 build/address-undefined/tests/fuzz/fuzz_$$f $$how $(FUZZ_INPUTS) $$from >build/fuzz-$$f.log 2>&1; rc=$$?; \
	  echo "fuzz_$$f: exit status $$rc, $$(tail -n 1 build/fuzz-$$f.log)"; done | tee build/fuzz-nightly.txt
	$(Q)test -s build/fuzz-nightly.txt && ! grep -v 'exit status 0,' build/fuzz-nightly.txt
	$(Q)! grep -lE 'runtime error:|ERROR: (Address|Leak)Sanitizer' $(FUZZ_ONLY:%=build/fuzz-%.log)

-include $(FUZZ:=.d) $(B)/tests/fuzz/driver.d $(B)/tests/fuzz/scratch.d
