/* The keeper: its jobs, its lock, and what is left when it or an agent is killed. */
#include "base/posix_source.h"

#include "agent/folder.h"
#include "agent_host.h"
#include "port/file.h"
#include "port/port.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

/* An argument with which this program ends with 42, where a keeper takes it for the probe. */
#define AS_PROBE "as-probe"

int main(int argc, char *argv[])
{
    if (argc == 2 && strcmp(argv[1], AS_PROBE) == 0)
        return 42;
    tap_program = argv[0];
    return tap_run();
}

static struct host host;
static char *folder;

/* The keeper becomes a child of this process, where the system can do that: it is waited for. */
static bool is_adopted;

static bool open_agent(void)
{
    is_adopted = port_adopt_orphans() == 0;
    folder = new_folder("keeper");
    host_open(&host, folder);
    return true;
}

/* Where the folder has gone already. */
static void close_gone(void)
{
    while (is_adopted && waitpid(-1, NULL, 0) > 0)
        ;
}

static void close_agent(void)
{
    CHECK_ANSWER(&host, "K ", 'B');
    CHECK(!is_there(folder, ""));
    host_close(&host);
    close_gone();
}

#define KEEPER_TEST(what) TEST_IN(open_agent(), close_agent(), what)

static bool open_adopting(void)
{
    open_agent();
    if (!is_adopted) {
        tap_skip("this system has no subreaper: the end of a keeper cannot be waited for");
        close_agent();
    }
    return is_adopted;
}

/* With one time of host_start of so many ms, which is not that of later agents. */
static bool open_with(int *time_ms, int ms)
{
    *time_ms = ms;
    bool is_open = open_adopting();
    *time_ms = 0;
    return is_open;
}

/* It waits for the end of the keeper. */
#define ADOPTING_TEST(what) TEST_IN(open_adopting(), close_agent(), what)

/* What Q tells, with "PID" for numbers of processes. */
static const char *state(struct host *of)
{
    static char text[FRAME_MOST_BYTES];
    const char *from = ASK(of, 'Q');
    char *to = text;
    for (bool is_pid = false; *from && to < text + sizeof text - 8;) {
        size_t length = strcspn(from, "|") + 1;
        if (is_pid)
            to += sprintf(to, "PID|");
        else
            to += sprintf(to, "%.*s", (int)length, from);
        is_pid = strncmp(from, "K keeper|", 9) == 0 || strncmp(from, "running|", 8) == 0;
        from += length <= strlen(from) ? length : strlen(from);
    }
    return text;
}

/* Never -1, which would be all processes to kill(). */
static pid_t keeper_pid(struct host *of)
{
    const char *text = ASK(of, 'Q');
    long pid = strncmp(text, "K keeper|", 9) == 0 ? strtol(text + 9, NULL, 10) : -1;
    if (pid <= 1) {
        CHECK_HOLDS(text, "K keeper|");
        abort();
    }
    return (pid_t)pid;
}

