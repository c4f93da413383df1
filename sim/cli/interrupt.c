#include "sim/cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "traces/atomic_file.h"

static pid_t program;

static void on_signal(int number)
{
    static const char line[] = "esgsim: interrupted\n";
    (void)number;
    atomic_file_remove_unfinished();
    if (getpid() == program && write(STDERR_FILENO, line, sizeof line - 1) < 0)
        _exit(1);
    _exit(1);
}

void interrupt_install(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;
    program = getpid();
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    /* nohup ignores it. */
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        (void)sigaction(SIGHUP, &action, NULL);
}
