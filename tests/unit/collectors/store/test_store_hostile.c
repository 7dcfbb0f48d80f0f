/* Recordings from elsewhere: opening one runs nothing that it brings, deletes and makes nothing, and ends. */
#include "tests/support/hostile_schema.h"
#include "tests/support/store_spans.h"
#include "tests/support/chunk_encode.h"

#include "collectors/store/recover.h"
#include "probe/base/clock.h"
#include "probe/base/rng.h"
#include "probe/base/sample_list.h"

#include <fcntl.h>
#include <pipeprobe/ring.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char beside[160];

static const char *name_beside(const char *suffix)
{
    snprintf(beside, sizeof(beside), "%s%s", store_path, suffix);
    return beside;
}

static void make_recording(void)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.force = 1});
    struct pp_err err;
    spans_append(s, 0, 3000);
    pp_store_thread(s, &(struct pp_store_thread){.lane = PP_LANE_WORKER, .name = "w", .pid = 1, .tid = 1});
    pp_store_name(s, 1, "queue_ready");
    pp_store_counter(s, 5, "rss_bytes", 1e6);
    pp_store_error(s, &(struct pp_store_error){
                          .t_ns = 1, .path = "a", .kind = "io", .action = "skipped", .reason = "r"});
    pp_store_queue(s, &(struct pp_store_queue){.name = "ready", .capacity = 4});
    pp_store_loss(s, "spans", 1, "why");
    pp_store_gpu(s, &(struct pp_store_gpu){
                        .kind = "kernel", .start_ns = 3, .name = "k", .asynchronous = -1, .result = -1});
    pp_store_gpu(s, &(struct pp_store_gpu){
                        .kind = "memcpy", .start_ns = 1, .name = "m", .asynchronous = -1, .result = -1});
    pp_store_stack_function(s, &(struct pp_stack_function_row){.id = 1, .function = "f", .file = "a.py"});
    pp_store_stack_op(s,
                      &(struct pp_stack_op_row){.id = 1, .path = "dataset.t", .class = "C", .arguments = ""});
    pp_store_stack(s, &(struct pp_stack_row){.id = 1, .function = 1, .line = 4, .op = 1});
    pp_store_stack_sample(s, &(struct pp_stack_sample_row){.t_ns = 7, .stack = 1, .state = 'S'});
    pp_store_native_thread(s, &(struct pp_native_thread_row){.id = 1, .pid = 1, .tid = 2, .name = "t"});
    pp_store_thread_look(s, &(struct pp_thread_look_row){.t_ns = 7, .states = "R"});
    pp_store_request_place(s, 1, "127.0.0.1:80", "http://h");
    pp_store_request(s, &(struct pp_request_row){.start_ns = 3, .first_byte_ns = 9, .place = 1});
    pp_store_open_phase(s, &(struct pp_store_open_phase){.t_ns = 9, .since_ns = 3, .phase = PP_PHASE_READ});
    pp_store_order(s, &(struct pp_order_row){.pid = 1,
                                             .batches = 1,
                                             .samples = 2,
                                             .ended = 1,
                                             .list = (const uint8_t[]){3, 0, 2},
                                             .list_bytes = 3});
    pp_store_use(s, &(struct pp_use_row){.pid = 1, .batches = 3, .trained = 1});
    pp_store_fact(s, &(struct pp_fact_row){.pid = 1, .key = "sampler.epoch", .value = "1"});
    pp_store_state(s, &(struct pp_state_row){.pid = 1, .t_ns = 5, .action = "save", .via = "torch.save"});
    pp_store_content(s, &(struct pp_content_row){.pid = 1,
                                                 .samples = 1,
                                                 .content = (const uint8_t[8]){1},
                                                 .files = (const uint8_t[8]){2}});
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
}

/* ---- reading everything ---- */

struct rows {
    uint64_t n;
    char journal[400], unread[400];
};

