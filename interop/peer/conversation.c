/* The two ends: what comes is counted, verified and perhaps answered, then one side ends the association. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stack.h"

struct tally tally;
static unsigned char outgoing[BUFFER];
static unsigned actions_done, actions_failed;

/* The first action that is not done yet, if there is one. */
static const struct action *due(void)
{
	return actions_done < options.action_count ? &options.actions[actions_done] : NULL;
}

/* A server acts when the message has come, and does not wait for what becomes of it. */
static void count(stack_socket s, const struct message *m)
{
	tally.received++;
	tally.octets += m->length;
	while (options.is_server && due() && due()->after <= tally.received)
		actions_failed += !act(s, &options.actions[actions_done++]);
}

/* Reads to the end of the association. */
static void drain(stack_socket s)
{
	struct message m = {0};
	for (enum got got; (got = stack_receive(s, &m, WAIT)) != GOT_END;) {
		if (got != GOT_MESSAGE)
			continue;
		count(s, &m);
		if (options.verifies)
			verify(&m);
		/* When nothing more can be sent, reading on tells why. */
		if (options.echoes && stack_send(s, &m, WAIT))
			tally.sent++;
	}
}

/* Finishes as `options.end` says; what still comes meanwhile counts. */
static void finish(stack_socket s)
{
	if (options.end == END_VANISH)
		return;
	if (options.end == END_ABORT)
		stack_abort(s);
	if (options.end == END_SHUTDOWN)
		stack_shutdown(s);
	if (options.end != END_ABORT)
		drain(s);
	stack_close(s);
}

static int report(double start, bool is_complete)
{
	static const char *const ends[] = {"wait", "shutdown", "abort", "vanish"};
	enum end seen = options.end == END_VANISH				  ? END_VANISH
			: options.end == END_ABORT || tally.was_aborted ? END_ABORT
									  : END_SHUTDOWN;
	enum end wanted = options.end == END_WAIT ? options.expect : options.end;
	for (unsigned i = 0; i < STREAMS && !tally.was_aborted; i++) {
		struct message all = {.stream = (uint16_t)i};
		if (tally.displaced[i] != 0)
			wrong(&all, "an unordered message is missing or double");
	}
	bool is_good = is_complete && tally.wrong == 0 && seen == wanted && actions_failed == 0 && !due();
	printf("{\"event\":\"done\",\"ok\":%s,\"sent\":%u,\"received\":%u,\"octets\":%llu,\"wrong\":%u,\"restarts\":%u,"
	       "\"end\":\"%s\",\"seconds\":%.3f}\n",
	       is_good ? "true" : "false", tally.sent, tally.received, (unsigned long long)tally.octets, tally.wrong,
	       tally.restarts, ends[seen], now() - start);
	if (options.end == END_VANISH) /* any other way out would say goodbye to the peer */
		_exit(is_good ? 0 : 1);
	return is_good ? 0 : 1;
}

int serve(void)
{
	stack_socket listener = stack_listen();
	int status = 0;
	printf("{\"event\":\"listening\",\"port\":%u}\n", options.port);
	for (unsigned served = 0; options.count == 0 || served < options.count; served++) {
		stack_socket s = stack_accept(listener);
		double start = now();
		memset(&tally, 0, sizeof tally);
		actions_done = actions_failed = 0;
		if (options.end != END_WAIT) {
			/* The first message is the sign to end. */
			struct message m = {0};
			enum got got;
			while ((got = stack_receive(s, &m, WAIT)) == GOT_EVENT)
				;
			if (got == GOT_MESSAGE)
				count(s, &m);
		}
		finish(s);
		status |= report(start, true);
	}
	stack_close(listener);
	return status;
}

/* ------------------------------------------------------------------ sending */
void take_answer(stack_socket s, const struct message *m)
{
	count(s, m);
	if (m->length != options.bytes || m->ppid != options.ppid || m->is_unordered != options.is_unordered)
		wrong(m, "length, payload protocol or order flag");
	verify(m);
}

bool send_next(stack_socket s)
{
	static unsigned filled = UINT32_MAX;
	struct message out = {.data = outgoing, .length = options.bytes, .ppid = options.ppid,
			      .stream = (uint16_t)(tally.sent % options.streams), .is_unordered = options.is_unordered};
	if (filled != tally.sent) {
		fill(outgoing, options.bytes, out.stream, tally.sent / options.streams);
		outgoing[options.bytes - 1] ^= tally.sent + 1 == options.spoil;
		filled = tally.sent;
	}
	bool is_sent = stack_send(s, &out, AT_ONCE);
	tally.sent += is_sent;
	return is_sent;
}

/* An action waits until all that was sent has been answered, and sending goes on when the peer has confirmed it: a
 * stream is not reset under the messages on it. Says whether messages may be sent now. */
static bool pass_actions(stack_socket s, unsigned *awaited)
{
	if (tally.confirmed < *awaited)
		return false;
	while (due() && due()->after <= tally.sent) {
		const struct action *action = due();
		/* Of changes to streams both stacks tell the outcome, of changes to own addresses neither does. */
		bool is_confirmed = strncmp(action->name, "reset-", 6) == 0 || strncmp(action->name, "add-in", 6) == 0 ||
				    strncmp(action->name, "add-out", 7) == 0;
		if (options.wants_answers && tally.received < tally.sent)
			return false;
		*awaited = tally.confirmed + is_confirmed;
		actions_done++;
		if (!act(s, action)) {
			actions_failed++;
			*awaited = tally.confirmed;
		}
		if (tally.confirmed < *awaited)
			return false;
	}
	return true;
}

static bool is_through(unsigned awaited)
{
	return tally.sent >= options.messages && (!options.wants_answers || tally.received >= options.messages) && !due() &&
	       tally.confirmed >= awaited;
}

/* Sends as long as the stack takes it and reads meanwhile, so that neither end can fill up. */
static void exchange(stack_socket s)
{
	struct message in = {0};
	unsigned awaited = 0;
	while (!is_through(awaited)) {
		bool may_send = pass_actions(s, &awaited) && tally.sent < options.messages;
		bool is_stuck = !may_send || !send_next(s);
		enum got got = stack_receive(s, &in, AT_ONCE);
		if (got == GOT_END)
			return;
		if (got == GOT_MESSAGE)
			take_answer(s, &in);
		if (got == GOT_NOTHING && is_stuck && !is_through(awaited))
			stack_wait(s, may_send, FOREVER);
	}
}

/* Hands over each message when it is due: what the window does not take waits in the stack. */
static void keep_pace(stack_socket s)
{
	double start = now();
	while (tally.sent < options.messages) {
		sleep_until(start + tally.sent * (options.pace / 1e6));
		while (!send_next(s))
			stack_wait(s, true, FOREVER);
	}
}

int send_all(void)
{
	double start = now();
	stack_socket s = stack_connect();
	if (options.ask)
		ask_all(s);
	else if (options.pace)
		keep_pace(s);
	else
		exchange(s);
	bool is_complete = tally.sent == options.messages && (!options.wants_answers || tally.received == options.messages);
	if (options.before_end && system(options.before_end) != 0)
		fail("system");
	finish(s);
	return report(start, is_complete);
}
