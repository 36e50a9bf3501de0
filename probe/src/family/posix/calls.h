/* The real calls, one for each option of option.c. Each runs in a process of its own
 * (call_runner.h), which it may leave in any state, and says what it saw. */
#ifndef HS_FAMILY_POSIX_CALLS_H
#define HS_FAMILY_POSIX_CALLS_H

#include "family/posix/call.h"

struct answer call_job_control(const struct call_tools *tools);
struct answer call_saved_ids(const struct call_tools *tools);
struct answer call_chown_restricted(const struct call_tools *tools);
struct answer call_no_trunc(const struct call_tools *tools);
struct answer call_vdisable(const struct call_tools *tools);
struct answer call_single_process(const struct call_tools *tools);
struct answer call_multi_process(const struct call_tools *tools);
struct answer call_signals(const struct call_tools *tools);
struct answer call_c_lang_jump(const struct call_tools *tools);
struct answer call_signal_jump(const struct call_tools *tools);
struct answer call_c_lang_support(const struct call_tools *tools);
struct answer call_c_lang_math(const struct call_tools *tools);
struct answer call_device_io(const struct call_tools *tools);
struct answer call_device_specific(const struct call_tools *tools);
struct answer call_fd_mgmt(const struct call_tools *tools);
struct answer call_file_system(const struct call_tools *tools);
struct answer call_file_attributes(const struct call_tools *tools);
struct answer call_fifo(const struct call_tools *tools);
struct answer call_pipe(const struct call_tools *tools);
struct answer call_user_groups(const struct call_tools *tools);
struct answer call_timers(const struct call_tools *tools);
struct answer call_priority_scheduling(const struct call_tools *tools);
struct answer call_realtime_signals(const struct call_tools *tools);
struct answer call_semaphores(const struct call_tools *tools);
struct answer call_message_passing(const struct call_tools *tools);
struct answer call_shared_memory_objects(const struct call_tools *tools);
struct answer call_memlock(const struct call_tools *tools);
struct answer call_memlock_range(const struct call_tools *tools);
struct answer call_memory_protection(const struct call_tools *tools);
struct answer call_synchronized_io(const struct call_tools *tools);
struct answer call_asynchronous_io(const struct call_tools *tools);
struct answer call_prioritized_io(const struct call_tools *tools);
struct answer call_fsync(const struct call_tools *tools);
struct answer call_mapped_files(const struct call_tools *tools);
struct answer call_threads(const struct call_tools *tools);
struct answer call_thread_safe_functions(const struct call_tools *tools);
struct answer call_thread_attr_stackaddr(const struct call_tools *tools);
struct answer call_thread_attr_stacksize(const struct call_tools *tools);
struct answer call_thread_priority_scheduling(const struct call_tools *tools);
struct answer call_thread_prio_inherit(const struct call_tools *tools);
struct answer call_thread_prio_protect(const struct call_tools *tools);
struct answer call_thread_process_shared(const struct call_tools *tools);
struct answer call_mutexes(const struct call_tools *tools);
struct answer call_condition_variables(const struct call_tools *tools);
struct answer call_file_locking(const struct call_tools *tools);
struct answer call_spawn(const struct call_tools *tools);
struct answer call_sporadic_server(const struct call_tools *tools);
struct answer call_thread_sporadic_server(const struct call_tools *tools);
struct answer call_cputime(const struct call_tools *tools);
struct answer call_thread_cputime(const struct call_tools *tools);
struct answer call_timeouts(const struct call_tools *tools);
struct answer call_advisory_info(const struct call_tools *tools);
struct answer call_typed_memory_objects(const struct call_tools *tools);
struct answer call_barriers(const struct call_tools *tools);
struct answer call_reader_writer_locks(const struct call_tools *tools);
struct answer call_spin_locks(const struct call_tools *tools);
struct answer call_monotonic_clock(const struct call_tools *tools);
struct answer call_clock_selection(const struct call_tools *tools);
struct answer call_trace(const struct call_tools *tools);
struct answer call_trace_event_filter(const struct call_tools *tools);
struct answer call_trace_log(const struct call_tools *tools);
struct answer call_raw_sockets(const struct call_tools *tools);
struct answer call_regexp(const struct call_tools *tools);
struct answer call_shell(const struct call_tools *tools);
struct answer call_networking(const struct call_tools *tools);
struct answer call_event_mgmt(const struct call_tools *tools);
struct answer call_symbolic_links(const struct call_tools *tools);
struct answer call_xsi_threads_ext(const struct call_tools *tools);

#endif