static void meta_row(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    ((struct rows *)ctx)->n += strlen(key) + strlen(value) > 0;
}
static void second_row(void *ctx, const struct pp_second_row *row)
{
    ((struct rows *)ctx)->n += pp_second_at_least(row, 1) > 0;
}
static void error_row(void *ctx, const struct pp_error_row *row)
{
    ((struct rows *)ctx)->n++;
}
static void queue_row(void *ctx, const struct pp_queue_row *row)
{
    ((struct rows *)ctx)->n++;
}
static void counter_row(void *ctx, uint64_t t_ns, const char *name, double value)
{
    ((struct rows *)ctx)->n++;
}
static void request_row(void *ctx, const struct pp_request_row *row)
{
    ((struct rows *)ctx)->n++;
}
static void gpu_row(void *ctx, const struct pp_gpu_row *row)
{
    ((struct rows *)ctx)->n++;
}
static void open_phase_row(void *ctx, const struct pp_open_phase_row *row)
{
    ((struct rows *)ctx)->n++;
}
static void proof_row(void *ctx, const struct pp_proof_row *row)
{
    ((struct rows *)ctx)->n++;
}
static void order_row(void *ctx, const struct pp_order_row *row)
{
    struct pp_sample_list l = {.at = row->list, .end = row->list + row->list_bytes};
    uint64_t n, sample;
    while (row->list && pp_sample_list_batch(&l, &n))
        while (pp_sample_list_next(&l, &sample))
            ((struct rows *)ctx)->n++;
}
static void use_row(void *ctx, const struct pp_use_row *row)
{
    ((struct rows *)ctx)->n += row->first_batch + row->batches > 0;
}
static void fact_row(void *ctx, const struct pp_fact_row *row)
{
    ((struct rows *)ctx)->n += strlen(row->key) + strlen(row->value) > 0;
}
static void state_row(void *ctx, const struct pp_state_row *row)
{
    ((struct rows *)ctx)->n += strlen(row->action) + strlen(row->via) + strlen(row->path ? row->path : "") >
                               0;
}
static void content_row(void *ctx, const struct pp_content_row *row)
{
    for (uint32_t i = 0; i < row->samples; i++)
        ((struct rows *)ctx)->n += pp_content_hash(row->content, i) != pp_content_hash(row->files, i);
}
static void loss_row(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct rows *rows = ctx;
    rows->n++;
    if (strcmp(what, "journal") == 0)
        snprintf(rows->journal, sizeof(rows->journal), "%s", why);
    if (strcmp(what, "list of threads, names or settings") == 0)
        snprintf(rows->unread, sizeof(rows->unread), "%s", why);
}
static int sound_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!pp_phase_info(spans[i].phase) || spans[i].start_ns + spans[i].dur_ns > INT64_MAX)
            fail_msg("a span of phase %u was handed on", spans[i].phase);
    ((struct rows *)ctx)->n += n;
    return 0;
}

/* As a report and a dashboard do; failures are fine where they say something. */
static struct rows read_all(pp_status *opened, struct pp_err *err)
{
    struct rows rows = {0};
    struct pp_reader *r = NULL;
    const struct pp_thread_row *threads;
    int64_t last = 0;
    *opened = pp_reader_open(store_path, &r, err);
    if (*opened) {
        assert_true(err->text[0]);
        return rows;
    }
    *opened = pp_reader_check(r, err);
    rows.n += pp_reader_threads(r, &threads);
    pp_status each[] = {
        pp_reader_each_meta(r, "run", meta_row, &rows, err),
        pp_reader_each_chunk(r, sound_spans, &rows, NULL, err),
        pp_reader_each_second_after(r, &last, second_row, &rows, err),
        pp_reader_each_error(r, NULL, error_row, &rows, err),
        pp_reader_each_queue(r, queue_row, &rows, err),
        pp_reader_each_counter(r, NULL, counter_row, &rows, err),
        pp_reader_each_gpu(r, gpu_row, &rows, err),
        pp_reader_each_request(r, NULL, request_row, &rows, err),
        pp_reader_each_request(r, &(struct pp_request_wanted){.by_start = 1}, request_row, &rows, err),
        pp_reader_each_open_phase(r, 0, UINT64_MAX, open_phase_row, &rows, err),
        pp_reader_each_loss(r, loss_row, &rows, err),
        pp_reader_each_proof(r, proof_row, &rows, err),
        pp_reader_each_order(r, NULL, order_row, &rows, err),
        pp_reader_each_use(r, use_row, &rows, err),
        pp_reader_each_fact(r, fact_row, &rows, err),
        pp_reader_each_state(r, state_row, &rows, err),
        pp_reader_each_content(r, content_row, &rows, err),
    };
    for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
        *opened = *opened ? *opened : each[i];
    pp_reader_name(r, 1);
    pp_reader_meta(r, "run", "outcome");
    pp_reader_close(r);
    return rows;
}

