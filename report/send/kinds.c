#include "report/send/sink.h"

const struct pp_sink_kind *const pp_sink_kinds[] = {&pp_sink_http, &pp_sink_textfile,    &pp_sink_push,
                                                    &pp_sink_otlp, &pp_sink_tensorboard, &pp_sink_mlflow,
                                                    NULL};
