/* Facts of the port to Linux, one function per topic. docs/reference/facts.md lists the facts;
 * each function leaves out those that cannot be read. */
#ifndef HS_PORT_LINUX_FACTS_H
#define HS_PORT_LINUX_FACTS_H

#include "port/port.h"

#include "port/linux/files.h"

void linux_debug_facts(const struct port_fact_sink *sink);
void linux_idle_facts(const struct port_fact_sink *sink);
void linux_interrupt_facts(const struct port_fact_sink *sink);
void linux_memory_facts(const struct port_fact_sink *sink);
void linux_power_facts(const struct port_fact_sink *sink);
void linux_preemption_facts(const struct port_fact_sink *sink);
void linux_right_facts(const struct port_fact_sink *sink);
void linux_granted_facts(const struct port_fact_sink *sink);
void linux_throttling_facts(const struct port_fact_sink *sink);
void linux_task_facts(const struct port_fact_sink *sink);
void linux_virtual_facts(const struct port_fact_sink *sink);

/* What this process may do about real-time scheduling and locked memory. A capability is there if
 * it counts for the machine: in a user namespace of its own it does not. `rtprio` and `rtprio_most`
 * are RLIMIT_RTPRIO, soft and hard. `why_not`: why the capabilities of an executable's file
 * (setcap) would have no effect; NULL: they would. !is_known: capabilities are not known. */
enum { LINUX_UNLIMITED = -1 };
struct linux_rights {
    bool is_known, has_nice, has_lock, has_admin;
    bool is_user_namespace, has_filter; /* a filter of system calls is in force */
    int64_t rtprio, rtprio_most;
    const char *why_not;
};
void linux_rights_read(struct linux_rights *rights);

/* Stores the models of an ARM machine's online CPUs, each once; false: this is none, or they are
 * not known. */
bool linux_arm_model(char *text, size_t bytes);

/* Whether the processor is emulated, and what tells. */
enum linux_emulated { LINUX_EMULATED_UNKNOWN, LINUX_NOT_EMULATED, LINUX_EMULATED };
struct linux_emulation {
    enum linux_emulated is;
    bool is_qemu; /* the firmware names QEMU, which may be run by KVM */
    char reason[200];
};
/* By CPUID: the vendors of leaf 0, and of leaf 0x40000000 ("": there is no hypervisor). Without
 * CPUID: by the names in device tree, DMI and /proc/cpuinfo. */
void linux_emulation_by_cpuid(const char *vendor, const char *hypervisor,
                              struct linux_emulation *emulation);
void linux_emulation_by_names(struct linux_emulation *emulation);
/* By the boot line: hardstone's lab starts each guest with hardstone.lab=tcg, icount or kvm. Leaves
 * what contradicts "kvm". */
void linux_emulation_by_lab(struct linux_emulation *emulation);
/* Stores the hypervisor's name by device tree and DMI; false: they name none. */
bool linux_hypervisor_by_names(char *name, size_t bytes);
void linux_emulation_facts(const struct port_fact_sink *sink,
                           const struct linux_emulation *emulation);

/* Where control groups limit the CPU time of this process: `limit_us` of each `period_us` is the
 * tightest of its group and of those above it; -1: none has a limit. `group`: folder of the group
 * that has it. `above_share`: what the groups above that one leave it, at most 1. `file`: of the
 * group, with a quota. */
struct linux_group_limit {
    int64_t limit_us, period_us;
    double above_share;
    const char *file;
    char group[PORT_CPU_GROUP_BYTES];
};

/* Of real-time threads (cpu.rt_runtime_us, version 1 only); false: not known. */
bool linux_group_budget(struct linux_group_limit *limit);

/* Of time-shared threads (cpu.cfs_quota_us; cpu.max); false: not known. */
bool linux_group_quota(struct linux_group_limit *limit);

/* Reads the file `path` of `system` ("debugfs", "tracefs") without white space at its end. If that
 * is not mounted and the caller is root, through a private mount that ends with the call. False:
 * cannot be read, or empty. */
bool linux_read_debug(const char *system, const char *path, char *text, size_t bytes);

/* Why `path` of `system` cannot be read: "none" (the kernel does not have the system), "not
 * mounted", "refused" (by lockdown, say, whoever asks), "mounted" (it has no such file). */
const char *linux_debug_state(const char *system, const char *path);

/* Opens it through such a mount: a descriptor, which keeps the mount until it is closed, or -1 with
 * errno (ENODEV: the kernel does not have this file system; ENOSYS: no such mounts). */
int linux_open_detached(const char *system, const char *path, int flags);

/* Stores the value of option `name` ("CONFIG_HZ") of the running kernel's configuration: "y",
 * "250"; "n" if it is not set. False: the configuration cannot be read. */
bool linux_config(const char *name, char *value, size_t bytes);

/* Unpacks a deflate stream (RFC 1951). Returns the bytes written to `to`, or -1 if the stream is
 * damaged or does not fit. */
long linux_inflate(const unsigned char *from, size_t from_bytes, unsigned char *to,
                   size_t to_bytes);

/* Calls `take` for each CPU of a list such as "0-3,6"; false: `list` is not such a list. */
bool linux_each_cpu(const char *list, void (*take)(void *context, int cpu), void *context);

/* Calls `take` for each online CPU; false: they are not known. */
bool linux_each_online(void (*take)(void *context, int cpu), void *context);

/* Stores the active word of a list such as "none [voluntary] full" or "none (voluntary) full";
 * false: none is marked. */
bool linux_bracketed(const char *list, char *word, size_t bytes);

/* Whether all processes of the machine are visible: this is the initial PID namespace, and /proc
 * is mounted without hidepid=. */
bool linux_sees_all_tasks(void);

/* A list of words in a fixed buffer; a word that does not fit is left out and counted. */
struct linux_words {
    char *text;
    size_t bytes, used;
    int64_t left_out;
};
void linux_add_word(struct linux_words *words, const char *separator, const char *word);

#endif
