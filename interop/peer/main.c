/* peer - one end of an SCTP association on somebody else's stack, to test ours against.
 *
 *   peer serve [options]           accept one association after the other; answer, or verify what comes
 *   peer send --to A [options]     set up one association, send messages, verify the answers
 *
 * Built twice: as `peer` on the Linux kernel's one-to-one sockets, as `peer-usrsctp` on usrsctp.
 *
 * Options (default):
 *   --port N       SCTP port of the server (5000)
 *   --bind A       local address, may be repeated (serve: all IPv4 addresses, `::` for IPv6 as well; send: all)
 *   --to A         send: the peer's address, may be repeated
 *   --local-port N send: this end's SCTP port, 0 = any (0)
 *   --encap N      send: the peer's UDP port for encapsulation (0: protocol 132)
 *   --udp N        usrsctp: this end's UDP port for encapsulation (9899)
 *   --mode M       serve: echo = answer each message; verify = check the content instead; both (echo)
 *   --count N      serve: associations to accept, 0 = without end (1)
 *   --messages N   send: messages in total, dealt round robin over the streams (100)
 *   --bytes N      octets per message (100)
 *   --streams N    streams to ask for and to send on (1)
 *   --pace N       send: microseconds between messages, each handed over when it is due and asking for a SACK at once
 *                  (RFC 7053) where the stack can; needs --no-answers (0: as the stack takes them)
 *   --ask N        send: requests per second, at exponential intervals, each when it is due whatever is unanswered; prints how
 *                  long the answers took (0: as the stack takes them)
 *   --seed N       send: which intervals, with --ask (1)
 *   --unordered    send: unordered delivery
 *   --ppid N       send: payload protocol identifier (46)
 *   --no-answers   send: do not wait for echoes
 *   --spoil N      send: message number N, from 1, with a wrong last octet, to see that the other end notices (0: none)
 *   --end E        how this end finishes: shutdown, abort, vanish without a packet (usrsctp), or wait for the other
 *                  (send: shutdown, serve: wait)
 *   --before-end C send: a shell command between the last message and the end, such as taking an interface down
 *   --expect E     serve, with --end wait: how the peer must finish, shutdown or abort (shutdown)
 *   --seconds N    give up after this time (60)
 *
 * Extensions (default: as the stack does by itself):
 *   --offer L      offer exactly these, with commas between them: pr, interleaving, auth, asconf, reconfig, or none
 *   --pr P         send: give messages up: ttl:MILLISECONDS, rtx:RETRANSMISSIONS, priority:N (kernel), buffer:N (usrsctp)
 *   --gaps         messages may be missing, since the sender gives some up
 *   --auth L       types of chunks that the peer must authenticate, numbers with commas between them
 *   --key ID=TEXT  a shared key, used from the beginning on
 *   --hmac H       sha256 or sha1 as first choice
 *   --scheduler S  first-come, priority, round-robin, round-robin-packet and fair (usrsctp)
 *   --timers T     INITIAL:MIN:MAX:HEARTBEAT:FAILURES, RTOs and heartbeat interval in ms, failures of a path
 *   --do N:W=ARG   after N messages do W, may be repeated: reset-out, reset-in (streams; none = all), add-out, add-in (a
 *                  number), add-address, remove-address, primary, peer-primary (an address), key (an ID), run (a command)
 *
 * It prints one JSON object per line; README.md lists them. Exit status: 0 all as expected, 1 not, 2 wrong usage,
 * 3 out of time.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stack.h"

struct options options = {.port = 5000, .echoes = true, .count = 1, .messages = 100, .bytes = 100, .streams = 1, .ppid = 46,
			  .wants_answers = true, .seconds = 60, .seed = 1, .expect = END_SHUTDOWN, .udp_port = 9899, .offers = -1};

int fail(const char *call)
{
	printf("{\"event\":\"error\",\"call\":\"%s\",\"errno\":%d,\"message\":\"%s\"}\n", call, errno, strerror(errno));
	exit(1);
}

void usage(const char *option, const char *why)
{
	fprintf(stderr, "peer: %s: %s; see the head of main.c\n", option, why);
	exit(2);
}

static void out_of_time(int signal_number)
{
	static const char line[] = "{\"event\":\"timeout\"}\n";
	(void)signal_number;
	_exit(write(1, line, sizeof line - 1) < 0 ? 1 : 3);
}

double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void sleep_until(double time)
{
	struct timespec t = {.tv_sec = (time_t)time};
	t.tv_nsec = (long)((time - (double)t.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* ------------------------------------------------------------------ options */
