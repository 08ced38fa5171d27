/* Extensions: what is offered before the association, and what is done during it. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stack.h"

static void allow(stack_socket s, int option, bool is_on, const char *name)
{
	struct sctp_assoc_value value = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = is_on};
	stack_set(s, option, &value, sizeof value, name);
}

/* I-DATA needs a receiver that may hand out parts of several messages (RFC 8260 §4.3.1). */
static void offer_interleaving(stack_socket s)
{
	int level = 2;
	stack_set(s, SCTP_FRAGMENT_INTERLEAVE, &level, sizeof level, "SCTP_FRAGMENT_INTERLEAVE");
	stack_offer_interleaving(s);
}

static void offer(stack_socket s, int offers)
{
	struct sctp_assoc_value all = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 7};
	allow(s, SCTP_PR_SUPPORTED, offers & OFFER_PR, "SCTP_PR_SUPPORTED");
	/* Neither stack takes address changes without authentication, nor takes authentication away below them. */
	if (!(offers & OFFER_ASCONF))
		allow(s, SCTP_ASCONF_SUPPORTED, false, "SCTP_ASCONF_SUPPORTED");
	allow(s, SCTP_AUTH_SUPPORTED, offers & (OFFER_AUTH | OFFER_ASCONF), "SCTP_AUTH_SUPPORTED");
	if (offers & OFFER_ASCONF)
		allow(s, SCTP_ASCONF_SUPPORTED, true, "SCTP_ASCONF_SUPPORTED");
	allow(s, SCTP_RECONFIG_SUPPORTED, offers & OFFER_RECONFIG, "SCTP_RECONFIG_SUPPORTED");
	if (offers & OFFER_RECONFIG)
		stack_set(s, SCTP_ENABLE_STREAM_RESET, &all, sizeof all, "SCTP_ENABLE_STREAM_RESET");
	if (offers & OFFER_INTERLEAVING)
		offer_interleaving(s);
}

static void authenticate_chunks(stack_socket s, const char *text)
{
	char *rest;
	for (const char *at = text; at && *at; at = *rest ? rest + 1 : rest) {
		struct sctp_authchunk chunk = {.sauth_chunk = (uint8_t)strtoul(at, &rest, 10)};
		if (rest == at || (*rest && *rest != ','))
			usage("--auth", "must be numbers of chunk types with commas between them");
		stack_set(s, SCTP_AUTH_CHUNK, &chunk, sizeof chunk, "SCTP_AUTH_CHUNK");
	}
}

/* ID=TEXT: the shared key number ID, used from the beginning on. */
static void set_key(stack_socket s, const char *text)
{
	union {
		struct sctp_authkey key;
		unsigned char room[sizeof(struct sctp_authkey) + 256];
	} all = {.key = {.sca_assoc_id = SCTP_FUTURE_ASSOC}};
	const char *secret = strchr(text, '=');
	struct sctp_authkeyid active = {.scact_assoc_id = SCTP_FUTURE_ASSOC};
	if (!secret || strlen(secret + 1) > 256)
		usage("--key", "must be ID=TEXT");
	active.scact_keynumber = (uint16_t)strtoul(text, NULL, 10);
	all.key.sca_keynumber = active.scact_keynumber;
	all.key.sca_keylength = (uint16_t)strlen(secret + 1);
	memcpy(all.key.sca_key, secret + 1, all.key.sca_keylength);
	stack_set(s, SCTP_AUTH_KEY, &all, sizeof all.key + all.key.sca_keylength, "SCTP_AUTH_KEY");
	stack_set(s, SCTP_AUTH_ACTIVE_KEY, &active, sizeof active, "SCTP_AUTH_ACTIVE_KEY");
}

/* INITIAL:MIN:MAX:HEARTBEAT:FAILURES - retransmission timeouts and heartbeat interval in milliseconds, and how many
 * timeouts a path may have. */
static void set_timers(stack_socket s, const char *text)
{
	struct sctp_rtoinfo rto = {.srto_assoc_id = SCTP_FUTURE_ASSOC};
	struct sctp_paddrparams path = {.spp_flags = SPP_HB_ENABLE};
	if (sscanf(text, "%u:%u:%u:%u:%hu", &rto.srto_initial, &rto.srto_min, &rto.srto_max, &path.spp_hbinterval,
		   &path.spp_pathmaxrxt) != 5)
		usage("--timers", "must be INITIAL:MIN:MAX:HEARTBEAT:FAILURES");
	stack_set(s, SCTP_RTOINFO, &rto, sizeof rto, "SCTP_RTOINFO");
	stack_set(s, SCTP_PEER_ADDR_PARAMS, &path, sizeof path, "SCTP_PEER_ADDR_PARAMS");
}

