/* What is read of an MLflow server's answers, and what is sent to it. Whole exchanges:
 * tests/e2e/mlflow_gets_run_and_report.sh. */
#include "report/send/mlflow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_runs(void **state)
{
    static const struct {
        const char *id, *uri, *artifacts; /* artifacts NULL: no run */
    } rows[] = {
        {"0a", "mlflow-artifacts:/0/0a/artifacts", "0/0a/artifacts"},
        {"0a", "mlflow-artifacts://host:80/0/0a/artifacts", "0/0a/artifacts"},
        {"0a", "s3://bucket/0/0a", ""},
        {"0a", "mlflow-artifacts:/../0a", ""},
        {"0a", "mlflow-artifacts:/0/a b", ""},
        {"0a", "mlflow-artifacts:/0/a?x=y", ""},
        {"0a", "mlflow-artifacts://host", ""},
        {"0a", "mlflow-artifacts:", ""},
        {"../0a", "mlflow-artifacts:/0/0a", NULL},
        {"", "mlflow-artifacts:/0/0a", NULL},
        {"0123456789012345678901234567890123456789012345678901234567890123456789", "", NULL},
    };
    struct pp_mlflow_run run;
    char body[400], id[65];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(body, sizeof(body), "{\"run\":{\"info\":{\"run_id\":\"%s\",\"artifact_uri\":\"%s\"}}}",
                 rows[i].id, rows[i].uri);
        int found = pp_mlflow_read_run(body, strlen(body), &run);
        if (found != (rows[i].artifacts != NULL))
            fail_msg("%s: %d", body, found);
        if (found) {
            assert_string_equal(run.id, rows[i].id);
            assert_string_equal(run.artifacts, rows[i].artifacts);
        }
    }
    assert_false(pp_mlflow_read_run("<html>", 6, &run));
    assert_false(pp_mlflow_read_run("[]", 2, &run));
    assert_true(pp_mlflow_read_experiment("{\"experiment_id\":\"7\"}", 21, id));
    assert_string_equal(id, "7");
    assert_false(pp_mlflow_read_experiment("{\"experiment_id\":7}", 19, id));
}

static void test_bodies(void **state)
{
    char *body = pp_mlflow_of_run("0a", "{\"metrics\":[]}\n", 15), words[120];
    assert_string_equal(body, "{\"run_id\":\"0a\",\"metrics\":[]}\n");
    free(body);
    assert_null(pp_mlflow_of_run("0a", "", 0));
    assert_null(pp_mlflow_of_run("0a", "[]", 2));
    body = pp_mlflow_create_experiment("a \"b\"");
    assert_string_equal(body, "{\"name\":\"a \\\"b\\\"\"}\n");
    free(body);
    pp_mlflow_read_refusal("{\"message\":\"no\\u001b[31m\"}", 26, words, sizeof(words));
    assert_string_equal(words, "no\\x1b[31m");
    pp_mlflow_read_refusal("{}", 2, words, sizeof(words));
    assert_string_equal(words, "");
}

static void test_urls(void **state)
{
    struct pp_err err;
    char *url;
    unsetenv("MLFLOW_TRACKING_URI");
    assert_int_equal(pp_mlflow_url("env", &url, &err), PP_E_USAGE);
    assert_int_equal(pp_mlflow_url("file:///tmp/mlruns", &url, &err), PP_E_USAGE);
    assert_int_equal(pp_mlflow_url("databricks", &url, &err), PP_E_USAGE);
    setenv("MLFLOW_TRACKING_URI", "https://h/mlflow//", 1);
    assert_int_equal(pp_mlflow_url("env", &url, &err), PP_OK);
    assert_string_equal(url, "https://h/mlflow");
    free(url);
    unsetenv("MLFLOW_TRACKING_URI");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
