# mk/portable.mk: one binary to carry to another machine: our dependencies linked in, only libc and its kin shared (a GPU's libraries are opened at run time,
# and for that libc has to be). A dependency without a static library stays shared, and is named. Beside it the folder with all that belongs to the program,
# the hooks for PyTorch jobs among it, as an archive to unpack anywhere; and the wheel, which is that folder in a Python package. All of it is linked as
# with glibc $(GLIBC) (mk/old_glibc/stubs.py says how), so that it starts on machines that are older than this one.

PORTABLE := $(B)/pipeprobe-portable
PORTABLE_DIR := $(B)/portable/pipeprobe-$(VERSION)
.PHONY: portable portable-built portable-folder wheel wheel-built gpu-check gpu-check-kit gpu-check-kit-built
portable: deps
	$(Q)CC='$(CC)' bash tests/deps.sh portable
	$(Q)$(MAKE) $(JOBS) SAN= portable-built
portable-built: $(PORTABLE) portable-folder
	$(Q)tar -C $(dir $(PORTABLE_DIR)) --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} \
	  -cf - $(notdir $(PORTABLE_DIR)) | gzip -9n >$(DIST)/pipeprobe-$(VERSION)-linux-$$(uname -m).tar.gz
	@echo '  also   '$$(ls $(DIST)/pipeprobe-$(VERSION)-linux-$$(uname -m).tar.gz)

# The same objects as in an installation here, linked for older machines.
GLIBC ?= 2.28
OLD := $(B)/old_glibc
OLD_EXT := $(if $(ATTACH_EXT),$(OLD)/$(notdir $(ATTACH_EXT)))
OLD_ALL := $(OLD)/$(notdir $(INJECT)) $(OLD)/$(notdir $(READS)) $(OLD)/$(notdir $(LIB_SO)) $(OLD_EXT)

$(OLD)/%.o: mk/old_glibc/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -c -o $@ $<
$(OLD)/libs: mk/old_glibc/stubs.py $(OLD)/calls.o
	$(call say,STUBS,'glibc $(GLIBC)')
	$(Q)CC='$(CC)' python3 mk/old_glibc/stubs.py $(GLIBC) $(OLD) $(OLD)/calls.o
$(OLD)/$(notdir $(INJECT)): $(INJECT_OBJ) $(OLD)/libs
	$(call say,LINK,$@)
	$(Q)$(call link_inject,@$(OLD)/libs)
$(OLD)/$(notdir $(READS)): $(READS_OBJ) $(OLD)/libs
	$(call say,LINK,$@)
	$(Q)$(call link_reads,@$(OLD)/libs)
$(OLD)/$(notdir $(LIB_SO)): $(LIB_OBJ) mk/libpipeprobe.map $(OLD)/libs
	$(call say,LINK,$@)
	$(Q)$(call link_lib_so,@$(OLD)/libs)
$(OLD_EXT): $(ATTACH_EXT_OBJ) $(OLD)/libs
	$(call say,LINK,$@)
	$(Q)$(call link_attach,@$(OLD)/libs)

portable-folder: $(PORTABLE) $(OLD_ALL) $(INJECT) $(READS) $(ATTACH_PY) $(ATTACH_EXT)
	$(Q)rm -rf $(PORTABLE_DIR)
	$(Q)$(MAKE) -s install-inject install-python DESTDIR=$(CURDIR)/$(PORTABLE_DIR) PREFIX= >/dev/null
	$(Q)install -D -m 755 $(PORTABLE) $(PORTABLE_DIR)/bin/pipeprobe
	$(Q)install -m 755 $(filter-out $(OLD_EXT),$(OLD_ALL)) $(PORTABLE_DIR)/lib/
	$(if $(OLD_EXT),$(Q)install -m 755 $(OLD_EXT) $(PORTABLE_DIR)/lib/pipeprobe/python/attach/)
	$(Q)install -m 644 LICENSE $(PORTABLE_DIR)/
	$(Q)$(MAKE) -s install-pages $(if $(DOCS),install-man) DESTDIR=$(CURDIR)/$(PORTABLE_DIR) PREFIX= DOCS=$(DOCS) >/dev/null
	$(Q)find $(PORTABLE_DIR) -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec $(STRIP) --strip-unneeded {} +

# What pip installs: mk/tools/wheel.py names it by what its files need.
STRIP ?= strip
WHEEL_PACKAGE := $(CURDIR)/collectors/attach/package
wheel: deps
	$(Q)CC='$(CC)' bash tests/deps.sh portable
	$(Q)$(MAKE) $(JOBS) SAN= wheel-built
wheel-built: portable-folder
	$(Q)[ -n '$(ATTACH_EXT)' ] || { echo 'make wheel: Python.h is missing, and with it what records PyTorch jobs; apt-get install python3-dev' >&2; exit 1; }
	$(Q)mkdir -p $(DIST) && rm -f $(DIST)/pipeprobe-$(VERSION)-py3-none-*.whl
	$(Q)python3 mk/tools/wheel.py $(PORTABLE_DIR) $(WHEEL_PACKAGE) $(VERSION) $(DIST)

# The same for aarch64, on another machine, into build/aarch64: Debian's cross compiler, with Debian's packages for arm64 unpacked into build/aarch64-root.
# tests/roots.sh has its test, with qemu-user.
CROSS := aarch64-linux-gnu
CROSS_ROOT := $(CURDIR)/build/aarch64-root
CROSS_PACKAGES := libc6-dev libjpeg-dev libpng-dev libsqlite3-dev libarchive-dev libxxhash-dev libzstd-dev zlib1g-dev libjansson-dev libncurses-dev libwebp-dev \
  libcurl4-openssl-dev libmicrohttpd-dev python3-dev nettle-dev libacl1-dev liblzma-dev liblz4-dev libbz2-dev libxml2-dev libicu-dev
