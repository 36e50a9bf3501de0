/* Who holds a shield: a boot and a process in it. */
#include "port/linux/files.h"
#include "port/linux/shield.h"

bool port_boot_name(char *text, size_t bytes)
{
    return linux_read("/proc/sys/kernel/random/boot_id", text, bytes);
}

uint64_t port_process_start(pid_t pid)
{
    static const struct port_shield here = {.root = ""};
    struct linux_task task;
    return linux_task_read(&here, pid, &task) ? task.start : 0;
}
