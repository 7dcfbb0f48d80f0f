/* The ranks of a job under one exec: which process asks for a recording of its own, what it gets, and that
 * none waits for an exec that has gone. */
#include "collectors/attach/rank_session.h"
#include "collectors/attach/session_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/pp-ranks-XXXXXX");
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "4", 1);
    setenv("TORCHELASTIC_RUN_ID", "job", 1);
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    unsetenv("TORCHELASTIC_RUN_ID");
    unsetenv(PP_RANKS_VARIABLE);
    return rmdir(dir); /* fails where something was left */
}

static void offer(long pid, const char *key)
{
    char text[PP_RANK_KEY + 32];
    snprintf(text, sizeof(text), "%ld:%s", pid, key);
    setenv(PP_RANKS_VARIABLE, text, 1);
}

static const char *answer_path(void)
{
    static char path[256];
    struct pp_identity id;
    char key[PP_RANK_KEY];
    assert_int_equal(pp_identity_read(&id), 1);
    pp_rank_key(&id, key, sizeof(key));
    snprintf(path, sizeof(path), "%s/" PP_RANK_SESSION_PREFIX "%s", dir, key);
    return path;
}

static void answer(const char *text)
{
    char part[300];
    snprintf(part, sizeof(part), "%s.part", answer_path());
    FILE *f = fopen(part, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(part, answer_path()), 0);
}

static void test_who_asks(void **state)
{
    char own[256], key[PP_RANK_KEY];
    struct pp_identity id;
    (void)state;
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0); /* no exec offers it */
    setenv(PP_RANKS_VARIABLE, "", 1);
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    setenv(PP_RANKS_VARIABLE, "12x", 1);
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    pp_identity_read(&id);
    pp_rank_key(&id, key, sizeof(key));
    offer(getpid(), key); /* exec itself is this rank */
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    setenv("WORLD_SIZE", "1", 1);
    setenv("RANK", "0", 1);
    offer(getpid(), "");
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0); /* one of one */
}

static void test_an_answer_that_is_there_is_taken(void **state)
{
    char own[256];
    (void)state;
    offer(999999999, ""); /* exec has gone: no question is asked */
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    answer("/where/it/is");
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 1);
    assert_string_equal(own, "/where/it/is");
    answer(dir); /* exec could make it none: its own */
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    answer("relative");
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    assert_int_equal(unlink(answer_path()), 0);
}

/* Its process group has told it. */
static void test_one_without_variables(void **state)
{
    char own[256];
    struct pp_identity id;
    struct pp_rank_file f = {.rank = 1, .world_size = 2, .launcher = PP_RANK_OF_PROGRAM};
    (void)state;
    offer(999999999, "");
    answer("/of/the/environment");
    assert_int_equal(pp_rank_session(dir, 1, 2, own, sizeof(own)), 1);
    assert_string_equal(own, "/of/the/environment"); /* which counts first */
    assert_int_equal(unlink(answer_path()), 0);
    unsetenv("RANK");
    assert_int_equal(pp_rank_session(dir, -1, -1, own, sizeof(own)), 0);
    assert_int_equal(pp_rank_session(dir, 0, 1, own, sizeof(own)), 0);
    assert_int_equal(pp_rank_session(dir, 1, 2, own, sizeof(own)), 0); /* it would ask, but exec has gone */
    f.local_rank = f.local_size = f.node = f.attempt = -1;
    assert_int_equal(pp_rank_file_identity(&f, &id), 1);
    assert_string_equal(id.launcher, PP_RANK_OF_PROGRAM);
}

static void take(void *ctx, const struct pp_rank_file *f)
{
    struct pp_identity id;
    assert_int_equal(pp_rank_file_identity(f, &id), 1);
    assert_string_equal(id.launcher, "torchrun");
    assert_string_equal(id.job, "job");
    assert_int_equal(id.rank, 3);
    assert_int_equal(id.world_size, 4);
    assert_int_equal(f->pid, *(pid_t *)ctx);
    answer("/made/for/it");
}

static void test_a_question_is_answered(void **state)
{
    (void)state;
    offer(getpid(), "");
    pid_t pid = fork();
    if (pid == 0) {
        char own[256];
        _exit(pp_rank_session(dir, -1, -1, own, sizeof(own)) && strcmp(own, "/made/for/it") == 0 ? 0 : 1);
    }
    int status = -1;
    for (int tries = 0; tries < 4000 && waitpid(pid, &status, WNOHANG) == 0; tries++) {
        pp_rank_files_take(dir, take, &pid);
        usleep(2000);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(unlink(answer_path()), 0);
}

static void test_keys_tell_ranks_apart(void **state)
{
    const struct pp_identity ids[] = {
        {.launcher = "torchrun", .rank = 1, .world_size = 4, .job = "a"},
        {.launcher = "torchrun", .rank = 2, .world_size = 4, .job = "a"},
        {.launcher = "torchrun", .rank = 1, .world_size = 5, .job = "a"},
        {.launcher = "torchrun", .rank = 1, .world_size = 4, .job = "b"},
        {.launcher = "torchrun", .rank = 1, .world_size = 4, .job = "a", .attempt = 1},
        {.launcher = "SLURM", .rank = 1, .world_size = 4, .job = "a"},
    };
    char key[6][PP_RANK_KEY];
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        pp_rank_key(&ids[i], key[i], sizeof(key[i]));
        assert_int_equal(strspn(key[i], "0123456789abcdef-"), strlen(key[i]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(key[i], key[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_asks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_answer_that_is_there_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_without_variables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_question_is_answered, setup, teardown),
        cmocka_unit_test(test_keys_tell_ranks_apart),
    };
    return cmocka_run_group_tests_name("rank_session", tests, NULL, NULL);
}
