/* The inventory of POSIX on made-up tables: what a header says, what a claim is, which profile is
 * satisfied, which limit is low; and a runner whose calls hang or end their process. */
#include "base/posix_source.h"

#include "family/posix/call_runner.h"
#include "family/posix/limits.h"
#include "family/posix/option.h"
#include "family/posix/sysconf_names.h"
#include "port/port.h"
#include "tap.h"

#include <signal.h>
#include <unistd.h>

static struct answer answers[OPTION_MOST];

static void all_work(void)
{
    for (int i = 0; i < OPTION_MOST; i++)
        answers[i] = answer_works();
}

static void set(const char *key, struct answer answer)
{
    int place = option_place(key);
    if (CHECK(place >= 0))
        answers[place] = answer;
}

/* ---- headers and sysconf ---- */

static struct saying header(const char *text)
{
    struct posix_option option = {.header = text};
    return option_header(&option);
}

TEST(headers_are_read)
{
    CHECK_SAME(header(NULL).kind, SAYING_NONE);
    CHECK_SAME(header("_POSIX_TIMERS").kind, SAYING_NONE);
    CHECK_SAME(header("200809L").number, 200809);
    CHECK_SAME(header("200809L").kind, SAYING_NUMBER);
    CHECK_SAME(header("(-1)").number, -1);
    CHECK_SAME(header("( 200112L)").number, 200112);
    CHECK_SAME(header("-1").number, -1);
    CHECK_SAME(header("").kind, SAYING_NUMBER); /* defined without a value: POSIX.1-1990 */
    CHECK_SAME(header("").number, 0);
    CHECK_SAME(header("'\\0'").number, 0); /* _POSIX_VDISABLE of glibc */
}

TEST(sayings_are_told)
{
    char text[SAYING_BYTES];
    CHECK_TEXT(saying_text((struct saying){SAYING_NUMBER, 200809}, text), "200809");
    CHECK_TEXT(saying_text((struct saying){SAYING_NUMBER, -1}, text), "-1");
    CHECK_TEXT(saying_text((struct saying){SAYING_NONE, 0}, text), "none");
    CHECK_TEXT(saying_text((struct saying){SAYING_UNKNOWN, 0}, text), "unknown");
}

static bool is_claimed(bool is_path, const char *macro, struct saying told)
{
    struct posix_option option = {.is_path = is_path, .header = macro};
    return option_is_claimed(&option, option_header(&option), told);
}

/* 0 in a header is decided at run time; of sysconf it is no claim, of pathconf it is one. */
TEST(claims_are_told_from_silence)
{
    struct saying none = {SAYING_NONE, 0}, unknown = {SAYING_UNKNOWN, 0};
    struct saying zero = {SAYING_NUMBER, 0}, one = {SAYING_NUMBER, 1};
    CHECK(is_claimed(false, "200809L", none));
    CHECK(is_claimed(false, "-1", one));
    CHECK(is_claimed(false, "0", one));
    CHECK(!is_claimed(false, "0", none));
    CHECK(!is_claimed(false, "0", zero));
    CHECK(!is_claimed(false, "-1", none));
    CHECK(!is_claimed(false, "_POSIX_TIMERS", unknown));
    CHECK(is_claimed(true, "0", zero));
    CHECK(!is_claimed(true, "0", none));
}

TEST(sysconf_without_a_name_is_unknown)
{
    struct posix_option nameless = {.name = NO_NAME}, senseless = {.name = 99999};
    struct posix_option version = {.name = _SC_VERSION};
    CHECK_SAME(option_sysconf(&nameless, "/").kind, SAYING_UNKNOWN);
    CHECK_SAME(option_sysconf(&senseless, "/").kind, SAYING_UNKNOWN);
    CHECK_SAME(option_sysconf(&version, "/").kind, SAYING_NUMBER);
}

