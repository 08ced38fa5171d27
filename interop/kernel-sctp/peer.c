/* peer - one end of an SCTP association on the kernel's one-to-one sockets, to test another stack against.
 *
 *   peer serve [options]           accept one association after the other; answer, or verify what comes
 *   peer send --to A [options]     set up one association, send messages, verify the answers
 *
 * Options (default):
 *   --port N       SCTP port of the server (5000)
 *   --bind A       serve: local address, may be repeated (all IPv4 addresses; `::` for IPv6 as well)
 *   --to A         send: the peer's address, may be repeated
 *   --local-port N send: this end's SCTP port, 0 = any (0)
 *   --encap N      send: the peer's UDP port for encapsulation (0: protocol 132)
 *   --mode M       serve: echo = answer each message; verify = check the content instead; both (echo)
 *   --count N      serve: associations to accept, 0 = without end (1)
 *   --messages N   send: messages in total, dealt round robin over the streams (100)
 *   --bytes N      octets per message (100)
 *   --streams N    streams to ask for and to send on (1)
 *   --unordered    send: unordered delivery
 *   --ppid N       send: payload protocol identifier (46)
 *   --no-answers   send: do not wait for echoes
 *   --spoil N      send: message number N, from 1, with a wrong last octet, to see that the other end notices (0: none)
 *   --end E        how this end finishes: shutdown, abort, or wait for the other (send: shutdown, serve: wait)
 *   --before-end C send: a shell command between the last message and the end, such as taking an interface down
 *   --expect E     serve, with --end wait: how the peer must finish, shutdown or abort (shutdown)
 *   --seconds N    give up after this time (60)
 *
 * It prints one JSON object per line; README.md lists them. Exit status: 0 all as expected, 1 not, 2 wrong usage,
 * 3 out of time.
 *
 * Content of message number i of stream s, from 0: octets 0-3 s and 4-7 i, big-endian; octet k from 8 on is
 * (31 s + 7 i + k) mod 251. A shorter message is the beginning of that.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sctp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STREAMS = 65536, ADDRESSES = 8, BUFFER = 1 << 20, SOCKET_BUFFER = 1 << 20, HEADER = 8 };

enum end { END_WAIT, END_SHUTDOWN, END_ABORT };

struct options {
	bool is_server, echoes, verifies, is_unordered, wants_answers;
	uint16_t port, local_port, encap;
	struct sockaddr_storage addresses[ADDRESSES];
	int address_count;
	unsigned count, messages, bytes, streams, ppid, spoil, seconds;
	enum end end, expect;
	const char *before_end;
};

/* What happened on one association. */
struct tally {
	unsigned sent, received, wrong;
	uint64_t octets;
	bool is_up, peer_shut_down, was_aborted;
	unsigned next[STREAMS];	      /* per stream: ordered, the index to come; unordered, how many came */
	int64_t displaced[STREAMS]; /* unordered, per stream: sum of (index - how many came before); 0 if none is missing */
};

/* One whole message and how it came. */
struct message {
	unsigned char *data;
	size_t length;
	uint16_t stream;
	uint32_t ppid;
	bool is_unordered;
};

enum got { GOT_MESSAGE, GOT_EVENT, GOT_NOTHING, GOT_END };

static struct tally tally;
static unsigned char buffer[BUFFER], outgoing[BUFFER];

/* ------------------------------------------------------------------ reporting */
static int fail(const char *call)
{
	printf("{\"event\":\"error\",\"call\":\"%s\",\"errno\":%d,\"message\":\"%s\"}\n", call, errno, strerror(errno));
	exit(1);
}

static void usage(const char *option, const char *why)
{
	fprintf(stderr, "peer: %s: %s; see the head of peer.c\n", option, why);
	exit(2);
}

static void out_of_time(int signal_number)
{
	static const char line[] = "{\"event\":\"timeout\"}\n";
	(void)signal_number;
	_exit(write(1, line, sizeof line - 1) < 0 ? 1 : 3);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wrong(const struct message *m, const char *what)
{
	tally.wrong++;
	printf("{\"event\":\"wrong\",\"stream\":%u,\"message\":%u,\"bytes\":%zu,\"what\":\"%s\"}\n", m->stream,
	       tally.received, m->length, what);
}

/* ------------------------------------------------------------------ content */
static void put32(unsigned char *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, sizeof value);
}

