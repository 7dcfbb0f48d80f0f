/* Leases: each shard of an epoch is read by some rank, whatever becomes of the others, and by one alone where
 * nothing happens to them. Ranks are processes: some are killed at random moments. */
/* # idle */
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"
#include "probe/ranks/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define LONG (60000 * MS)

enum { SHARDS = 12, MOST_SHARDS = 64 };

static char root[64], dir[80], log_file[80];
static uint64_t order[MOST_SHARDS];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info, (void)type, (void)ftw;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/pp-test-lease-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(dir, sizeof(dir), "%s/leases", root);
    snprintf(log_file, sizeof(log_file), "%s/log", root);
    for (uint64_t i = 0; i < MOST_SHARDS; i++)
        order[i] = i;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct pp_lease_opts opts_of(uint64_t expiry_ns)
{
    return (struct pp_lease_opts){
        .dir = dir, .shards = SHARDS, .list = 7, .seed = 1, .shuffled = 1, .job = "", .expiry_ns = expiry_ns};
}

static struct pp_lease *join(uint64_t expiry_ns)
{
    struct pp_lease *l = NULL;
    struct pp_err err = {0};
    struct pp_lease_opts o = opts_of(expiry_ns);
    if (pp_lease_join(&o, &l, &err) != PP_OK)
        fail_msg("%s", err.text);
    return l;
}

static enum pp_lease_answer take(struct pp_lease *l, uint64_t epoch, uint64_t *shard)
{
    enum pp_lease_answer answer = PP_LEASE_WAIT;
    struct pp_err err = {0};
    if (pp_lease_take(l, epoch, order, shard, &answer, &err) != PP_OK)
        fail_msg("%s", err.text);
    return answer;
}

/* Until the answer is another one, at most 20 s. */
static enum pp_lease_answer take_not(struct pp_lease *l, uint64_t epoch, uint64_t *shard,
                                     enum pp_lease_answer not_this)
{
    enum pp_lease_answer answer = not_this;
    for (uint64_t end = pp_now_ns() + 20000 * MS; answer == not_this && pp_now_ns() < end;) {
        answer = take(l, epoch, shard);
        if (answer == not_this)
            pp_sleep_until_ns(pp_now_ns() + pp_lease_look_ns(l));
    }
    return answer;
}

static void refused(const struct pp_lease_opts *o, pp_status want, const char *words)
{
    struct pp_lease *l = NULL;
    struct pp_err err = {0};
    pp_status st = pp_lease_join(o, &l, &err);
    if (st != want || !strstr(err.text, words))
        fail_msg("status %s, '%s' does not say '%s'", pp_status_name(st), err.text, words);
    assert_null(l);
}

/* ---- without accidents ---- */

static void one_rank_gets_every_shard_of_every_epoch(void **state)
{
    (void)state;
    struct pp_lease *l = join(LONG);
    uint64_t shard;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        for (uint64_t i = 0; i < SHARDS; i++) {
            assert_int_equal(take(l, epoch, &shard), PP_LEASE_TAKEN);
            assert_int_equal(shard, i);
        }
        assert_int_equal(take(l, epoch, &shard), PP_LEASE_WAIT); /* for its own batches */
        pp_lease_delivered(l, epoch, SHARDS - 1);
        assert_int_equal(take_not(l, epoch, &shard, PP_LEASE_TAKEN), PP_LEASE_WAIT);
        pp_lease_delivered(l, epoch, SHARDS);
        assert_int_equal(take_not(l, epoch, &shard, PP_LEASE_WAIT), PP_LEASE_OVER);
    }
    struct pp_lease_counts c = pp_lease_counts(l);
    assert_int_equal(c.taken, 3 * SHARDS);
    assert_int_equal(c.stolen + c.lost, 0);
    pp_lease_leave(l);
}