/* ---- the schema ---- */

static void test_a_schema_runs_nothing(void **state)
{
    int changed = 0, refused = 0;
    for (size_t kind = 0; kind < hostile_kinds(); kind++)
        for (size_t table = 0; table < hostile_tables(); table++) {
            struct pp_err err;
            pp_status status;
            make_recording();
            int done = hostile_change(store_path, kind, table, kind + table, table);
            uint64_t from = pp_thread_cpu_ns();
            alarm(120);
            read_all(&status, &err);
            alarm(0);
            if (pp_thread_cpu_ns() - from > 20000000000u)
                fail_msg("%s, %s: took %.1f s of CPU time", hostile_kind_name(kind),
                         hostile_table_name(table), (double)(pp_thread_cpu_ns() - from) / 1e9);
            changed += done;
            refused += status != PP_OK;
        }
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    print_message("# %d changes made, %d refused, %ld MiB\n", changed, refused, u.ru_maxrss >> 10);
    assert_true(changed > 200 && refused > 80);
    assert_true(u.ru_maxrss < 512 << 10); /* a sanitizer's own memory too */
}

static void test_disguises_are_refused(void **state)
{
    static const char *const said[] = {"endless view",
                                       "view of huge texts",
                                       "view that is called a table",
                                       "virtual table",
                                       "virtual table that is called a table",
                                       "generated column",
                                       "dropped column"};
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
        for (size_t kind = 0; kind < hostile_kinds(); kind++) {
            struct pp_err err;
            pp_status status;
            if (strcmp(hostile_kind_name(kind), said[i]) != 0)
                continue;
            make_recording();
            assert_true(hostile_change(store_path, kind, 7, 2, 0)); /* loss.why */
            read_all(&status, &err);
            if (!status || !strstr(err.text, store_path))
                fail_msg("%s: %s", said[i], status ? err.text : "was read");
        }
}

static void test_pages_without_end_end(void **state)
{
    static const char *const tables[] = {"loss", "chunk",         "thread",  "meta",
                                         "gpu",  "rollup_second", "counter", "sample_order"};
#ifdef __SANITIZE_ADDRESS__
    const size_t n = sizeof(tables) / sizeof(*tables);
#else
    const size_t n = 4; /* a second each; the rest under the sanitizers */
#endif
    for (size_t i = 0; i < n; i++) {
        struct pp_err err;
        pp_status status;
        make_recording();
        assert_true(hostile_endless_tree(store_path, tables[i]));
        uint64_t from = pp_thread_cpu_ns();
        alarm(300);
        read_all(&status, &err);
        alarm(0);
        print_message("# %s: %.1f s, %s\n", tables[i], (double)(pp_thread_cpu_ns() - from) / 1e9,
                      status ? err.text : "read");
        if (strcmp(tables[i], "meta") != 0) /* which is looked up by its index */
            assert_int_not_equal(status, PP_OK);
        assert_true(pp_thread_cpu_ns() - from < 60000000000u);
    }
}

/* ---- journals and logs ---- */

static void put32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* A hot journal without pages; super: the file it names as that of several databases, or NULL. */
static void put_journal(const char *super)
{
    static const uint8_t magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint8_t j[2048] = {0};
    size_t n = 512, len = super ? strlen(super) : 0;
    uint32_t sum = 0;
    memcpy(j, magic, sizeof(magic));
    put32(j + 16, (uint32_t)store_query("PRAGMA page_count"));
    put32(j + 20, 512);
    put32(j + 24, (uint32_t)store_query("PRAGMA page_size"));
    if (super) {
        put32(j + n, 0x40000000 / (uint32_t)store_query("PRAGMA page_size") + 1);
        memcpy(j + n + 4, super, len);
        for (size_t i = 0; i < len; i++)
            sum += (uint8_t)super[i];
        put32(j + n + 4 + len, (uint32_t)len);
        put32(j + n + 8 + len, sum);
        memcpy(j + n + 12 + len, magic, sizeof(magic));
        n += len + 20;
    }
    int fd = open(name_beside("-journal"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, j, n), n);
    close(fd);
}

