/* How long requests take: an open loop of Poisson arrivals, and the time from when each is due to its answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stack.h"

/* Exponential with this mean, by xorshift64* (Vigna). */
static double interval(uint64_t *state, double mean)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return -mean * log(((double)((*state * 0x2545F4914F6CDD1DULL) >> 11) + 0.5) / 9007199254740992.0);
}

static int ascending(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;
	return (a > b) - (a < b);
}

static void tell(double *took, unsigned count)
{
	double sum = 0;
	qsort(took, count, sizeof *took, ascending);
	for (unsigned i = 0; i < count; i++)
		sum += took[i];
	printf("{\"event\":\"response_times\",\"count\":%u,\"mean_ms\":%.4f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n", count,
	       count ? 1e3 * sum / count : 0, count ? 1e3 * took[count / 2] : 0, count ? 1e3 * took[count - 1 - count / 100] : 0,
	       count ? 1e3 * took[count - 1] : 0);
}

/* A request that the stack does not take waits here, and that counts. */
void ask_all(stack_socket s)
{
	uint64_t state = 0x9E3779B97F4A7C15ULL * options.seed;
	double *due = calloc(options.messages, sizeof *due), *took = calloc(options.messages, sizeof *took);
	unsigned answered = 0;
	struct message in = {0};
	if (!due || !took)
		fail("calloc");
	due[0] = now();
	for (unsigned i = 1; i < options.messages; i++)
		due[i] = due[i - 1] + interval(&state, 1.0 / options.ask);
	while (answered < options.messages) {
		bool is_due = tally.sent < options.messages && due[tally.sent] <= now();
		bool is_sent = is_due && send_next(s);
		enum got got = stack_receive(s, &in, AT_ONCE);
		if (got == GOT_END)
			break;
		if (got == GOT_MESSAGE) {
			take_answer(s, &in);
			if (in.length >= HEADER && number_of(&in) < tally.sent)
				took[answered++] = now() - due[number_of(&in)];
		}
		if (got == GOT_NOTHING && !is_sent)
			stack_wait(s, is_due, is_due || tally.sent == options.messages ? FOREVER : due[tally.sent]);
	}
	tell(took, answered);
	free(due);
	free(took);
}