static void two_ranks_share_an_epoch(void **state)
{
    (void)state;
    struct pp_lease *l[2] = {join(LONG), join(LONG)};
    int readers[SHARDS] = {0};
    uint64_t shard, n[2] = {0, 0};
    for (int i = 0; i < SHARDS; i++) {
        int who = i % 3 == 0; /* one takes two for each of the other */
        assert_int_equal(take(l[who], 0, &shard), PP_LEASE_TAKEN);
        readers[shard]++;
        n[who]++;
    }
    for (int i = 0; i < SHARDS; i++)
        assert_int_equal(readers[i], 1);
    assert_int_equal(take(l[0], 0, &shard), PP_LEASE_WAIT);
    pp_lease_delivered(l[0], 0, n[0]);
    assert_int_equal(take(l[1], 0, &shard), PP_LEASE_WAIT);
    pp_lease_delivered(l[1], 0, n[1]);
    assert_int_equal(take_not(l[0], 0, &shard, PP_LEASE_WAIT), PP_LEASE_OVER);
    assert_int_equal(take_not(l[1], 0, &shard, PP_LEASE_WAIT), PP_LEASE_OVER);
    /* One that joins now goes on with the next epoch. */
    struct pp_lease *late = join(LONG);
    assert_int_equal(take(late, 0, &shard), PP_LEASE_OVER);
    assert_int_equal(take(late, 1, &shard), PP_LEASE_TAKEN);
    for (int i = 0; i < 2; i++)
        pp_lease_leave(l[i]);
    pp_lease_leave(late);
}

static void a_rank_that_leaves_gives_back_what_is_not_done(void **state)
{
    (void)state;
    struct pp_lease *a = join(LONG), *b = join(LONG);
    uint64_t shard, again = 0;
    char text[400] = "";
    for (int i = 0; i < SHARDS; i++)
        assert_int_equal(take(a, 0, &shard), PP_LEASE_TAKEN);
    pp_lease_delivered(a, 0, SHARDS - 2);
    pp_lease_leave(a);
    while (take(b, 0, &shard) == PP_LEASE_TAKEN) { /* at once: no expiry is waited for */
        assert_true(shard >= SHARDS - 2);
        again++;
    }
    assert_int_equal(again, 2);
    assert_int_equal(pp_lease_counts(b).stolen, 2);
    assert_true(pp_lease_news(b, text, sizeof(text)));
    assert_non_null(strstr(text, "left in the middle of it"));
    pp_lease_delivered(b, 0, 2);
    assert_int_equal(take_not(b, 0, &shard, PP_LEASE_WAIT), PP_LEASE_OVER);
    pp_lease_leave(b);
}

/* ---- a process that is stopped, and goes on ---- */

static pid_t start_holder(int ready)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct pp_lease *l = join(1000 * MS);
        uint64_t shard;
        char c = take(l, 0, &shard) == PP_LEASE_TAKEN && shard == 0 ? 'y' : 'n';
        if (write(ready, &c, 1) != 1)
            _exit(1);
        for (uint64_t end = pp_now_ns() + 30000 * MS; !pp_lease_is_lost(l, 0, 0) && pp_now_ns() < end;)
            pp_sleep_until_ns(pp_now_ns() + 10 * MS);
        pp_lease_delivered(l, 0, 1); /* what is another rank's is not marked as done by this one */
        c = pp_lease_counts(l).lost == 1 ? 'y' : 'n';
        if (write(ready, &c, 1) != 1)
            _exit(1);
        pp_lease_leave(l);
        _exit(0);
    }
    return pid;
}