static char *make_precious(void)
{
    static char precious[160];
    snprintf(precious, sizeof(precious), "%s/precious.txt", store_dir);
    FILE *f = fopen(precious, "w");
    fputs("years of work", f);
    fclose(f);
    return precious;
}

static void test_no_journal_deletes_a_file(void **state)
{
    struct pp_err err;
    pp_status status;
    sqlite3 *db;
    make_recording();
    char *precious = make_precious();
    put_journal(precious);
    struct rows rows = read_all(&status, &err);
    assert_int_equal(status, PP_OK);
    assert_true(rows.n > 3000);
    assert_non_null(strstr(rows.journal, "names another file"));
    assert_int_equal(access(precious, F_OK), 0);
    assert_int_equal(access(name_beside("-journal"), F_OK), 0);
    /* SQLite itself would: what is made here is the real thing. */
    assert_int_equal(sqlite3_open(store_path, &db), SQLITE_OK);
    sqlite3_exec(db, "SELECT 1 FROM meta", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_not_equal(access(precious, F_OK), 0);
}

static void test_our_journal_is_rolled_back(void **state)
{
    struct pp_err err;
    pp_status status;
    make_recording();
    put_journal(NULL);
    struct rows rows = read_all(&status, &err);
    assert_int_equal(status, PP_OK);
    assert_string_equal(rows.journal, "");
    assert_int_not_equal(access(name_beside("-journal"), F_OK), 0);
}

static void test_a_foreign_journal_stays(void **state)
{
    struct pp_err err;
    pp_status status;
    if (geteuid() != 0)
        skip();
    make_recording();
    put_journal(NULL);
    assert_int_equal(chown(name_beside("-journal"), 12345, 12345), 0);
    struct rows rows = read_all(&status, &err);
    assert_int_equal(status, PP_OK);
    assert_non_null(strstr(rows.journal, "another user"));
    struct stat st;
    assert_int_equal(stat(name_beside("-journal"), &st), 0);
    assert_int_equal(st.st_uid, 12345); /* and is not given away */
    assert_int_equal(access(name_beside("-journal"), F_OK), 0);
    assert_int_equal(chown(name_beside("-journal"), 0, 0), 0);
    assert_int_equal(chown(store_path, 12345, 12345),
                     0); /* the recording is another's: root leaves it alone too */
    rows = read_all(&status, &err);
    assert_non_null(strstr(rows.journal, "another user"));
    assert_int_equal(access(name_beside("-journal"), F_OK), 0);
}

static void count_names(char *out, size_t size)
{
    char cmd[200];
    snprintf(cmd, sizeof(cmd), "cd '%s' && ls -A | tr '\\n' ' '", store_dir);
    FILE *in = popen(cmd, "r");
    out[fread(out, 1, size - 1, in)] = '\0';
    pclose(in);
}

/* What came from another machine with its log: all of it is read, and nothing is made beside it. */
static void test_a_copied_log_is_read(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    struct pp_err err;
    pp_status status;
    char cmd[500], before[400], after[400];
    spans_append(s, 0, 3000);
    assert_int_equal(pp_store_commit(s, &err), PP_OK);
    snprintf(cmd, sizeof(cmd), "mkdir '%s/kept' && cp '%s' '%s-wal' '%s/kept'", store_dir, store_path,
             store_path, store_dir);
    assert_int_equal(system(cmd), 0);
    pp_store_close(s);
    snprintf(cmd, sizeof(cmd), "rm -f '%s'* && mv '%s/kept/'* '%s' && rmdir '%s/kept'", store_path, store_dir,
             store_dir, store_dir);
    assert_int_equal(system(cmd), 0);
    count_names(before, sizeof(before));
    assert_string_equal(before, "run.sqlite run.sqlite-wal ");
    struct rows rows = read_all(&status, &err);
    assert_int_equal(status, PP_OK);
    assert_true(rows.n >= 3000);
    count_names(after, sizeof(after));
    assert_string_equal(after, before);
    unlink(name_beside("-wal")); /* without its log: what the file has, which here is no span */
    read_all(&status, &err);
    assert_int_equal(status, PP_OK);
    count_names(after, sizeof(after));
    assert_string_equal(after, "run.sqlite ");
}

/* A log whose bytes were changed anywhere, or that was cut: read as far as its checksums hold, or refused. */
static void test_a_changed_log_is_read_or_refused(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    struct pp_rng rng = pp_rng_key(2, 7, 1, 8);
    struct pp_err err;
    char cmd[500];
    for (int i = 0; i < 8; i++) {
        spans_append(s, (uint64_t)i * 400, 400);
        assert_int_equal(pp_store_commit(s, &err), PP_OK);
    }
    snprintf(cmd, sizeof(cmd), "mkdir '%s/kept' && cp '%s' '%s-wal' '%s/kept'", store_dir, store_path,
             store_path, store_dir);
    assert_int_equal(system(cmd), 0);
    pp_store_close(s);
    snprintf(cmd, sizeof(cmd), "cp '%s/kept/'* '%s'", store_dir, store_dir);
    for (int trial = 0; trial < 150; trial++) {
        pp_status status;
        struct stat st;
        assert_int_equal(system(cmd), 0);
        int fd = open(name_beside("-wal"), O_RDWR);
        assert_int_equal(fstat(fd, &st), 0);
        for (int k = 0; k < 4; k++) {
            uint8_t b = (uint8_t)pp_rng_next(&rng);
            uint64_t near = trial & 1 ? 64 : (uint64_t)st.st_size;
            assert_int_equal(pwrite(fd, &b, 1, (off_t)pp_rng_below(&rng, near)), 1);
        }
        if (trial % 5 == 4)
            assert_int_equal(ftruncate(fd, (off_t)pp_rng_below(&rng, (uint64_t)st.st_size)), 0);
        close(fd);
        alarm(30);
        read_all(&status, &err);
        alarm(0);
    }
}

static void test_pipes_are_refused_at_once(void **state)
{
    static const char *const suffixes[] = {"-journal", "-wal", "-shm", ""};
    struct pp_err err;
    pp_status status;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        make_recording();
        unlink(name_beside(suffixes[i]));
        assert_int_equal(mkfifo(beside, 0600), 0);
        alarm(10);
        read_all(&status, &err);
        alarm(0);
        assert_int_not_equal(status, PP_OK);
        assert_non_null(strstr(err.text, store_path));
        unlink(beside);
    }
    char session[160];
    make_recording();
    mkdir(store_rings, 0700);
    snprintf(session, sizeof(session), "%s/session", store_rings);
    assert_int_equal(mkfifo(session, 0600), 0);
    alarm(10);
    read_all(&status, &err);
    alarm(0);
    assert_int_equal(status, PP_OK); /* the file itself is sound */
}

