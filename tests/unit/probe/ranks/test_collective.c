/* The collective step: ranks meet, and whatever becomes of one of them the others go on. Ranks are threads
 * with a place each, or processes where one has to die. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/ranks/collective.h"

#include <pthread.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define LONG (60000 * MS)

static char dir[64], file[96];

static int setup(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/pp-test-collective-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/ranks", dir);
    return 0;
}

static int teardown(void **state)
{
    unlink(file);
    return rmdir(dir);
}

static pp_status try_join(uint32_t rank, uint32_t world_size, uint64_t limit_ns, struct pp_collective **out,
                          struct pp_err *err)
{
    return pp_collective_join(&(struct pp_collective_opts){.path = file,
                                                           .rank = rank,
                                                           .world_size = world_size,
                                                           .limit_ns = limit_ns},
                              out, err);
}

static struct pp_collective *join(uint32_t rank, uint32_t world_size, uint64_t limit_ns)
{
    struct pp_collective *c;
    struct pp_err err = {0};
    if (try_join(rank, world_size, limit_ns, &c, &err) != PP_OK)
        fail_msg("%s", err.text);
    return c;
}

static void refused(uint32_t rank, uint32_t world_size, pp_status status, const char *words)
{
    struct pp_collective *c;
    struct pp_err err = {0};
    assert_int_equal(try_join(rank, world_size, LONG, &c, &err), status);
    assert_null(c);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
}

/* What another user may have put where all users make names. */
static void planted_files_are_refused(void **state)
{
    char precious[128];
    snprintf(precious, sizeof(precious), "%s/precious", dir);
    int fd = open(precious, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "\0\0\0\0\0\0\0\0mine", 12),
                     12); /* begins as an empty file of the ranks may */
    close(fd);
    assert_int_equal(symlink(precious, file), 0);
    refused(0, 2, PP_E_USAGE, "symbolic link");
    struct stat info;
    assert_int_equal(stat(precious, &info), 0);
    assert_int_equal(info.st_size, 12);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("/nowhere/at/all", file), 0);
    refused(0, 2, PP_E_USAGE, "symbolic link");
    assert_int_equal(unlink(file), 0);

    assert_int_equal(rename(precious, file), 0);
    assert_int_equal(chmod(file, 0666), 0);
    refused(0, 2, PP_E_ACCESS, "can be written by other users");
    assert_int_equal(chmod(file, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(file, 65534, 65534), 0);
        refused(0, 2, PP_E_ACCESS, "belongs to another user");
    }
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_size, 12);
}

static void news_say(struct pp_collective *c, const char *words)
{
    const char *text = pp_collective_news(c);
    if (!text || !strstr(text, words))
        fail_msg("'%s' does not say '%s'", text ? text : "(nothing)", words);
    assert_null(pp_collective_news(c)); /* it is said once */
}

/* ---- meeting ---- */

enum { RANKS = 4, MEETINGS = 500 };

struct crew {
    atomic_uint came[MEETINGS], early, last[RANKS];
    uint64_t sleep_ns; /* rank 3 takes longer */
    int meetings;
};

struct hand {
    struct crew *crew;
    uint32_t rank;
    uint64_t others_ns;
    pthread_t thread;
};

static void *work(void *arg)
{
    struct hand *h = arg;
    struct crew *k = h->crew;
    struct pp_collective *c = join(h->rank, RANKS, LONG);
    struct pp_meeting met;
    if (pp_collective_meet(c, NULL, NULL, NULL) != PP_OK)
        atomic_fetch_add(&k->early, 1);
    for (int i = 0; i < k->meetings; i++) {
        if (h->rank == 3 && k->sleep_ns)
            pp_sleep_until_ns(pp_now_ns() + k->sleep_ns);
        atomic_fetch_add(&k->came[i], 1);
        pp_status st = pp_collective_meet(c, NULL, NULL, &met);
        atomic_fetch_add(&k->early, st != PP_OK || atomic_load(&k->came[i]) != RANKS);
        if (h->rank == 0 && st == PP_OK)
            atomic_fetch_add(&k->last[met.last_rank], 1);
        h->others_ns += met.others_ns;
    }
    pp_collective_leave(c);
    return NULL;
}

static void send(struct crew *k, struct hand hands[RANKS])
{
    for (uint32_t r = 0; r < RANKS; r++) {
        hands[r] = (struct hand){.crew = k, .rank = r};
        assert_int_equal(pthread_create(&hands[r].thread, NULL, work, &hands[r]), 0);
    }
    for (uint32_t r = 0; r < RANKS; r++)
        pthread_join(hands[r].thread, NULL);
}