static unsigned number(const char *option, const char *text, unsigned least, unsigned most)
{
	char *rest;
	errno = 0;
	unsigned long value = text ? strtoul(text, &rest, 10) : 0;
	if (!text || errno || *rest || rest == text || value < least || value > most)
		usage(option, "not a number in its range");
	return (unsigned)value;
}

static void add_address(struct addresses *all, const char *option, const char *text)
{
	if (all->count == ADDRESSES || !parse_address(&all->list[all->count++], text))
		usage(option, "needs an IP address, eight at most");
}

static enum end an_end(const char *option, const char *text)
{
	static const char *const names[] = {"wait", "shutdown", "abort", "vanish"};
	for (int i = 0; text && i < 4; i++)
		if (strcmp(text, names[i]) == 0)
			return (enum end)i;
	usage(option, "must be wait, shutdown, abort or vanish");
	return END_WAIT;
}

static void set_mode(const char *text)
{
	bool is_both = text && strcmp(text, "both") == 0;
	options.echoes = is_both || (text && strcmp(text, "echo") == 0);
	options.verifies = is_both || (text && strcmp(text, "verify") == 0);
	if (!options.echoes && !options.verifies)
		usage("--mode", "must be echo, verify or both");
}

static void set_offers(const char *text)
{
	static const char *const names[] = {"pr", "interleaving", "auth", "asconf", "reconfig"};
	char copy[64] = "";
	snprintf(copy, sizeof copy, "%s", text ? text : "?");
	options.offers = 0;
	for (char *name = strtok(copy, ","); name; name = strtok(NULL, ",")) {
		int found = strcmp(name, "none") == 0;
		for (int i = 0; i < 5; i++)
			if (strcmp(name, names[i]) == 0) {
				options.offers |= 1 << i;
				found = 1;
			}
		if (!found)
			usage("--offer", "must be of pr, interleaving, auth, asconf, reconfig, none");
	}
}

static void set_partial_reliability(const char *text)
{
	static const char *const names[] = {"", "ttl:", "rtx:", "priority:"};
	for (uint16_t i = 1; text && i < 4; i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0) {
			options.pr_policy = i;
			options.pr_value = number("--pr", text + strlen(names[i]), 0, UINT32_MAX);
			return;
		}
	if (text && strncmp(text, "buffer:", 7) == 0) {
		options.pr_policy = 3;
		options.pr_value = number("--pr", text + 7, 0, UINT32_MAX);
		return;
	}
	usage("--pr", "must be ttl:N, rtx:N, priority:N or buffer:N");
}

static void add_action(char *text)
{
	static const char *const names[] = {"reset-out", "reset-in",	     "add-out", "add-in",	 "add-address",
					    "remove-address", "primary", "peer-primary", "key", "run"};
	struct action *action = &options.actions[options.action_count];
	char *colon = text ? strchr(text, ':') : NULL, *equals = colon ? strchr(colon, '=') : NULL;
	if (!colon || options.action_count == ACTIONS)
		usage("--do", "must be N:WHAT=ARGUMENT, sixteen at most");
	*colon = 0;
	action->after = number("--do", text, 0, 100000000);
	action->name = colon + 1;
	action->argument = equals ? equals + 1 : "";
	if (equals)
		*equals = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(action->name, names[i]) == 0) {
			options.action_count++;
			return;
		}
	usage("--do", "there is no such action");
}

