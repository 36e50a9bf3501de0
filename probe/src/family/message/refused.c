/* What a kind that cannot be opened is told as. */
#include "base/posix_source.h"

#include "family/message/kind.h"
#include "port/port.h"

#include <stdio.h>

static const char *queue_remedy(int error)
{
    switch (error) {
    case EMSGSIZE:
        return port_hint(PORT_HINT_MESSAGE_BYTES);
    case ENOBUFS:
        return port_hint(PORT_HINT_QUEUE_MESSAGES);
    case EMFILE:
        return "raise the memory of message queues (ulimit -q) or the open files (ulimit -n)";
    case ENOSPC:
        return port_hint(PORT_HINT_QUEUES);
    case ENOSYS:
        return "use a kernel with POSIX message queues (Linux: CONFIG_POSIX_MQUEUE)";
    default:
        return NULL;
    }
}

static const char *sysv_remedy(int error)
{
    switch (error) {
    case EMSGSIZE:
        return port_hint(PORT_HINT_SYSV_BYTES);
    case ENOSPC:
        return port_hint(PORT_HINT_SYSV_QUEUES);
    case ENOSYS:
        return "use a kernel with System V IPC (Linux: CONFIG_SYSVIPC)";
    default:
        return NULL;
    }
}

static const char *remedy_of_kind(enum message_kind kind, int error)
{
    if (kind == MESSAGE_MQ)
        return queue_remedy(error);
    if (kind == MESSAGE_SYSV)
        return sysv_remedy(error);
    if (kind == MESSAGE_UNIX && error == EMSGSIZE)
        return port_hint(PORT_HINT_SOCKET_BUFFER);
    if (kind == MESSAGE_UNIX && error == ENOTSUP)
        return "use a system with Unix sockets of type SOCK_SEQPACKET (Linux: CONFIG_UNIX)";
    if (kind == MESSAGE_FIFO && (error == ENOENT || error == EACCES || error == EROFS))
        return "set TMPDIR to a folder in which a FIFO can be made";
    return NULL;
}

const char *message_remedy(enum message_kind kind, int error)
{
    const char *remedy = remedy_of_kind(kind, error);
    return remedy ? remedy : status_limit_remedy(error);
}

/* The largest length that is known of the kind; -1: not known. */
static int64_t most_bytes(enum message_kind kind)
{
    if (kind == MESSAGE_MQ)
        return port_message_limit(PORT_QUEUE_MESSAGE_BYTES);
    return kind == MESSAGE_SYSV ? port_message_limit(PORT_SYSV_MESSAGE_BYTES) : -1;
}

/* A length above the limit has no figures; the others have theirs. */
static void tell_limited(struct run *run, const struct message_plan *plan)
{
    const char *kind = message_kind_names[plan->kind];
    int64_t most = most_bytes(plan->kind);
    char limit[64] = "";
    if (most >= 0)
        snprintf(limit, sizeof limit, " (the system's limit: %lld)", (long long)most);
    arena_event_once(run->arena, "kind_limited",
                     DATA(data_text("kind", kind), data_integer("size_bytes", (int64_t)plan->bytes),
                          data_integer("limit_bytes", most),
                          data_text("remedy", message_remedy(plan->kind, EMSGSIZE))),
                     "%s: messages of %zu bytes are too long here%s, and have no figures: %s", kind,
                     plan->bytes, limit, message_remedy(plan->kind, EMSGSIZE));
}

static const char *or_nothing(const char *words)
{
    return words ? words : "";
}

static void tell_missing(struct run *run, const struct message_plan *plan, int error)
{
    const char *kind = message_kind_names[plan->kind];
    const char *remedy = or_nothing(message_remedy(plan->kind, error));
    arena_event_once(run->arena, "kind_unsupported",
                     DATA(data_text("kind", kind), data_bool("is_shared", plan->is_shared),
                          data_text("error", strerror(error)), data_text("remedy", remedy)),
                     "%s: %s%s%s", kind, strerror(error), *remedy ? ": " : "", remedy);
}

void message_deny(struct run *run, const struct message_plan *plan, int error)
{
    const char *kind = message_kind_names[plan->kind];
    const char *remedy = or_nothing(message_remedy(plan->kind, error));
    arena_event_once(run->arena, "kind_denied",
                     DATA(data_text("kind", kind), data_bool("is_shared", plan->is_shared),
                          data_text("error", strerror(error)), data_text("remedy", remedy)),
                     "%s: %s%s%s", kind, strerror(error), *remedy ? ": " : "", remedy);
    outcome_set(&run->outcome, STATUS_DENIED, remedy, "opening a channel of the kind %s: %s", kind,
                strerror(error));
}

bool message_is_here(struct run *run, const struct message_plan *plan)
{
    struct message_channel channel;
    int error = message_open(&channel, plan);
    if (error == 0)
        message_close(&channel);
    else if (error == EMSGSIZE)
        tell_limited(run, plan);
    else if (status_is_missing(error))
        tell_missing(run, plan, error);
    else
        message_deny(run, plan, error);
    return error == 0;
}
