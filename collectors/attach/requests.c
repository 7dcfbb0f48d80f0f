/* The requests that a recorded Python job's samples were made of
 * (requests_file.h), as if this process had made them: into the log of requests
 * (probe/storage/request_log.h), from which they reach the tables request and request_place and the counters
 * remote_*_total. The status of an answer is 0 where it is not known, as behind TLS; the answer has bytes.
 * Its row stands before those of the counters and of the log, which are polled behind it. */
#include "collectors/attach/requests_file.h"
#include "collectors/attach/session_files.h"
#include "collectors/collector.h"
#include "collectors/store/writer.h"
#include "probe/storage/request_log.h"

#define LONGEST_NS UINT64_C(86400000000000) /* a day: no part of a request is longer */

struct requests {
    struct pp_store *store;
    struct pp_requests_file *file;
    char path[PATH_MAX];
    uint64_t tail, lost;
    int held_up; /* the row at the tail was claimed and not written at the last poll */
};

/* A row that is not written by the second look is one whose process was killed. */
static void take_rows(struct requests *s, int last)
{
    size_t most = PP_REQUESTS_KEPT; /* as many as the log holds until it is polled */
    struct pp_requests_file *f = s->file;
    uint64_t head = __atomic_load_n(&f->head, __ATOMIC_RELAXED);
    if (head - s->tail > PP_REQUESTS_ROWS) { /* not what a recorded process writes */
        s->lost++;
        s->tail = head;
    }
    for (; s->tail != head && most; s->tail++, most--) {
        const struct pp_requests_row *row = &f->row[s->tail % PP_REQUESTS_ROWS];
        struct pp_requests_row copy = {.number = 0};
        /* pairs with the release in python/record/requests.c */
        int there = __atomic_load_n(&row->number, __ATOMIC_ACQUIRE) == s->tail + 1;
        if (!there && !s->held_up && !last) {
            s->held_up = 1;
            break;
        }
        s->held_up = 0;
        if (there)
            copy = *row;
        struct pp_read_request *r = &copy.request;
        int sound = (int64_t)r->start_ns > 0 && r->resolve_ns < LONGEST_NS && r->connect_ns < LONGEST_NS &&
                    r->tls_ns < LONGEST_NS && r->first_byte_ns < LONGEST_NS && r->transfer_ns < LONGEST_NS &&
                    (int64_t)r->bytes > 0 && r->status < 600;
        if (!there || !sound) {
            s->lost++;
            continue;
        }
        r->host[sizeof(r->host) - 1] = '\0';
        pp_count(&pp_request_counters, PP_REQUEST_COUNT_RETRIES, r->attempt != 0);
        /* No more of its name is known than the host, and that has no prefix. */
        pp_request_log_add(&(struct pp_request){.start_ns = r->start_ns,
                                                .resolve_ns = r->resolve_ns,
                                                .connect_ns = r->connect_ns,
                                                .tls_ns = r->tls_ns,
                                                .first_byte_ns = r->first_byte_ns,
                                                .transfer_ns = r->transfer_ns,
                                                .bytes = r->bytes,
                                                .sample = copy.sample,
                                                .epoch = copy.epoch,
                                                .status = r->status,
                                                .attempt = r->attempt,
                                                .flags = r->connected ? PP_REQUEST_CONNECTED : 0u},
                           r->host, "");
    }
    __atomic_store_n(&f->tail, s->tail, __ATOMIC_RELEASE); /* pairs with the acquire there */
}

static void requests_poll(void *state)
{
    take_rows(state, 0);
}

static pp_status requests_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    if (!opts->session_dir || opts->device)
        return pp_fail(err, PP_E_USAGE, "not asked to");
    struct requests *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read the job's requests");
    s->store = opts->store;
    void *ring;
    pp_status st = pp_session_ring_make(s->path, opts->session_dir, PP_REQUESTS_FILE_NAME, sizeof(*s->file),
                                        "requests", &ring, err);
    if (st != PP_OK) {
        free(s);
        return st;
    }
    s->file = ring;
    memcpy(s->file->magic, PP_REQUESTS_MAGIC, sizeof(s->file->magic));
    *out = s;
    return PP_OK;
}

static void requests_stop(void *state)
{
    struct requests *s = state;
    take_rows(s, 1);
    uint64_t lost = s->lost + __atomic_load_n(&s->file->lost, __ATOMIC_RELAXED) +
                    __atomic_load_n(&s->file->head, __ATOMIC_RELAXED) - s->tail;
    if (lost)
        pp_store_loss(s->store, "requests", lost, "requests of the job arrived faster than they were stored");
    pp_session_ring_remove(s->path, s->file, sizeof(*s->file));
    free(s);
}

const struct pp_collector pp_collector_job_requests = {
    .name = "requests of a job",
    .found = "the requests of a Python job's samples are read from its session",
    .start = requests_start,
    .poll = requests_poll,
    .stop = requests_stop,
};