/* ---- chunks ---- */

static void test_unsound_spans_are_left_out(void **state)
{
    struct pp_span spans[300];
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_err err;
    sqlite3 *db;
    sqlite3_stmt *st;
    size_t size;
    make_recording();
    for (size_t i = 0; i < 300; i++)
        spans[i] = (struct pp_span){.start_ns = 1000 * i, .dur_ns = 900, .phase = PP_PHASE_READ, .batch = 3};
    spans[7].phase = 0;
    spans[8].phase = 255;
    spans[9].phase = PP_PHASE_COUNT;
    spans[200].start_ns = 1ull << 63;
    spans[201].start_ns = 5, spans[201].dur_ns = UINT64_MAX;
    const uint8_t *body = chunk_encode(c, spans, 300, 0, &size);
    assert_int_equal(sqlite3_open(store_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM chunk", NULL, NULL, NULL), SQLITE_OK);
    for (sqlite3_int64 thread = 0; thread < 2; thread++) { /* the second of a thread that cannot be */
        uint32_t id = thread ? PP_THREADS_MAX : 0;
        assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO chunk VALUES(?,?,0,300,0,300000,?,?,300)", -1,
                                            &st, NULL),
                         SQLITE_OK);
        sqlite3_bind_int64(st, 1, thread + 1);
        sqlite3_bind_int64(st, 2, id);
        sqlite3_bind_int64(st, 3, (sqlite3_int64)pp_chunk_checksum(id, 0, 300, body, size));
        sqlite3_bind_blob(st, 4, body, (int)size, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(st), SQLITE_DONE);
        sqlite3_finalize(st);
    }
    sqlite3_close(db);
    struct pp_reader *r = store_open_reader();
    struct rows rows = {0};
    uint64_t bad = 0;
    assert_int_equal(pp_reader_each_chunk(r, sound_spans, &rows, &bad, &err), PP_OK);
    assert_int_equal(rows.n, 295);
    assert_int_equal(bad, 2);
    /* Also where a walk asks for other columns. */
    rows.n = 0;
    assert_int_equal(pp_reader_each_chunk_of(r, &(struct pp_wanted){.columns = PP_COLUMN_BATCH}, sound_spans,
                                             &rows, &bad, &err),
                     PP_OK);
    assert_int_equal(rows.n, 295);
    pp_reader_close(r);
    pp_chunk_codec_free(c);
}

