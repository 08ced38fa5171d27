/* What the stack tells about an association, as lines of JSON. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "stack.h"

void subscribe(stack_socket s)
{
	static const uint16_t wanted[] = {SCTP_ASSOC_CHANGE,	    SCTP_SHUTDOWN_EVENT,      SCTP_PEER_ADDR_CHANGE,
					  SCTP_STREAM_RESET_EVENT, SCTP_STREAM_CHANGE_EVENT, SCTP_AUTHENTICATION_EVENT};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct sctp_event event = {.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = wanted[i], .se_on = 1};
		stack_set(s, SCTP_EVENT, &event, sizeof event, "SCTP_EVENT");
	}
}

static void note_change(const struct sctp_assoc_change *change)
{
	const char *name = "unknown";
#ifdef PEER_ON_USRSCTP
	unsigned error = change->sac_error;
#else
	unsigned error = ntohs(change->sac_error); /* the kernel hands out what was on the wire */
#endif
	switch (change->sac_state) {
	case SCTP_COMM_UP: name = "up"; tally.is_up = true; break;
	case SCTP_COMM_LOST: name = "lost"; tally.was_aborted = true; break;
	case SCTP_SHUTDOWN_COMP: name = "shutdown_complete"; break;
	case SCTP_CANT_STR_ASSOC: name = "cannot_start"; break;
	case SCTP_RESTART: /* the peer counts from zero again */
		name = "restart";
		tally.restarts++;
		memset(tally.next, 0, sizeof tally.next);
		break;
	}
	printf("{\"event\":\"%s\",\"outbound_streams\":%u,\"inbound_streams\":%u,\"error\":%u}\n", name,
	       change->sac_outbound_streams, change->sac_inbound_streams, error);
}

static void note_path(const struct sctp_paddr_change *change)
{
	const struct sockaddr_in *v4 = (const void *)&change->spc_aaddr;
	const struct sockaddr_in6 *v6 = (const void *)&change->spc_aaddr;
	char text[INET6_ADDRSTRLEN] = "";
	const char *state = "unknown";
	if (v4->sin_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
	else if (v6->sin6_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
	switch (change->spc_state) {
	case SCTP_ADDR_AVAILABLE: state = "available"; break;
	case SCTP_ADDR_UNREACHABLE: state = "unreachable"; break;
	case SCTP_ADDR_REMOVED: state = "removed"; tally.confirmed++; break;
	case SCTP_ADDR_ADDED: state = "added"; tally.confirmed++; break;
	case SCTP_ADDR_MADE_PRIM: state = "primary"; tally.confirmed++; break;
	case SCTP_ADDR_CONFIRMED: state = "confirmed"; break;
	}
	printf("{\"event\":\"path\",\"address\":\"%s\",\"state\":\"%s\"}\n", text, state);
}

static void note_reset(const struct sctp_stream_reset_event *event)
{
	size_t streams = (event->strreset_length - sizeof *event) / sizeof *event->strreset_stream_list;
	tally.confirmed++;
	printf("{\"event\":\"stream_reset\",\"incoming\":%s,\"outgoing\":%s,\"ok\":%s,\"streams\":[",
	       event->strreset_flags & SCTP_STREAM_RESET_INCOMING_SSN ? "true" : "false",
	       event->strreset_flags & SCTP_STREAM_RESET_OUTGOING_SSN ? "true" : "false",
	       event->strreset_flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED) ? "false" : "true");
	for (size_t i = 0; i < streams; i++)
		printf("%s%u", i ? "," : "", event->strreset_stream_list[i]);
	printf("]}\n");
}

static void note_streams(const struct sctp_stream_change_event *event)
{
	tally.confirmed++;
	printf("{\"event\":\"streams_changed\",\"inbound_streams\":%u,\"outbound_streams\":%u,\"ok\":%s}\n",
	       event->strchange_instrms, event->strchange_outstrms,
	       event->strchange_flags & (SCTP_STREAM_CHANGE_DENIED | SCTP_STREAM_CHANGE_FAILED) ? "false" : "true");
}

static void note_key(const union sctp_notification *event)
{
#ifdef PEER_ON_USRSCTP
	const struct sctp_authkey_event *key = &event->sn_auth_event;
#else
	const struct sctp_authkey_event *key = &event->sn_authkey_event;
#endif
	const char *what = key->auth_indication == SCTP_AUTH_NO_AUTH	   ? "the peer does not authenticate"
			   : key->auth_indication == SCTP_AUTH_NEW_KEY ? "new key"
									   : "key not used any more";
	printf("{\"event\":\"authentication\",\"key\":%u,\"what\":\"%s\"}\n", key->auth_keynumber, what);
}

void note_event(const union sctp_notification *event)
{
	switch (event->sn_header.sn_type) {
	case SCTP_SHUTDOWN_EVENT:
		tally.peer_shut_down = true;
		printf("{\"event\":\"shutdown_received\"}\n");
		break;
	case SCTP_ASSOC_CHANGE: note_change(&event->sn_assoc_change); break;
	case SCTP_PEER_ADDR_CHANGE: note_path(&event->sn_paddr_change); break;
	case SCTP_STREAM_RESET_EVENT: note_reset(&event->sn_strreset_event); break;
	case SCTP_STREAM_CHANGE_EVENT: note_streams(&event->sn_strchange_event); break;
	case SCTP_AUTHENTICATION_EVENT: note_key(event); break;
	}
}
