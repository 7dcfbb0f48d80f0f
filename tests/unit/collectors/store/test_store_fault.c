/* Disk trouble: the Nth write, sync or allocation of SQLite fails, for every N. The file is then absent, or
 * opens and holds what was acknowledged. Faults are injected below SQLite, in a VFS that wraps the system's.
 */
#include "tests/support/store_dir.h"

#include "collectors/store/reader.h"
#include "collectors/store/recover.h"
#include "collectors/store/store.h"

#include <sys/resource.h>

/* The Nth call fails (1-based, 0: none), and with sticky every one after it, as on a disk that stays full. */
static struct {
    long nth, calls;
    int sticky, code;
    int no_shared_memory;
    int early_checkpoints; /* a log of four pages goes into the database, by its thread */
} fault;

static int failing(void)
{
    if (!fault.nth)
        return 0;
    long n = __atomic_add_fetch(&fault.calls, 1,
                                __ATOMIC_RELAXED); /* a thread that moves the log calls too */
    return n == fault.nth || (fault.sticky && n > fault.nth);
}

struct file {
    sqlite3_file base;
    sqlite3_io_methods methods; /* the real ones with ours in place */
    sqlite3_file *real;
    int64_t room[]; /* SQLite gives 8-byte alignment */
};

static sqlite3_vfs *system_vfs, wrapping_vfs;

#define REAL(f) (((struct file *)(f))->real)
static int f_close(sqlite3_file *f)
{
    return REAL(f)->pMethods ? REAL(f)->pMethods->xClose(REAL(f)) : SQLITE_OK;
}
static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}
static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    return failing() ? fault.code : REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return REAL(f)->pMethods->xTruncate(REAL(f), n);
}
static int f_sync(sqlite3_file *f, int flags)
{
    return failing() ? SQLITE_IOERR_FSYNC : REAL(f)->pMethods->xSync(REAL(f), flags);
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), n);
}
static int f_lock(sqlite3_file *f, int l)
{
    return REAL(f)->pMethods->xLock(REAL(f), l);
}
static int f_unlock(sqlite3_file *f, int l)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), l);
}
static int f_reserved(sqlite3_file *f, int *out)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}
static int f_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}
static int f_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}
static int f_device(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}
static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, out);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, flags);
}
static void f_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}
static int f_shm_unmap(sqlite3_file *f, int del)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), del);
}

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct file *f = (struct file *)file;
    f->real = (sqlite3_file *)f->room;
    f->methods = (sqlite3_io_methods){
        fault.no_shared_memory ? 1 : 2,
        f_close,
        f_read,
        f_write,
        f_truncate,
        f_sync,
        f_size,
        f_lock,
        f_unlock,
        f_reserved,
        f_control,
        f_sector,
        f_device,
        f_shm_map,
        f_shm_lock,
        f_shm_barrier,
        f_shm_unmap,
        NULL,
        NULL,
    };
    f->base.pMethods = NULL;
    int code = system_vfs->xOpen(system_vfs, name, f->real, flags, out);
    if (code == SQLITE_OK)
        f->base.pMethods = &f->methods;
    return code;
}

static sqlite3_mem_methods system_memory;
static void *m_malloc(int n)
{
    return fault.code == SQLITE_NOMEM && failing() ? NULL : system_memory.xMalloc(n);
}
static void *m_realloc(void *p, int n)
{
    return fault.code == SQLITE_NOMEM && failing() ? NULL : system_memory.xRealloc(p, n);
}

static void install(void)
{
    sqlite3_mem_methods mem;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory);
    mem = system_memory;
    mem.xMalloc = m_malloc;
    mem.xRealloc = m_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &mem);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation can fail */
    sqlite3_initialize();
    system_vfs = sqlite3_vfs_find(NULL);
    wrapping_vfs = *system_vfs;
    wrapping_vfs.zName = "faulty";
    wrapping_vfs.szOsFile = (int)sizeof(struct file) + system_vfs->szOsFile;
    wrapping_vfs.xOpen = v_open;
    sqlite3_vfs_register(&wrapping_vfs, 1);
}

static int sound_setup(void **state)
{
    memset(&fault, 0, sizeof(fault));
    return store_setup(state);
}

static int sound_teardown(void **state)
{
    memset(&fault, 0, sizeof(fault));
    return store_teardown(state);
}

#define FAULT_TEST(f) cmocka_unit_test_setup_teardown(f, sound_setup, sound_teardown)

enum { COMMITS = 3, SPANS = 300 };

struct outcome {
    pp_status create, first_failure, finish;
    uint64_t acknowledged;
    struct pp_err err;
};

static void record(struct outcome *o)
{
    struct pp_store *s = NULL;
    struct pp_span spans[SPANS];
    memset(o, 0, sizeof(*o));
    o->create = pp_store_create(&(struct pp_store_opts){.path = store_path, .force = 1}, &s, &o->err);
    if (o->create)
        return;
    if (fault.early_checkpoints) {
        pp_store_end_checkpoints(s);
        s->checkpoint = pp_checkpoint_new(
            &(struct pp_checkpoint_opts){.db = s->db, .path = store_path, .from = 4, .most = 64});
    }
    for (uint64_t c = 0; c < COMMITS; c++) {
        for (uint64_t i = 0; i < SPANS; i++)
            spans[i] = (struct pp_span){.start_ns = (c * SPANS + i) * 1000,
                                        .dur_ns = i * 7919 % 1000,
                                        .sample = c * SPANS + i,
                                        .batch = (uint32_t)i,
                                        .phase = PP_PHASE_READ};
        pp_store_append(s, 0, spans, SPANS);
        pp_store_error(
            s, &(struct pp_store_error){.path = "p", .kind = "io", .action = "skipped", .reason = "r"});
        pp_status status = pp_store_commit(s, &o->err);
        if (!status)
            o->acknowledged = (c + 1) * SPANS;
        else if (!o->first_failure)
            o->first_failure = status;
    }
    o->finish = pp_store_finish(s, &o->err);
    pp_store_close(s);
}

