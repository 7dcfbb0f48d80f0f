# tests/fuse.mk: the slow file system that tests mount, where libfuse3 is found. Without it they skip by name.
HAVE_FUSE := $(shell pkg-config --exists fuse3 2>/dev/null && echo 1)

ifeq ($(HAVE_FUSE),1)
helpers: $(B)/tests/tools/slow_fs
endif

$(B)/tests/tools/slow_fs: tests/tools/slow_fs.c
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE $(CFLAGS) $$(pkg-config --cflags fuse3) $(LDFLAGS) -o $@ $< $$(pkg-config --libs fuse3) -lpthread