static void test_nobody_goes_on_before_the_last_has_come(void **state)
{
    struct crew k = {.meetings = MEETINGS};
    struct hand hands[RANKS];
    send(&k, hands);
    assert_int_equal(k.early, 0);
    unsigned told = 0;
    for (int r = 0; r < RANKS; r++)
        told += k.last[r];
    assert_int_equal(told, MEETINGS);
    assert_int_equal(access(file, F_OK), -1); /* the last one took it away */
}

static void test_who_came_last_and_what_the_others_took(void **state)
{
    struct crew k = {.meetings = 20, .sleep_ns = 20 * MS};
    struct hand hands[RANKS];
    send(&k, hands);
    assert_int_equal(k.early, 0);
    assert_true(k.last[3] >= 18);
    assert_true(hands[0].others_ns >= 19 * 20 * MS);      /* what rank 3 takes */
    assert_true(hands[3].others_ns < hands[0].others_ns); /* what the others take without it */
}

static int stop_at_once(void *ctx)
{
    ++*(int *)ctx;
    return 1;
}

static void test_a_wait_can_be_ended(void **state)
{
    struct pp_collective *a = join(0, 2, LONG), *b = join(1, 2, LONG);
    int looks = 0;
    assert_int_equal(pp_collective_meet(a, stop_at_once, &looks, NULL), PP_E_INTERRUPTED);
    assert_int_equal(looks, 1);
    pp_collective_leave(a);
    pp_collective_leave(b);
}

/* ---- what becomes of ranks ---- */

static void test_a_rank_that_leaves_is_not_waited_for(void **state)
{
    struct pp_collective *a = join(0, 2, LONG), *b = join(1, 2, LONG);
    struct pp_meeting met;
    pp_collective_leave(b);
    assert_int_equal(pp_collective_meet(a, NULL, NULL, NULL), PP_OK);
    assert_true(pp_collective_is_alone(a));
    news_say(a, "rank 1 of 2 ended after 0 steps; rank 0 continues alone");
    assert_int_equal(pp_collective_meet(a, NULL, NULL, &met), PP_END);
    refused(1, 2, PP_E_EXISTS, "already had this rank, and it ended");
    pp_collective_leave(a);
}

/* A process that meets so often, and then is killed where it stands. */
static pid_t begin_mortal(uint32_t rank, uint32_t world_size, int meetings)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct pp_collective *c;
        struct pp_meeting met;
        if (try_join(rank, world_size, LONG, &c, NULL) == PP_OK && meetings >= 0)
            pp_collective_meet(c, NULL, NULL, NULL);
        for (int i = 0; i < meetings; i++)
            pp_collective_meet(c, NULL, NULL, &met);
        raise(SIGKILL);
    }
    assert_true(pid > 0);
    return pid;
}

static void test_a_rank_that_dies_holds_nobody(void **state)
{
    struct pp_collective *a = join(0, 2, LONG);
    struct pp_meeting met;
    pid_t pid = begin_mortal(1, 2, 3);
    assert_int_equal(pp_collective_meet(a, NULL, NULL, NULL), PP_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pp_collective_meet(a, NULL, NULL, &met), PP_OK);
    assert_null(pp_collective_news(a));
    assert_int_equal(pp_collective_meet(a, NULL, NULL, &met), PP_END); /* would take LONG */
    news_say(a, "rank 1 of 2 died after 3 steps; rank 0 continues alone");
    pp_collective_leave(a);
    waitpid(pid, NULL, 0);
}

static void test_the_others_go_on_together(void **state)
{
    struct pp_collective *a = join(0, 3, LONG), *b = join(1, 3, LONG);
    struct pp_meeting met;
    waitpid(begin_mortal(2, 3, -1), NULL, 0);
    int looks = 0;
    assert_int_equal(pp_collective_meet(a, stop_at_once, &looks, NULL),
                     PP_E_INTERRUPTED); /* b is not ready; a has seen rank 2 die */
    assert_int_equal(pp_collective_meet(b, NULL, NULL, NULL), PP_OK);
    assert_false(pp_collective_is_alone(a));
    assert_false(pp_collective_is_alone(b));
    news_say(b, "rank 2 of 3 died after 0 steps; rank 1 and the others continue without it");
    pp_collective_leave(a);
    assert_int_equal(pp_collective_meet(b, NULL, NULL, &met), PP_END);
    news_say(b, "rank 0 of 3 ended");
    pp_collective_leave(b);
}

