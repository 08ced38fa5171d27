//! The categories of RFC 4475, by their sections, with texts of our own: what an endpoint does with each of them. Those that
//! only the reader of messages has to do with are in `message/tests.rs`.

use super::*;

/// The outcome of a message at the endpoint.
#[derive(PartialEq, Eq, Debug)]
enum Outcome {
    /// The user gets it.
    Told,
    /// It is answered with this status, and forgotten.
    Refused(u16),
    /// It is counted, and nobody hears of it.
    Dropped,
}

/// A request of the usual header fields, of which those that `lines` name are others; a line `-Name` takes one away.
fn request(start: &str, lines: &[&str], body: &str) -> Bytes {
    let method = start.split(' ').next().unwrap();
    let cseq = format!("CSeq: 1 {method}");
    let usual = [
        "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKt",
        "Max-Forwards: 70",
        "From: <sip:a@x.org>;tag=a",
        "To: <sip:b@192.0.2.2>",
        "Call-ID: torture",
        &cseq,
        "Contact: <sip:a@192.0.2.1>",
    ];
    let name = |line: &str| line.trim_start_matches('-').split(':').next().unwrap().to_ascii_lowercase();
    let is_other = |line: &str| lines.iter().any(|other| name(other) == name(line));
    let kept = usual.iter().filter(|line| !is_other(line));
    let all: Vec<&str> = kept.chain(lines.iter().filter(|line| !line.starts_with('-'))).copied().collect();
    Bytes::from(format!("{start}\r\n{}\r\n\r\n{body}", all.join("\r\n")))
}

fn outcome(octets: &Bytes) -> Outcome {
    let mut side = endpoint(B);
    let from = Flow::new(Transport::UDP, "192.0.2.1:5060".parse().unwrap());
    side.handle_packet(Instant::EPOCH, from, octets);
    match (side.poll_event(), side.poll_transmit()) {
        (Some(Event::Request { .. }), None) => Outcome::Told,
        (None, Some(sent)) => {
            assert_eq!(side.transactions(), 0, "a refusal is forgotten");
            let text = String::from_utf8(sent.octets.to_vec()).unwrap();
            Outcome::Refused(text.split(' ').nth(1).unwrap().parse().unwrap())
        }
        (None, None) => {
            let counters = side.counters();
            let counted = counters.unreadable + counters.unanswerable + counters.stray_responses;
            assert_eq!(counted, 1, "what is dropped is counted");
            Outcome::Dropped
        }
        other => panic!("{other:?}"),
    }
}

const START: &str = "OPTIONS sip:b@192.0.2.2 SIP/2.0";

#[test]
fn unusual_requests_reach_their_user() {
    // RFC 4475 §3.1.1: valid, however odd.
    let long = format!("X-Long: {}", "longvalue".repeat(1_000));
    let vias = ["Via: SIP/2.0/TCP h.example.org;branch=z9hG4bKo"; 30];
    let many: Vec<&str> = vias.into_iter().chain(["Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKt"]).collect();
    let cases: [(&str, &str, &[&str], &str); 12] = [
        ("escapes in the user part", "OPTIONS sip:%62%20%40@192.0.2.2;x=%20 SIP/2.0", &[], ""),
        ("an escaped NUL", START, &["From: <sip:null-%00-null@x.org>;tag=a"], ""),
        ("an escaped method is a method of its own", "OPT%49ONS sip:b@192.0.2.2 SIP/2.0", &[], ""),
        ("no space before a bracket", START, &["From: caller<sip:a@x.org>;tag=a"], ""),
        ("long values", START, &[&long], ""),
        ("many hops", START, &many, ""),
        (
            "octets behind the end",
            START,
            &["Content-Length: 0"],
            "OPTIONS sip:again@192.0.2.2 SIP/2.0\r\n\r\n",
        ),
        ("semicolons in the user part", "OPTIONS sip:user;par=u%40x@192.0.2.2 SIP/2.0", &[], ""),
        ("transports nobody has", START, &["Via: SIP/2.0/UNKNOWN t.example.org;branch=z9hG4bKt"], ""),
        (
            "several parts with octets",
            START,
            &["Content-Type: multipart/mixed;boundary=7a9"],
            "--7a9\r\n\r\n\0\u{1}\r\n--7a9--",
        ),
        ("other scripts", START, &["From: \"\u{8272} \u{3b1}\" <sip:a@x.org>;tag=a"], ""),
        ("an empty display name", START, &["To: \"\" <sip:b@192.0.2.2>"], ""),
    ];
    for (what, start, lines, body) in cases {
        assert_eq!(outcome(&request(start, lines, body)), Outcome::Told, "{what}");
    }
}

