/* What messages consist of, and whether those received are the ones due.
 *
 * Content of message number i of stream s, from 0: octets 0-3 s and 4-7 i, big-endian; octet k from 8 on is
 * (31 s + 7 i + k) mod 251. A shorter message is the beginning of that.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

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

void fill(unsigned char *data, size_t length, unsigned stream, unsigned index)
{
	unsigned char head[HEADER];
	put32(head, stream);
	put32(head + 4, index);
	memcpy(data, head, length < HEADER ? length : HEADER);
	for (size_t k = HEADER; k < length; k++)
		data[k] = (unsigned char)((31u * stream + 7u * index + k) % 251u);
}

unsigned number_of(const struct message *m)
{
	return get32(m->data + 4) * options.streams + get32(m->data);
}

void wrong(const struct message *m, const char *what)
{
	tally.wrong++;
	printf("{\"event\":\"wrong\",\"stream\":%u,\"message\":%u,\"bytes\":%zu,\"what\":\"%s\"}\n", m->stream,
	       tally.received, m->length, what);
}

/* Ordered messages come in order; unordered ones in any, and `displaced` shows if one is missing or double. With
 * `--gaps` the sender may have given some up: what comes is still what it says it is, and in order. */
void verify(const struct message *m)
{
	static unsigned char expected[BUFFER];
	unsigned index = tally.next[m->stream]++;
	if (m->is_unordered && m->length >= HEADER) {
		uint32_t named = get32(m->data + 4);
		tally.displaced[m->stream] += options.allows_gaps ? 0 : (int64_t)named - (int64_t)index;
		index = named;
	} else if (options.allows_gaps && m->length >= HEADER && get32(m->data + 4) > index) {
		index = get32(m->data + 4);
		tally.next[m->stream] = index + 1;
	}
	fill(expected, m->length, m->stream, index);
	if (memcmp(m->data, expected, m->length) == 0)
		return;
	if (m->length >= HEADER && get32(m->data) == m->stream && get32(m->data + 4) != index)
		wrong(m, "out of order");
	else
		wrong(m, "content");
}
