/* The Linux kernel's SCTP: its one-to-one sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stack.h"

static unsigned char buffer[BUFFER];

void stack_start(void) {}
void stack_end(void) {}

int stack_try(stack_socket s, int option, const void *value, size_t length)
{
	return setsockopt(s, IPPROTO_SCTP, option, value, (socklen_t)length) < 0 ? errno : 0;
}

void stack_set(stack_socket s, int option, const void *value, size_t length, const char *name)
{
	if (setsockopt(s, IPPROTO_SCTP, option, value, (socklen_t)length) < 0)
		fail(name);
}

stack_socket stack_open(int family)
{
	int size = SOCKET_BUFFER, on = 1;
	int s = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	struct sctp_initmsg init = {.sinit_num_ostreams = (uint16_t)options.streams, .sinit_max_instreams = 65535};
	if (s < 0)
		fail("socket");
	if (options.is_server && options.streams == 1)
		init.sinit_num_ostreams = 65535; /* answers go out on the stream the question came on */
	if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0 ||
	    setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0)
		fail("SO_RCVBUFFORCE");
	stack_set(s, SCTP_INITMSG, &init, sizeof init, "SCTP_INITMSG");
	stack_set(s, SCTP_NODELAY, &on, sizeof on, "SCTP_NODELAY");
	stack_set(s, SCTP_RECVRCVINFO, &on, sizeof on, "SCTP_RECVRCVINFO");
	subscribe(s);
	prepare_extensions(s);
	return s;
}

void stack_bind(stack_socket s, int family, uint16_t port)
{
	unsigned char packed[ADDRESSES * sizeof(struct sockaddr_in6)];
	struct sockaddr_in6 any = {.sin6_family = (sa_family_t)family, .sin6_port = htons(port)};
	socklen_t length = family == AF_INET6 ? sizeof any : sizeof(struct sockaddr_in);
	if (options.here.count)
		stack_set(s, SCTP_SOCKOPT_BINDX_ADD, packed, pack(&options.here, packed), "bindx");
	else if (bind(s, (struct sockaddr *)&any, length) < 0)
		fail("bind");
}

stack_socket stack_listen(void)
{
	int family = options.here.count ? options.here.list[0].ss_family : AF_INET;
	int s = stack_open(family);
	stack_bind(s, family, options.port);
	if (listen(s, 5) < 0)
		fail("listen");
	return s;
}

stack_socket stack_accept(stack_socket listener)
{
	int s = accept(listener, NULL, NULL);
	if (s < 0)
		fail("accept");
	return s;
}

