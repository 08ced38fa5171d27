/* What `peer` asks of an SCTP stack. kernel.c and usrsctp.c answer; both offer the socket options of RFC 6458 under
 * the same names, so that extensions.c and notifications.c are compiled for either. */
#ifndef STACK_H
#define STACK_H

#include "peer.h"

#ifdef PEER_ON_USRSCTP
#include <usrsctp.h>
typedef struct socket *stack_socket;
/* Not in its public header (RFC 8260 §4.3.1). */
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206
#else
#include <linux/sctp.h>
typedef int stack_socket;
#endif

/* Before anything else, and when all is over. */
void stack_start(void);
void stack_end(void);

/* A socket that is neither bound nor connected. */
stack_socket stack_open(int family);
/* Binds to all of `options.here` and the port, or to any address if there is none. */
void stack_bind(stack_socket s, int family, uint16_t port);
stack_socket stack_listen(void);
stack_socket stack_accept(stack_socket listener);
stack_socket stack_connect(void);

enum patience { AT_ONCE, WAIT };

/* One message or event. Once a message has begun, waits until it is whole. */
enum got stack_receive(stack_socket s, struct message *m, enum patience patience);
/* False if there is no room, or never will be because the association ended. */
bool stack_send(stack_socket s, const struct message *m, enum patience patience);
/* Until there may be something to read or, if asked for, room to write; no longer than to this time of `now`. */
void stack_wait(stack_socket s, bool wants_room, double until);

void stack_shutdown(stack_socket s);
void stack_abort(stack_socket s);
void stack_close(stack_socket s);

/* A socket option at the level of SCTP. `stack_set` ends the program if it is refused, `stack_try` tells errno. */
void stack_set(stack_socket s, int option, const void *value, size_t length, const char *name);
int stack_try(stack_socket s, int option, const void *value, size_t length);
/* Adds an address to the association or takes one away (RFC 5061); tells errno. */
int stack_change_address(stack_socket s, const struct sockaddr_storage *address, bool adds);
void stack_offer_interleaving(stack_socket s);
bool stack_schedule(stack_socket s, const char *name);

/* conversation.c: sends the next message if the stack takes it; counts and verifies an answer. */
bool send_next(stack_socket s);
void take_answer(stack_socket s, const struct message *m);

/* requests.c */
void ask_all(stack_socket s);

/* extensions.c */
void prepare_extensions(stack_socket s);
bool act(stack_socket s, const struct action *action);
size_t address_length(const struct sockaddr_storage *address);
size_t pack(const struct addresses *all, unsigned char *packed);
bool parse_address(struct sockaddr_storage *address, const char *text);

/* notifications.c */
void subscribe(stack_socket s);
void note_event(const union sctp_notification *event);

#endif
