/* The memory of a run: blocks against a model, and what becomes of a run whose memory is exhausted.
 */
#include <sys/wait.h>

#include "sim/base/arena.h"
#include "tests/suite.h"
#include "tests/worlds.h"

OWNER(arena_destroy, struct arena)

/* ---- The arena by itself --------------------------------------------------------------------- */

enum { BLOCKS = 40, STEPS = 20000, BYTES_MAX = 300 };

struct block {
    unsigned char *memory;
    size_t bytes;
    unsigned char mark; /* every byte has it */
};

static void assert_filled(const unsigned char *memory, size_t from, size_t to, unsigned char mark)
{
    for (size_t i = from; i < to; i++)
        assert_int_equal(memory[i], mark);
}

/* Leaks and bytes outside a block are the sanitizer's to find. */
CASE(blocks_keep_their_bytes_whatever_is_resized_and_released)
{
    struct arena arena = {0};
    struct block blocks[BLOCKS] = {0};
    RANDOM_STREAM(stream, 28, RANDOM_TEST, 1, 0);
    for (int step = 0; step < STEPS; step++) {
        struct block *block = &blocks[gsl_rng_uniform_int(&stream.rng, BLOCKS)];
        const size_t bytes = gsl_rng_uniform_int(&stream.rng, BYTES_MAX);
        if (gsl_rng_uniform_int(&stream.rng, 3) == 0) {
            arena_release(&arena, block->memory);
            *block = (struct block){0};
            continue;
        }
        const bool fresh = block->memory == NULL && step % 2 == 0;
        block->memory = fresh ? arena_allocate(&arena, bytes, 1)
                              : arena_reallocate(&arena, block->memory, bytes, 1);
        assert_int_equal((uintptr_t)block->memory % _Alignof(max_align_t), 0);
        const size_t kept = bytes < block->bytes ? bytes : block->bytes;
        assert_filled(block->memory, 0, kept, block->mark);
        assert_filled(block->memory, kept, bytes, 0);
        block->bytes = bytes;
        block->mark = (unsigned char)(step % 251);
        memset(block->memory, block->mark, bytes);
    }
    arena_clear(&arena);
    assert_null(arena.blocks);
}

CASE(an_array_grows_by_doubling_and_its_new_entries_are_zero)
{
    CLOSED(arena_clear) struct arena arena = {0};
    uint32_t *entries = NULL;
    size_t moves = 0;
    for (uint32_t count = 0; count < 5000; count++) {
        const size_t room = arena_room(entries, sizeof *entries);
        arena_reserve(&arena, &entries, count + (size_t)1, sizeof *entries);
        moves += arena_room(entries, sizeof *entries) != room;
        assert_int_equal(entries[count], 0);
        entries[count] = count + 1;
    }
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(entries[i], i + 1);
    assert_true(moves < 13);
}

static jmp_buf out_of_memory; // NOLINT: a jump target has no other place here

static void jump(void *context, size_t count, size_t size)
{
    size_t *asked = context;
    asked[0] = count;
    asked[1] = size;
    longjmp(out_of_memory, 1);
}

CASE(more_bytes_than_a_size_holds_exhaust_the_arena)
{
    size_t asked[2] = {0};
    CLOSED(arena_clear) struct arena arena = {.exhausted = jump, .context = asked};
    void *kept = arena_allocate(&arena, 3, 8);
    if (setjmp(out_of_memory) == 0) {
        arena_allocate(&arena, SIZE_MAX / 4, 8);
        fail_msg("an allocation of more than the address space returned");
    }
    assert_int_equal(asked[0], SIZE_MAX / 4);
    assert_int_equal(asked[1], 8);
    if (setjmp(out_of_memory) == 0) {
        arena_reallocate(&arena, kept, 5, SIZE_MAX / 2);
        fail_msg("an allocation of more than the address space returned");
    }
    assert_int_equal(asked[0], 5);
}

CASE(a_text_grows_by_what_is_added_and_keeps_what_it_had)
{
    OWNED(arena_destroy) struct arena *arena = arena_create();
    char *text = arena_text(arena, "%s", "");
    char wanted[4000] = "";
    for (int i = 0; i < 500; i++) {
        arena_append(arena, &text, "%d,", i);
        (void)snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%d,", i);
        assert_string_equal(text, wanted);
    }
    assert_string_equal(arena_text(arena, "%s", text), wanted);
}

