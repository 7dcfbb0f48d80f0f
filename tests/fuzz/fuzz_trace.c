/* Fuzz target: a trace of `pipeprobe import`. An input is the bytes of a file, plain or gzip, for every
 * format that claims it; one that begins with '#' is a recipe, from which events that are JSON are made with
 * odd names, times and threads, so that the steps and waits behind the parser are reached. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "collectors/import/import.h"

#include "probe/base/err.h"
#include "probe/base/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

/* What assembling promises: the trainer's waits and steps do not overlap, and every span has its thread. */
static void read_with(const struct pp_importer *format, const char *path)
{
    struct pp_imported *im = pp_imported_new();
    struct pp_err err;
    uint64_t first, last;
    pp_err_clear(&err);
    if (!im)
        abort();
    pp_status st = format->read(path, NULL, im, &err);
    if (st == PP_OK)
        st = pp_imported_assemble(im, "fuzz.json", &err);
    if (st != PP_OK && !err.text[0])
        abort(); /* a refusal is a sentence */
    pp_imported_extent(im, "", &first, &last);
    if (st == PP_OK && last < first)
        abort();
    pp_imported_free(im);
}

static const char *const names[] = {"ProfilerStep#1",
                                    "ProfilerStep#2",
                                    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                                    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                    "## data_load ##",
                                    "nccl:all_reduce",
                                    "cudaStreamSynchronize",
                                    "cudaLaunchKernel",
                                    "Memcpy HtoD (Pageable -> Device)",
                                    "Optimizer.step#SGD.step",
                                    "data_wait",
                                    "step",
                                    "epoch_boundary",
                                    "checkpoint",
                                    "aten::add",
                                    "PyTorch Profiler (0)",
                                    "fetch.iter",
                                    "fetch.block",
                                    "read",
                                    "start"};
static const char *const cats[] = {"Operator",
                                   "user_annotation",
                                   "gpu_user_annotation",
                                   "cpu_op",
                                   "kernel",
                                   "gpu_memcpy",
                                   "cuda_runtime",
                                   "Runtime",
                                   "Memcpy",
                                   "wait",
                                   "work",
                                   "",
                                   "dataloader",
                                   "POSIX",
                                   "dftracer"};

/* Six bytes an event: name, category and thread, time, length, batch. */
static void write_recipe(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "w");
    int lines = (data[0] & 3) == 3;
    if (!f)
        abort();
    fputs(lines         ? ""
          : data[0] & 1 ? "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
                        : "{\"schemaVersion\":1,\"traceEvents\":[",
          f);
    for (size_t i = 0; i + 6 <= size; i += 6) {
        const uint8_t *d = data + i;
        fprintf(
            f,
            "%s{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%s,\"tid\":%d,\"ts\":%d%s,\"dur\":%d.%d,\"args\":{\"batch\":%d,\"correlation\":%d,\"ppid\":%d}}",
            lines ? "\n"
            : i   ? ","
                  : "",
            names[d[0] % 20], cats[d[1] % 15],
            d[1] & 128 ? "\"7\""
            : d[5] & 8 ? "9"
                       : "7",
            d[1] >> 4 & 3, d[2] * 7 - 100, d[2] & 1 ? "e1" : ".25", d[3] * 5, d[4], d[5] & 7, d[4] & 15,
            6 + (d[5] >> 4 & 3));
    }
    fputs(lines ? "" : "]}", f);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = scratch_path("trace.json");
    if (!size)
        return 0;
    if (data[0] == '#' && size > 1)
        write_recipe(path, data + 1, size - 1);
    else
        scratch_write(path, data, size);
    read_with(&pp_importer_kineto, path);
    read_with(&pp_importer_dftracer, path);
    read_with(&pp_importer_xplane, path);
    if (size > 100 && memcmp(data, "SQLite", 6) == 0)
        read_with(&pp_importer_nsys, path);
    return 0;
}

