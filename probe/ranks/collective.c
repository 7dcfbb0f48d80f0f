#include "probe/ranks/collective.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the meeting in a file ----
 *
 * The file that the ranks of a run share (collective.h): a line per rank, a bell,
 * and locks that say who is alive. Private to the collective step.
 *
 * Two kinds of bytes are locked, whatever stands in them, by the open file description (F_OFD_SETLK), so that
 * the kernel unlocks them when the process ends, however it ends: the door, while the file is begun, joined
 * or left; and a place per rank, for as long as the rank is there. */

/* What a rank is to the others. It comes in once, behind the door; what becomes of it is said by compare and
 * swap, by itself (LEFT) or by the rank that finds it. */
enum { PP_RANK_ABSENT, PP_RANK_HERE, PP_RANK_LEFT, PP_RANK_DIED, PP_RANK_LATE, PP_RANK_NEVER_CAME };

/* A cache line per rank, of which all but the state is written by that rank alone. */
struct pp_rank_line {
    _Atomic uint32_t state, pid;
    _Atomic uint64_t meetings;   /* it came to; the first is before the first step */
    _Atomic uint64_t came_ns[2]; /* to the newest of them and the one before, by the lowest bit of their
                                    number: who is one ahead overwrites nothing that is still read */
    uint64_t unused[4];
};

struct pp_ranks_shared {
    char magic[8];
    uint32_t world_size;
    _Atomic uint32_t bell; /* what waiters sleep on */
    uint64_t unused[6];
    struct pp_rank_line line[];
};

struct pp_ranks_file {
    char *path;
    int fd;
    struct pp_ranks_shared *shared;
    size_t size;
};

static const char magic[8] = "ppranks1";

/* It is held for microseconds, or by a process that was stopped in it */
#define DOOR_WAIT_NS UINT64_C(5000000000)
#define DOOR_LOOK_NS 1000000
enum { DOOR = 0, PLACES = 1 };

_Static_assert(sizeof(struct pp_rank_line) == 64 && sizeof(struct pp_ranks_shared) == 64,
               "lines of 64 bytes");

/* ---- locks ---- */

static int lock_byte(int fd, short type, off_t at)
{
    struct flock fl = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &fl);
}

/* Whether another process holds one of n bytes. */
static int is_held(int fd, off_t at, off_t n)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    return fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
}