static uint32_t get32(const unsigned char *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return ntohl(value);
}

static void fill(unsigned char *data, size_t length, unsigned stream, unsigned index)
{
	unsigned char head[HEADER];
	put32(head, stream);
	put32(head + 4, index);
	memcpy(data, head, length < HEADER ? length : HEADER);
	for (size_t k = HEADER; k < length; k++)
		data[k] = (unsigned char)((31u * stream + 7u * index + k) % 251u);
}

/* Ordered messages come in order; unordered ones in any, and `displaced` shows if one is missing or double. */
static void verify(const struct message *m)
{
	static unsigned char expected[BUFFER];
	unsigned index = tally.next[m->stream]++;
	if (m->is_unordered && m->length >= HEADER) {
		uint32_t named = get32(m->data + 4);
		tally.displaced[m->stream] += (int64_t)named - (int64_t)index;
		index = named;
	}
	fill(expected, m->length, m->stream, index);
	if (memcmp(m->data, expected, m->length) == 0)
		return;
	if (m->length >= HEADER && get32(m->data) == m->stream && get32(m->data + 4) != index)
		wrong(m, "out of order");
	else
		wrong(m, "content");
}

/* ------------------------------------------------------------------ the socket */
static void set(int fd, int level, int name, const void *value, size_t length, const char *call)
{
	if (setsockopt(fd, level, name, value, (socklen_t)length) < 0)
		fail(call);
}

static int open_socket(const struct options *o)
{
	int size = SOCKET_BUFFER, on = 1;
	int fd = socket(o->address_count ? o->addresses[0].ss_family : AF_INET, SOCK_STREAM, IPPROTO_SCTP);
	struct sctp_initmsg init = {.sinit_num_ostreams = (uint16_t)o->streams, .sinit_max_instreams = 65535};
	struct sctp_event_subscribe events = {.sctp_association_event = 1, .sctp_shutdown_event = 1};
	if (fd < 0)
		fail("socket");
	if (o->is_server && o->streams == 1)
		init.sinit_num_ostreams = 65535; /* answers go out on the stream the question came on */
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size, "SO_RCVBUFFORCE");
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size, "SO_SNDBUFFORCE");
	set(fd, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init, "SCTP_INITMSG");
	set(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on, "SCTP_NODELAY");
	set(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on, "SCTP_RECVRCVINFO");
	set(fd, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events, "SCTP_EVENTS");
	return fd;
}

/* Takes a port of our choice on all addresses of the peer's family. */
static void bind_port(int fd, const struct options *o)
{
	struct sockaddr_in6 any = {.sin6_family = o->addresses[0].ss_family, .sin6_port = htons(o->local_port)};
	socklen_t length = any.sin6_family == AF_INET6 ? sizeof any : sizeof(struct sockaddr_in);
	if (o->local_port && bind(fd, (struct sockaddr *)&any, length) < 0)
		fail("bind");
}

/* The kernel takes several addresses as one packed array. */
static size_t pack(const struct options *o, unsigned char *packed)
{
	size_t length = 0;
	for (int i = 0; i < o->address_count; i++) {
		size_t one = o->addresses[i].ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
		memcpy(packed + length, &o->addresses[i], one);
		length += one;
	}
	return length;
}

static int listen_at(struct options *o)
{
	unsigned char packed[ADDRESSES * sizeof(struct sockaddr_in6)];
	int fd = open_socket(o);
	if (o->address_count == 0) {
		struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(o->port)};
		memcpy(&o->addresses[o->address_count++], &any, sizeof any);
	}
	set(fd, IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, packed, pack(o, packed), "bindx");
	if (listen(fd, 5) < 0)
		fail("listen");
	printf("{\"event\":\"listening\",\"port\":%u}\n", o->port);
	return fd;
}

static int connect_to(const struct options *o)
{
	unsigned char packed[ADDRESSES * sizeof(struct sockaddr_in6)];
	int fd = open_socket(o);
	bind_port(fd, o);
	if (o->encap) {
		struct sctp_udpencaps udp = {.sue_port = htons(o->encap)};
		set(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp, "SCTP_REMOTE_UDP_ENCAPS_PORT");
	}
	set(fd, IPPROTO_SCTP, SCTP_SOCKOPT_CONNECTX, packed, pack(o, packed), "connectx");
	return fd;
}