#[test]
fn invalid_requests_are_refused_with_the_status_that_says_why() {
    // RFC 4475 §3.1.2.
    let cases: [(&str, &str, &[&str], u16); 14] = [
        ("commas and semicolons where none may be", START, &["Via: SIP/2.0/UDP 192.0.2.15;;,;,,"], 400),
        ("a number beyond its range", START, &["CSeq: 36893488147419103232 OPTIONS"], 400),
        ("hops beyond their range", START, &["Max-Forwards: 300"], 400),
        ("a quoted string that does not end", START, &["To: \"Mr. J. User <sip:j.user@x.org>"], 400),
        ("a display name with a comma", START, &["To: Bell, A <sip:b@192.0.2.2>"], 400),
        ("space within an address", START, &["To: <sip:b @192.0.2.2>"], 400),
        ("a date is nobody's business here", START, &["From: <sip:a@x.org;tag=a"], 400),
        ("a protocol version to come", "OPTIONS sip:b@192.0.2.2 SIP/7.0", &[], 505),
        ("another method in CSeq", START, &["CSeq: 1 INVITE"], 400),
        ("another, unknown, method in CSeq", "NEWMETHOD sip:b@192.0.2.2 SIP/2.0", &["CSeq: 1 OPTIONS"], 400),
        ("brackets around the Request-URI", "OPTIONS <sip:b@192.0.2.2> SIP/2.0", &[], 400),
        ("a scheme nobody knows", "OPTIONS nobody-knows:opaque SIP/2.0", &[], 416),
        ("a scheme that is known and not SIP's", "OPTIONS tel:+31020 SIP/2.0", &[], 416),
        ("an address that is not one", "OPTIONS sip:b@[192.0.2.2] SIP/2.0", &[], 400),
    ];
    for (what, start, lines, status) in cases {
        assert_eq!(outcome(&request(start, lines, "")), Outcome::Refused(status), "{what}");
    }
}

#[test]
fn a_request_that_was_cut_off_is_refused_and_a_response_or_ack_dropped() {
    // RFC 3261 §18.3, RFC 4475 §3.1.2.4: the body is shorter than Content-Length says.
    let beyond: &[&str] = &["Content-Length: 9999"];
    assert_eq!(outcome(&request(START, beyond, "short")), Outcome::Refused(400));
    let ack = ["Content-Length: 9999", "CSeq: 1 ACK"];
    assert_eq!(outcome(&request("ACK sip:b@192.0.2.2 SIP/2.0", &ack, "short")), Outcome::Dropped);
    assert_eq!(outcome(&request("SIP/2.0 200 OK", beyond, "short")), Outcome::Dropped);
}

#[test]
fn what_names_no_transaction_is_dropped() {
    // RFC 4475 §3.1.2.2 ff., §3.3.1: nobody would understand an answer.
    let length = |value: &str| request(START, &[&format!("Content-Length: {value}")], "short");
    let cases = [
        ("a length that is negative", length("-999")),
        ("two lengths", request(START, &["Content-Length: 2", "l: 5"], "short")),
        ("two spaces in the first line", request("OPTIONS  sip:b@192.0.2.2 SIP/2.0", &[], "")),
        ("space within the Request-URI", request("OPTIONS sip:b@192.0.2.2; lr SIP/2.0", &[], "")),
        ("space behind the version", request("OPTIONS sip:b@192.0.2.2 SIP/2.0 ", &[], "")),
        ("no Call-ID", request(START, &["-Call-ID"], "")),
        ("no From", request(START, &["-From"], "")),
        ("no Via", request(START, &["-Via"], "")),
        ("nothing but a start line", Bytes::from(format!("{START}\r\n\r\n"))),
        ("a status beyond three digits", Bytes::from_static(b"SIP/2.0 4294967301 better not\r\n\r\n")),
        ("a response nobody waits for", request("SIP/2.0 200 OK", &["CSeq: 9 INVITE"], "")),
    ];
    for (what, octets) in cases {
        assert_eq!(outcome(&octets), Outcome::Dropped, "{what}");
    }
}

#[test]
fn requests_with_meanings_nobody_knows_are_told_apart() {
    // RFC 4475 §3.2, §3.3: the syntax is right.
    let cases: [(&str, &str, &[&str], Outcome); 8] = [
        (
            "a branch of the magic cookie alone",
            START,
            &["Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK"],
            Outcome::Told,
        ),
        ("no branch at all", START, &["Via: SIP/2.0/UDP 192.0.2.1"], Outcome::Told),
        ("no hops left is the user's concern", START, &["Max-Forwards: 0"], Outcome::Told),
        ("extensions nobody knows", START, &["Require: nothing, at-all"], Outcome::Refused(420)),
        ("nor a proxy", START, &["Proxy-Require: nothing"], Outcome::Refused(420)),
        ("a method nobody knows", "NEWMETHOD sip:b@192.0.2.2 SIP/2.0", &[], Outcome::Told),
        ("a field that stands once, twice", START, &["Call-ID: 1", "Call-ID: 2"], Outcome::Refused(400)),
        ("credentials nobody asked for", START, &["Authorization: NoOneKnows opaque=\"x\""], Outcome::Told),
    ];
    for (what, start, lines, expected) in cases {
        assert_eq!(outcome(&request(start, lines, "")), expected, "{what}");
    }
}
