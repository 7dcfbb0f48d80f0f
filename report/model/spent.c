#include "report/model/field_rows.h"

const struct pp_spent_kind pp_spent_kinds[PP_SPENT_KINDS] = {
    [PP_SPENT_STEP] = {"step", "step", "step"},
    [PP_SPENT_CPU] = {"step_without_cpu", "step, waiting for a CPU", "starved"},
    [PP_SPENT_DEVICE] = {"device_sync", "waits for the device", "sync"},
    [PP_SPENT_RANKS] = {"ranks", "waits for other ranks", "sync"},
    [PP_SPENT_READ] = {"wait_read", "waits for data: read", "read"},
    [PP_SPENT_DECODE] = {"wait_decode", "waits for data: decode", "decode"},
    [PP_SPENT_TRANSFORM] = {"wait_transform", "waits for data: transform", "transform"},
    [PP_SPENT_COLLATE] = {"wait_collate", "waits for data: collate", "collate"},
    [PP_SPENT_HANDOVER] = {"wait_handover", "waits for data: handing over", "wait"},
    [PP_SPENT_IDLE] = {"wait_idle", "waits for data: workers idle", "wait"},
    [PP_SPENT_WAIT] = {"wait_other", "waits for data: other", "wait"},
    [PP_SPENT_BOUNDARY] = {"boundary", "epoch boundaries, checkpoints", "apart"},
    [PP_SPENT_BETWEEN] = {"between", "between epochs", "apart"},
    [PP_SPENT_OTHER] = {"other", "between batches", "idle"},
};

#define ROW struct pp_report_spent
PP_VALUE_OF(spent_key, ROW, pp_value_text(pp_spent_kinds[r->kind].key))
PP_VALUE_OF(spent_words, ROW, pp_value_text(pp_spent_kinds[r->kind].words))

const struct pp_field pp_report_spent_fields[] = {
    MADE("kind", TEXT, spent_key, "of time", ALWAYS),
    MADE("words", TEXT, spent_words, "the same for people", ALWAYS),
    F(per_sample_ns, NS, "per batch where samples are not known"),
    F(share, SHARE, "of the window"),
    PP_FIELDS_END,
};
#undef ROW