static void a_rank_that_stood_still_finds_its_lease_lost(void **state)
{
    (void)state;
    int ready[2], status;
    char c = 0, path[128];
    uint64_t shard;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = start_holder(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    assert_int_equal(kill(pid, SIGSTOP), 0);
    struct pp_lease *l = join(1000 * MS);
    for (int i = 1; i < SHARDS; i++) {
        assert_int_equal(take(l, 0, &shard), PP_LEASE_TAKEN);
        assert_int_equal(shard, i);
    }
    assert_int_equal(take_not(l, 0, &shard, PP_LEASE_WAIT), PP_LEASE_TAKEN);
    assert_int_equal(shard, 0);
    assert_int_equal(pp_lease_counts(l).stolen, 1);
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    snprintf(path, sizeof(path), "%s/epoch-00000/0.done", dir);
    assert_int_equal(access(path, F_OK), -1);
    pp_lease_leave(l);
    close(ready[0]);
    close(ready[1]);
}

/* ---- kills ---- */

enum { EPOCHS = 2, PER_SHARD = 8, BEHIND = 10, RANKS = 4, ROUNDS = 15 };

struct line {
    uint32_t epoch, shard, sample, lost; /* lost: not a sample, but how many leases the rank lost */
};

static void put_line(int fd, struct line l)
{
    if (write(fd, &l, sizeof(l)) != (ssize_t)sizeof(l)) /* O_APPEND: whole, or not at all */
        _exit(1);
}

/* As the loader: samples leave the buffer BEHIND places after they were read, and then they are trained on.
 */
static void rank_main(uint64_t seed)
{
    struct pp_lease *l = join(400 * MS);
    struct pp_rng rng = pp_rng_key(seed, 0, 0, 1);
    int fd = open(log_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct line read[SHARDS * PER_SHARD * 4];
        uint64_t position[SHARDS * PER_SHARD * 4], shard, taken = 0;
        size_t n = 0, trained = 0;
        for (enum pp_lease_answer answer; (answer = take(l, epoch, &shard)) != PP_LEASE_OVER;) {
            for (uint32_t i = 0; answer == PP_LEASE_TAKEN && i < PER_SHARD; i++) {
                position[n] = taken;
                read[n++] = (struct line){epoch, (uint32_t)shard, i, 0};
            }
            taken += answer == PP_LEASE_TAKEN;
            while (n - trained > (answer == PP_LEASE_TAKEN ? BEHIND : 0)) {
                pp_sleep_until_ns(pp_now_ns() + pp_rng_below(&rng, 2 * MS));
                put_line(fd, read[trained++]);
                pp_lease_delivered(l, epoch, trained < n ? position[trained] : taken);
            }
            if (answer == PP_LEASE_WAIT)
                pp_sleep_until_ns(pp_now_ns() + pp_lease_look_ns(l));
        }
    }
    put_line(fd, (struct line){.lost = 1 + (uint32_t)pp_lease_counts(l).lost});
    pp_lease_leave(l);
    close(fd);
}

/* Reads the log: every sample is in it. Returns how many are in it more than once, and *lost. */
static uint64_t check_log(uint64_t *lost)
{
    static uint32_t times[EPOCHS][SHARDS][PER_SHARD];
    uint64_t repeats = 0;
    struct line l;
    FILE *f = fopen(log_file, "re");
    memset(times, 0, sizeof(times));
    *lost = 0;
    assert_non_null(f);
    while (fread(&l, sizeof(l), 1, f) == 1)
        if (l.lost)
            *lost += l.lost - 1;
        else
            times[l.epoch][l.shard][l.sample]++;
    fclose(f);
    for (int e = 0; e < EPOCHS; e++)
        for (int s = 0; s < SHARDS; s++)
            for (int i = 0; i < PER_SHARD; i++) {
                if (!times[e][s][i])
                    fail_msg("sample %d of shard %d was lost in epoch %d", i, s, e);
                repeats += times[e][s][i] - 1;
            }
    return repeats;
}

static void start_ranks(pid_t pid[RANKS], uint64_t seed)
{
    for (int r = 0; r < RANKS; r++) {
        pid[r] = fork();
        if (pid[r] == 0) {
            rank_main(seed * RANKS + (uint64_t)r);
            _exit(0);
        }
    }
}

static void ranks_that_are_killed_cost_no_sample_and_few_repeats(void **state)
{
    (void)state;
    struct pp_rng rng = pp_rng_key(20261123, 0, 0, 2);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid[RANKS];
        uint64_t kills = 0, lost;
        int status;
        start_ranks(pid, (uint64_t)round);
        for (int r = 1; r < RANKS; r++) {
            pp_sleep_until_ns(pp_now_ns() + pp_rng_below(&rng, 60 * MS));
            kill(pid[r], SIGKILL);
            kills += waitpid(pid[r], &status, 0) == pid[r] && WIFSIGNALED(status);
        }
        assert_int_equal(waitpid(pid[0], &status, 0), pid[0]);
        assert_int_equal(status, 0);
        uint64_t repeats = check_log(&lost);
        /* Of two shards, and of what is behind them in the buffer; and of leases that were late. */
        uint64_t most = kills * (2 * PER_SHARD + BEHIND) + lost * PER_SHARD;
        if (repeats > most)
            fail_msg("%llu repeats of %llu at most after %llu kills", (unsigned long long)repeats,
                     (unsigned long long)most, (unsigned long long)kills);
        teardown(NULL);
        setup(NULL);
    }
}

