/* usrsctp: the SCTP of FreeBSD as a library, over UDP and raw IP at once. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stack.h"

static unsigned char buffer[BUFFER];
/* Raised by the library's threads when something changed at a socket. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void stack_start(void)
{
	usrsctp_init(options.udp_port, NULL, NULL);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
}

/* The library refuses as long as an association is not quite gone. */
void stack_end(void)
{
	for (int i = 0; i < 300 && usrsctp_finish() != 0; i++)
		usleep(10000);
}

int stack_try(stack_socket s, int option, const void *value, size_t length)
{
	return usrsctp_setsockopt(s, IPPROTO_SCTP, option, value, (socklen_t)length) < 0 ? errno : 0;
}

void stack_set(stack_socket s, int option, const void *value, size_t length, const char *name)
{
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, option, value, (socklen_t)length) < 0)
		fail(name);
}

static void on_change(stack_socket s, void *argument, int flags)
{
	(void)s, (void)argument, (void)flags;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Until something changes, but never long: it may have changed between a look and this. The look takes locks that the
 * upcall is called with, so nobody looks while holding ours. */
static void wait_a_moment(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 2000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&changed, &lock, &until);
	pthread_mutex_unlock(&lock);
}

/* What an accepted socket does not inherit. */
static void attend(stack_socket s)
{
	usrsctp_set_upcall(s, on_change, NULL);
	usrsctp_set_non_blocking(s, 1);
}

stack_socket stack_open(int family)
{
	int size = SOCKET_BUFFER, on = 1;
	stack_socket s = usrsctp_socket(family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sctp_initmsg init = {.sinit_num_ostreams = (uint16_t)options.streams, .sinit_max_instreams = 65535};
	if (!s)
		fail("usrsctp_socket");
	/* Answers go out on the stream the question came on. */
	if (options.is_server && options.streams == 1)
		init.sinit_num_ostreams = 2048;
	if (usrsctp_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) < 0 ||
	    usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) < 0)
		fail("SO_RCVBUF");
	stack_set(s, SCTP_INITMSG, &init, sizeof init, "SCTP_INITMSG");
	stack_set(s, SCTP_NODELAY, &on, sizeof on, "SCTP_NODELAY");
	stack_set(s, SCTP_RECVRCVINFO, &on, sizeof on, "SCTP_RECVRCVINFO");
	if (options.encap) {
		struct sctp_udpencaps udp = {.sue_address.ss_family = (sa_family_t)family, .sue_port = htons(options.encap)};
		stack_set(s, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp, "SCTP_REMOTE_UDP_ENCAPS_PORT");
	}
	subscribe(s);
	prepare_extensions(s);
	return s;
}

void stack_bind(stack_socket s, int family, uint16_t port)
{
	unsigned char packed[ADDRESSES * sizeof(struct sockaddr_in6)];
	struct sockaddr_in6 any = {.sin6_family = (sa_family_t)family, .sin6_port = htons(port)};
	socklen_t length = family == AF_INET6 ? sizeof any : sizeof(struct sockaddr_in);
	pack(&options.here, packed);
	if (options.here.count &&
	    usrsctp_bindx(s, (struct sockaddr *)packed, options.here.count, SCTP_BINDX_ADD_ADDR) < 0)
		fail("usrsctp_bindx");
	if (!options.here.count && usrsctp_bind(s, (struct sockaddr *)&any, length) < 0)
		fail("usrsctp_bind");
}

stack_socket stack_listen(void)
{
	int family = options.here.count ? options.here.list[0].ss_family : AF_INET;
	stack_socket s = stack_open(family);
	stack_bind(s, family, options.port);
	if (usrsctp_listen(s, 5) < 0)
		fail("usrsctp_listen");
	return s;
}

stack_socket stack_accept(stack_socket listener)
{
	stack_socket s = usrsctp_accept(listener, NULL, NULL);
	if (!s)
		fail("usrsctp_accept");
	attend(s);
	return s;
}

stack_socket stack_connect(void)
{
	unsigned char packed[ADDRESSES * sizeof(struct sockaddr_in6)];
	int family = options.peer.list[0].ss_family;
	stack_socket s = stack_open(family);
	struct message none;
	if (options.local_port || options.here.count)
		stack_bind(s, family, options.local_port);
	if (options.peer.count == 1) {
		if (usrsctp_connect(s, (struct sockaddr *)&options.peer.list[0], (socklen_t)address_length(options.peer.list)))
			fail("usrsctp_connect");
		attend(s);
		return s;
	}
	pack(&options.peer, packed);
	if (usrsctp_connectx(s, (struct sockaddr *)packed, options.peer.count, NULL) < 0)
		fail("usrsctp_connectx");
	attend(s);
	while (!tally.is_up && stack_receive(s, &none, WAIT) != GOT_END)
		;
	return s;
}

