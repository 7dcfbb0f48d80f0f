#include "report/build/neighbours.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/source/rows.h"

#include <stdio.h>

enum { NAMED = 3, TEXT = 400 };

static int moves_others(const struct pp_remedy *r)
{
    return r == &pp_remedies[PP_REMEDY_OTHER_LOAD] || r == &pp_remedies[PP_REMEDY_OTHER_LOAD_OR_QUOTA] ||
           r == &pp_remedies[PP_REMEDY_OTHER_LOAD_THEN_WORKERS];
}

void pp_neighbours_name(struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    char key[32], text[TEXT] = "";
    for (int i = 1; moves_others(v->remedy) && v->next_step && i <= NAMED; i++) {
        snprintf(key, sizeof(key), "other_process_%d", i);
        const struct pp_report_pair *p = pp_rows_find(r->environment, r->n_environment, key);
        if (p && p->value)
            pp_text_add(text, TEXT, "%s%.120s", text[0] ? "; " : "", p->value);
    }
    if (text[0])
        v->next_step = pp_arena_printf(arena, "%s The largest: %s.", v->next_step, text);
}
