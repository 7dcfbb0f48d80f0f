# pipeprobe: one Makefile, objects in build/<variant>, dependencies by -MMD.
#   make            build/release/pipeprobe          make SAN=address,undefined | SAN=thread   sanitizer builds beside it
#   make demo       a slow pipeline, diagnosed       make check   fast tests (< 2 min)         make test   everything
#   make bench      the numbers, as tables           make help    all targets                  V=1         full command lines

VERSION := 0.2.0
# What it was built of; a source archive (make dist) has it in mk/commit.
COMMIT := $(shell git rev-parse --short=10 HEAD 2>/dev/null || grep -v Format mk/commit)
CC ?= gcc
SAN ?=
# Where there is a ccache, what it has seen is not compiled again. CCACHE= builds without.
CCACHE ?= $(if $(findstring ccache,$(CC)),,$(shell command -v ccache))
comma := ,
VARIANT := $(if $(SAN),$(subst $(comma),-,$(SAN)),release)
B := build/$(VARIANT)

PKGS := libjpeg libpng sqlite3 libarchive libxxhash libzstd zlib jansson ncursesw
CPPFLAGS += -Iinclude -I. -D_GNU_SOURCE -DPP_VERSION='"$(VERSION)"'
# -fdebug-prefix-map: the same objects in whatever directory, so that a ccache knows them in a fresh clone, too.
# -ffp-contract=off: the portable and the SIMD resize must give the same bits.
# Sanitizers at -O1: at -O2 they take two and a half times as long to compile, and see no more. Their reports need lines and no variables: -g1.
CFLAGS += -std=gnu11 $(if $(SAN),-O1 -g1,-O2 -g) -Wall -Wextra -Wshadow -Wstrict-prototypes -Wpointer-arith -Wvla -Wno-unused-parameter -ffp-contract=off -fno-omit-frame-pointer -fdebug-prefix-map='$(CURDIR)=.'
LDLIBS += -lm -lpthread
# Strangers' images, archives and recordings are parsed here. HARDEN= builds without; a sanitizer watches more closely, and what
# FORTIFY puts in its place would hide it.
HARDEN ?= $(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
CFLAGS += $(HARDEN) -fPIE
LDFLAGS += -Wl,-z,relro,-z,now
PIE := -pie
ifneq ($(SAN),)
CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SAN)
endif
# Libraries that a build may do without: found by pkg-config, said by doctor. WITH_WEBP=0 builds without. WITHOUT=: mk/without.mk.
WITH_WEBP ?= $(shell pkg-config --exists libwebp 2>/dev/null && echo 1 || echo 0)
PKGS += $(if $(filter 1,$(WITH_WEBP)),libwebp)
CPPFLAGS += -DPP_HAVE_WEBP=$(WITH_WEBP)
LEFT_OUT := $(if $(filter 1,$(WITH_WEBP)),,probe/decode/webp.c)
# Asked once, and only by a make that builds: test.mk installs the packages first and then calls make again. Where pkg-config does not find them, no source
# is compiled before deps.sh has looked for itself, and said what is missing and what installs it.
NEEDS := $(if $(shell pkg-config --exists $(PKGS) 2>/dev/null && echo 1),,packages)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null || echo $(PKGS:lib%=-l%))
CPPFLAGS += $(PKG_CFLAGS)
LDLIBS += $(PKG_LIBS)

MAKEFLAGS += --no-print-directory
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# Every source under these is part of the program, but for what goes into other processes (mk/inject.mk).
HALVES := probe collectors report tui
include mk/inject.mk mk/python.mk mk/lib.mk mk/curl.mk mk/without.mk mk/fuzz.mk
MAIN := tui/cli/main.c
SRC := $(sort $(filter-out $(MAIN) $(INJECT_ONLY) $(ATTACH_ONLY) $(READS_ONLY) $(LEFT_OUT),$(shell find $(HALVES) -name '*.c')))
OBJ := $(SRC:%.c=$(B)/%.o) $(STUBS)
# make_dataset is built of several files: samples/dataset/.
SAMPLE_PARTS := $(patsubst %.c,$(B)/%.o,$(wildcard samples/*/*.c))
SAMPLES := $(patsubst samples/%.c,$(B)/samples/%,$(wildcard samples/*.c))
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(shell find tests/unit -name 'test_*.c')))
# What tests share, in a library of its own: fixtures, and the parts of the lab.
LAB := $(B)/tests/lab/lab
SUPPORT := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c) $(filter-out tests/lab/main.c,$(wildcard tests/lab/*.c)))
BENCH := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(wildcard tests/bench/*.c))
HELPERS := $(patsubst tests/tools/%.c,$(B)/tests/tools/%,$(filter-out tests/tools/lib% tests/tools/slow_fs.c,$(wildcard tests/tools/*.c)))
PRELOADS := $(patsubst tests/tools/%.c,$(B)/tests/tools/%.so,$(wildcard tests/tools/lib*.c))

.PHONY: all unit helpers bench-bins clean help packages
all: $(B)/pipeprobe $(SAMPLES)

$(B)/pipeprobe: $(B)/tui/cli/main.o $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PIE) -o $@ $^ $(LDLIBS)

# Alone knows the commit, so that a new one compiles nothing else.
$(B)/tui/cli/main.o: CPPFLAGS += -DPP_COMMIT='"$(COMMIT)"'
$(B)/tui/cli/main.o: $(B)/commit
$(B)/probe/device/cuda.o: probe/device/kernel.ptx
$(patsubst %.c,$(B)/%.o,$(shell grep -rlw PP_VERSION --include='*.c' $(HALVES) mk/tools tests/bench)): $(B)/version
.PHONY: always
$(B)/commit: STATE = $(COMMIT)
$(B)/version: STATE = $(VERSION)
$(B)/without: STATE = $(or $(WITHOUT),nothing)
$(STUBS) $(B)/libpipeprobe-all.a: $(B)/without
$(B)/commit $(B)/version $(B)/without: always
	$(Q)mkdir -p $(@D) && [ "$$(cat $@ 2>/dev/null)" = '$(STATE)' ] || echo '$(STATE)' >$@

$(B)/libpipeprobe-all.a: $(OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(OBJ)

packages:
	$(Q)CC='$(CC)' bash tests/deps.sh --missing build

$(B)/%.o: %.c | $(NEEDS)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/samples/make_dataset: $(filter $(B)/samples/dataset/%,$(SAMPLE_PARTS))

$(B)/samples/%: $(B)/samples/%.o $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PIE) -o $@ $^ $(LDLIBS)

$(B)/libtest-support.a: $(SUPPORT)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/libtest-support.a $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/libtest-support.a $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LAB): $(B)/tests/lab/main.o $(B)/libtest-support.a $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/tests/tools/%: $(B)/tests/tools/%.o $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/tests/tools/%.so: tests/tools/%.c | $(NEEDS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) -fPIC -shared -o $@ $<

.SECONDARY:
unit: $(UNIT)
helpers: $(HELPERS) $(PRELOADS) $(LAB)
bench-bins: $(BENCH)

include mk/portable.mk $(wildcard tests/*.mk)

clean:
	rm -rf build

-include $(OBJ:.o=.d) $(B)/tui/cli/main.d $(UNIT:=.d) $(SUPPORT:.o=.d) $(B)/tests/lab/main.d $(SAMPLES:=.d) $(SAMPLE_PARTS:.o=.d) $(BENCH:=.d) $(HELPERS:=.d)
