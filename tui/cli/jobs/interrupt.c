#include "tui/cli/jobs/interrupt.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include <signal.h>
#include <stdatomic.h>

enum { CHILDREN_MAX = 64 };

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction found[sizeof(ends) / sizeof(*ends)]; /* before interrupt_catch */
static atomic_int asked;                                     /* lock-free; threads read it too */
static void (*on_end)(int sig);
static pid_t child[CHILDREN_MAX];
static atomic_int children; /* the handler sees what was written before it grew */
static int pipe_ignored;

static void on_signal(int sig)
{
    int saved_errno = errno;
    atomic_store_explicit(&asked, sig, memory_order_relaxed);
    int n = atomic_load_explicit(&children, memory_order_acquire);
    for (int i = 0; sig == SIGTERM && i < n; i++)
        kill(child[i], SIGTERM);
    if (on_end)
        on_end(sig);
    errno = saved_errno;
}

void interrupt_catch(unsigned flags, void (*hook)(int sig))
{
    struct sigaction act = {.sa_handler = flags & INTERRUPT_BESIDE ? SIG_IGN : on_signal,
                            .sa_flags = (flags & INTERRUPT_WAKES ? 0 : SA_RESTART) |
                                        (flags & INTERRUPT_ONCE ? (int)SA_RESETHAND : 0)};
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        sigaddset(&act.sa_mask, ends[i]);
    atomic_store_explicit(&asked, 0, memory_order_relaxed);
    on_end = hook;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (sigaction(ends[i], NULL, &found[i]) != 0 || found[i].sa_handler != SIG_IGN ||
            (ends[i] != SIGHUP && !(flags & INTERRUPT_AS_FOUND)))
            sigaction(ends[i], &act, NULL);
}

void interrupt_catch_no_more(void)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        sigaction(ends[i], &found[i], NULL);
}

int interrupt_asked(void)
{
    return atomic_load_explicit(&asked, memory_order_relaxed);
}

pp_status interrupt_status(struct pp_err *err)
{
    int sig = interrupt_asked();
    return sig ? pp_fail(err, PP_E_INTERRUPTED, "stopped by %s",
                         sig == SIGINT    ? "Ctrl-C"
                         : sig == SIGTERM ? "SIGTERM"
                                          : "SIGHUP")
               : PP_OK;
}

void interrupt_passes_to(pid_t pid)
{
    int n = atomic_load_explicit(&children, memory_order_relaxed);
    if (n < CHILDREN_MAX) {
        child[n] = pid;
        atomic_store_explicit(&children, n + 1, memory_order_release); /* pairs with the handler's acquire */
    }
    if (interrupt_asked())
        kill(pid, SIGTERM); /* the signal came before the handler could see the child */
}

void interrupt_passes_no_more(void)
{
    atomic_store_explicit(&children, 0, memory_order_relaxed);
}

void interrupt_ignore_pipe(void)
{
    struct sigaction before;
    pipe_ignored |= sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL;
    signal(SIGPIPE, SIG_IGN);
}

void interrupt_restores(sigset_t *set)
{
    sigemptyset(set);
    if (pp_io_ignores_file_size_signal())
        sigaddset(set, SIGXFSZ);
    if (pipe_ignored)
        sigaddset(set, SIGPIPE);
}