/* Waits for its end; minus the signal. */
static int end_of(pid_t keeper)
{
    int status = -1;
    CHECK_SAME(waitpid(keeper, &status, 0), keeper);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#define LONG_MS "40000"

static void queue(const char *number, const char *what, const char *more)
{
    CHECK_ANSWER(&host, "K queued|", 'J', number, LONG_MS, what, more);
}

/* Once it runs: its pipe. */
static int start_job(const char *number, const char *what)
{
    queue(number, what, NULL);
    return wait_until_alive(folder);
}

static void stop_job(int alive)
{
    CHECK_ANSWER(&host, "K ", 'P', "stop");
    CHECK(wait_until_dead(alive));
}

static void let_job_go(int alive)
{
    write_file(folder, "go", "\n", 0600);
    CHECK(wait_until_dead(alive));
}

static void wait_for(const char *number)
{
    CHECK_HOLDS(ASK(&host, 'W', number, LONG_MS), "K ");
}

/* ---- jobs ---- */

KEEPER_TEST(jobs_run_one_after_another)
{
    CHECK_TEXT(state(&host), "K none|");
    int alive = start_job("2", "until_go");
    queue("10", "say", "5");
    queue("1", "say", "0");
    CHECK_TEXT(state(&host), "K keeper|PID|1|queued||2|running|PID|10|queued||");
    CHECK(!is_there(folder, "10.begun"));
    let_job_go(alive);
    wait_for("1");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|0|2|ended|0|10|ended|5|");
    CHECK_TEXT(file_text(folder, "10.out"), "out say 5\n");
    CHECK_TEXT(file_text(folder, "10.err"), "err 5\n");
    CHECK_TEXT(file_text(folder, "10.exit"), "5\n");
    CHECK_TEXT(file_text(folder, "10.begun"), "");
}

KEEPER_TEST(a_job_gets_its_words)
{
    CHECK_ANSWER(&host, "K queued|", 'J', "1", LONG_MS, "words", "", "a b", "$HOME", "'");
    wait_for("1");
    CHECK_TEXT(file_text(folder, "1.out"), "|a b|$HOME|'|");
}

/* Of a job that measured or says why not, the stream has everything. */
KEEPER_TEST(recordings_are_kept_where_the_stream_may_lack_something)
{
    for (const char *const *code = (const char *const[]){"0", "2", "3", "5", "70", NULL}; *code;
         code++) {
        char name[16];
        snprintf(name, sizeof name, "%s.rec", *code);
        write_file(folder, name, "", 0600);
        queue(*code, "say", *code);
    }
    wait_for("70");
    CHECK(!is_there(folder, "0.rec") && !is_there(folder, "3.rec") && !is_there(folder, "5.rec"));
    CHECK(is_there(folder, "2.rec") && is_there(folder, "70.rec"));
}

KEEPER_TEST(jobs_that_are_refused)
{
    static char large[60000];
    memset(large, 'a', sizeof large - 1);
    queue("7", "until_eof", NULL);
    CHECK_ANSWER(&host, "K refused|there is a job of this number|", 'J', "7", "1", "say");
    for (const char *const *number =
             (const char *const[]){"", "-1", "07", "10000", "1 ", "x", NULL};
         *number; number++)
        CHECK_HOLDS(ASK(&host, 'J', *number, "1", "say"), "K refused|give a number");
    CHECK_HOLDS(ASK(&host, 'J', "1", "0", "say"), "K refused|the deadline");
    CHECK_HOLDS(ASK(&host, 'J', "1", "2000000001", "say"), "K refused|the deadline");
    CHECK_HOLDS(ASK(&host, 'J', "1", "1"), "K refused|give a number");
    CHECK_HOLDS(ASK(&host, 'J'), "K refused|give a number");
    for (int i = 100; i < 117; i++)
        CHECK_ANSWER(&host, "K queued|", 'J', number_text(i), LONG_MS, large);
    CHECK_HOLDS(ASK(&host, 'J', "117", LONG_MS, large), "K refused|the words of the queue");
    CHECK_ANSWER(&host, "K queued|", 'J', "117", LONG_MS, "say");
}

/* The longest answer of Q has room in a frame. */
TEST(as_many_jobs_as_there_may_be)
{
    struct jobs *jobs = tap_memory(sizeof *jobs);
    struct frame *answer = tap_memory(sizeof *answer);
    for (int i = 0; i < JOBS_MOST; i++) {
        struct job *job = jobs_add(jobs, JOB_MOST_NUMBER - i);
        if (!CHECK(job))
            return;
        job->state = JOB_ENDED;
        job->code = 255;
        job->is_unsaved = true;
    }
    CHECK(!jobs_add(jobs, 1));
    frame_add(answer, "keeper");
    frame_add(answer, "4194304");
    jobs_find(jobs, JOB_MOST_NUMBER)->state = JOB_RUNNING;
    jobs_find(jobs, JOB_MOST_NUMBER)->code = 4194304;
    jobs_tell(jobs, answer);
    const char *last = (char *)answer->bytes + answer->length - 21;
    CHECK_TEXT(last, "9999");
    CHECK_TEXT(last + 5, "running");
    CHECK_TEXT(last + 13, "4194304");
}

KEEPER_TEST(a_wait_ends_after_its_time_and_at_once_for_what_is_not_known)
{
    CHECK_TEXT(ASK(&host, 'W', "1", LONG_MS), "K none|");
    int alive = start_job("1", "until_go");
    CHECK_HOLDS(ASK(&host, 'W', "1", "1"), "|1|running|");
    CHECK_HOLDS(ASK(&host, 'W', "2", LONG_MS), "|1|running|");
    let_job_go(alive);
    CHECK_HOLDS(ASK(&host, 'W', "1", LONG_MS), "|1|ended|0|");
}

KEEPER_TEST(a_stop_ends_the_input_and_drops_the_queue)
{
    int alive = start_job("1", "until_eof");
    queue("2", "say", "0");
    stop_job(alive);
    wait_for("1");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|0|2|dropped||");
    CHECK_TEXT(file_text(folder, "1.out"), "stopped\n");
    CHECK(!is_there(folder, "2.begun"));
    queue("3", "say", "0");
    wait_for("3");
}

KEEPER_TEST(a_kill_reaches_all_of_a_job)
{
    int alive = start_job("1", "ignore");
    queue("2", "say", "0");
    CHECK_ANSWER(&host, "K ", 'P', "kill");
    CHECK(wait_until_dead(alive));
    wait_for("2");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|-9|2|ended|0|");
    CHECK_TEXT(file_text(folder, "1.exit"), "-9\n");
}

KEEPER_TEST(a_deadline_ends_a_job)
{
    CHECK_ANSWER(&host, "K queued|", 'J', "1", "1", "hang");
    CHECK_ANSWER(&host, "K queued|", 'J', "2", LONG_MS, "say", "0");
    wait_for("2");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|-15|2|ended|0|");
}

/* On a slow machine the shell may not ignore the signal yet when it comes. */
TEST_IN(open_with(&host_start.grace_ms, 1), close_agent(),
        a_job_that_ignores_its_deadline_is_killed)
{
    int alive = open(in_folder(folder, "alive"), O_RDONLY | O_NONBLOCK);
    CHECK_ANSWER(&host, "K queued|", 'J', "1", "300", "ignore");
    wait_for("1");
    const char *text = state(&host);
    CHECK(strcmp(text, "K keeper|PID|1|ended|-9|") == 0 ||
          strcmp(text, "K keeper|PID|1|ended|-15|") == 0);
    close(alive);
}

/* ---- what a job and the keeper have ---- */

/* Of a line "NAME:\tVALUE" of a file in /proc. */
static long long line_of(pid_t pid, const char *name)
{
    static char text[8192];
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    int file = open(path, O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static bool has_proc(void)
{
    if (access("/proc/self/fd", R_OK) == 0 && port_adopt_orphans() == 0)
        return open_agent();
    tap_skip("this system has no /proc");
    return false;
}

#define PROC_TEST(what) TEST_IN(has_proc(), close_agent(), what)

/* `ls` has one more, for the folder that it lists. */
PROC_TEST(a_job_has_no_descriptor_of_the_keeper)
{
    CHECK_HOLDS(ASK(&host, 'L', in_folder(folder, "lock")), "K locked|");
    queue("1", "files", NULL);
    wait_for("1");
    CHECK_TEXT(file_text(folder, "1.out"), "0\n1\n2\n3\n");
}

PROC_TEST(a_keeper_is_a_daemon)
{
    char path[64], cwd[64] = "";
    int count = 0;
    int kept = open("/dev/null", O_RDONLY); /* without close-on-exec */
    queue("1", "say", "0");
    wait_for("1");
    pid_t keeper = keeper_pid(&host);
    CHECK_SAME(getsid(keeper) == getsid(0), false);
    CHECK_SAME(getpgid(keeper) == keeper, false); /* no leader, which could get a terminal */
    snprintf(path, sizeof path, "/proc/%ld/cwd", (long)keeper);
    CHECK(readlink(path, cwd, sizeof cwd - 1) == 1 && cwd[0] == '/');
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)keeper);
    DIR *files = opendir(path);
    while (files && readdir(files))
        count++;
    closedir(files);
    /* ., .., 3 standard files, the folder, its lock, 2 of signals, the socket, the agent */
    CHECK_SAME(count, 2 + 3 + 6);
    close(kept);
}

/* Also a job that does not read its input. */
PROC_TEST(a_job_ends_with_its_keeper)
{
    int alive = start_job("1", "hang");
    kill(keeper_pid(&host), SIGKILL);
    CHECK(wait_until_dead(alive));
    CHECK_TEXT(ASK(&host, 'W', "1", LONG_MS), "K none|1|lost||");
}

/* One switch may be of its own going to sleep, after it has answered. The job computes meanwhile.
 */
PROC_TEST(a_keeper_sleeps_while_a_job_runs)
{
    static const char name[] = "\nvoluntary_ctxt_switches:\t";
    int alive = start_job("1", "compute");
    pid_t keeper = keeper_pid(&host);
    long long before = line_of(keeper, name);
    close(wait_for_pipe(folder, "later"));
    CHECK(before > 0 && line_of(keeper, name) <= before + 1);
    let_job_go(alive);
}

/* ---- the lock ---- */

static bool is_locked(const char *path)
{
    int file = open(path, O_RDONLY);
    bool is_free = flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return !is_free;
}

KEEPER_TEST(a_lock_is_held_until_it_is_given_back)
{
    char path[HOST_PATH_BYTES], wanted[2 * HOST_PATH_BYTES];
    struct stat state_of;
    snprintf(path, sizeof path, "%s/lock", folder);
    snprintf(wanted, sizeof wanted, "K locked|%s|", path);
    CHECK_ANSWER(&host, wanted, 'L', path);
    CHECK_ANSWER(&host, wanted, 'L', "/nonexistent/other");
    CHECK(stat(path, &state_of) == 0 && (state_of.st_mode & 07777) == 0644);
    CHECK(is_locked(path));
    CHECK_ANSWER(&host, "K ", 'U');
    CHECK(!is_locked(path));
    CHECK_ANSWER(&host, "K ", 'U');
}

KEEPER_TEST(a_lock_that_another_one_holds)
{
    char path[HOST_PATH_BYTES], place[PORT_LOCK_PLACE_BYTES], wanted[2 * HOST_PATH_BYTES];
    write_file(folder, "lock", "", 0644);
    snprintf(path, sizeof path, "%s/lock", folder);
    int file = open(path, O_RDONLY);
    CHECK_SAME(flock(file, LOCK_EX), 0);
    port_lock_place(file, place);
    snprintf(wanted, sizeof wanted, "K held|%s|%s|", place, path);
    CHECK_ANSWER(&host, wanted, 'L', path, in_folder(folder, "other"));
    close(file);
    CHECK_HOLDS(ASK(&host, 'L', path), "K locked|");
}

/* As the host finds the holder. */
KEEPER_TEST(a_lock_is_in_the_list_of_the_system)
{
    char place[PORT_LOCK_PLACE_BYTES], wanted[100], line[200];
    bool is_listed = false;
    CHECK_HOLDS(ASK(&host, 'L', in_folder(folder, "lock")), "K locked|");
    int lock = open(in_folder(folder, "lock"), O_RDONLY);
    port_lock_place(lock, place);
    close(lock);
    FILE *list = place[0] ? fopen("/proc/locks", "r") : NULL;
    if (!list) {
        tap_skip("this system lists no locks");
        return;
    }
    snprintf(wanted, sizeof wanted, " %ld %s ", (long)keeper_pid(&host), place);
    while (fgets(line, sizeof line, list))
        is_listed |= strstr(line, wanted) != NULL;
    fclose(list);
    CHECK(is_listed);
}

KEEPER_TEST(locks_that_cannot_be_opened)
{
    char wanted[2 * HOST_PATH_BYTES];
    CHECK_SAME(symlink("lock", in_folder(folder, "link")), 0);
    snprintf(wanted, sizeof wanted, "K failed|/nonexistent/a|%s|", strerror(ENOENT));
    CHECK_ANSWER(&host, wanted, 'L', "/nonexistent/a", in_folder(folder, "link"), "relative");
    CHECK_HOLDS(ASK(&host, 'L'), "K failed||");
    CHECK(!is_there(folder, "lock"));
    CHECK_HOLDS(ASK(&host, 'L', in_folder(folder, "link"), in_folder(folder, "lock")), "/lock|");
}

/* ---- several agents ---- */

/* Also an agent that waits for it. */
KEEPER_TEST(a_job_outlives_its_agent)
{
    int alive = start_job("1", "until_go");
    host_say(&host, 'W', "1", LONG_MS, NULL);
    host_close(&host);
    host_open(&host, folder);
    CHECK_TEXT(state(&host), "K keeper|PID|1|running|PID|");
    host_close(&host);
    let_job_go(alive);
    host_open(&host, folder);
    wait_for("1");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|0|");
}

KEEPER_TEST(an_agent_is_served_while_another_one_waits)
{
    struct host other;
    int alive = start_job("1", "until_eof");
    host_say(&host, 'W', "1", LONG_MS, NULL);
    host_open(&other, folder);
    CHECK_TEXT(state(&other), "K keeper|PID|1|running|PID|");
    CHECK_ANSWER(&other, "K refused|there is a job of this number|", 'J', "1", "1", "say");
    CHECK_ANSWER(&other, "K ", 'P', "stop");
    CHECK(wait_until_dead(alive));
    CHECK_SAME(host_receive(&host), 'K');
    CHECK_HOLDS(host_text(&host), "|1|ended|0|");
    host_close(&other);
}

KEEPER_TEST(agents_that_start_at_once_have_one_keeper)
{
    enum { COUNT = 6 };
    struct host others[COUNT];
    for (int i = 0; i < COUNT; i++)
        host_open(&others[i], folder);
    for (int i = 0; i < COUNT; i++)
        host_say(&others[i], 'J', number_text(i), LONG_MS, "say", "0", NULL);
    for (int i = 0; i < COUNT; i++) {
        CHECK_SAME(host_receive(&others[i]), 'K');
        CHECK_TEXT(host_text(&others[i]), "K queued|");
    }
    pid_t keeper = keeper_pid(&host);
    for (int i = 0; i < COUNT; i++) {
        wait_for(number_text(i));
        CHECK_SAME(keeper_pid(&others[i]), keeper);
        host_close(&others[i]);
    }
    CHECK_HOLDS(state(&host), "|0|ended|0|1|ended|0|2|ended|0|3|ended|0|4|ended|0|5|ended|0|");
}

/* Also one that reads ahead while it waits. */
KEEPER_TEST(frames_that_come_while_the_agent_waits)
{
    int alive = start_job("1", "until_go");
    host_say(&host, 'W', "1", LONG_MS, NULL);
    host_say(&host, 'R', "/bin/sh", "-c", "cat", NULL);
    host_send(&host, 'I', "a", 1);
    host_send(&host, 'Z', "", 0);
    host_send(&host, 'C', "", 0);
    let_job_go(alive);
    char types[8] = "";
    size_t count = 0;
    while (count < 5 && host_receive(&host))
        types[count++] = host.frame.type;
    CHECK(strchr(types, 'K') == types && strchr(types, 'O') && strchr(types, 'X') &&
          strchr(types, 'T') && strchr(types, 'C'));
}

/* ---- what is killed ---- */

KEEPER_TEST(an_agent_killed_between_frames_and_in_one)
{
    int alive = start_job("1", "until_eof");
    kill(host.agent, SIGKILL);
    CHECK_SAME(host_wait(&host), -SIGKILL);
    host_open(&host, folder);
    CHECK_HOLDS(ASK(&host, 'W', "1", "1"), "|1|running|");
    host_say(&host, 'W', "1", LONG_MS, NULL);
    CHECK_SAME(write(host.to, "J\x05\0\0\0a", 6), 6);
    kill(host.agent, SIGKILL);
    CHECK_SAME(host_wait(&host), -SIGKILL);
    host_open(&host, folder);
    CHECK_TEXT(state(&host), "K keeper|PID|1|running|PID|");
    stop_job(alive);
}

ADOPTING_TEST(a_keeper_that_is_killed)
{
    CHECK_HOLDS(ASK(&host, 'L', in_folder(folder, "lock")), "K locked|");
    queue("1", "say", "5");
    int alive = start_job("2", "until_eof");
    queue("3", "say", "0");
    pid_t keeper = keeper_pid(&host);
    kill(keeper, SIGKILL);
    CHECK_SAME(end_of(keeper), -SIGKILL);
    CHECK(wait_until_dead(alive));
    CHECK_TEXT(state(&host), "K none|1|ended|5|2|lost||");
    CHECK_TEXT(ASK(&host, 'W', "2", LONG_MS), "K none|1|ended|5|2|lost||");
    CHECK_ANSWER(&host, "K ", 'P', "stop");
    CHECK_ANSWER(&host, "K ", 'U');
    CHECK(!is_locked(in_folder(folder, "lock")));
    CHECK_HOLDS(ASK(&host, 'J', "2", "1", "say"), "K refused|there is a job of this number|");
    queue("3", "say", "0");
    wait_for("3");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|5|2|lost||3|ended|0|");
    keeper = keeper_pid(&host);
    kill(keeper, SIGKILL);
    CHECK_SAME(end_of(keeper), -SIGKILL);
    CHECK_TEXT(state(&host), "K none|1|ended|5|2|lost||3|ended|0|");
}

/* The link of the other agent ends in its wait. */
ADOPTING_TEST(a_keeper_that_is_killed_while_an_agent_waits)
{
    int alive = start_job("1", "until_eof");
    pid_t keeper = keeper_pid(&host);
    host_say(&host, 'W', "1", LONG_MS, NULL);
    kill(keeper, SIGKILL);
    CHECK_SAME(host_receive(&host), 'K');
    CHECK_TEXT(host_text(&host), "K none|1|lost||");
    CHECK(wait_until_dead(alive));
}

ADOPTING_TEST(a_keeper_that_is_asked_to_end)
{
    int alive = start_job("1", "until_eof");
    queue("2", "say", "0");
    pid_t keeper = keeper_pid(&host);
    kill(keeper, SIGTERM);
    CHECK(wait_until_dead(alive));
    CHECK_SAME(end_of(keeper), 0);
    CHECK_TEXT(file_text(folder, "1.out"), "stopped\n");
    CHECK_TEXT(state(&host), "K none|1|ended|0|");
}

ADOPTING_TEST(signals_of_a_session_do_not_reach_a_keeper)
{
    int alive = start_job("1", "until_eof");
    pid_t keeper = keeper_pid(&host);
    for (const int *one = (const int[]){SIGHUP, SIGINT, SIGQUIT, SIGPIPE, 0}; *one; one++)
        kill(keeper, *one);
    CHECK_TEXT(state(&host), "K keeper|PID|1|running|PID|");
    stop_job(alive);
}

/* ---- the settling time ---- */

TEST_IN(open_with(&host_start.settle_ms, 10 * LONGEST_MS), close_agent(),
        the_first_job_waits_until_the_connection_is_gone)
{
    queue("1", "say", "0");
    queue("2", "say", "0");
    CHECK_TEXT(state(&host), "K keeper|PID|1|queued||2|queued||");
    CHECK(!is_there(folder, "1.begun"));
    CHECK_ANSWER(&host, "K ", 'P', "stop");
    CHECK_TEXT(state(&host), "K keeper|PID|1|dropped||2|dropped||");
}

TEST_IN(open_with(&host_start.settle_ms, 1), close_agent(), a_job_begins_after_the_settling_time)
{
    queue("1", "say", "0");
    queue("2", "say", "4");
    wait_for("2");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|0|2|ended|4|");
}

/* ---- the lease ---- */

#define BRIEF_TEST(close, what) TEST_IN(open_with(&host_start.lease_ms, 1), close, what)

BRIEF_TEST(close_agent(), a_keeper_leaves_without_jobs_and_agents)
{
    CHECK_HOLDS(ASK(&host, 'L', in_folder(folder, "lock")), "K locked|");
    pid_t keeper = keeper_pid(&host);
    queue("1", "say", "5");
    wait_for("1");
    CHECK_SAME(keeper_pid(&host), keeper); /* while an agent is there it stays */
    int alive = start_job("2", "until_go");
    host_close(&host);
    CHECK_SAME(waitpid(keeper, NULL, WNOHANG), 0);
    let_job_go(alive);
    CHECK_SAME(end_of(keeper), 0);
    CHECK(!is_locked(in_folder(folder, "lock")));
    CHECK(!is_there(folder, "socket"));
    host_open(&host, folder);
    CHECK_TEXT(state(&host), "K none|1|ended|5|2|ended|0|");
}

/* Nobody comes back for it: the toolkit was killed before it had sent a job. */
BRIEF_TEST(close_gone(), a_brief_folder_without_a_job_goes)
{
    write_file(folder, "brief", "", 0600);
    CHECK_HOLDS(ASK(&host, 'L', in_folder(folder, "lock")), "K locked|");
    pid_t keeper = keeper_pid(&host);
    host_close(&host);
    CHECK_SAME(end_of(keeper), 0);
    CHECK(!is_there(folder, ""));
    folder = new_folder("without-keeper");
    write_file(folder, "brief", "", 0600);
    host_open(&host, folder);
    host_close(&host);
    CHECK(!is_there(folder, ""));
}

/* With a job that has ended; its keeper. */
static pid_t make_brief(void)
{
    write_file(folder, "brief", "", 0600);
    queue("1", "say", "5");
    wait_for("1");
    return keeper_pid(&host);
}

BRIEF_TEST(close_agent(), a_brief_folder_with_a_job_stays)
{
    pid_t keeper = make_brief();
    host_close(&host);
    CHECK_SAME(end_of(keeper), 0);
    host_open(&host, folder); /* without a keeper */
    host_close(&host);
    host_open(&host, folder);
    CHECK_TEXT(state(&host), "K none|1|ended|5|");
}

/* The toolkit has stored the job, and is killed before it removes the folder. */
BRIEF_TEST(close_gone(), a_brief_folder_goes_once_its_job_is_collected)
{
    pid_t keeper = make_brief();
    CHECK_ANSWER(&host, "K ", 'D', "1.out", "1.err", "1.exit", "1.begun", "1.rec");
    host_close(&host);
    CHECK_SAME(end_of(keeper), 0);
    CHECK(!is_there(folder, ""));
}

/* Agents that come while keepers leave. */
BRIEF_TEST(close_agent(), no_job_is_lost_to_a_keeper_that_leaves)
{
    for (int i = 0; i < 20; i++) {
        const char *number = number_text(i);
        host_start.lease_ms = 1;
        host_close(&host);
        host_open(&host, folder);
        host_start.lease_ms = 0;
        queue(number, "say", "0");
        CHECK_HOLDS(ASK(&host, 'W', number, LONG_MS), "|ended|0|");
    }
    host_close(&host);
    host_open(&host, folder);
    CHECK_HOLDS(state(&host), "|0|ended|0|1|ended|0|2|ended|0|");
    CHECK_HOLDS(state(&host), "|18|ended|0|19|ended|0|");
}

/* ---- files that cannot be written ---- */

/* A folder of that name is in the way, as a full disk would be. */
KEEPER_TEST(an_exit_code_that_cannot_be_saved)
{
    CHECK_SAME(mkdir(in_folder(folder, "1.exit.new"), 0700), 0);
    queue("1", "say", "3");
    wait_for("1");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|3 unsaved|");
    CHECK(!is_there(folder, "1.exit"));
    rmdir(in_folder(folder, "1.exit.new"));
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|3|");
    CHECK_TEXT(file_text(folder, "1.exit"), "3\n");
}

KEEPER_TEST(jobs_whose_files_cannot_be_made)
{
    char wanted[200];
    CHECK_SAME(mkdir(in_folder(folder, "1.out"), 0700), 0);
    CHECK_SAME(symlink("alive", in_folder(folder, "2.err")), 0);
    queue("1", "say", "0");
    queue("2", "say", "0");
    queue("3", "say", "0");
    wait_for("3");
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|127|2|ended|127|3|ended|0|");
    snprintf(wanted, sizeof wanted, "hardstone-probe: the job cannot start: %s\n",
             strerror(EEXIST));
    CHECK_TEXT(file_text(folder, "1.err"), wanted);
}

KEEPER_TEST(exit_codes_that_are_damaged)
{
    static const char *const files[][2] = {
        {"1.exit", ""},        {"2.exit", "3"},       {"3.exit", "3 x\n"},
        {"4.exit", "99999\n"}, {"5.exit", "-9\n"},    {"6.begun", ""},
        {"07.exit", "3\n"},    {"8.exit.new", "3\n"}, {"10000.exit", "3\n"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        write_file(folder, files[i][0], files[i][1], 0600);
    CHECK_SAME(symlink("5.exit", in_folder(folder, "9.exit")), 0);
    CHECK_TEXT(state(&host), "K none|1|lost||2|lost||3|lost||4|lost||5|ended|-9|6|lost||9|lost||");
}

/* The program is the keeper's own: this test, which knows no such argument. */
KEEPER_TEST(a_probe_that_is_no_file)
{
    unlink(in_folder(folder, "hardstone-probe"));
    CHECK_SAME(symlink("/bin/sh", in_folder(folder, "hardstone-probe")), 0);
    char path[64];
    queue("1", AS_PROBE, NULL);
    wait_for("1");
    bool has_own = port_own_executable(path, sizeof path) == 0;
    CHECK_HOLDS(state(&host), has_own ? "|1|ended|42|" : "|1|ended|127|");
}

KEEPER_TEST(a_probe_that_cannot_run)
{
    write_file(folder, "hardstone-probe", "\177ELF", 0700);
    queue("1", "say", "0");
    wait_for("1");
    CHECK_HOLDS(state(&host), "|1|ended|127|");
    CHECK_HOLDS(file_text(folder, "1.err"), strerror(ENOEXEC));
}

/* ---- the socket and the folder ---- */

static int connect_to_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_folder(folder, "socket"));
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_SAME(connect(file, (const struct sockaddr *)&address, sizeof address), 0);
    return file;
}

KEEPER_TEST(garbage_at_the_socket)
{
    char byte;
    queue("1", "say", "0");
    int partial = connect_to_socket(), gone = connect_to_socket(), late = connect_to_socket();
    CHECK_SAME(write(partial, "Q\0\0", 3), 3);
    CHECK_SAME(write(gone, "J\x05\0\0\0a", 6), 6);
    close(gone);
    CHECK_SAME(write(late, "Q\x01\0\x01\0", 5), 5);
    CHECK_SAME(read(late, &byte, 1), 0); /* closed by the keeper */
    close(late);
    wait_for("1");
    CHECK_SAME(write(partial, "\0\0", 2), 2);
    CHECK_SAME(read(partial, &byte, 1), 1);
    CHECK_SAME(byte, 'K');
    close(partial);
    CHECK_TEXT(state(&host), "K keeper|PID|1|ended|0|");
}

KEEPER_TEST(a_folder_with_a_long_path)
{
    char name[120], *outer = folder;
    struct host other;
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char *path = tap_memory(HOST_PATH_BYTES);
    snprintf(path, HOST_PATH_BYTES, "keeper/%s", name);
    folder = new_folder(path);
    CHECK(strlen(folder) > sizeof((struct sockaddr_un *)0)->sun_path);
    host_open(&other, folder);
    CHECK_ANSWER(&other, "K queued|", 'J', "1", LONG_MS, "say", "0");
    CHECK_HOLDS(ASK(&other, 'W', "1", LONG_MS), "K keeper|");
    CHECK_TEXT(state(&other), "K keeper|PID|1|ended|0|");
    CHECK_ANSWER(&other, "K ", 'B');
    CHECK(!is_there(folder, ""));
    host_close(&other);
    folder = outer;
}

ADOPTING_TEST(the_end_of_a_folder_ends_keeper_and_job)
{
    char lock[HOST_PATH_BYTES];
    snprintf(lock, sizeof lock, "%s", in_folder(tap_folder(), "lock"));
    CHECK_HOLDS(ASK(&host, 'L', lock), "K locked|");
    int alive = start_job("1", "ignore");
    queue("2", "say", "0");
    pid_t keeper = keeper_pid(&host);
    CHECK_ANSWER(&host, "K ", 'B');
    CHECK(!is_there(folder, "") && !is_locked(lock));
    unlink(lock);
    CHECK(wait_until_dead(alive));
    CHECK_SAME(end_of(keeper), 0);
    CHECK_ANSWER(&host, "K none|", 'Q');
    CHECK_HOLDS(ASK(&host, 'J', "1", "1", "say"), "K refused|");
    CHECK_HOLDS(ASK(&host, 'L', "/nonexistent"), "K failed|/nonexistent|");
    host_close(&host);
    open_agent();
}
