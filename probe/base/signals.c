#include "probe/base/signals.h"

#include <stddef.h>

void pp_signals_catch(const struct sigaction *act)
{
    struct sigaction before;
    sigaction(SIGINT, act, NULL);
    sigaction(SIGTERM, act, NULL);
    if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, act, NULL);
}
