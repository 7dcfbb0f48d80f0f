#include "report/audit/audit.h"

#include "probe/base/err.h"
#include "report/audit/facts.h"

pp_status pp_audit_judge(const struct pp_audit_input *in, struct pp_audit *out, struct pp_err *err)
{
    struct audit_facts f;
    *out = (struct pp_audit){.scale = 1};
    pp_status st = audit_facts_collect(in, &out->arena, &f, err);
    if (st == PP_OK)
        audit_judge(&f, out);
    audit_facts_free(&f);
    if (st == PP_OK && pp_arena_failed(&out->arena))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the audit of %zu recordings", in->n_parts);
    return st;
}

void pp_audit_free(struct pp_audit *a)
{
    pp_arena_free(&a->arena);
    *a = (struct pp_audit){0};
}