TEST(keys_are_those_of_one_option_each)
{
    int count = option_count();
    CHECK(count > 50 && count <= OPTION_MOST);
    CHECK_SAME(option_place("no such option"), -1);
    for (int i = 0; i < count; i++) {
        CHECK_SAME(option_place(posix_options[i].key), i);
        CHECK(posix_options[i].call != NULL);
    }
}

/* ---- answers ---- */

TEST(errors_are_told_apart)
{
    CHECK_SAME(answer_error("call", ENOSYS).result, CALL_MISSING);
    CHECK_SAME(answer_error("call", ENOTSUP).result, CALL_MISSING);
    CHECK_SAME(answer_error("call", EPERM).result, CALL_DENIED);
    CHECK_SAME(answer_error("call", EACCES).result, CALL_DENIED);
    CHECK_SAME(answer_error("call", EMFILE).result, CALL_DENIED);
    CHECK_SAME(answer_error("call", EINVAL).result, CALL_FAILS);
    CHECK_SAME(answer_error("call", EIO).result, CALL_FAILS);
    CHECK_HOLDS(answer_error("mq_open", EMFILE).why, "ulimit -n");
    CHECK_HOLDS(answer_missing("aio_read").why, "aio_read");
    CHECK_TEXT(call_result_name(answer_partly("x").result), "partly");
    CHECK_TEXT(answer_works().why, "");
}

/* ---- profiles ---- */

/* A profile needs all that those before it need. */
TEST(what_one_lacks_the_next_lack_too)
{
    all_work();
    set("trace", answer_missing("posix_trace_create"));
    CHECK(profile_decide(0, answers).is_satisfied);
    struct profile_answer second = profile_decide(1, answers), third = profile_decide(2, answers);
    CHECK(!second.is_satisfied && !third.is_satisfied);
    CHECK_TEXT(second.missing, "trace");
    CHECK_TEXT(second.next_missing, "trace");
    CHECK_TEXT(third.missing, "trace");
    CHECK_TEXT(third.next_missing, "");
    CHECK_SAME(third.next_missing_count, 0);
}

TEST(partly_is_missing_and_denied_is_counted)
{
    all_work();
    set("timers", answer_partly("less"));
    set("memlock", answer_error("mlockall", EPERM));
    set("semaphores", answer_fails("broken"));
    set("fsync", answer_untried("no folder"));
    struct profile_answer decided = profile_decide(0, answers);
    CHECK(!decided.is_satisfied);
    CHECK_SAME(decided.missing_count, 4);
    CHECK_SAME(decided.denied_count, 2);
    CHECK_TEXT(decided.missing, "fsync,memlock,semaphores,timers");
}

TEST(an_option_of_no_profile_changes_nothing)
{
    all_work();
    set("typed_memory_objects", answer_missing("posix_typed_mem_open"));
    set("barriers", answer_fails("open"));
    CHECK(profile_decide(PROFILE_COUNT - 1, answers).is_satisfied);
}

TEST(profiles_name_options_that_exist_once)
{
    for (int i = 0; i < PROFILE_COUNT; i++)
        for (const char *const *key = posix_profiles[i].adds; *key; key++) {
            CHECK(option_place(*key) >= 0);
            for (int j = 0; j <= i; j++)
                for (const char *const *other = posix_profiles[j].adds; *other; other++)
                    CHECK(key == other || strcmp(*key, *other) != 0);
        }
}

/* Nothing works: the list is cut, the count is not. */
TEST(a_long_list_is_cut_and_counted)
{
    for (int i = 0; i < OPTION_MOST; i++)
        answers[i] = answer_fails("broken");
    struct profile_answer decided = profile_decide(PROFILE_COUNT - 1, answers);
    size_t length = strlen(decided.missing);
    CHECK(decided.missing_count > 50);
    CHECK(length < PROFILE_TEXT_BYTES);
    CHECK_TEXT(decided.missing + length - 4, ",...");
}

/* ---- limits ---- */