static void note_event(const union sctp_notification *event)
{
	if (event->sn_header.sn_type == SCTP_SHUTDOWN_EVENT) {
		tally.peer_shut_down = true;
		printf("{\"event\":\"shutdown_received\"}\n");
	} else if (event->sn_header.sn_type == SCTP_ASSOC_CHANGE) {
		const struct sctp_assoc_change *change = &event->sn_assoc_change;
		static const char *const names[] = {"up", "lost", "restart", "shutdown_complete", "cannot_start"};
		tally.is_up = tally.is_up || change->sac_state == SCTP_COMM_UP;
		if (change->sac_state == SCTP_RESTART) /* the peer counts from zero again */
			memset(tally.next, 0, sizeof tally.next);
		if (change->sac_state == SCTP_COMM_LOST)
			tally.was_aborted = true;
		printf("{\"event\":\"%s\",\"outbound_streams\":%u,\"inbound_streams\":%u,\"error\":%u}\n",
		       change->sac_state < 5 ? names[change->sac_state] : "unknown", change->sac_outbound_streams,
		       change->sac_inbound_streams, ntohs(change->sac_error));
	}
}

static void read_receive_info(struct msghdr *header, struct message *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		struct sctp_rcvinfo info;
		if (c->cmsg_level != IPPROTO_SCTP || c->cmsg_type != SCTP_RCVINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof info);
		m->stream = info.rcv_sid;
		m->ppid = ntohl(info.rcv_ppid);
		m->is_unordered = (info.rcv_flags & SCTP_UNORDERED) != 0;
	}
}

/* Reads on until a message is whole. */
static enum got receive(int fd, struct message *m, int flags)
{
	unsigned char control[CMSG_SPACE(sizeof(struct sctp_rcvinfo))];
	m->data = buffer;
	m->length = 0;
	for (;;) {
		struct iovec part = {.iov_base = buffer + m->length, .iov_len = sizeof buffer - m->length};
		struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
					.msg_controllen = sizeof control};
		ssize_t length = recvmsg(fd, &header, m->length ? 0 : flags);
		if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return GOT_NOTHING;
		if (length < 0 && (errno == ECONNRESET || errno == ECONNABORTED || errno == ETIMEDOUT)) {
			tally.was_aborted = true;
			return GOT_END;
		}
		if (length < 0 && errno == ENOTCONN) /* both ends are through with their shutdown */
			return GOT_END;
		if (length < 0)
			fail("recvmsg");
		if (header.msg_flags & MSG_NOTIFICATION) {
			note_event((const union sctp_notification *)(buffer + m->length));
			if (m->length == 0)
				return GOT_EVENT;
			continue;
		}
		if (length == 0)
			return GOT_END;
		read_receive_info(&header, m);
		m->length += (size_t)length;
		if (header.msg_flags & MSG_EOR)
			return GOT_MESSAGE;
		if (m->length == sizeof buffer) {
			wrong(m, "longer than peer can hold");
			return GOT_MESSAGE;
		}
	}
}

static bool send_message(int fd, const struct message *m, int flags)
{
	unsigned char control[CMSG_SPACE(sizeof(struct sctp_sndinfo))] = {0};
	struct iovec part = {.iov_base = m->data, .iov_len = m->length};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				.msg_controllen = sizeof control};
	struct sctp_sndinfo info = {.snd_sid = m->stream, .snd_ppid = htonl(m->ppid),
				    .snd_flags = m->is_unordered ? SCTP_UNORDERED : 0};
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = SCTP_SNDINFO;
	c->cmsg_len = CMSG_LEN(sizeof info);
	memcpy(CMSG_DATA(c), &info, sizeof info);
	if (sendmsg(fd, &header, MSG_NOSIGNAL | flags) >= 0)
		return true;
	if ((flags & MSG_DONTWAIT) && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	/* The association ended meanwhile: reading tells how. */
	if (errno == EPIPE || errno == ESHUTDOWN || errno == ECONNRESET)
		return false;
	fail("sendmsg");
	return false;
}

/* ------------------------------------------------------------------ the two ends */
static void count(const struct message *m)
{
	tally.received++;
	tally.octets += m->length;
}

