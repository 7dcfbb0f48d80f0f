# mk/curl.mk: http://, https:// and s3://. The header alone is needed here: the library is opened when the first URL is.
CURL_PKG ?= libcurl
HAVE_CURL := $(shell pkg-config --exists $(CURL_PKG) 2>/dev/null && echo 1 || echo 0)
$(B)/probe/storage/http.o: CPPFLAGS += -DPP_HAVE_CURL=$(HAVE_CURL) $(if $(filter 1,$(HAVE_CURL)),$(shell pkg-config --cflags $(CURL_PKG)))
