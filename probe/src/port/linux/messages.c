/* Limits on messages. */
#include "port/port.h"

#include "port/linux/files.h"

int64_t port_message_limit(enum port_message_limit limit)
{
    int64_t number;
    const char *path = limit == PORT_QUEUE_MESSAGE_BYTES ? "/proc/sys/fs/mqueue/msgsize_max"
                                                         : "/proc/sys/kernel/msgmax";
    return linux_read_number(path, &number) ? number : -1;
}