static void test_a_rank_that_does_not_begin(void **state)
{
    struct pp_collective *a = join(0, 3, 120 * MS);
    uint64_t begun = pp_now_ns();
    assert_int_equal(pp_collective_meet(a, NULL, NULL, NULL), PP_OK);
    assert_true(pp_now_ns() - begun >= 120 * MS);
    news_say(
        a,
        "rank 1 of 3 did not start within 120 ms, rank 2 of 3 did not start within 120 ms; rank 0 continues alone");
    refused(1, 3, PP_E_EXISTS, "started too late");
    pp_collective_leave(a);
}

static void *begin_late(void *arg)
{
    pp_sleep_until_ns(pp_now_ns() + 150 * MS);
    struct pp_collective *c = join(1, 2, LONG);
    pp_collective_meet(c, NULL, NULL, NULL);
    *(int *)arg = !pp_collective_is_alone(c);
    return c;
}

static void test_a_rank_that_begins_late_is_waited_for(void **state)
{
    struct pp_collective *a = join(0, 2, LONG);
    pthread_t thread;
    void *b;
    int together = 0;
    assert_int_equal(pthread_create(&thread, NULL, begin_late, &together), 0);
    assert_int_equal(pp_collective_meet(a, NULL, NULL, NULL), PP_OK);
    pthread_join(thread, &b);
    assert_true(together && !pp_collective_is_alone(a));
    assert_null(pp_collective_news(a));
    pp_collective_leave(a);
    pp_collective_leave(b);
}

static void *gather(void *c)
{
    pp_collective_meet(c, NULL, NULL, NULL);
    return NULL;
}

static void test_a_rank_that_hangs(void **state)
{
    struct pp_collective *a = join(0, 2, 120 * MS), *b = join(1, 2, 120 * MS);
    struct pp_meeting met;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, gather, b), 0);
    assert_int_equal(pp_collective_meet(a, NULL, NULL, NULL), PP_OK);
    pthread_join(thread, NULL);
    assert_int_equal(pp_collective_meet(a, NULL, NULL, &met), PP_END);
    news_say(a, "rank 1 of 2 did not reach step 1 within 120 ms; rank 0 continues alone");
    assert_int_equal(pp_collective_meet(b, NULL, NULL, &met), PP_END); /* it wakes up */
    assert_true(pp_collective_is_alone(b));
    news_say(b, "rank 1 of 2 did not reach step 1");
    pp_collective_leave(a);
    pp_collective_leave(b);
}

/* ---- files and places ---- */

static void test_every_rank_has_one_place_in_one_run(void **state)
{
    struct pp_collective *a = join(0, 2, LONG);
    refused(1, 3, PP_E_USAGE, "already have --world-size 2");
    refused(0, 2, PP_E_EXISTS, "already has this rank in");
    refused(2, 2, PP_E_USAGE, "--rank");
    refused(0, 1, PP_E_USAGE, "2 to 1024");
    refused(0, 5000, PP_E_USAGE, "2 to 1024");
    pp_collective_leave(a);
}

static void test_the_file_of_a_dead_run_is_begun_anew(void **state)
{
    waitpid(begin_mortal(0, 2, -1), NULL, 0);
    assert_int_equal(access(file, F_OK), 0);
    struct pp_collective *a = join(0, 3, LONG), *b = join(1, 3, LONG);
    pp_collective_leave(a);
    pp_collective_leave(b);
    assert_int_equal(access(file, F_OK), -1);
}

static void test_a_file_of_something_else_stays_as_it_is(void **state)
{
    static const char text[] = "a week of results, and nothing else has them";
    char back[sizeof(text)] = "";
    FILE *out = fopen(file, "we");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    refused(0, 2, PP_E_USAGE, "is not a file of the ranks");
    FILE *in = fopen(file, "re");
    assert_non_null(in);
    assert_non_null(fgets(back, sizeof(back), in));
    fclose(in);
    assert_string_equal(back, text);
    unlink(file);
    snprintf(file, sizeof(file), "%s/none/ranks", dir);
    refused(0, 2, PP_E_NOT_FOUND, "none/ranks");
    snprintf(file, sizeof(file), "%s", dir);
    refused(0, 2, PP_E_USAGE, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(planted_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_goes_on_before_the_last_has_come, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_came_last_and_what_the_others_took, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_wait_can_be_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rank_that_leaves_is_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rank_that_dies_holds_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_others_go_on_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rank_that_does_not_begin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rank_that_begins_late_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rank_that_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_rank_has_one_place_in_one_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_file_of_a_dead_run_is_begun_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_file_of_something_else_stays_as_it_is, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