.PHONY: wheel-aarch64 wheel-aarch64-built
wheel-aarch64: deps
	$(Q)CC='$(CC)' bash tests/deps.sh cross
	$(Q)$(MAKE) $(JOBS) SAN= wheel-aarch64-built
wheel-aarch64-built: $(B)/mk/tools/gen_docs $(CROSS_ROOT)/complete
	$(Q)OBJDUMP=$(CROSS)-objdump PKG_CONFIG_SYSROOT_DIR=$(CROSS_ROOT) PKG_CONFIG_LIBDIR=$(CROSS_ROOT)/usr/lib/$(CROSS)/pkgconfig:$(CROSS_ROOT)/usr/share/pkgconfig \
	  $(MAKE) B=build/aarch64 CC='$(CROSS)-gcc --sysroot=$(CROSS_ROOT)' AR=$(CROSS)-ar STRIP=$(CROSS)-strip RUN_DOCS=$(GEN_DOCS) DIST=$(DIST)/aarch64 \
	  PYTHON_INCLUDE=$$(echo $(CROSS_ROOT)/usr/include/python3.*) NVTX_INCLUDE='$(NVTX_INCLUDE)' wheel-built
$(CROSS_ROOT)/complete: mk/tools/sysroot.py
	$(Q)rm -rf $(CROSS_ROOT) && python3 mk/tools/sysroot.py $(CROSS_ROOT) arm64 $(CROSS_PACKAGES) && touch $@

# The sources of HEAD, with their commit: builds without git and without a network (what `make deps` installs must be there). Same commit, same bytes.
.PHONY: dist
dist:
	$(Q)mkdir -p $(DIST) && git archive --format=tar --prefix=pipeprobe-$(VERSION)/ HEAD | gzip -9n >$(DIST)/pipeprobe-$(VERSION).tar.gz
	@echo '  also   $(DIST)/pipeprobe-$(VERSION).tar.gz'

# The documentation as a site, build/docs-site/site/index.html: needs mkdocs (Debian's package, or pip's: PYTHON=).
.PHONY: docs-site
docs-site:
	$(Q)$(or $(PYTHON),python3) mk/tools/site.py build/docs-site && echo '  also   build/docs-site/site/index.html'

# Its links to other hosts, too, as far as they can be reached.
.PHONY: docs-links
docs-links:
	$(Q)$(or $(PYTHON),python3) mk/tools/site.py build/docs-site --external

# With a GPU: its tests and benches, as one table. Without: a sentence, and exit code 77 (make says 2).
gpu-check: all
	$(Q)bash tests/gpu_check.sh $(B)/pipeprobe

# The same for a machine that can build nothing: the portable program, its hooks for PyTorch jobs, the check's other programs and their libraries.
# nvJPEG is the machine's own, or the one that NVJPEG=FILE brings.
KIT := $(B)/gpu-check
KIT_PROGRAMS := samples/make_dataset tests/unit/probe/loader/test_decoding
gpu-check-kit: portable
	$(Q)$(MAKE) $(JOBS) SAN= gpu-check-kit-built
gpu-check-kit-built: portable-folder $(KIT_PROGRAMS:%=$(B)/%)
	$(Q)rm -rf $(KIT) && mkdir -p $(KIT)/jobs && cp -a $(PORTABLE_DIR)/. $(KIT)/
	$(Q)for f in $(KIT_PROGRAMS); do install -D -s -m 755 $(B)/$$f $(KIT)/bin/$$f; done
	$(Q)mkdir $(KIT)/bin/libs && ldd $(KIT_PROGRAMS:%=$(B)/%) | awk '$$2 == "=>" && $$1 !~ /^(libc|libm|libdl|libpthread|librt)\.so/ { print $$3 }' | sort -u | xargs -I{} cp {} $(KIT)/bin/libs/
	$(if $(NVJPEG),$(Q)cp $(NVJPEG) $(KIT)/bin/libs/)
	$(Q)cp tests/gpu_check.sh tests/gpu_check_pytorch.sh $(KIT)/ && cp tests/jobs/torch_on_gpu.py $(KIT)/jobs/
	$(Q)tar -C $(B) -czf build/pipeprobe-gpu-check.tar.gz gpu-check
	@echo "  there  tar xzf pipeprobe-gpu-check.tar.gz && bash gpu-check/gpu_check.sh gpu-check/bin/pipeprobe"

# -lX becomes the static library where there is one.
portable_lib = $(if $(filter-out lib%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
PORTABLE_LIBS = $(foreach l,$(patsubst -l%,%,$(filter-out -lm -lpthread -ldl,$(filter -l%,$(shell pkg-config --static --libs $(PKGS))))),$(call portable_lib,$(l)))

$(PORTABLE): $(B)/tui/cli/main.o $(B)/libpipeprobe-all.a $(OLD)/start.o $(OLD)/libs
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PIE) -static-libgcc $(if $(shell grep -s nodefaultlibs $(OLD)/libs),-Wl$(comma)--wrap=__libc_start_main $(OLD)/start.o) \
	  -o $@ $(filter %main.o %.a,$^) -Wl,--start-group $(PORTABLE_LIBS) -Wl,--end-group @$(OLD)/libs
	@echo '  needs  '$$(readelf -d $@ | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
