#include "report/ranks/pile.h"

static pp_status merge_last_two(struct pp_digest_pile *p, struct pp_err *err)
{
    pp_status st = pp_digest_merge(&p->part[p->n - 2], &p->part[p->n - 1], err);
    pp_digest_free(&p->part[p->n - 1]);
    p->n--;
    p->files[p->n - 1] += p->files[p->n];
    return st;
}

pp_status pp_pile_add(struct pp_digest_pile *p, const struct pp_digest *one, struct pp_err *err)
{
    pp_status st = PP_OK;
    p->part[p->n] = *one;
    p->files[p->n] = 1;
    p->n++;
    while (st == PP_OK && p->n > 1 && p->files[p->n - 1] == p->files[p->n - 2])
        st = merge_last_two(p, err);
    return st;
}

pp_status pp_pile_end(struct pp_digest_pile *p, struct pp_digest *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    while (st == PP_OK && p->n > 1)
        st = merge_last_two(p, err);
    *out = (struct pp_digest){0};
    if (st == PP_OK && p->n) {
        *out = p->part[0];
        p->n = 0;
    }
    pp_pile_free(p);
    return st;
}

void pp_pile_free(struct pp_digest_pile *p)
{
    for (int i = 0; i < p->n; i++)
        pp_digest_free(&p->part[i]);
    p->n = 0;
}