static void without_accidents_no_sample_comes_twice(void **state)
{
    (void)state;
    pid_t pid[RANKS];
    uint64_t lost;
    int status;
    start_ranks(pid, 99);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(waitpid(pid[r], &status, 0), pid[r]);
        assert_int_equal(status, 0);
    }
    uint64_t repeats = check_log(&lost);
    assert_true(repeats <= lost * PER_SHARD); /* lost: the machine stood still for longer than the expiry */
    if (!lost)
        assert_int_equal(repeats, 0);
}

/* ---- strangers ---- */

static void put_text(const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void a_strangers_directory_is_refused_in_one_sentence(void **state)
{
    (void)state;
    struct pp_lease_opts o = opts_of(LONG);
    char missing[96], path[160];
    snprintf(missing, sizeof(missing), "%s/no/such", root);
    o.dir = missing;
    refused(&o, PP_E_NOT_FOUND, "does not exist; make it first");
    o.dir = dir;
    assert_int_equal(mkdir(dir, 0755), 0);
    put_text("thesis.txt", "mine");
    refused(&o, PP_E_USAGE, "holds thesis.txt and no file 'job'");
    snprintf(path, sizeof(path), "%s/ranks", dir);
    assert_int_equal(access(path, F_OK), -1); /* nothing was made there */
    snprintf(path, sizeof(path), "%s/thesis.txt", dir);
    o.dir = path;
    refused(&o, PP_E_USAGE, "is no directory");
    o.dir = dir;
    put_text("job", "{\"run\": 7}");
    refused(&o, PP_E_USAGE, "is not pipeprobe's");
    put_text("job", "pipeprobe lease 9\nshards 1\n");
    refused(&o, PP_E_VERSION, "another version");
    snprintf(path, sizeof(path), "%s/job", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    refused(&o, PP_E_USAGE, "symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(&o, PP_E_USAGE, "is no file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    refused(&o, PP_E_ACCESS, "every user");
    assert_int_equal(chmod(dir, 0755), 0);
}

static void another_jobs_directory_is_refused_in_one_sentence(void **state)
{
    (void)state;
    struct pp_lease_opts o = opts_of(LONG), other;
    struct pp_lease *l = NULL;
    struct pp_err err;
    o.job = "4711";
    assert_int_equal(pp_lease_join(&o, &l, &err), PP_OK);
    other = o, other.job = "4712";
    refused(&other, PP_E_USAGE, "of job 4711, and this is job 4712");
    other = o, other.shards = 5;
    refused(&other, PP_E_USAGE, "of 12 shards, and this run has 5");
    other = o, other.list = 8;
    refused(&other, PP_E_USAGE, "other shards");
    other = o, other.seed = 2;
    refused(&other, PP_E_USAGE, "--seed 1, and this run has 2");
    other = o, other.shuffled = 0;
    refused(&other, PP_E_USAGE, "--no-shuffle-shards");
    uint64_t shard;
    for (uint64_t i = 0; i < SHARDS; i++)
        assert_int_equal(take(l, 0, &shard), PP_LEASE_TAKEN);
    pp_lease_delivered(l, 0, SHARDS);
    assert_int_equal(take_not(l, 0, &shard, PP_LEASE_WAIT), PP_LEASE_OVER);
    pp_lease_leave(l);
    other = o, other.epochs = 1;
    refused(&other, PP_E_EXISTS, "all shards of epoch 0 are done");
    other.epochs = 2;
    assert_int_equal(pp_lease_join(&other, &l, &err), PP_OK);
    pp_lease_leave(l);
}

static void a_directory_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root writes everywhere; a read-only mount is in tests/e2e */
    assert_int_equal(mkdir(dir, 0555), 0);
    struct pp_lease_opts o = opts_of(LONG);
    refused(&o, PP_E_ACCESS, "every rank writes there");
}

static void a_full_disk_is_said_and_ends_the_rank_in_time(void **state)
{
    (void)state;
    struct pp_lease_opts o = opts_of(LONG);
    pp_io_fault(PP_IO_FAULT_WRITE, 1, ENOSPC, 1);
    refused(&o, PP_E_NO_SPACE, "free some space there");
    pp_io_fault(0, 0, 0, 0);
    struct pp_lease *l = join(600 * MS);
    struct pp_err err = {0};
    enum pp_lease_answer answer;
    uint64_t shard;
    assert_int_equal(take(l, 0, &shard), PP_LEASE_TAKEN);
    pp_io_fault(PP_IO_FAULT_WRITE, 1, ENOSPC, 1);
    pp_lease_delivered(l, 0, 1);
    pp_status st = PP_OK;
    for (uint64_t end = pp_now_ns() + 20000 * MS; st == PP_OK && pp_now_ns() < end;) {
        pp_sleep_until_ns(pp_now_ns() + 20 * MS);
        st = pp_lease_failure(l, &err);
    }
    pp_io_fault(0, 0, 0, 0);
    assert_int_equal(st, PP_E_NO_SPACE);
    assert_non_null(strstr(err.text, "free some space there"));
    assert_int_equal(pp_lease_take(l, 0, order, &shard, &answer, &err), PP_E_NO_SPACE);
    pp_lease_leave(l);
}

/* Names, sizes and kinds of files that no rank makes. */
static void odd_files_among_the_leases_change_nothing(void **state)
{
    (void)state;
    struct pp_lease *l = join(300 * MS);
    uint64_t shard;
    char path[160], big[4096];
    assert_int_equal(take(l, 0, &shard), PP_LEASE_TAKEN);
    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    static const char *const names[] = {
        "99.0", "1.x",           "1.",     ".0",        "18446744073709551616.0", "-1.0",
        "1.-2", "2.99999999999", "README", "3.done.old"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "epoch-00000/%s", names[i]);
        put_text(path, big);
    }
    put_text("epoch-00000/5.0", big);                /* an owner that is no token */
    put_text("epoch-00000/6.0", "../../etc/passwd"); /* and one that leads out of the directory */
    put_text("epoch-00000/7.0", "");
    snprintf(path, sizeof(path), "%s/epoch-00000/8.0", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (int i = 1; i < SHARDS; i++) { /* all: those four after the expiry */
        assert_int_equal(take_not(l, 0, &shard, PP_LEASE_WAIT), PP_LEASE_TAKEN);
        assert_true(shard < SHARDS);
    }
    assert_int_equal(pp_lease_counts(l).stolen, 4);
    pp_lease_delivered(l, 0, SHARDS);
    assert_int_equal(take_not(l, 0, &shard, PP_LEASE_WAIT), PP_LEASE_OVER);
    pp_lease_leave(l);
}

/* A directory that a group may write into: a colleague's link has nothing written where it leads. */
static void a_link_in_the_place_of_an_epoch_leads_nowhere(void **state)
{
    (void)state;
    struct pp_lease *l = join(LONG);
    struct pp_err err = {0};
    enum pp_lease_answer answer;
    uint64_t shard;
    char elsewhere[96], path[160];
    assert_int_equal(chmod(dir, 0775), 0);
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", root);
    snprintf(path, sizeof(path), "%s/epoch-00000", dir);
    assert_int_equal(mkdir(elsewhere, 0777), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_int_equal(pp_lease_take(l, 0, order, &shard, &answer, &err), PP_E_ACCESS);
    assert_non_null(strstr(err.text, "epoch-00000 is no directory of its own"));
    pp_lease_leave(l);
    assert_int_equal(rmdir(elsewhere), 0); /* empty */
    snprintf(path, sizeof(path), "%s/ranks", dir);
    assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(symlink(root, path), 0);
    struct pp_lease_opts o = opts_of(LONG);
    refused(&o, PP_E_USAGE, "'ranks' is no directory");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_rank_gets_every_shard_of_every_epoch),
        CASE(two_ranks_share_an_epoch),
        CASE(a_rank_that_leaves_gives_back_what_is_not_done),
        CASE(a_rank_that_stood_still_finds_its_lease_lost),
        CASE(ranks_that_are_killed_cost_no_sample_and_few_repeats),
        CASE(without_accidents_no_sample_comes_twice),
        CASE(a_strangers_directory_is_refused_in_one_sentence),
        CASE(another_jobs_directory_is_refused_in_one_sentence),
        CASE(a_directory_that_cannot_be_written_is_said),
        CASE(a_full_disk_is_said_and_ends_the_rank_in_time),
        CASE(a_link_in_the_place_of_an_epoch_leads_nowhere),
        CASE(odd_files_among_the_leases_change_nothing),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
