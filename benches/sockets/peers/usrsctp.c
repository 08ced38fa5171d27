/* One end on usrsctp, in its own UDP encapsulation: usrsctp END ADDRESS OCTETS MILLISECONDS [OPTION]..., see
 * ../src/task.rs; it knows the options streams=N and unordered.
 *
 * cc -O2 -o usrsctp usrsctp.c -lusrsctp -lpthread */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <usrsctp.h>

enum { SCTP_PORT = 5000, BUFFER_BYTES = 4 << 20, PACKET_BYTES = 1400, WARM_UP_NS = 200000000 };

static unsigned char message[1 << 20];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The library leaves its UDP sockets with what the system gives. */
static void enlarge_udp_buffers(void)
{
	for (int fd = 3; fd < 64; fd++) {
		int protocol = 0, bytes = BUFFER_BYTES;
		socklen_t length = sizeof protocol;
		if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_UDP) {
			setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
			setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
		}
	}
}

static void set(struct socket *s, int level, int option, const void *value, socklen_t length)
{
	if (usrsctp_setsockopt(s, level, option, value, length) < 0)
		fail("usrsctp_setsockopt");
}

static struct socket *prepare(int peer_udp_port, int streams, int no_delay)
{
	struct socket *s = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	int bytes = BUFFER_BYTES;
	struct sctp_initmsg init = {.sinit_num_ostreams = (uint16_t)streams, .sinit_max_instreams = 65535};
	struct sctp_udpencaps udp = {.sue_address.ss_family = AF_INET, .sue_port = htons((uint16_t)peer_udp_port)};
	struct sctp_paddrparams path = {.spp_address.ss_family = AF_INET, .spp_pathmtu = PACKET_BYTES,
					.spp_flags = SPP_PMTUD_DISABLE};
	if (!s)
		fail("usrsctp_socket");
	set(s, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	set(s, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	set(s, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init);
	set(s, IPPROTO_SCTP, SCTP_NODELAY, &no_delay, sizeof no_delay);
	set(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp);
	set(s, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
	return s;
}

static size_t receive(struct socket *s)
{
	size_t octets = 0;
	int flags = 0;
	while (!(flags & MSG_EOR)) {
		struct sctp_rcvinfo info;
		struct sockaddr_in from;
		socklen_t from_length = sizeof from, info_length = sizeof info;
		unsigned type = 0;
		flags = 0;
		ssize_t length = usrsctp_recvv(s, message + octets, sizeof message - octets, (struct sockaddr *)&from,
					       &from_length, &info, &info_length, &type, &flags);
		if (length <= 0)
			fail("usrsctp_recvv");
		octets += (size_t)length;
	}
	return octets;
}

static void send_one(struct socket *s, size_t octets, int stream, int is_unordered)
{
	struct sctp_sndinfo how = {.snd_sid = (uint16_t)stream, .snd_flags = is_unordered ? SCTP_UNORDERED : 0};
	if (usrsctp_sendv(s, message, octets, NULL, 0, &how, sizeof how, SCTP_SENDV_SNDINFO, 0) < 0)
		fail("usrsctp_sendv");
}

static void count(struct socket *s, long long expected, long long time)
{
	long long messages = 0, begun = 0, first = 0;
	for (;;) {
		if ((long long)receive(s) != expected)
			fail("a message arrived with another length");
		messages++;
		if (messages % 16)
			continue;
		long long at = now();
		if (!first)
			first = at;
		if (!begun && at - first >= WARM_UP_NS) {
			messages = 0, begun = at;
			puts("begun");
		} else if (begun && at - begun >= time) {
			printf("%lld %lld %lld\n", messages, messages * expected, at - begun);
			fflush(stdout);
			_Exit(0);
		}
		fflush(stdout);
	}
}

static int by_size(const void *a, const void *b)
{
	long long left = *(const long long *)a, right = *(const long long *)b;
	return (left > right) - (left < right);
}

static void ping(struct socket *s, size_t octets, long long time)
{
	static long long times[1 << 20];
	long long begun = now();
	size_t rounds = 0;
	while (now() - begun < time && rounds < sizeof times / sizeof *times) {
		long long sent = now();
		send_one(s, octets, 0, 0);
		receive(s);
		times[rounds++] = now() - sent;
	}
	qsort(times, rounds, sizeof *times, by_size);
	printf("%lld %lld\n", times[rounds / 2], times[rounds * 99 / 100]);
	fflush(stdout);
	_Exit(0);
}

int main(int count_of_words, char **words)
{
	if (count_of_words < 5)
		fail("usrsctp END ADDRESS OCTETS MILLISECONDS [OPTION]...");
	const char *end = words[1];
	char *colon = strchr(words[2], ':');
	size_t octets = (size_t)atoll(words[3]);
	long long time = atoll(words[4]) * 1000000;
	int streams = 1, is_unordered = 0, stream = 0;
	for (int i = 5; i < count_of_words; i++) {
		sscanf(words[i], "streams=%d", &streams);
		is_unordered |= !strcmp(words[i], "unordered");
	}
	*colon = 0;
	int port = atoi(colon + 1), opens = !strcmp(end, "send") || !strcmp(end, "ping");
	int single = !strcmp(end, "ping") || !strcmp(end, "echo");
	struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(SCTP_PORT)};
	inet_pton(AF_INET, words[2], &there.sin_addr);
	usrsctp_init((uint16_t)(opens ? port + 1 : port), NULL, NULL);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	enlarge_udp_buffers();
	struct socket *s = prepare(opens ? port : port + 1, streams, single);
	if (opens) {
		if (usrsctp_connect(s, (struct sockaddr *)&there, sizeof there) < 0)
			fail("usrsctp_connect");
	} else {
		if (usrsctp_bind(s, (struct sockaddr *)&there, sizeof there) < 0 || usrsctp_listen(s, 1) < 0)
			fail("usrsctp_bind");
		s = usrsctp_accept(s, NULL, NULL);
	}
	if (!strcmp(end, "receive"))
		count(s, (long long)octets, time);
	if (!strcmp(end, "ping"))
		ping(s, octets, time);
	for (;;) {
		if (!opens)
			octets = receive(s);
		send_one(s, octets, stream, is_unordered);
		stream = (stream + 1) % streams;
	}
}