stack_socket stack_connect(void)
{
	unsigned char packed[ADDRESSES * sizeof(struct sockaddr_in6)];
	int family = options.peer.list[0].ss_family;
	int s = stack_open(family);
	if (options.local_port || options.here.count)
		stack_bind(s, family, options.local_port);
	if (options.encap) {
		struct sctp_udpencaps udp = {.sue_port = htons(options.encap)};
		stack_set(s, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp, "SCTP_REMOTE_UDP_ENCAPS_PORT");
	}
	stack_set(s, SCTP_SOCKOPT_CONNECTX, packed, pack(&options.peer, packed), "connectx");
	return s;
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

enum got stack_receive(stack_socket s, struct message *m, enum patience patience)
{
	unsigned char control[CMSG_SPACE(sizeof(struct sctp_rcvinfo))];
	m->data = buffer;
	m->length = 0;
	for (;;) {
		struct iovec part = {.iov_base = buffer + m->length, .iov_len = sizeof buffer - m->length};
		struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
					.msg_controllen = sizeof control};
		ssize_t length = recvmsg(s, &header, m->length || patience == WAIT ? 0 : MSG_DONTWAIT);
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

static void *add_control(struct msghdr *header, int type, const void *value, size_t length)
{
	struct cmsghdr *c = (struct cmsghdr *)((unsigned char *)header->msg_control + header->msg_controllen);
	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(length);
	header->msg_controllen += CMSG_SPACE(length);
	return memcpy(CMSG_DATA(c), value, length);
}

bool stack_send(stack_socket s, const struct message *m, enum patience patience)
{
	static const uint16_t policies[] = {SCTP_PR_SCTP_NONE, SCTP_PR_SCTP_TTL, SCTP_PR_SCTP_RTX, SCTP_PR_SCTP_PRIO};
	_Alignas(struct cmsghdr) unsigned char
		control[CMSG_SPACE(sizeof(struct sctp_sndinfo)) + CMSG_SPACE(sizeof(struct sctp_prinfo))] = {0};
	struct iovec part = {.iov_base = m->data, .iov_len = m->length};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
	struct sctp_sndinfo info = {.snd_sid = m->stream, .snd_ppid = htonl(m->ppid),
				    .snd_flags = (uint16_t)((m->is_unordered ? SCTP_UNORDERED : 0) |
							    (options.pace ? SCTP_SACK_IMMEDIATELY : 0))};
	struct sctp_prinfo partial = {.pr_policy = policies[options.pr_policy], .pr_value = options.pr_value};
	add_control(&header, SCTP_SNDINFO, &info, sizeof info);
	if (options.pr_policy)
		add_control(&header, SCTP_PRINFO, &partial, sizeof partial);
	if (sendmsg(s, &header, MSG_NOSIGNAL | (patience == AT_ONCE ? MSG_DONTWAIT : 0)) >= 0)
		return true;
	/* The association ended meanwhile: reading tells how. */
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EPIPE || errno == ESHUTDOWN || errno == ECONNRESET)
		return false;
	fail("sendmsg");
	return false;
}

void stack_wait(stack_socket s, bool wants_room, double until)
{
	struct pollfd ready = {.fd = s, .events = (short)(POLLIN | (wants_room ? POLLOUT : 0))};
	double left = until - now();
	struct timespec longest = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
	if (left > 0 && ppoll(&ready, 1, until < FOREVER ? &longest : NULL, NULL) < 0)
		fail("ppoll");
}

void stack_shutdown(stack_socket s)
{
	if (shutdown(s, SHUT_WR) < 0 && errno != ENOTCONN)
		fail("shutdown");
}

void stack_abort(stack_socket s)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	if (setsockopt(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) < 0)
		fail("SO_LINGER");
}

void stack_close(stack_socket s) { close(s); }

int stack_change_address(stack_socket s, const struct sockaddr_storage *address, bool adds)
{
	return stack_try(s, adds ? SCTP_SOCKOPT_BINDX_ADD : SCTP_SOCKOPT_BINDX_REM, address, address_length(address));
}

static void allow_interleaving(const char *text)
{
	int file = open("/proc/sys/net/sctp/intl_enable", O_WRONLY);
	if (file < 0 || write(file, text, 1) != 1)
		fail("net.sctp.intl_enable");
	close(file);
}

/* The kernel asks for a word of the administrator; it is taken back, so that the next program has the defaults. */
void stack_offer_interleaving(stack_socket s)
{
	struct sctp_assoc_value value = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1};
	allow_interleaving("1");
	stack_set(s, SCTP_INTERLEAVING_SUPPORTED, &value, sizeof value, "SCTP_INTERLEAVING_SUPPORTED");
	allow_interleaving("0");
}

bool stack_schedule(stack_socket s, const char *name)
{
	static const char *const names[] = {"first-come", "priority", "round-robin"};
	static const unsigned schedulers[] = {SCTP_SS_FCFS, SCTP_SS_PRIO, SCTP_SS_RR};
	for (int i = 0; i < 3; i++) {
		struct sctp_assoc_value value = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = schedulers[i]};
		if (strcmp(name, names[i]) != 0)
			continue;
		stack_set(s, SCTP_STREAM_SCHEDULER, &value, sizeof value, "SCTP_STREAM_SCHEDULER");
		return true;
	}
	return false;
}