static int see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    uint64_t *next = ctx;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(spans[i].sample, (*next)++);
    return 0;
}

/* What must hold whatever failed. */
static void check(const struct outcome *o)
{
    struct pp_reader *r;
    struct pp_err err;
    uint64_t n = 0, bad = 0;
    fault.nth = 0;
    if (o->create) {
        assert_true(o->err.text[0]);
        assert_int_not_equal(access(store_path, F_OK), 0);
        return;
    }
    if (o->first_failure || o->finish)
        assert_true(o->err.text[0]);
    if (pp_reader_open(store_path, &r, &err))
        fail_msg("N = %ld: %s", fault.calls, err.text);
    if (pp_reader_each_chunk(r, see, &n, &bad, &err))
        fail_msg("N = %ld: %s", fault.calls, err.text);
    assert_int_equal(bad, 0);
    assert_true(n >= o->acknowledged && n % SPANS == 0);
    pp_reader_close(r);
    store_assert_integrity();
}

/* ThreadSanitizer, which takes ten times as long, watches what the thread of checkpoints does; the rest has
 * one thread, and every seventh N is enough. */
#ifdef __SANITIZE_THREAD__
#define STEP (fault.early_checkpoints ? 1 : 7)
#else
#define STEP 1
#endif

/* Runs with the Nth call failing until a run meets no fault; returns how many N there were. */
static long for_every_n(int code, int sticky, long stride)
{
    struct outcome o;
    for (long n = 1;; n += STEP * (n < 200 ? 1 : stride)) {
        fault.nth = n;
        fault.calls = 0;
        fault.code = code;
        fault.sticky = sticky;
        record(&o);
        int reached = fault.calls >= n;
        check(&o);
        if (!reached) {
            assert_int_equal(o.create, PP_OK);
            assert_int_equal(o.finish, PP_OK);
            assert_int_equal(o.acknowledged, COMMITS * SPANS);
            return n;
        }
        if (sticky && code == SQLITE_FULL && o.first_failure)
            assert_int_equal(o.first_failure, PP_E_NO_SPACE);
        assert_true(!sticky || code == SQLITE_NOMEM || o.create || o.finish);
    }
}

static void test_disk_full_from_write_n_on(void **state)
{
    assert_true(for_every_n(SQLITE_FULL, 1, 1) > 50);
}

static void test_write_n_fails_once(void **state)
{
    assert_true(for_every_n(SQLITE_IOERR_WRITE, 0, 1) > 50);
}

static void test_allocation_n_fails(void **state)
{
    assert_true(for_every_n(SQLITE_NOMEM, 0, 61) > 200);
}

static void test_moving_the_log_fails(void **state)
{
    fault.early_checkpoints = 1;
    assert_true(for_every_n(SQLITE_IOERR_WRITE, 0, 1) > 50);
    fault.early_checkpoints = 1;
    assert_true(for_every_n(SQLITE_FULL, 0, 1) > 50);
}

/* The sentence a user gets names the file, the cause, and what is still there. */
static void test_sentence(void **state)
{
    struct outcome o = {.create = PP_E_NO_SPACE};
    fault.sticky = 1;
    fault.code = SQLITE_FULL;
    for (long n = 40; o.create && n < 400; n++) { /* the first write after the tables were made */
        fault.nth = n;
        fault.calls = 0;
        record(&o);
    }
    check(&o);
    assert_int_equal(o.create, PP_OK);
    assert_int_equal(o.finish, PP_E_NO_SPACE);
    assert_non_null(strstr(o.err.text, store_path));
    assert_non_null(strstr(o.err.text, "full"));
    assert_non_null(strstr(o.err.text, "stay readable"));
}

/* RLIMIT_FSIZE: the write fails with EFBIG, and SIGXFSZ does not end us. */
static void test_file_size_limit(void **state)
{
    struct rlimit old, low;
    struct outcome o;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 360000; /* the tables and the first commits fit */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    record(&o);
    setrlimit(RLIMIT_FSIZE, &old);
    check(&o);
    assert_int_equal(o.create, PP_OK);
    assert_int_equal(o.finish, PP_E_NO_SPACE);
    assert_true(o.acknowledged >= SPANS);
}

static void find_log_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    *(int *)ctx |= strcmp(what, "write_ahead_log") == 0 && strstr(why, "does not support it");
}

static void test_without_wal(void **state)
{
    struct outcome o;
    struct pp_reader *r;
    struct pp_err err;
    int said = 0;
    fault.no_shared_memory = 1;
    record(&o);
    check(&o);
    assert_int_equal(o.finish, PP_OK);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_string_equal(pp_reader_meta(r, "run", "journal_mode"), "delete");
    assert_int_equal(pp_reader_each_loss(r, find_log_loss, &said, &err), PP_OK);
    assert_true(said);
    pp_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(test_disk_full_from_write_n_on),
        FAULT_TEST(test_write_n_fails_once),
        FAULT_TEST(test_allocation_n_fails),
        FAULT_TEST(test_moving_the_log_fails),
        FAULT_TEST(test_sentence),
        FAULT_TEST(test_file_size_limit),
        FAULT_TEST(test_without_wal),
    };
    install();
    pp_reader_set_before(pp_recording_recover); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
