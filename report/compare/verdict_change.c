#include "report/compare/parts.h"

#include "probe/base/err.h"
#include "report/stats/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void class_of(const struct pp_run *r, char *buf, size_t size)
{
    if (!r->l0[0])
        snprintf(buf, size, "unknown");
    else
        snprintf(buf, size, "%s%s%s", r->l0, r->l1[0] ? "/" : "", r->l1);
}

static int shows(const struct pp_run *r, const char *class)
{
    char own[56];
    class_of(r, own, sizeof(own));
    return strcmp(own, class) == 0;
}

static size_t with_class(const struct pp_runs *runs, const char *class)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        n += (size_t)shows(&runs->run[i], class);
    return n;
}

/* The first of the commonest. */
static size_t commonest(const struct pp_runs *runs, char *class, size_t size)
{
    char own[56];
    size_t most = 0;
    for (size_t i = 0; i < runs->n; i++) {
        class_of(&runs->run[i], own, sizeof(own));
        size_t n = with_class(runs, own);
        if (n > most) {
            most = n;
            snprintf(class, size, "%s", own);
        }
    }
    return most;
}

pp_status pp_compare_classes(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                             struct pp_err *err)
{
    struct pp_compare_verdict *v = &c->verdict;
    v->base_runs = commonest(base, v->base, sizeof(v->base));
    v->head_runs = commonest(head, v->head, sizeof(v->head));
    v->p = NAN; /* of pairs: found with all the other questions (adjust.c) */
    if (!c->opts.paired)
        v->p = pp_fisher_exact(v->base_runs, base->n, with_class(head, v->base), head->n);
    else if (!(v->pair = malloc(base->n * sizeof(*v->pair))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu pairs", base->n);
    for (size_t i = 0; v->pair && i < base->n; i++)
        v->pair[i] = shows(&base->run[i], v->base) - shows(&head->run[i], v->base);
    return PP_OK;
}

static int is_input_bound(const char *class)
{
    return strncmp(class, "input-bound", 11) == 0;
}

void pp_compare_answer_verdict(struct pp_compare *c)
{
    struct pp_compare_verdict *v = &c->verdict;
    int differ = strcmp(v->base, v->head) != 0, worse = is_input_bound(v->head) && !is_input_bound(v->base);
    v->changed = differ && v->p_all < c->level;
    v->answer = !worse || !differ ? PP_NOT_REGRESSED : v->changed ? PP_REGRESSED : PP_INCONCLUSIVE;
    if (!differ)
        snprintf(v->sentence, sizeof(v->sentence), "the verdict is %s on both sides", v->base);
    else
        snprintf(v->sentence, sizeof(v->sentence),
                 "the verdict %s from %s (%zu of %zu runs) to %s (%zu of %zu)%s",
                 v->changed ? "changed" : "may have changed", v->base, v->base_runs, c->n_base, v->head,
                 v->head_runs, c->n_head, v->changed ? "" : ": too few runs agree to exclude chance");
}
