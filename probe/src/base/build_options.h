/* Build options for small systems. Meson sets them from its options; without Meson, pass
 * -DNAME=VALUE to the compiler. All defaults are here. */
#ifndef HS_BASE_BUILD_OPTIONS_H
#define HS_BASE_BUILD_OPTIONS_H

/* ---- features ---- */

/* 0 leaves a feature out: requests for it are refused with a reason. The build then omits load/ and
 * command/load.c (HS_LOAD), or shield/ and command/shield.c (HS_SHIELD). */
#ifndef HS_LOAD
#define HS_LOAD 1
#endif
#ifndef HS_SHIELD
#define HS_SHIELD 1
#endif

/* ---- counts ---- */

/* Number of CPUs supported, numbered from 0; a CPU set takes one bit for each. */
#ifndef HS_CPUS
#define HS_CPUS 8192
#endif

/* Threads of a test whose run delay can be told (run/burst.h); with more a pause of the
 * system cannot be told from a wake-up that was slow. 32 bytes each, twice. */
#ifndef HS_THREADS
#define HS_THREADS 600
#endif

/* Threads of a test whose counters are read each second (run/watch.h), 112 bytes each, and
 * counts of interrupts (lines times measured CPUs) that are remembered for it, 12 bytes each. */
#ifndef HS_WATCH_THREADS
#define HS_WATCH_THREADS 128
#endif
#ifndef HS_WATCH_COUNTS
#define HS_WATCH_COUNTS 16384
#endif

/* Values of a parameter that is a list, 8 bytes each for every parameter (run/test.h). */
#ifndef HS_PARAM_VALUES
#define HS_PARAM_VALUES 16
#endif

/* ---- records (record/record.h) ---- */

/* Resolution of a histogram: a bucket is at most 2^-HS_RECORD_SUB_BITS of its value wide. 10 bits
 * take 221 KB a record, 5 bits 8.5 KB. */
#ifndef HS_RECORD_SUB_BITS
#define HS_RECORD_SUB_BITS 10
#endif
/* Worst values of a series, 24 bytes each. */
#ifndef HS_RECORD_WORST
#define HS_RECORD_WORST 32
#endif

/* ---- memory of a run (record/arena.h) ---- */

/* Events and verdicts of a run, and the text of each. */
#ifndef HS_ARENA_EVENTS
#define HS_ARENA_EVENTS 48
#endif
#ifndef HS_ARENA_VERDICTS
#define HS_ARENA_VERDICTS 64
#endif
#ifndef HS_ARENA_TEXT_BYTES
#define HS_ARENA_TEXT_BYTES 400
#endif
/* Packed data of an event (base/data.h). */
#ifndef HS_ARENA_DATA_BYTES
#define HS_ARENA_DATA_BYTES 640
#endif
/* Header line of the stream, and the conditions of its result line: one buffer each. */
#ifndef HS_ARENA_JSON_BYTES
#define HS_ARENA_JSON_BYTES 4096
#endif
/* Seconds whose counters of the kernel are kept because a worst value lies in them, of one CPU each
 * (record/tables.h), 200 bytes. */
#ifndef HS_ARENA_INTERVALS
#define HS_ARENA_INTERVALS 128
#endif
/* Excerpts of the kernel's trace, around the largest values, and the lines of each, 128 bytes. */
#ifndef HS_ARENA_TRACES
#define HS_ARENA_TRACES 4
#endif
#ifndef HS_ARENA_TRACE_LINES
#define HS_ARENA_TRACE_LINES 48
#endif
/* Rows of all tables of whole numbers that a test keeps at most, 48 bytes each; 0: no test keeps
 * tables (record/tables.h). */
#ifndef HS_ARENA_ROWS
#define HS_ARENA_ROWS (1 << 16)
#endif
/* Compact form of a series that shares its record, beside its maxima: at least; and what all series
 * have together, if that is more. */
#ifndef HS_ARENA_KEPT_BYTES
#define HS_ARENA_KEPT_BYTES 8192
#endif
#ifndef HS_ARENA_KEPT_ALL_BYTES
#define HS_ARENA_KEPT_ALL_BYTES (512 * 1024)
#endif

/* ---- buffers and stacks ---- */

/* Buffer of standard output. */
#ifndef HS_EMIT_BYTES
#define HS_EMIT_BYTES 4096
#endif

/* Stacks of threads (base/rt_thread.h): of the measuring thread and of those with large frames, and
 * of waiters and second parties. On x86-64 with glibc, linked dynamically, the measuring thread of
 * a semaphore test uses 13 KiB, its waiters and second parties 8 KiB; both hold the 4 KiB of the C
 * library. */
#ifndef HS_STACK_BYTES
#define HS_STACK_BYTES (96 * 1024)
#endif
#ifndef HS_SMALL_STACK_BYTES
#define HS_SMALL_STACK_BYTES (32 * 1024)
#endif

#if HS_CPUS < 1
#error "HS_CPUS: at least 1"
#endif
#if HS_THREADS < 2
#error "HS_THREADS: at least 2, the supervisor and the measuring thread"
#endif
#if HS_PARAM_VALUES < 13
#error "HS_PARAM_VALUES: at least 13, the longest default of a test"
#endif
#if HS_RECORD_SUB_BITS < 1 || HS_RECORD_SUB_BITS > 10
#error "HS_RECORD_SUB_BITS: 1 to 10"
#endif
#if HS_ARENA_DATA_BYTES < 16
#error "HS_ARENA_DATA_BYTES: at least 16"
#endif
#if HS_RECORD_WORST < 1 || HS_ARENA_EVENTS < 1 || HS_ARENA_VERDICTS < 1 || HS_ARENA_INTERVALS < 1
#error "HS_RECORD_WORST, HS_ARENA_EVENTS, HS_ARENA_VERDICTS, HS_ARENA_INTERVALS: at least 1"
#endif
#if HS_ARENA_TRACES < 1 || HS_ARENA_TRACE_LINES < 1
#error "HS_ARENA_TRACES, HS_ARENA_TRACE_LINES: at least 1"
#endif
#if HS_ARENA_ROWS < 0 || HS_ARENA_ROWS > (1 << 18)
#error "HS_ARENA_ROWS: 0 to 262144"
#endif
#if HS_WATCH_THREADS < 1 || HS_WATCH_COUNTS < 1
#error "HS_WATCH_THREADS, HS_WATCH_COUNTS: at least 1"
#endif

#endif
