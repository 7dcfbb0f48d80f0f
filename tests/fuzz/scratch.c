#include "tests/fuzz/scratch.h"

#include "tests/fuzz/fuzz.h"

#include "collectors/store/writer.h"
#include "tests/tools/ring_peek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static void remove_dir(void)
{
    char cmd[128];
    snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
    if (system(cmd) != 0)
        perror("fuzz: rm");
}

const char *scratch_dir(void)
{
    if (!dir[0]) {
        strcpy(dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/pp-fuzz-XXXXXX" : "/tmp/pp-fuzz-XXXXXX");
        if (!mkdtemp(dir))
            abort();
        atexit(remove_dir);
    }
    return dir;
}

const char *scratch_path(const char *name)
{
    static char buf[4][256];
    static unsigned turn;
    char *out = buf[turn++ % 4];
    snprintf(out, sizeof(buf[0]), "%s/%s", scratch_dir(), name);
    return out;
}

void scratch_write(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f) != 0)
        abort();
}

uint8_t *scratch_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(1 << 20);
    if (!f || !data)
        abort();
    *size = fread(data, 1, 1 << 20, f);
    fclose(f);
    return data;
}

static void record(struct pp_session *session, struct pp_store *s)
{
    struct pp_thread *t = pp_thread_register(session, PP_LANE_TRAINER, "trainer");
    char id[24];
    snprintf(id, sizeof(id), "%016llx", (unsigned long long)pp_session_facts(session).id);
    pp_store_meta_text(s, "run", "session_id", id);
    pp_store_thread(s, &(struct pp_store_thread){
                           .id = 0, .lane = PP_LANE_TRAINER, .name = "trainer", .pid = 1, .tid = 1});
    pp_store_name(s, pp_name_intern(session, "custom"), "custom");
    pp_store_error(s, &(struct pp_store_error){.t_ns = 1,
                                               .thread = 0,
                                               .batch = 1,
                                               .sample = 2,
                                               .path = "a.jpg",
                                               .kind = "corrupt",
                                               .action = "skipped",
                                               .reason = "cut short"});
    pp_store_counter(s, 5, "rss_bytes", 1e6);
    pp_store_stack_function(
        s, &(struct pp_stack_function_row){.id = 1, .first_line = 3, .function = "f", .file = "a.py"});
    pp_store_stack_op(
        s, &(struct pp_stack_op_row){.id = 1, .path = "dataset.t", .class = "C", .arguments = "p=1"});
    for (uint32_t i = 1; i < 4; i++)
        pp_store_stack(
            s, &(struct pp_stack_row){.id = i, .parent = i - 1, .function = 1, .line = i, .op = i / 2});
    for (uint32_t i = 1; i < 4; i++)
        pp_store_stack_sample(s, &(struct pp_stack_sample_row){.t_ns = i, .stack = i, .state = 'R'});
    pp_store_request_place(s, 1, "10.0.0.1:443", "s3://bucket/a");
    for (uint64_t i = 0; i < 4; i++)
        pp_store_request(s, &(struct pp_request_row){.start_ns = i,
                                                     .first_byte_ns = 5,
                                                     .transfer_ns = i,
                                                     .sample = i,
                                                     .status = i ? 206 : 503,
                                                     .place = 1});
    pp_store_loss(s, "spans", 3, "the ring was full");
    pp_lap_start(t);
    for (uint32_t i = 0; i < 12; i++)
        pp_lap_end(t, i & 1 ? PP_PHASE_STEP : PP_PHASE_DATA_WAIT,
                   &(struct pp_lap){.batch = i / 2, .sample = 4, .flags = PP_SPAN_COUNT});
    pp_span_begin(t, PP_PHASE_CHECKPOINT, NULL);
}

/* libFuzzer calls this first: the inputs to start from go into its corpus, the directory $FUZZ_CORPUS. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *corpus = getenv("FUZZ_CORPUS");
    uint8_t *data;
    size_t size;
    char path[4096];
    for (unsigned i = 0; corpus && fuzz_seed(i, &data, &size); i++) {
        snprintf(path, sizeof(path), "%s/seed-%u", corpus, i);
        scratch_write(path, data, size);
        free(data);
    }
    return 0;
}

void scratch_run(const char *path, int finished)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) { /* ends without closing, so that its rings stay */
        char rings[300];
        struct pp_session *session;
        struct pp_store *s;
        struct pp_span spans[16];
        snprintf(rings, sizeof(rings), "%s.rings", path);
        if (pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &s, NULL) ||
            pp_session_open(&(struct pp_session_opts){.dir = rings, .ring_spans = 16}, &session, NULL))
            _exit(1);
        record(session, s);
        size_t n = ring_peek(session, 0, spans, finished ? 16 : 6);
        pp_store_append(s, 0, spans, n);
        pp_store_commit(s, NULL);
        pp_ring_release(session, 0);
        pp_store_finish(s, NULL);
        pp_store_close(s);
        if (finished)
            pp_session_close(session, 0);
        _exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        abort();
}

const char *scratch_input(const uint8_t *data, size_t size)
{
    const char *path = scratch_path("run.sqlite");
    scratch_write(path, data, size);
    unlink(scratch_path("run.sqlite-journal"));
    unlink(scratch_path("run.sqlite-wal"));
    return path;
}

int scratch_seed(unsigned i, uint8_t **data, size_t *size)
{
    if (i >= 1)
        return 0;
    scratch_run(scratch_path("seed.sqlite"), 1);
    *data = scratch_read(scratch_path("seed.sqlite"), size);
    return 1;
}

void scratch_look_at(pp_status st, const struct pp_sample *s, const struct pp_err *err)
{
    volatile unsigned sum = 0;
    if (st != PP_OK && !err->text[0])
        abort();
    for (size_t i = 0; st == PP_OK && i < s->size; i++)
        sum += s->data[i];
}

void scratch_read_samples(const struct pp_dataset *d, struct pp_sample *s)
{
    char path[512];
    for (uint64_t i = 0; i < pp_dataset_len(d) && i < SCRATCH_SAMPLES; i++) {
        struct pp_err err = {0};
        scratch_look_at(pp_dataset_read(d, i, s, &err), s, &err);
        pp_dataset_path(d, i, path, sizeof(path));
    }
    pp_dataset_describe(d, path, sizeof(path));
}