CASE(a_process_ends_with_one_message_when_an_arena_made_for_that_is_exhausted)
{
    int ends[2], status = 0;
    char message[200] = "";
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        arena_allocate(arena_create(), SIZE_MAX / 4, 8);
        _exit(0);
    }
    (void)close(ends[1]);
    assert_true(read(ends[0], message, sizeof message - 1) > 0);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(message, "esgsim: out of memory for 4611686018427387903 x 8 bytes\n"));
}

/* ---- A run whose memory is exhausted --------------------------------------------------------- */

/* Where the glutton asks for more than there is. */
enum meal { MEAL_INIT, MEAL_READY, MEAL_WITHDRAWN, MEAL_DECIDE, MEAL_FINISH, MEAL_NEVER };

static struct {
    enum meal meal;
    int finished;
    struct platform *platform;
} table; // NOLINT: a policy's functions have no other context

static void eat(struct platform *platform, enum meal meal)
{
    uint64_t *crumbs = platform_allocate(platform, 10, sizeof *crumbs);
    crumbs = platform_reallocate(platform, crumbs, 20, sizeof *crumbs);
    assert_int_equal(crumbs[19], 0);
    if (meal == table.meal) {
        platform_allocate(platform, SIZE_MAX / 2, sizeof *crumbs);
        fail_msg("an allocation of more than the address space returned");
    }
}

static bool glutton_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    table.platform = platform;
    eat(platform, MEAL_INIT);
    return true;
}

static void glutton_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    eat(platform, MEAL_READY);
}

static void glutton_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                                 uint32_t instance)
{
    eat(platform, MEAL_WITHDRAWN);
}

static bool glutton_decide(void *state, struct platform *platform)
{
    eat(platform, MEAL_DECIDE);
    const uint32_t queue = platform_next_queue(platform, 0);
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}

static void glutton_finish(void *state)
{
    table.finished++;
    eat(table.platform, MEAL_FINISH);
}

POLICY(glutton, .init = glutton_init, .on_ready = glutton_on_ready,
       .on_withdrawn = glutton_on_withdrawn, .decide = glutton_decide, .finish = glutton_finish);

CASE(a_run_ends_with_one_message_wherever_its_policy_exhausts_memory)
{
    static const char *const callbacks[] = {[MEAL_INIT] = "(init, at",
                                            [MEAL_READY] = "(on_ready, at",
                                            [MEAL_WITHDRAWN] = "(on_withdrawn, at",
                                            [MEAL_DECIDE] = "(decide, at",
                                            [MEAL_FINISH] = "(finish, at"};
    for (enum meal meal = MEAL_INIT; meal <= MEAL_NEVER; meal++) {
        table.meal = meal;
        table.finished = 0;
        assert_int_equal(run(diamond, &glutton, &rows, anew(), hear()), meal == MEAL_NEVER);
        assert_int_equal(table.finished, 1);
        if (meal < MEAL_NEVER) {
            assert_int_equal(heard.kind, ERROR_RUN);
            assert_non_null(
                strstr(heard.message, "diamond: out of memory: 9223372036854775807 x 8"));
            assert_contains(heard.message, callbacks[meal]);
            assert_contains(heard.message, "policy glutton, seed 3");
            assert_null(result.applications);
        }
    }
}

/* A policy that tries another policy in a run of its own. */
static bool nested_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    bool *failed = state;
    struct simulation_result result = {0};
    struct error inner = {0};
    uint32_t *mine = platform_allocate(platform, 5, sizeof *mine);
    mine[4] = 7;
    *failed = !run(diamond, &glutton, &rows, &result, &inner);
    assert_int_equal(mine[4], 7);
    return true;
}

static void nested_finish(void *state)
{
    const bool *failed = state;
    assert_true(*failed);
    table.finished++;
}

CASE(a_run_within_a_run_ends_alone)
{
    POLICY(nested, .state_bytes = sizeof(bool), .init = nested_init, .on_ready = glutton_on_ready,
           .decide = glutton_decide, .finish = nested_finish);
    table.meal = MEAL_INIT;
    table.finished = 0;
    assert_true(run(diamond, &nested, &rows, anew(), hear()));
    assert_int_equal(table.finished, 2);
}

SUITE("arena")
