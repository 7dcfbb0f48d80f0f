#include "tui/dash/interrupt.h"

#include "probe/base/err.h"
#include "probe/base/signals.h"

#include <signal.h>

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
    stop_signal = sig;
}

/* No SA_RESTART: waiting for a key has to end. */
void pp_interrupt_catch(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    sigemptyset(&sa.sa_mask);
    stop_signal = 0;
    pp_signals_catch(&sa);
}

int pp_interrupt_signal(void)
{
    return stop_signal;
}

pp_status pp_interrupt_status(struct pp_err *err)
{
    return stop_signal ? pp_fail(err, PP_E_INTERRUPTED, "stopped by %s",
                                 stop_signal == SIGINT    ? "Ctrl-C"
                                 : stop_signal == SIGTERM ? "SIGTERM"
                                                          : "SIGHUP")
                       : PP_OK;
}
