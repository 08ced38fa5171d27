/* What the parts of `peer` share. main.c tells what the program is; README.md one folder up how to use it.
 *
 *   main.c (options) ──► conversation.c, requests.c ──► stack.h: kernel.c or usrsctp.c
 *                             │ │
 *            content.c ◄──────┘ └──────► extensions.c, notifications.c (the socket options both stacks share)
 */
#ifndef PEER_H
#define PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

enum { STREAMS = 65536, ADDRESSES = 8, ACTIONS = 16, BUFFER = 1 << 20, SOCKET_BUFFER = 1 << 20, HEADER = 8 };

enum end { END_WAIT, END_SHUTDOWN, END_ABORT, END_VANISH };

/* Extensions that can be offered, as bits. */
enum extension { OFFER_PR = 1, OFFER_INTERLEAVING = 2, OFFER_AUTH = 4, OFFER_ASCONF = 8, OFFER_RECONFIG = 16 };

struct addresses {
	struct sockaddr_storage list[ADDRESSES];
	int count;
};

/* Something to do once so many messages have come; `argument` is what stands behind the `=`. */
struct action {
	unsigned after;
	const char *name, *argument;
};

struct options {
	bool is_server, echoes, verifies, is_unordered, wants_answers, allows_gaps;
	uint16_t port, local_port, encap, udp_port, pr_policy;
	uint32_t pr_value;
	struct addresses here, peer;
	unsigned count, messages, bytes, streams, ppid, spoil, seconds, pace, ask, seed;
	enum end end, expect;
	const char *before_end;
	/* -1: as the stack does by itself */
	int offers;
	const char *auth_chunks, *key, *hmac, *scheduler, *timers;
	struct action actions[ACTIONS];
	unsigned action_count;
};

/* What happened on one association. */
struct tally {
	unsigned sent, received, wrong, restarts;
	uint64_t octets;
	bool is_up, peer_shut_down, was_aborted;
	/* stream resets, added streams and ASCONFs that were answered, one way or the other */
	unsigned confirmed;
	unsigned next[STREAMS];	    /* per stream: ordered, the index to come; unordered, how many came */
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

extern struct options options;
extern struct tally tally;

/* main.c */
int fail(const char *call);
void usage(const char *option, const char *why);
double now(void);
/* A time of `now` that never comes. */
#define FOREVER 1e18
void sleep_until(double time);

/* content.c */
void fill(unsigned char *data, size_t length, unsigned stream, unsigned index);
void verify(const struct message *m);
void wrong(const struct message *m, const char *what);

/* Which of all messages this is, from 0, if they are dealt round robin; it has HEADER octets. */
unsigned number_of(const struct message *m);

/* conversation.c */
int serve(void);
int send_all(void);

#endif
