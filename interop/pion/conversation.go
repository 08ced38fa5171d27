package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"
)

// message is what a stream brought; with an error instead, the stream is over.
type message struct {
	stream *sctp.Stream
	data   []byte
	ppid   sctp.PayloadProtocolIdentifier
	err    error
}

type conversation struct {
	association                   *sctp.Association
	incoming                      chan message
	streams                       map[int]*sctp.Stream
	next, displaced               map[uint16]int64
	sent, readers                 atomic.Int64
	received, octets, wrong       int
	seen                          string
}

// payload: octets 0-3 the stream, 4-7 the index, big-endian; octet k from 8 on is (31 stream + 7 index + k) mod 251.
func payload(stream uint16, index uint32, length int) []byte {
	data := make([]byte, max(length, 8))
	binary.BigEndian.PutUint32(data, uint32(stream))
	binary.BigEndian.PutUint32(data[4:], index)
	for k := 8; k < length; k++ {
		data[k] = byte((31*uint64(stream) + 7*uint64(index) + uint64(k)) % 251)
	}
	return data[:length]
}

// converse does the whole association and says whether all was as expected.
func converse(association *sctp.Association) bool {
	c := &conversation{association: association, incoming: make(chan message, 64), streams: map[int]*sctp.Stream{},
		next: map[uint16]int64{}, displaced: map[uint16]int64{}}
	started := time.Now()
	go func() {
		for {
			stream, err := association.AcceptStream()
			if err != nil {
				// Streams tell more about the end, where there are any.
				if c.readers.Load() == 0 {
					c.incoming <- message{err: err}
				}
				return
			}
			go c.read(stream)
		}
	}()
	if options.isServer {
		c.serve()
	} else {
		c.send()
	}
	return c.report(started)
}

func (c *conversation) read(stream *sctp.Stream) {
	c.readers.Add(1)
	buffer := make([]byte, 1<<20)
	for {
		n, ppid, err := stream.ReadSCTP(buffer)
		if err != nil {
			c.incoming <- message{stream: stream, err: err}
			return
		}
		c.incoming <- message{stream: stream, ppid: ppid, data: bytes.Clone(buffer[:n])}
	}
}

func (c *conversation) set(stream *sctp.Stream) *sctp.Stream {
	kind, value := sctp.ReliabilityTypeReliable, 0
	if name, number, ok := strings.Cut(options.partial, ":"); ok {
		value, _ = strconv.Atoi(number)
		kind = map[string]byte{"rtx": sctp.ReliabilityTypeRexmit, "ttl": sctp.ReliabilityTypeTimed}[name]
	}
	stream.SetReliabilityParams(options.isUnordered, kind, uint32(value))
	return stream
}

func (c *conversation) serve() {
	for m := range c.incoming {
		if m.err != nil {
			c.over(m.err)
			return
		}
		c.take(m)
		if options.end != "wait" {
			c.finish()
			return
		}
		if options.echoes {
			if _, err := c.set(m.stream).WriteSCTP(m.data, m.ppid); err == nil {
				c.sent.Add(1)
			}
		}
	}
}

func (c *conversation) send() {
	go func() {
		for n := 0; n < options.messages; n++ {
			id := n % options.streams
			if c.streams[id] == nil {
				stream, err := c.association.OpenStream(uint16(id), 46)
				if err != nil {
					return
				}
				c.streams[id] = c.set(stream)
				go c.read(stream)
			}
			data := payload(uint16(id), uint32(n/options.streams), options.bytes)
			if n+1 == options.spoil {
				data[len(data)-1] ^= 1
			}
			if _, err := c.streams[id].WriteSCTP(data, 46); err != nil {
				return
			}
			c.sent.Add(1)
		}
		if options.noAnswers {
			c.incoming <- message{}
		}
	}()
	for m := range c.incoming {
		if m.err != nil {
			c.over(m.err)
			return
		}
		if m.stream != nil {
			c.take(m)
			if len(m.data) != options.bytes || m.ppid != 46 {
				c.complain(m, "length or payload protocol")
			}
		}
		if m.stream == nil || (!options.noAnswers && c.received == options.messages) {
			break
		}
	}
	c.finish()
}

func (c *conversation) take(m message) {
	c.received++
	c.octets += len(m.data)
	if !options.verifies {
		return
	}
	stream := m.stream.StreamIdentifier()
	index := c.next[stream]
	c.next[stream]++
	if len(m.data) >= 8 {
		named := int64(binary.BigEndian.Uint32(m.data[4:]))
		if options.isUnordered {
			c.displaced[stream] += named - index
			index = named
		} else if options.allowsGaps && named > index {
			index = named
			c.next[stream] = named + 1
		}
	}
	if !bytes.Equal(m.data, payload(stream, uint32(index), len(m.data))) {
		c.complain(m, "content")
	}
}

func (c *conversation) complain(m message, what string) {
	c.wrong++
	fmt.Printf("{\"event\":\"wrong\",\"stream\":%d,\"message\":%d,\"bytes\":%d,\"what\":\"%s\"}\n",
		m.stream.StreamIdentifier(), c.received, len(m.data), what)
}

// finish ends the association as told.
func (c *conversation) finish() {
	switch options.end {
	case "abort":
		c.association.Abort("interop")
		c.seen = "abort"
	case "shutdown":
		// What the stack still waits for afterwards is only its own reader.
		soon, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.association.Shutdown(soon); err != nil {
			c.over(err)
			return
		}
		fmt.Println("{\"event\":\"shutdown_complete\"}")
		c.seen = "shutdown"
	default:
		for m := range c.incoming {
			if m.err != nil {
				c.over(m.err)
				return
			}
			c.take(m)
		}
	}
}

// over notes how the other end finished. The stack tells an ABORT by its error, and a graceful end by closing its socket.
func (c *conversation) over(err error) {
	if errors.Is(err, sctp.ErrUserInitiatedAbort) || errors.Is(err, sctp.ErrChunk) {
		cause := map[bool]int{true: 12}[errors.Is(err, sctp.ErrUserInitiatedAbort)]
		fmt.Printf("{\"event\":\"lost\",\"error\":%d,\"text\":%q}\n", cause, err)
		c.seen = "abort"
		return
	}
	fmt.Printf("{\"event\":\"shutdown_complete\",\"text\":%q}\n", err)
	c.seen = "shutdown"
}

func (c *conversation) report(started time.Time) bool {
	for stream, sum := range c.displaced {
		if sum != 0 && c.seen == "shutdown" && !options.allowsGaps {
			c.wrong++
			fmt.Printf("{\"event\":\"wrong\",\"stream\":%d,\"what\":\"an unordered message is missing or double\"}\n", stream)
		}
	}
	wanted := options.end
	if wanted == "wait" {
		wanted = options.expect
	}
	isComplete := options.isServer || (int(c.sent.Load()) == options.messages && (options.noAnswers || c.received == options.messages))
	ok := isComplete && c.wrong == 0 && c.seen == wanted
	fmt.Printf("{\"event\":\"done\",\"ok\":%t,\"sent\":%d,\"received\":%d,\"octets\":%d,\"wrong\":%d,\"restarts\":0,\"end\":\"%s\","+
		"\"seconds\":%.3f}\n", ok, c.sent.Load(), c.received, c.octets, c.wrong, c.seen, time.Since(started).Seconds())
	return ok
}
