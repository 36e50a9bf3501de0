/* POSIX has no limits on these rights, no capabilities, and no way to lose a group. Who is no root
 * has none to lose. */
#include "base/posix_source.h"

#include "port/limits.h"

#include <errno.h>
#include <unistd.h>

int port_become_ordinary(uid_t user, int kept)
{
    (void)user;
    return geteuid() != 0 && kept == PORT_RIGHT_NONE ? 0 : ENOTSUP;
}

bool port_may_switch_user(void)
{
    return false;
}

int port_limit_right(enum port_right right, int64_t most)
{
    (void)right, (void)most;
    return ENOTSUP;
}

int port_try_io_realtime(void)
{
    return ENOTSUP;
}

int port_try_affinity(pid_t process)
{
    (void)process;
    return ENOTSUP;
}

int port_try_offline(void)
{
    return ENOTSUP;
}

int port_try_cpuset(void)
{
    return ENOTSUP;
}
