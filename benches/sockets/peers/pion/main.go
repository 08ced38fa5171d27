// One end on pion/sctp: pion END ADDRESS OCTETS MILLISECONDS [OPTION]..., see ../../src/task.rs; it knows the options
// streams=N and unordered.
package main

import (
	"fmt"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"
)

const (
	bufferBytes = 4 << 20
	queuedBytes = 1 << 20
	packetBytes = 1400
	warmUp      = 200 * time.Millisecond
)

// datagrams is a UDP socket as the connection with whoever sent last.
type datagrams struct {
	*net.UDPConn
	there atomic.Pointer[net.UDPAddr]
}

func (d *datagrams) Read(p []byte) (int, error) {
	n, from, err := d.ReadFromUDP(p)
	if from != nil && d.there.Load() == nil {
		d.there.Store(from)
	}
	return n, err
}

func (d *datagrams) Write(p []byte) (int, error) { return d.WriteToUDP(p, d.there.Load()) }

func (d *datagrams) RemoteAddr() net.Addr { return d.there.Load() }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type task struct {
	end         string
	address     *net.UDPAddr
	octets      int
	time        time.Duration
	streams     int
	isUnordered bool
}

func parse(words []string) (t task) {
	var err error
	t.end, t.streams = words[0], 1
	t.address, err = net.ResolveUDPAddr("udp", words[1])
	check(err)
	t.octets, err = strconv.Atoi(words[2])
	check(err)
	milliseconds, err := strconv.Atoi(words[3])
	check(err)
	t.time = time.Duration(milliseconds) * time.Millisecond
	for _, option := range words[4:] {
		if count, found := strings.CutPrefix(option, "streams="); found {
			t.streams, err = strconv.Atoi(count)
			check(err)
		}
		t.isUnordered = t.isUnordered || option == "unordered"
	}
	return t
}

func associate(t task) *sctp.Association {
	opens := t.end == "send" || t.end == "ping"
	here := &net.UDPAddr{IP: t.address.IP}
	if !opens {
		here = t.address
	}
	socket, err := net.ListenUDP("udp", here)
	check(err)
	check(socket.SetReadBuffer(bufferBytes))
	check(socket.SetWriteBuffer(bufferBytes))
	conn := &datagrams{UDPConn: socket}
	if opens {
		conn.there.Store(t.address)
		association, err := sctp.ClientWithOptions(sctp.WithNetConn(conn), sctp.WithMTU(packetBytes),
			sctp.WithMaxReceiveBufferSize(bufferBytes))
		check(err)
		return association
	}
	association, err := sctp.ServerWithOptions(sctp.WithNetConn(conn), sctp.WithMTU(packetBytes),
		sctp.WithMaxReceiveBufferSize(bufferBytes))
	check(err)
	return association
}

// tally counts what arrives on all streams.
type tally struct{ messages, octets atomic.Int64 }

func (c *tally) read(s *sctp.Stream, octets int) {
	buffer := make([]byte, 1<<20)
	for {
		n, err := s.Read(buffer)
		check(err)
		if n != octets {
			check(fmt.Errorf("a message arrived with another length: %d", n))
		}
		c.messages.Add(1)
	}
}

func count(a *sctp.Association, t task) {
	var c tally
	first := make(chan struct{}, 1)
	go func() {
		for {
			stream, err := a.AcceptStream()
			check(err)
			select {
			case first <- struct{}{}:
			default:
			}
			go c.read(stream, t.octets)
		}
	}()
	<-first
	time.Sleep(warmUp)
	before, begun := c.messages.Load(), time.Now()
	fmt.Println("begun")
	time.Sleep(t.time)
	messages, passed := c.messages.Load()-before, time.Since(begun)
	fmt.Println(messages, messages*int64(t.octets), passed.Nanoseconds())
	os.Exit(0)
}

func ping(stream *sctp.Stream, t task) {
	message := make([]byte, t.octets)
	var times []int64
	for begun := time.Now(); time.Since(begun) < t.time; {
		sent := time.Now()
		_, err := stream.Write(message)
		check(err)
		_, err = stream.Read(message)
		check(err)
		times = append(times, time.Since(sent).Nanoseconds())
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	fmt.Println(times[len(times)/2], times[len(times)*99/100])
	os.Exit(0)
}

func main() {
	t := parse(os.Args[1:])
	a := associate(t)
	switch t.end {
	case "receive":
		count(a, t)
	case "echo":
		stream, err := a.AcceptStream()
		check(err)
		message := make([]byte, 1<<20)
		for {
			n, err := stream.Read(message)
			check(err)
			_, err = stream.Write(message[:n])
			check(err)
		}
	}
	var streams []*sctp.Stream
	for id := range t.streams {
		stream, err := a.OpenStream(uint16(id), sctp.PayloadTypeWebRTCBinary)
		check(err)
		stream.SetReliabilityParams(t.isUnordered, sctp.ReliabilityTypeReliable, 0)
		streams = append(streams, stream)
	}
	if t.end == "ping" {
		ping(streams[0], t)
	}
	for message := make([]byte, t.octets); ; {
		for _, stream := range streams {
			waitForRoom(stream)
			_, err := stream.Write(message)
			check(err)
		}
	}
}

// waitForRoom waits while a stream holds more than it should: the stack itself has no bound.
func waitForRoom(stream *sctp.Stream) {
	if stream.BufferedAmount() < queuedBytes {
		return
	}
	room := make(chan struct{}, 1)
	stream.SetBufferedAmountLowThreshold(queuedBytes / 2)
	stream.OnBufferedAmountLow(func() {
		select {
		case room <- struct{}{}:
		default:
		}
	})
	if stream.BufferedAmount() >= queuedBytes {
		<-room
	}
}