enum got stack_receive(stack_socket s, struct message *m, enum patience patience)
{
	m->data = buffer;
	m->length = 0;
	for (;;) {
		struct sctp_rcvinfo info = {0};
		struct sockaddr_storage from;
		socklen_t from_length = sizeof from, info_length = sizeof info;
		unsigned type = SCTP_RECVV_NOINFO;
		int flags = 0;
		ssize_t length = usrsctp_recvv(s, buffer + m->length, sizeof buffer - m->length, (struct sockaddr *)&from,
					       &from_length, &info, &info_length, &type, &flags);
		if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (m->length == 0 && patience == AT_ONCE)
				return GOT_NOTHING;
			stack_wait(s, false, FOREVER);
			continue;
		}
		if (length < 0 && (errno == ECONNRESET || errno == ECONNABORTED || errno == ETIMEDOUT)) {
			tally.was_aborted = true;
			return GOT_END;
		}
		if (length < 0 && errno == ENOTCONN)
			return GOT_END;
		if (length < 0)
			fail("usrsctp_recvv");
		if (flags & MSG_NOTIFICATION) {
			note_event((const union sctp_notification *)(buffer + m->length));
			if (m->length == 0)
				return GOT_EVENT;
			continue;
		}
		if (length == 0)
			return GOT_END;
		m->stream = info.rcv_sid;
		m->ppid = ntohl(info.rcv_ppid);
		m->is_unordered = (info.rcv_flags & SCTP_UNORDERED) != 0;
		m->length += (size_t)length;
		if (flags & MSG_EOR)
			return GOT_MESSAGE;
		if (m->length == sizeof buffer) {
			wrong(m, "longer than peer can hold");
			return GOT_MESSAGE;
		}
	}
}

bool stack_send(stack_socket s, const struct message *m, enum patience patience)
{
	static const uint16_t policies[] = {SCTP_PR_SCTP_NONE, SCTP_PR_SCTP_TTL, SCTP_PR_SCTP_RTX, SCTP_PR_SCTP_BUF};
	struct sctp_sendv_spa how = {
		.sendv_flags = SCTP_SEND_SNDINFO_VALID | (options.pr_policy ? SCTP_SEND_PRINFO_VALID : 0),
		.sendv_sndinfo = {.snd_sid = m->stream, .snd_ppid = htonl(m->ppid),
				  .snd_flags = m->is_unordered ? SCTP_UNORDERED : 0},
		.sendv_prinfo = {.pr_policy = policies[options.pr_policy], .pr_value = options.pr_value}};
	for (;; wait_a_moment()) {
		if (usrsctp_sendv(s, m->data, m->length, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0) >= 0)
			return true;
		if (patience == AT_ONCE || (errno != EAGAIN && errno != EWOULDBLOCK))
			break;
	}
	/* The association ended meanwhile: reading tells how. */
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EPIPE || errno == ESHUTDOWN || errno == ECONNRESET ||
	    errno == ENOTCONN)
		return false;
	fail("usrsctp_sendv");
	return false;
}

void stack_wait(stack_socket s, bool wants_room, double until)
{
	int wanted = SCTP_EVENT_READ | SCTP_EVENT_ERROR | (wants_room ? SCTP_EVENT_WRITE : 0);
	if (now() < until && !(usrsctp_get_events(s) & wanted))
		wait_a_moment();
}

void stack_shutdown(stack_socket s)
{
	if (usrsctp_shutdown(s, SHUT_WR) < 0 && errno != ENOTCONN)
		fail("usrsctp_shutdown");
}

void stack_abort(stack_socket s)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	if (usrsctp_setsockopt(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) < 0)
		fail("SO_LINGER");
}

void stack_close(stack_socket s) { usrsctp_close(s); }

int stack_change_address(stack_socket s, const struct sockaddr_storage *address, bool adds)
{
	struct sockaddr_storage one = *address;
	return usrsctp_bindx(s, (struct sockaddr *)&one, 1, adds ? SCTP_BINDX_ADD_ADDR : SCTP_BINDX_REM_ADDR) < 0 ? errno : 0;
}

void stack_offer_interleaving(stack_socket s)
{
	struct sctp_assoc_value value = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1};
	stack_set(s, SCTP_INTERLEAVING_SUPPORTED, &value, sizeof value, "SCTP_INTERLEAVING_SUPPORTED");
}

bool stack_schedule(stack_socket s, const char *name)
{
	static const char *const names[] = {"first-come", "priority", "round-robin", "round-robin-packet", "fair"};
	static const unsigned schedulers[] = {SCTP_SS_FIRST_COME, SCTP_SS_PRIORITY, SCTP_SS_ROUND_ROBIN,
					      SCTP_SS_ROUND_ROBIN_PACKET, SCTP_SS_FAIR_BANDWITH};
	for (int i = 0; i < 5; i++) {
		struct sctp_assoc_value value = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = schedulers[i]};
		if (strcmp(name, names[i]) != 0)
			continue;
		stack_set(s, SCTP_PLUGGABLE_SS, &value, sizeof value, "SCTP_PLUGGABLE_SS");
		return true;
	}
	return false;
}