/* Reads to the end of the association. */
static void drain(int fd, const struct options *o)
{
	struct message m = {0};
	for (enum got got; (got = receive(fd, &m, 0)) != GOT_END;) {
		if (got != GOT_MESSAGE)
			continue;
		count(&m);
		if (o->verifies)
			verify(&m);
		if (o->echoes && send_message(fd, &m, 0))
			tally.sent++;
	}
}

/* Finishes as `o->end` says; what still comes meanwhile counts. */
static void finish(int fd, const struct options *o)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	if (o->end == END_ABORT)
		set(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once, "SO_LINGER");
	if (o->end == END_SHUTDOWN && shutdown(fd, SHUT_WR) < 0 && errno != ENOTCONN)
		fail("shutdown");
	if (o->end != END_ABORT)
		drain(fd, o);
	close(fd);
}

static int report(const struct options *o, double start, bool is_complete)
{
	static const char *const ends[] = {"wait", "shutdown", "abort"};
	enum end seen = o->end == END_ABORT || tally.was_aborted ? END_ABORT : END_SHUTDOWN;
	enum end wanted = o->end == END_WAIT ? o->expect : o->end;
	for (unsigned i = 0; i < STREAMS && !tally.was_aborted; i++) {
		struct message all = {.stream = (uint16_t)i};
		if (tally.displaced[i] != 0)
			wrong(&all, "an unordered message is missing or double");
	}
	bool is_good = is_complete && tally.wrong == 0 && seen == wanted;
	printf("{\"event\":\"done\",\"ok\":%s,\"sent\":%u,\"received\":%u,\"octets\":%llu,\"wrong\":%u,\"end\":\"%s\","
	       "\"seconds\":%.3f}\n",
	       is_good ? "true" : "false", tally.sent, tally.received, (unsigned long long)tally.octets, tally.wrong,
	       ends[seen], now() - start);
	return is_good ? 0 : 1;
}

static int serve(struct options *o)
{
	int listener = listen_at(o), status = 0;
	for (unsigned served = 0; o->count == 0 || served < o->count; served++) {
		int fd = accept(listener, NULL, NULL);
		double start = now();
		if (fd < 0)
			fail("accept");
		memset(&tally, 0, sizeof tally);
		if (o->end == END_WAIT) {
			drain(fd, o);
			close(fd);
		} else {
			/* The first message is the sign to end. */
			struct message m = {0};
			enum got got;
			while ((got = receive(fd, &m, 0)) == GOT_EVENT)
				;
			if (got == GOT_MESSAGE)
				count(&m);
			finish(fd, o);
		}
		status |= report(o, start, true);
	}
	return status;
}

/* Sends as long as the kernel takes it and reads meanwhile, so that neither end can fill up. */
static void exchange(int fd, const struct options *o)
{
	struct message in = {0};
	bool is_filled = false;
	while (tally.sent < o->messages || (o->wants_answers && tally.received < o->messages)) {
		struct pollfd ready = {.fd = fd, .events = (short)(POLLIN | (tally.sent < o->messages ? POLLOUT : 0))};
		if (poll(&ready, 1, -1) < 0)
			fail("poll");
		enum got got = receive(fd, &in, MSG_DONTWAIT);
		if (got == GOT_END)
			return;
		if (got == GOT_MESSAGE) {
			count(&in);
			if (in.length != o->bytes || in.ppid != o->ppid || in.is_unordered != o->is_unordered)
				wrong(&in, "length, payload protocol or order flag");
			verify(&in);
		}
		if (tally.sent < o->messages && (ready.revents & POLLOUT)) {
			struct message out = {.data = outgoing, .length = o->bytes, .ppid = o->ppid,
					      .stream = (uint16_t)(tally.sent % o->streams),
					      .is_unordered = o->is_unordered};
			if (!is_filled) {
				fill(outgoing, o->bytes, out.stream, tally.sent / o->streams);
				outgoing[o->bytes - 1] ^= tally.sent + 1 == o->spoil;
			}
			is_filled = !send_message(fd, &out, MSG_DONTWAIT);
			tally.sent += !is_filled;
		}
	}
}

