# mk/portable.mk: one binary to carry to another machine: our dependencies linked in, only libc and its kin shared (a GPU's libraries are opened at run time,
# and for that libc has to be). A dependency without a static library stays shared, and is named. Beside it the folder with all that belongs to the program,
# the hooks for PyTorch jobs among it, as an archive to unpack anywhere; and the wheel, which is that folder in a Python package.

PORTABLE := $(B)/pipeprobe-portable
PORTABLE_DIR := $(B)/portable/pipeprobe-$(VERSION)
.PHONY: portable portable-built portable-folder wheel wheel-built gpu-check
portable: deps
	$(Q)CC='$(CC)' bash tests/deps.sh portable
	$(Q)$(MAKE) $(JOBS) SAN= portable-built
portable-built: $(PORTABLE) portable-folder
	$(Q)tar -C $(dir $(PORTABLE_DIR)) --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} \
	  -cf - $(notdir $(PORTABLE_DIR)) | gzip -9n >build/pipeprobe-$(VERSION)-linux-$$(uname -m).tar.gz
	@echo '  also   '$$(ls build/pipeprobe-$(VERSION)-linux-$$(uname -m).tar.gz)

portable-folder: $(PORTABLE) $(INJECT) $(LIB_SO) $(READS) $(ATTACH_PY) $(ATTACH_EXT)
	$(Q)rm -rf $(PORTABLE_DIR)
	$(Q)$(MAKE) -s install-inject install-python DESTDIR=$(CURDIR)/$(PORTABLE_DIR) PREFIX= >/dev/null
	$(Q)install -D -m 755 $(PORTABLE) $(PORTABLE_DIR)/bin/pipeprobe
	$(Q)install -m 755 $(LIB_SO) $(PORTABLE_DIR)/lib/
	$(Q)install -m 644 LICENSE $(PORTABLE_DIR)/
	$(Q)find $(PORTABLE_DIR) -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec $(STRIP) --strip-unneeded {} +

# What pip installs: mk/tools/wheel.py names it by what its files need.
STRIP ?= strip
WHEEL_PACKAGE := $(CURDIR)/collectors/attach/package
wheel: deps
	$(Q)CC='$(CC)' bash tests/deps.sh portable
	$(Q)$(MAKE) $(JOBS) SAN= wheel-built
wheel-built: portable-folder
	$(Q)[ -n '$(ATTACH_EXT)' ] || { echo 'make wheel: Python.h is missing, and with it what records PyTorch jobs; apt-get install python3-dev' >&2; exit 1; }
	$(Q)rm -f build/pipeprobe-$(VERSION)-py3-none-*.whl
	$(Q)python3 mk/tools/wheel.py $(PORTABLE_DIR) $(WHEEL_PACKAGE) $(VERSION) build

# With a GPU: its tests and benches, as one table. Without: a sentence, and exit code 77 (make says 2).
gpu-check: all
	$(Q)bash tests/gpu_check.sh $(B)/pipeprobe

# -lX becomes the static library where there is one.
portable_lib = $(if $(filter-out lib%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
PORTABLE_LIBS = $(foreach l,$(patsubst -l%,%,$(filter-out -lm -lpthread -ldl,$(filter -l%,$(shell pkg-config --static --libs $(PKGS))))),$(call portable_lib,$(l)))

$(PORTABLE): $(B)/tui/cli/main.o $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PIE) -static-libgcc -o $@ $^ -Wl,--start-group $(PORTABLE_LIBS) -Wl,--end-group -lm -lpthread -ldl
	@echo '  needs  '$$(readelf -d $@ | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