/* A small trace of JAX: a host with a step, a wait and a stage, and a GPU. */
static int seed_xplane(uint8_t **data, size_t *size)
{
    static const char *const event_names[] = {"train", "data_wait", "Iterator::Batch", "MemcpyH2D"};
    struct pp_proto p = {0};
    for (int device = 0; device < 2; device++) {
        size_t plane = pp_proto_begin(&p, 1), line;
        pp_proto_str(&p, 2, device ? "/device:GPU:0" : "/host:CPU");
        line = pp_proto_begin(&p, 3);
        pp_proto_uint(&p, 1, 7);
        pp_proto_str(&p, 2, device ? "Stream #7" : "python");
        for (unsigned i = 0; i < 12; i++) {
            size_t event = pp_proto_begin(&p, 4);
            pp_proto_uint(&p, 1, 1 + i % 4);
            pp_proto_uint(&p, 2, i * 900000);
            pp_proto_uint(&p, 3, 4000000 / (1 + i % 4));
            size_t stat = pp_proto_begin(&p, 4);
            pp_proto_uint(&p, 1, i % 4 == 0 ? 1 : 2);
            pp_proto_str(&p, 5, "kind_src:pinned kind_dst:device size:9 async:1");
            pp_proto_end(&p, stat);
            pp_proto_end(&p, event);
        }
        pp_proto_end(&p, line);
        for (unsigned i = 0; i < 6; i++) {
            size_t entry = pp_proto_begin(&p, i < 4 ? 4 : 5), value;
            pp_proto_uint(&p, 1, i < 4 ? i + 1 : i - 3);
            value = pp_proto_begin(&p, 2);
            pp_proto_str(&p, 2, i < 4 ? event_names[i] : i == 4 ? "step_num" : "memcpy_details");
            pp_proto_end(&p, value);
            pp_proto_end(&p, entry);
        }
        pp_proto_end(&p, plane);
    }
    *data = p.buf;
    *size = p.n;
    return !p.failed;
}

/* A small export of Nsight Systems. */
static int seed_nsys(uint8_t **data, size_t *size)
{
    const char *path = scratch_path("seed.sqlite");
    sqlite3 *db;
    remove(path);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(
            db,
            "PRAGMA page_size = 1024; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, category INTEGER, text TEXT, textId INTEGER,"
            " globalTid INTEGER, domainId INTEGER, uint64Value INTEGER);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, correlationId INTEGER, deviceId INTEGER, streamId INTEGER,"
            " bytes INTEGER, srcKind INTEGER, dstKind INTEGER);"
            "INSERT INTO StringIds VALUES(1, 'ProfilerStep#1'), (2, 'pipeprobe');"
            "INSERT INTO NVTX_EVENTS VALUES(0, NULL, 75, 0, NULL, 2, 0, 1, NULL), (10, 90, 59, 12, NULL, 1, 16777217, 0, NULL),"
            " (20, 60, 59, 9, 'enumerate(DataLoader)#_X.__next__, op_id = 3', NULL, 16777217, 0, NULL), (90, 99, 60, 12, 'step', NULL, 1, 1, 4);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(30, 40, 5, 0, 7, 4096, 0, 2)",
            NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_close(db);
    *data = scratch_read(path, size);
    return *data != NULL;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const char *const seeds[] = {
        "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":1,\"world_size\":2},\"displayTimeUnit\":\"ns\",\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":\"1\",\"args\":{\"name\":\"python\"}},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":1000.5,\"dur\":900},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\",\"pid\":1,\"tid\":1,\"ts\":1010,\"dur\":300},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pinned -> Device)\",\"pid\":0,\"tid\":7,\"ts\":1500,\"dur\":3,\"args\":{\"bytes\":7,\"correlation\":3}}"
        "],\"traceName\":\"x\\u00e9\\ud83d\\ude00\"}",
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":NaN,\"name\":\"C:\\path\"}\n{\"ph\":\"B\",\"ts\":-3}]",
        "{\"id\":1,\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":8,\"tid\":8,\"ts\":1000,\"dur\":0,\"ph\":1,\"args\":{\"hhash\":\"8e\",\"ppid\":7}}\n"
        "{\"id\":2,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":8,\"tid\":8,\"ts\":1010,\"dur\":5,\"ph\":1,\"args\":{\"ret\":512}}\n"
        "{\"name\":\"PR\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":4,\"args\":{\"name\":\"rank\",\"value\":\"3\"}}\n"
        "{\"name\":\"fetch.iter\",\"cat\":\"dataloader\",\"pid\":7,\"tid\":7,\"ts\":1001,\"dur\":50,\"ph\":\"X\"}\n"
        "{\"name\":\"fetch.block\",\"cat\":\"dataloader\",\"pid\":7,\"tid\":7,\"ts\":1051,\"dur\":50,\"ph\":1}\n",
        "#\1\2\3\4\5\6\0\1\20\60\2\1\2\1\22\10\2\1\1\1\40\60\2\2\2\1\42\20\2\2\7\6\50\1\3\2",
        "#\12\11\20\1\2\0\13\12\30\2\2\0\12\11\40\1\2\1\13\12\50\2\2\1",
    };
    static const size_t sizes[] = {0, 0, 0, 32, 25};
    if (i == sizeof(seeds) / sizeof(seeds[0]))
        return seed_nsys(data, size);
    if (i == sizeof(seeds) / sizeof(seeds[0]) + 1)
        return seed_xplane(data, size);
    if (i > sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    *size = sizes[i] ? sizes[i] : strlen(seeds[i]);
    *data = malloc(*size);
    memcpy(*data, seeds[i], *size);
    return 1;
}
