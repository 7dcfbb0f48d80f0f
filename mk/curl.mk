# mk/curl.mk: what speaks HTTP: http://, https:// and s3:// (probe/net), and the endpoint of metrics (report/send). The headers alone are needed here: a library
# is opened when it is first asked for.
CURL_PKG ?= libcurl
HAVE_CURL := $(shell pkg-config --exists $(CURL_PKG) 2>/dev/null && echo 1 || echo 0)
HAVE_MICROHTTPD := $(shell pkg-config --exists libmicrohttpd 2>/dev/null && echo 1 || echo 0)
$(B)/probe/net/http.o: CPPFLAGS += -DPP_HAVE_CURL=$(HAVE_CURL) $(if $(filter 1,$(HAVE_CURL)),$(shell pkg-config --cflags $(CURL_PKG)))
$(B)/report/send/%.o: CPPFLAGS += -DPP_HAVE_MICROHTTPD=$(HAVE_MICROHTTPD)