static int send_all(const struct options *o)
{
	double start = now();
	int fd = connect_to(o);
	exchange(fd, o);
	bool is_complete = tally.sent == o->messages && (!o->wants_answers || tally.received == o->messages);
	if (o->before_end && system(o->before_end) != 0)
		fail("system");
	finish(fd, o);
	return report(o, start, is_complete);
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

static void add_address(struct options *o, const char *option, const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (!text || o->address_count == ADDRESSES)
		usage(option, "needs an address, eight at most");
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(&o->addresses[o->address_count++], &v4, sizeof v4);
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(&o->addresses[o->address_count++], &v6, sizeof v6);
	else
		usage(option, "not an IP address");
}

static enum end an_end(const char *option, const char *text)
{
	static const char *const names[] = {"wait", "shutdown", "abort"};
	for (int i = 0; text && i < 3; i++)
		if (strcmp(text, names[i]) == 0)
			return (enum end)i;
	usage(option, "must be wait, shutdown or abort");
	return END_WAIT;
}

static void set_mode(struct options *o, const char *text)
{
	bool is_both = text && strcmp(text, "both") == 0;
	o->echoes = is_both || (text && strcmp(text, "echo") == 0);
	o->verifies = is_both || (text && strcmp(text, "verify") == 0);
	if (!o->echoes && !o->verifies)
		usage("--mode", "must be echo, verify or both");
}

/* Takes one option and says whether it used up the next word too. */
static bool take(struct options *o, const char *name, const char *value)
{
	if (strcmp(name, "--unordered") == 0 || strcmp(name, "--no-answers") == 0) {
		*(name[2] == 'u' ? &o->is_unordered : &o->wants_answers) = name[2] == 'u';
		return false;
	}
	if (strcmp(name, o->is_server ? "--bind" : "--to") == 0)
		add_address(o, name, value);
	else if (strcmp(name, "--port") == 0)
		o->port = (uint16_t)number(name, value, 1, 65535);
	else if (strcmp(name, "--local-port") == 0 && !o->is_server)
		o->local_port = (uint16_t)number(name, value, 0, 65535);
	else if (strcmp(name, "--before-end") == 0 && !o->is_server)
		o->before_end = value;
	else if (strcmp(name, "--encap") == 0 && !o->is_server)
		o->encap = (uint16_t)number(name, value, 0, 65535);
	else if (strcmp(name, "--mode") == 0 && o->is_server)
		set_mode(o, value);
	else if (strcmp(name, "--count") == 0 && o->is_server)
		o->count = number(name, value, 0, 1000000);
	else if (strcmp(name, "--messages") == 0)
		o->messages = number(name, value, 0, 100000000);
	else if (strcmp(name, "--bytes") == 0)
		o->bytes = number(name, value, 1, BUFFER / 2);
	else if (strcmp(name, "--streams") == 0)
		o->streams = number(name, value, 1, 65535);
	else if (strcmp(name, "--ppid") == 0)
		o->ppid = number(name, value, 0, UINT32_MAX);
	else if (strcmp(name, "--spoil") == 0)
		o->spoil = number(name, value, 0, 100000000);
	else if (strcmp(name, "--end") == 0)
		o->end = an_end(name, value);
	else if (strcmp(name, "--expect") == 0)
		o->expect = an_end(name, value);
	else if (strcmp(name, "--seconds") == 0)
		o->seconds = number(name, value, 1, 86400);
	else
		usage(name, "no such option here");
	return true;
}

int main(int argc, char **argv)
{
	static struct options o = {.port = 5000, .echoes = true, .count = 1, .messages = 100, .bytes = 100, .streams = 1,
				   .ppid = 46, .wants_answers = true, .seconds = 60, .expect = END_SHUTDOWN};
	if (argc < 2 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "send") != 0))
		usage(argc < 2 ? "peer" : argv[1], "say serve or send");
	o.is_server = strcmp(argv[1], "serve") == 0;
	o.end = o.is_server ? END_WAIT : END_SHUTDOWN;
	for (int i = 2; i < argc; i++)
		i += take(&o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
	if (!o.is_server && o.address_count == 0)
		usage("--to", "where to?");
	for (int i = 0; i < o.address_count; i++) /* the port is at the same place in both families */
		((struct sockaddr_in *)&o.addresses[i])->sin_port = htons(o.port);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, out_of_time);
	alarm(o.seconds);
	if (!o.is_server) {
		o.echoes = false; /* what comes late, after `exchange`, is not answered */
		return send_all(&o);
	}
	return serve(&o);
}
