/* Facts of the port to Linux, by topic; what each sends is in docs/reference/facts.md. */
#ifndef HS_LINUX_FACTS_H
#define HS_LINUX_FACTS_H

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

/* The file of a debug file system, "debugfs" or "tracefs": where that is mounted, else (as
 * root) through a mount of it that nobody sees and that ends with the call. False: not to be
 * had. */
bool linux_read_debug(const char *system, const char *path, char *text, size_t bytes);

/* Whether `name` ("CONFIG_HZ") is in the configuration of the running kernel, its value
 * ("y", "250"; "n" where it is off) in `value`. False: the configuration is not to be had. */
bool linux_config(const char *name, char *value, size_t bytes);

/* Unpacks a deflate stream (RFC 1951): bytes written to `to`, or -1 where it is faulty or
 * does not fit. */
long linux_inflate(const unsigned char *from, size_t from_bytes, unsigned char *to,
                   size_t to_bytes);

/* Calls `take` for each CPU of a list such as "0-3,6"; false when it is no such list. */
bool linux_each_cpu(const char *list, void (*take)(void *context, int cpu), void *context);

/* The same for every CPU that is online; false where that is not known. */
bool linux_each_online(void (*take)(void *context, int cpu), void *context);

/* The active word of a list such as "none [voluntary] full" or "none (voluntary) full". */
bool linux_bracketed(const char *list, char *word, size_t bytes);

/* Whether the processes of the whole machine can be seen: its first PID namespace, and a
 * /proc that does not hide those of others. */
bool linux_sees_all_tasks(void);

/* A text that grows within its buffer; what does not fit whole is left out and counted. */
struct linux_words {
    char *text;
    size_t bytes, used;
    int64_t left_out;
};
void linux_add_word(struct linux_words *words, const char *separator, const char *word);

#endif
