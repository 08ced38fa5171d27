// peer-pion is one end of an association on pion/sctp, the SCTP of WebRTC in Go, in UDP: it takes the options of `peer` as far
// as it can, and prints its lines.
//
//	peer-pion serve [--udp N] [--mode echo|verify|both] [--end wait|shutdown|abort] …
//	peer-pion send --to A [--encap N] [--messages N] [--bytes N] [--streams N] [--unordered] [--no-answers] …
//
// The stack has one association, and both its SCTP ports are 5000.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"
)

var options struct {
	isServer, isUnordered, noAnswers, allowsGaps bool
	to, mode, end, expect, offer, partial        string
	port, encap, udp, messages, bytes, streams   int
	spoil, seconds                               int
	echoes, verifies                             bool
}

func parse(words []string) {
	f := flag.NewFlagSet("peer-pion", flag.ExitOnError)
	f.StringVar(&options.to, "to", "", "the peer's address")
	f.IntVar(&options.port, "port", 5000, "ignored: the port is always 5000")
	f.IntVar(&options.encap, "encap", 9899, "the peer's UDP port")
	f.IntVar(&options.udp, "udp", 9899, "this end's UDP port")
	f.StringVar(&options.mode, "mode", "echo", "serve: echo, verify or both")
	f.StringVar(&options.end, "end", "", "wait, shutdown or abort")
	f.StringVar(&options.expect, "expect", "shutdown", "with --end wait: how the peer must finish")
	f.StringVar(&options.offer, "offer", "pr", "extensions, with commas between them: pr (always), interleaving, zero-checksum")
	f.StringVar(&options.partial, "pr", "", "give messages up: ttl:MILLISECONDS, rtx:RETRANSMISSIONS")
	f.IntVar(&options.messages, "messages", 100, "messages in total")
	f.IntVar(&options.bytes, "bytes", 100, "octets per message")
	f.IntVar(&options.streams, "streams", 1, "streams to send on")
	f.IntVar(&options.spoil, "spoil", 0, "the message with a wrong last octet")
	f.IntVar(&options.seconds, "seconds", 60, "give up after this time")
	f.BoolVar(&options.isUnordered, "unordered", false, "unordered delivery, of answers too: the stack does not tell")
	f.BoolVar(&options.noAnswers, "no-answers", false, "do not wait for echoes")
	f.BoolVar(&options.allowsGaps, "gaps", false, "messages may be missing")
	options.isServer = words[0] == "serve"
	_ = f.Parse(words[1:])
	if options.end == "" {
		options.end = map[bool]string{true: "wait", false: "shutdown"}[options.isServer]
	}
	options.echoes = options.isServer && options.mode != "verify" && options.end == "wait"
	options.verifies = !options.isServer || options.mode != "echo"
}

func offers(name string) bool {
	for _, one := range strings.Split(options.offer, ",") {
		if one == name {
			return true
		}
	}
	return false
}

// datagrams is a UDP socket as the connection with whoever sent last.
type datagrams struct {
	*net.UDPConn
	there atomic.Pointer[net.UDPAddr]
}

func (d *datagrams) Read(p []byte) (int, error) {
	n, from, err := d.ReadFromUDP(p)
	if from != nil {
		d.there.Store(from)
	}
	return n, err
}

func (d *datagrams) Write(p []byte) (int, error) {
	there := d.there.Load()
	if there == nil {
		return len(p), nil
	}
	return d.WriteToUDP(p, there)
}

func (d *datagrams) RemoteAddr() net.Addr { return d.there.Load() }

func connect() (*sctp.Association, error) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{Port: options.udp})
	if err != nil {
		return nil, err
	}
	conn := &datagrams{UDPConn: socket}
	config := []sctp.AssociationOption{sctp.WithNetConn(conn), sctp.WithBlockWrite(true),
		sctp.WithEnableInterleaving(offers("interleaving")), sctp.WithEnableZeroChecksum(offers("zero-checksum"))}
	if options.isServer {
		fmt.Printf("{\"event\":\"listening\",\"port\":%d}\n", options.port)
		all := make([]sctp.ServerOption, len(config))
		for i, one := range config {
			all[i] = one
		}
		return sctp.ServerWithOptions(all...)
	}
	conn.there.Store(&net.UDPAddr{IP: net.ParseIP(options.to), Port: options.encap})
	all := make([]sctp.ClientOption, len(config))
	for i, one := range config {
		all[i] = one
	}
	return sctp.ClientWithOptions(all...)
}

func main() {
	if len(os.Args) < 2 || (os.Args[1] != "serve" && os.Args[1] != "send") {
		fmt.Fprintln(os.Stderr, "peer-pion: say serve or send")
		os.Exit(2)
	}
	parse(os.Args[1:])
	time.AfterFunc(time.Duration(options.seconds)*time.Second, func() {
		fmt.Println("{\"event\":\"timeout\"}")
		os.Exit(3)
	})
	association, err := connect()
	if err != nil {
		fmt.Printf("{\"event\":\"error\",\"call\":\"connect\",\"message\":%q}\n", err)
		os.Exit(1)
	}
	fmt.Println("{\"event\":\"up\",\"error\":0}")
	if !converse(association) {
		os.Exit(1)
	}
}