static int is_the_file_at(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Opens the file and goes through its door. Who leaves last removes the file: then it is opened once more.
 * Never through a link, which any user may have put where the file is expected (/dev/shm, /tmp); and only a
 * file that others cannot cut or write: a rank that has mapped it would be ended by SIGBUS. */
static pp_status enter(struct pp_ranks_file *f, struct pp_err *err)
{
    uint64_t until = pp_now_ns() + DOOR_WAIT_NS;
    struct stat info;
    for (;;) {
        f->fd = open(f->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (f->fd < 0 && errno == ENOENT) {
            f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            if (f->fd < 0 && errno == EEXIST)
                continue; /* another rank was faster */
        }
        if (f->fd < 0 && errno == EISDIR)
            return pp_fail(err, PP_E_USAGE, "--collective: %s is a directory; name a file in it", f->path);
        if (f->fd < 0 && errno == ELOOP)
            return pp_fail(err, PP_E_USAGE, "--collective: %s is a symbolic link; name the file itself",
                           f->path);
        if (f->fd < 0 || fstat(f->fd, &info) != 0)
            return pp_fail_errno(err, errno, "--collective: opening %s failed", f->path);
        if (info.st_uid != geteuid() || (info.st_mode & S_IWOTH))
            return pp_fail(err, PP_E_ACCESS,
                           "--collective: %s %s; name a file of your own that others cannot write", f->path,
                           info.st_uid != geteuid() ? "belongs to another user"
                                                    : "can be written by other users");
        int held = lock_byte(f->fd, F_WRLCK, DOOR) == 0;
        if (held && is_the_file_at(f->fd, f->path))
            return PP_OK;
        if (!held && errno != EAGAIN && errno != EACCES)
            return pp_fail_errno(err, errno,
                                 "--collective: %s cannot be locked (name a file in /dev/shm or /tmp)",
                                 f->path);
        close(f->fd);
        f->fd = -1;
        if (pp_now_ns() > until)
            return pp_fail(
                err, PP_E_SYSTEM,
                "--collective: another process has kept %s locked for 5 s; end it, or name another file",
                f->path);
        pp_sleep_until_ns(pp_now_ns() + DOOR_LOOK_NS);
    }
}

/* ---- the file's contents, behind the door ---- */

/* Contents of ranks that are there have to be of the same number; those of a run that is over begin anew. */
static pp_status join_or_begin(struct pp_ranks_file *f, uint32_t world_size, struct pp_err *err)
{
    int company = is_held(f->fd, PLACES, PP_COLLECTIVE_RANKS);
    struct stat info;
    char begins[sizeof(magic)] = {0}, none[sizeof(magic)] = {0};
    uint32_t theirs = 0;
    if (fstat(f->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        (info.st_size && pread(f->fd, begins, sizeof(begins), 0) != (ssize_t)sizeof(begins)) ||
        (memcmp(begins, magic, sizeof(magic)) != 0 &&
         memcmp(begins, none, sizeof(none)) != 0)) /* nothing: new, or the process that began it died */
        return pp_fail(err, PP_E_USAGE,
                       "--collective: %s is not a file of the ranks; name a new file for the ranks to share",
                       f->path);
    if (company) {
        if (pread(f->fd, &theirs, sizeof(theirs), offsetof(struct pp_ranks_shared, world_size)) ==
                (ssize_t)sizeof(theirs) &&
            theirs == world_size)
            return PP_OK;
        return pp_fail(
            err, PP_E_USAGE,
            "--world-size %u: the ranks that share %s already have --world-size %u; give all of them the same, or name another file",
            world_size, f->path, theirs);
    }
    /* Its room is asked for now, since a mapped page that finds none would end the process. */
    int rc = ftruncate(f->fd, 0) == 0 ? posix_fallocate(f->fd, 0, (off_t)f->size) : errno;
    if (rc == 0 && pwrite(f->fd, &world_size, sizeof(world_size),
                          offsetof(struct pp_ranks_shared, world_size)) != (ssize_t)sizeof(world_size))
        rc = errno;
    if (rc == 0 && pwrite(f->fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
        rc = errno;
    return rc ? pp_fail_errno(err, rc, "--collective: writing %s failed", f->path) : PP_OK;
}

static pp_status take_place(struct pp_ranks_file *f, const struct pp_collective_opts *o, struct pp_err *err)
{
    pp_status st = join_or_begin(f, o->world_size, err);
    if (st == PP_OK) {
        void *at = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
        if (at == MAP_FAILED)
            st = pp_fail_errno(err, errno, "--collective: mapping %s failed", f->path);
        else
            f->shared = at;
    }
    if (st == PP_OK) {
        const struct pp_rank_line *line = &f->shared->line[o->rank];
        uint32_t state = atomic_load(&line->state);
        if (is_held(f->fd, PLACES + (off_t)o->rank, 1))
            st = pp_fail(err, PP_E_EXISTS,
                         "--rank %u: process %u already has this rank in %s; give every process its own rank",
                         o->rank, atomic_load(&line->pid), f->path);
        else if (state != PP_RANK_ABSENT)
            st = pp_fail(
                err, PP_E_EXISTS,
                "--rank %u: the ranks that share %s %s; start all ranks together, or name another file",
                o->rank, f->path,
                state == PP_RANK_NEVER_CAME ? "continued without this one, which started too late"
                                            : "already had this rank, and it ended");
    }
    if (st == PP_OK && lock_byte(f->fd, F_WRLCK, PLACES + (off_t)o->rank) != 0)
        st = pp_fail_errno(err, errno, "--collective: %s cannot be locked", f->path);
    if (st != PP_OK)
        return st;
    struct pp_rank_line *me = &f->shared->line[o->rank];
    atomic_store(&me->pid, (uint32_t)getpid());
    atomic_store(&me->state, PP_RANK_HERE); /* after the lock: no rank may take it for dead */
    return PP_OK;
}

static void ranks_file_ring(struct pp_ranks_file *f)
{
    atomic_fetch_add(&f->shared->bell, 1);
    syscall(SYS_futex, &f->shared->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Gives up the place; the last one takes the file away. */
static void ranks_file_leave(struct pp_ranks_file *f)
{
    if (f->shared) {
        uint64_t until = pp_now_ns() + DOOR_WAIT_NS;
        int held;
        while (!(held = lock_byte(f->fd, F_WRLCK, DOOR) == 0) && pp_now_ns() <= until)
            pp_sleep_until_ns(pp_now_ns() + DOOR_LOOK_NS);
        /* Where the door's lock is not to be had, the file stays: it does no harm. */
        if (held && !is_held(f->fd, PLACES, PP_COLLECTIVE_RANKS) && is_the_file_at(f->fd, f->path))
            unlink(f->path);
        munmap(f->shared, f->size);
    }
    if (f->fd >= 0)
        close(f->fd); /* and with it the locks */
    free(f->path);
    *f = (struct pp_ranks_file){.fd = -1};
}

/* ---- the bell ---- */

#define LOOK_NS 50000000

struct pp_collective {
    uint32_t rank, world_size;
    uint64_t limit_ns;
    struct pp_ranks_file file;
    uint64_t meetings, over_ns; /* over_ns: when the newest meeting was over for this rank */
    int alone;
    char news[320];
    size_t news_n;
    uint8_t state[]; /* of every rank, as it was last told of */
};

static struct pp_rank_line *line_of(const struct pp_collective *c, uint32_t rank)
{
    return &c->file.shared->line[rank];
}

pp_status pp_collective_join(const struct pp_collective_opts *o, struct pp_collective **out,
                             struct pp_err *err)
{
    *out = NULL;
    if (o->world_size < 2 || o->world_size > PP_COLLECTIVE_RANKS || o->rank >= o->world_size)
        return pp_fail(
            err, PP_E_USAGE,
            "--collective is for 2 to %d processes of one machine: give each its --rank, and all the same --world-size",
            PP_COLLECTIVE_RANKS);
    struct pp_collective *c = calloc(1, sizeof(*c) + o->world_size);
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to join %s", o->path);
    c->rank = o->rank;
    c->world_size = o->world_size;
    c->limit_ns = o->limit_ns;
    struct pp_ranks_file *f = &c->file;
    *f = (struct pp_ranks_file){.path = strdup(o->path),
                                .fd = -1,
                                .size = sizeof(struct pp_ranks_shared) +
                                        o->world_size * sizeof(struct pp_rank_line)};
    pp_status st = f->path ? enter(f, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory to join %s", o->path);
    if (st == PP_OK) {
        st = take_place(f, o, err);
        lock_byte(f->fd, F_UNLCK, DOOR);
    }
    if (st == PP_OK)
        ranks_file_ring(f);
    if (st != PP_OK) {
        ranks_file_leave(&c->file);
        free(c);
        return st;
    }
    *out = c;
    return PP_OK;
}

void pp_collective_leave(struct pp_collective *c)
{
    if (!c)
        return;
    uint32_t here = PP_RANK_HERE;
    if (atomic_compare_exchange_strong(&line_of(c, c->rank)->state, &here, PP_RANK_LEFT))
        ranks_file_ring(&c->file);
    ranks_file_leave(&c->file);
    free(c);
}

/* ---- news ---- */

static void say(struct pp_collective *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct pp_collective *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = c->news_n < sizeof(c->news)
                ? vsnprintf(c->news + c->news_n, sizeof(c->news) - c->news_n, fmt, args)
                : 0;
    va_end(args);
    c->news_n += n > 0 ? (size_t)n : 0;
}

/* Everything that has changed since the last meeting, and whether another rank is left to wait for. */
static void take_stock(struct pp_collective *c)
{
    uint32_t others = 0;
    c->news_n = 0;
    for (uint32_t r = 0; r < c->world_size; r++) {
        uint32_t state = atomic_load(&line_of(c, r)->state);
        if (state > PP_RANK_HERE && state != c->state[r]) {
            /* What has become of a rank that is not waited for any longer. */
            char limit[32], steps[48];
            uint64_t meetings = atomic_load(&line_of(c, r)->meetings);
            pp_text_duration(limit, sizeof(limit), (double)c->limit_ns);
            pp_text_counted(steps, sizeof(steps), meetings ? (double)meetings - 1 : 0, "step", "steps");
            say(c, "%srank %u of %u ", c->news_n ? ", " : "", r, c->world_size);
            switch (state) {
            case PP_RANK_NEVER_CAME: say(c, "did not start within %s", limit); break;
            case PP_RANK_LATE:
                say(c, "did not reach step %llu within %s", (unsigned long long)c->meetings - 1, limit);
                break;
            case PP_RANK_DIED: say(c, "died after %s", steps); break;
            default: say(c, "ended after %s", steps);
            }
        }
        c->state[r] = (uint8_t)state;
        others += r != c->rank && state == PP_RANK_HERE;
    }
    c->alone = others == 0 || c->state[c->rank] != PP_RANK_HERE;
    if (c->news_n)
        say(c, c->alone ? "; rank %u continues alone" : "; rank %u and the others continue without it",
            c->rank);
}

const char *pp_collective_news(struct pp_collective *c)
{
    const char *text = c->news_n ? c->news : NULL;
    c->news_n = 0;
    return text;
}

/* ---- meetings ---- */

/* Before the first step a rank that has not begun is waited for too. */
static int is_awaited(const struct pp_collective *c, uint32_t rank)
{
    struct pp_rank_line *line = line_of(c, rank);
    uint32_t state = atomic_load(&line->state);
    return (state == PP_RANK_HERE && atomic_load(&line->meetings) < c->meetings) ||
           (state == PP_RANK_ABSENT && c->meetings == 1);
}

static int all_came(const struct pp_collective *c)
{
    uint32_t r = 0;
    while (r < c->world_size && !is_awaited(c, r))
        r++;
    return r == c->world_size;
}

/* The first to find a rank gone says so, and wakes the others, who need not wait for it either. */
static void give_up_on(struct pp_collective *c, uint32_t rank, uint32_t state, uint32_t why)
{
    if (atomic_compare_exchange_strong(&line_of(c, rank)->state, &state, why))
        ranks_file_ring(&c->file);
}

/* Comes to the next meeting and waits until it is over. Sequentially consistent stores and loads: of ranks
 * that come together, one at least sees that all did. */
static pp_status meet(struct pp_collective *c, pp_collective_look *look, void *ctx)
{
    struct pp_rank_line *me = line_of(c, c->rank);
    uint64_t number = ++c->meetings;
    atomic_store(&me->came_ns[number & 1], pp_now_ns());
    atomic_store(&me->meetings, number);
    if (all_came(c))
        ranks_file_ring(&c->file);
    /* The limit counts looks, not the clock: ranks that were stopped together, or a machine that slept, must
     * not wake up to find each other late. */
    uint64_t waited = 0, looked = pp_now_ns();
    for (;;) {
        uint32_t bell = atomic_load(
            &c->file.shared->bell); /* before looking who came: who comes after that rings it */
        if (all_came(c))
            return PP_OK;
        /* Until the bell is no longer what it was, ns at most. */
        struct pp_ranks_file *f = &c->file;
        struct timespec most = {.tv_nsec = LOOK_NS};
        syscall(SYS_futex, &f->shared->bell, FUTEX_WAIT, bell, &most, NULL, 0);
        uint64_t now = pp_now_ns(), passed = now - looked;
        if (passed < LOOK_NS)
            continue; /* woken: perhaps by the last one */
        waited += passed < 2 * LOOK_NS ? passed : 2 * LOOK_NS;
        looked = now;
        /* Ranks that died are given up at once, those that do not come when they have been waited for long
         * enough. One that opens its data before its first step takes as long as that takes. */
        int over = waited >= c->limit_ns;
        for (uint32_t r = 0; r < c->world_size; r++) {
            uint32_t state = atomic_load(&line_of(c, r)->state);
            if (!is_awaited(c, r))
                continue;
            if (state == PP_RANK_ABSENT && over)
                give_up_on(c, r, state, PP_RANK_NEVER_CAME);
            else if (state == PP_RANK_HERE && r != c->rank && !is_held(c->file.fd, PLACES + (off_t)r, 1))
                give_up_on(c, r, state, PP_RANK_DIED);
            else if (state == PP_RANK_HERE && over && c->meetings > 1)
                give_up_on(c, r, state, PP_RANK_LATE);
        }
        if (look && look(ctx))
            return PP_E_INTERRUPTED;
    }
}

pp_status pp_collective_meet(struct pp_collective *c, pp_collective_look *look, void *ctx,
                             struct pp_meeting *out)
{
    if (out)
        *out = (struct pp_meeting){.last_rank = c->rank};
    if (out && c->alone)
        return PP_END;
    pp_status st = meet(c, look, ctx);
    take_stock(c);
    if (out && st == PP_OK) {
        /* Who came, gone since or not. PP_END: this rank alone, or the others have given it up and are
         * further on. */
        uint64_t last_ns = 0, others_ns = 0;
        for (uint32_t r = 0; r < c->world_size; r++) {
            if (atomic_load(&line_of(c, r)->meetings) < c->meetings)
                continue;
            uint64_t came_ns = atomic_load(&line_of(c, r)->came_ns[c->meetings & 1]);
            if (came_ns > last_ns) {
                last_ns = came_ns;
                out->last_rank = r;
            }
            if (r != c->rank && came_ns > others_ns)
                others_ns = came_ns;
        }
        out->others_ns = others_ns > c->over_ns ? others_ns - c->over_ns : 0;
        st = others_ns && c->state[c->rank] == PP_RANK_HERE ? PP_OK : PP_END;
    }
    c->over_ns = pp_now_ns();
    return st;
}

int pp_collective_is_alone(const struct pp_collective *c)
{
    return c->alone;
}