void prepare_extensions(stack_socket s)
{
	union {
		struct sctp_hmacalgo all;
		unsigned char room[sizeof(struct sctp_hmacalgo) + 2 * sizeof(uint16_t)];
	} hmac = {.all = {.shmac_number_of_idents = 1}};
	if (options.offers >= 0)
		offer(s, options.offers);
	if (options.hmac) {
		/* SHA-1 is mandatory and stays last (RFC 4895 §3.3). */
		bool is_sha256 = strcmp(options.hmac, "sha256") == 0;
		uint16_t list[] = {is_sha256 ? SCTP_AUTH_HMAC_ID_SHA256 : SCTP_AUTH_HMAC_ID_SHA1, SCTP_AUTH_HMAC_ID_SHA1};
		hmac.all.shmac_number_of_idents = is_sha256 ? 2 : 1;
		memcpy(hmac.room + sizeof hmac.all, list, sizeof list);
		stack_set(s, SCTP_HMAC_IDENT, &hmac, sizeof hmac.all + hmac.all.shmac_number_of_idents * sizeof *list,
			  "SCTP_HMAC_IDENT");
	}
	authenticate_chunks(s, options.auth_chunks);
	if (options.key)
		set_key(s, options.key);
	if (options.timers)
		set_timers(s, options.timers);
	if (options.scheduler && !stack_schedule(s, options.scheduler))
		usage("--scheduler", "this stack has none of that name");
}

/* ------------------------------------------------------------------ actions */
static int reset_streams(stack_socket s, uint16_t flags, const char *list)
{
	union {
		struct sctp_reset_streams request;
		unsigned char room[sizeof(struct sctp_reset_streams) + 64 * sizeof(uint16_t)];
	} all = {.request = {.srs_flags = flags}};
	char *rest;
	for (const char *at = list; at && *at && all.request.srs_number_streams < 64; at = *rest ? rest + 1 : rest) {
		all.request.srs_stream_list[all.request.srs_number_streams++] = (uint16_t)strtoul(at, &rest, 10);
		if (rest == at || (*rest && *rest != ','))
			usage("--do", "must have streams with commas between them");
	}
	return stack_try(s, SCTP_RESET_STREAMS, &all,
			 sizeof all.request + all.request.srs_number_streams * sizeof(uint16_t));
}

static int add_streams(stack_socket s, uint16_t in, uint16_t out)
{
	struct sctp_add_streams request = {.sas_instrms = in, .sas_outstrms = out};
	return stack_try(s, SCTP_ADD_STREAMS, &request, sizeof request);
}

static int activate_key(stack_socket s, uint16_t number)
{
	struct sctp_authkeyid key = {.scact_keynumber = number};
	return stack_try(s, SCTP_AUTH_ACTIVE_KEY, &key, sizeof key);
}

static int change_addresses(stack_socket s, const char *name, const char *text)
{
	struct sctp_setprim primary = {0};
	struct sctp_setpeerprim theirs = {0};
	struct sockaddr_storage address = {0};
	if (!parse_address(&address, text))
		usage("--do", "must have an IP address");
	((struct sockaddr_in *)&address)->sin_port =
		htons(options.is_server ? options.port : options.local_port);
	if (strcmp(name, "add-address") == 0)
		return stack_change_address(s, &address, true);
	if (strcmp(name, "remove-address") == 0)
		return stack_change_address(s, &address, false);
	if (strcmp(name, "peer-primary") == 0) {
		memcpy(&theirs.sspp_addr, &address, sizeof address);
		return stack_try(s, SCTP_SET_PEER_PRIMARY_ADDR, &theirs, sizeof theirs);
	}
	((struct sockaddr_in *)&address)->sin_port = htons(options.port);
	memcpy(&primary.ssp_addr, &address, sizeof address);
	return stack_try(s, SCTP_PRIMARY_ADDR, &primary, sizeof primary);
}

/* Messages are under way, another request is, or an address is not confirmed yet. */
static bool is_early(int error)
{
	return error == EAGAIN || error == EINPROGRESS || error == EALREADY || error == EADDRNOTAVAIL;
}

/* Does one action and says whether the stack took it. What it cannot do yet is tried again, for five seconds. */
bool act(stack_socket s, const struct action *action)
{
	const char *name = action->name, *argument = action->argument;
	int error = EAGAIN;
	for (int attempt = 0; attempt < 500 && is_early(error); attempt++) {
		if (attempt)
			usleep(10000);
		if (strcmp(name, "reset-out") == 0)
			error = reset_streams(s, SCTP_STREAM_RESET_OUTGOING, argument);
		else if (strcmp(name, "reset-in") == 0)
			error = reset_streams(s, SCTP_STREAM_RESET_INCOMING, argument);
		else if (strcmp(name, "add-in") == 0)
			error = add_streams(s, (uint16_t)atoi(argument), 0);
		else if (strcmp(name, "add-out") == 0)
			error = add_streams(s, 0, (uint16_t)atoi(argument));
		else if (strcmp(name, "key") == 0)
			error = activate_key(s, (uint16_t)atoi(argument));
		else if (strcmp(name, "run") == 0)
			error = system(argument) == 0 ? 0 : ECHILD;
		else
			error = change_addresses(s, name, argument);
	}
	printf("{\"event\":\"did\",\"what\":\"%s\",\"errno\":%d,\"message\":\"%s\"}\n", name, error, strerror(error));
	return error == 0;
}

/* ------------------------------------------------------------------ addresses */
bool parse_address(struct sockaddr_storage *address, const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (text && inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(address, &v4, sizeof v4);
	else if (text && inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(address, &v6, sizeof v6);
	else
		return false;
	return true;
}

size_t address_length(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* Both stacks take several addresses as one packed array. */
size_t pack(const struct addresses *all, unsigned char *packed)
{
	size_t length = 0;
	for (int i = 0; i < all->count; i++) {
		memcpy(packed + length, &all->list[i], address_length(&all->list[i]));
		length += address_length(&all->list[i]);
	}
	return length;
}