/* Whichever table a damaged page belongs to, reading says so. */
static void test_a_damaged_page_is_said(void **state)
{
    static const char *const unread[] = {"span",          "rollup_batch",
                                         "phase",         "gpu_clock",
                                         "stack",         "stack_function",
                                         "stack_op",      "stack_thread",
                                         "stack_sample",  "stack_rollup",
                                         "native_thread", "thread_look"}; /* for other programs */
    sqlite3 *db;
    struct table {
        char name[32];
        long at;
    } tables[64];
    size_t n = 0, said = 0;
    char page[65536];
    make_recording();
    sqlite3_stmt *st = store_first_row(&db, SQLITE_OPEN_READONLY,
                                       "SELECT name, rootpage FROM sqlite_master WHERE type = 'table'");
    do {
        tables[n].at = sqlite3_column_int(st, 1) - 1;
        snprintf(tables[n++].name, sizeof(tables->name), "%s", (const char *)sqlite3_column_text(st, 0));
    } while (n < 64 && sqlite3_step(st) == SQLITE_ROW);
    sqlite3_finalize(st);
    sqlite3_close(db);
    size_t size = (size_t)store_query("PRAGMA page_size");
    memset(page, 0xa5, sizeof(page));
    for (size_t i = 0; i < n; i++) {
        struct pp_err err = {.code = PP_OK};
        pp_status status;
        make_recording();
        int fd = open(store_path, O_WRONLY);
        assert_int_equal(pwrite(fd, page, size, tables[i].at * (long)size), size);
        close(fd);
        struct rows rows = read_all(&status, &err);
        const char *text = status ? err.text : rows.unread;
        int of_others = 0;
        for (size_t k = 0; k < sizeof(unread) / sizeof(*unread); k++)
            of_others |= strcmp(tables[i].name, unread[k]) == 0;
        if (!of_others != !!strstr(text, "it is damaged"))
            fail_msg("%s: \"%s\"", tables[i].name, text);
        if (status)
            assert_int_equal(status, PP_E_CORRUPT);
        said += !of_others;
    }
    assert_true(said >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_a_schema_runs_nothing),      STORE_TEST(test_disguises_are_refused),
        STORE_TEST(test_pages_without_end_end),      STORE_TEST(test_no_journal_deletes_a_file),
        STORE_TEST(test_our_journal_is_rolled_back), STORE_TEST(test_a_foreign_journal_stays),
        STORE_TEST(test_a_copied_log_is_read),       STORE_TEST(test_a_changed_log_is_read_or_refused),
        STORE_TEST(test_pipes_are_refused_at_once),  STORE_TEST(test_unsound_spans_are_left_out),
        STORE_TEST(test_a_damaged_page_is_said),
    };
    pp_reader_set_before(pp_recording_recover); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