TEST(low_limits_are_found)
{
    struct posix_limit limit = {.key = "made_up", .name = NO_NAME, .least = 32};
    struct answer works = answer_works(), fails = answer_fails("x");
    struct answer denied = answer_denied("x"), missing = answer_missing("x");
    int64_t value;
    CHECK(!limit_value(&limit, &value));
    CHECK(limit_is_low(&limit, true, 31, NULL));
    CHECK(!limit_is_low(&limit, true, 32, NULL));
    CHECK(!limit_is_low(&limit, true, -1, NULL)); /* no limit */
    CHECK(!limit_is_low(&limit, false, 0, NULL));
    CHECK(!limit_is_low(&limit, true, 32, &works));
    CHECK(limit_is_low(&limit, true, 32, &fails));
    CHECK(limit_is_low(&limit, true, -1, &fails));
    CHECK(!limit_is_low(&limit, true, 32, &denied));
    CHECK(!limit_is_low(&limit, true, 3, &denied)); /* by a limit of this user */
    CHECK(limit_is_low(&limit, true, 3, &missing));
    CHECK(!limit_is_low(&limit, true, 32, &missing));
}

/* ---- the runner ---- */

static struct answer call_good(const struct call_tools *tools)
{
    (void)tools;
    return answer_works();
}

static struct answer call_hanging(const struct call_tools *tools)
{
    (void)tools;
    while (pause() < 0)
        ;
    return answer_works();
}

static struct answer call_ending(const struct call_tools *tools)
{
    (void)tools;
    raise(SIGKILL);
    return answer_works();
}

static struct answer call_exiting(const struct call_tools *tools)
{
    (void)tools;
    _exit(3);
}

static struct call_runner runner;

static bool open_runner(const posix_call *calls, int count, int64_t limit_ns)
{
    runner = (struct call_runner){.calls = calls, .count = count, .limit_ns = limit_ns};
    if (!port_has_processes()) {
        tap_skip("no processes here");
        return false;
    }
    CHECK_SAME(call_runner_open(&runner), 0);
    return CHECK_SAME(runner.board->answers[0].result, CALL_UNTRIED);
}

/* The one after it is called all the same. */
static const posix_call ending[] = {call_good, call_ending, call_exiting, call_good};
TEST_IN(open_runner(ending, 4, INT64_C(7200000000000)), call_runner_close(&runner),
        a_call_that_ends_its_process_is_told)
{
    const struct answer *got = runner.board->answers;
    CHECK_SAME(call_runner_run(&runner), 0);
    CHECK_SAME(got[0].result, CALL_WORKS);
    CHECK_SAME(got[1].result, CALL_FAILS);
    CHECK_HOLDS(got[1].why, "ended its process");
    CHECK_SAME(got[2].result, CALL_FAILS);
    CHECK_SAME(got[3].result, CALL_WORKS);
}

/* So is the one after it, which may have to wait for its CPU for as long. */
static const posix_call hanging[] = {call_hanging, call_ending};
TEST_IN(open_runner(hanging, 2, 300000000), call_runner_close(&runner),
        a_call_that_hangs_is_ended_and_told)
{
    const struct answer *got = runner.board->answers;
    CHECK_SAME(call_runner_run(&runner), 0);
    CHECK_SAME(got[0].result, CALL_FAILS);
    CHECK_HOLDS(got[0].why, "not finished after 300 ms");
    CHECK_SAME(got[1].result, CALL_FAILS);
}

/* Somebody ends the runner: what it did not reach is untried. */
TEST_IN(open_runner(ending, 1, 300000000), call_runner_close(&runner),
        a_runner_that_is_killed_is_told)
{
    signal(SIGPIPE, SIG_IGN);
    kill(runner.process, SIGKILL);
    CHECK(call_runner_run(&runner) != 0);
    CHECK_SAME(runner.board->answers[0].result, CALL_UNTRIED);
}
