/* Answers the requests of tests/e2e/sampler_equals_pytorch.py from the shipped sampler: "kind n seed epoch
 * world rank drop_last" in, the same with the number of samples, their digest and the first eight out. */
#include "tests/tools/order_digest.h"

#include <stdio.h>

int main(void)
{
    char line[256], answer[512];
    while (fgets(line, sizeof(line), stdin)) {
        struct pp_err err = {0};
        if (order_digest_answer(line, answer, sizeof(answer), &err) != PP_OK) {
            fprintf(stderr, "order_digest: %s", err.text);
            return 1;
        }
        puts(answer);
    }
    return 0;
}