/* One option with a word of its own that is a number, in place. */
static bool take_number(const char *name, const char *value)
{
	static const struct {
		const char *name;
		unsigned *place, least, most;
	} numbers[] = {{"--count", &options.count, 0, 1000000},	    {"--messages", &options.messages, 0, 100000000},
		       {"--bytes", &options.bytes, 1, BUFFER / 2},    {"--streams", &options.streams, 1, 65535},
		       {"--ppid", &options.ppid, 0, UINT32_MAX},	    {"--spoil", &options.spoil, 0, 100000000},
		       {"--seconds", &options.seconds, 1, 86400},	    {"--pace", &options.pace, 0, 10000000},
		       {"--ask", &options.ask, 0, 100000},	    {"--seed", &options.seed, 1, UINT32_MAX}};
	static const struct {
		const char *name;
		uint16_t *place;
	} ports[] = {{"--port", &options.port}, {"--local-port", &options.local_port}, {"--encap", &options.encap},
		     {"--udp", &options.udp_port}};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcmp(name, numbers[i].name) == 0) {
			*numbers[i].place = number(name, value, numbers[i].least, numbers[i].most);
			return true;
		}
	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
		if (strcmp(name, ports[i].name) == 0) {
			*ports[i].place = (uint16_t)number(name, value, 0, 65535);
			return true;
		}
	return false;
}

static bool take_text(const char *name, char *value)
{
	static const struct {
		const char *name;
		const char **place;
	} texts[] = {{"--before-end", &options.before_end}, {"--auth", &options.auth_chunks},	{"--key", &options.key},
		     {"--hmac", &options.hmac},		     {"--scheduler", &options.scheduler}, {"--timers", &options.timers}};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(name, texts[i].name) == 0) {
			if (!value)
				usage(name, "needs a word");
			*texts[i].place = value;
			return true;
		}
	return false;
}

/* Takes one option and says whether it used up the next word too. */
static bool take(const char *name, char *value)
{
	static const struct {
		const char *name;
		bool *place, value;
	} flags[] = {{"--unordered", &options.is_unordered, true},
		     {"--no-answers", &options.wants_answers, false},
		     {"--gaps", &options.allows_gaps, true}};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (strcmp(name, flags[i].name) == 0) {
			*flags[i].place = flags[i].value;
			return false;
		}
	if (strcmp(name, "--bind") == 0)
		add_address(&options.here, name, value);
	else if (strcmp(name, "--to") == 0 && !options.is_server)
		add_address(&options.peer, name, value);
	else if (strcmp(name, "--mode") == 0 && options.is_server)
		set_mode(value);
	else if (strcmp(name, "--end") == 0)
		options.end = an_end(name, value);
	else if (strcmp(name, "--expect") == 0)
		options.expect = an_end(name, value);
	else if (strcmp(name, "--offer") == 0)
		set_offers(value);
	else if (strcmp(name, "--pr") == 0)
		set_partial_reliability(value);
	else if (strcmp(name, "--do") == 0)
		add_action(value);
	else if (!take_number(name, value) && !take_text(name, value))
		usage(name, "no such option here");
	return true;
}

/* The port is at the same place in both families. */
static void set_port(struct addresses *all, uint16_t port)
{
	for (int i = 0; i < all->count; i++)
		((struct sockaddr_in *)&all->list[i])->sin_port = htons(port);
}

int main(int argc, char **argv)
{
	int status;
	if (argc < 2 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "send") != 0))
		usage(argc < 2 ? "peer" : argv[1], "say serve or send");
	options.is_server = strcmp(argv[1], "serve") == 0;
	options.end = options.is_server ? END_WAIT : END_SHUTDOWN;
	for (int i = 2; i < argc; i++)
		i += take(argv[i], i + 1 < argc ? argv[i + 1] : NULL);
	if (!options.is_server && options.peer.count == 0)
		usage("--to", "where to?");
	if (options.ask && (options.bytes < HEADER || !options.wants_answers))
		usage("--ask", "needs answers, of eight octets at least");
	set_port(&options.here, options.is_server ? options.port : options.local_port);
	set_port(&options.peer, options.port);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, out_of_time);
	alarm(options.seconds);
	/* What comes late at a client, after `exchange`, is not answered. */
	options.echoes = options.echoes && options.is_server;
	stack_start();
	status = options.is_server ? serve() : send_all();
	stack_end();
	return status;
}
