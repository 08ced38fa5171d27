//! Messages as strangers write them: valid ones that look odd, and odd ones that are not valid (the categories of RFC 4475,
//! with texts of our own).

use bytes::Bytes;

use super::*;
use crate::essentials::Essentials;

fn parse(text: &str) -> Result<Message, ParseError> {
    Message::parse(&Bytes::copy_from_slice(text.as_bytes()), &MessageLimits::default())
}

/// A request with these lines behind its start line.
fn request(start: &str, lines: &[&str]) -> Result<Request, ParseError> {
    let text = format!("{start}\r\n{}\r\n\r\n", lines.join("\r\n"));
    parse(&text).map(|message| match message {
        Message::Request(request) => request,
        Message::Response(_) => panic!("a response"),
    })
}

fn fault(start: &str, lines: &[&str]) -> (u16, &'static str) {
    let request = request(start, lines).unwrap();
    let fault = Essentials::of_request(&request, &MessageLimits::default()).unwrap_err();
    (fault.status.code(), fault.reason)
}

const START: &str = "OPTIONS sip:b@example.org SIP/2.0";
const VIA: &str = "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1";
const REST: [&str; 4] = [
    "From: <sip:a@example.com>;tag=1",
    "To: <sip:b@example.org>",
    "Call-ID: 1@example.com",
    "CSeq: 1 OPTIONS",
];

/// The usual lines, with one of them replaced or another one added.
fn with<'a>(line: &'a str) -> Vec<&'a str> {
    let name = line.split(':').next().unwrap();
    let mut lines: Vec<&'a str> =
        [VIA].into_iter().chain(REST).filter(|old| !old.starts_with(name)).collect();
    lines.push(line);
    lines
}

#[test]
fn what_is_written_is_read_again() {
    let mut message = Request::new(Method::Invite, "sip:b@example.org");
    message.headers.push(HeaderName::Via, "SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1");
    message.headers.push(HeaderName::Other("X-Odd".into()), "a, \"b\"");
    message.body = Bytes::from_static(b"v=0\r\n");
    let Message::Request(mut read) = Message::parse(&message.encode(), &MessageLimits::default()).unwrap()
    else {
        panic!("a response");
    };
    assert_eq!(read.headers.first(&HeaderName::ContentLength), Some("5"));
    read.headers.remove(&HeaderName::ContentLength);
    assert_eq!(read, message);
}

#[test]
fn a_value_cannot_break_out_of_its_line() {
    let mut message = Request::new(Method::Options, "sip:b@example.org");
    message.headers.push(HeaderName::Reason, "a\r\nEvil: yes\0");
    let text = String::from_utf8(message.encode().to_vec()).unwrap();
    assert!(text.contains("Reason: a  Evil: yes \r\n"), "{text}");
}

#[test]
fn a_tortuous_request_is_understood() {
    let lines = [
        "TO :",
        " sip:vivek@example.org ;   tag    = 19180",
        "from   : \"J Rosenberg \\\\\\\"\"       <sip:jd@example.com>",
        "  ;",
        "  tag = 98asjd8",
        "MaX-fOrWaRdS: 0068",
        "Call-ID: torture.ndaksdj@192.0.2.1",
        "cseq: 0009",
        "  OPTIONS",
        "Via  : SIP  /   2.0",
        " /UDP",
        "    192.0.2.2;branch=390skdjuw, SIP / 2.0 / TCP h.example.com:5060 ; BRANCH=z9hG4bK9",
        "NewFangledHeader:   value\tof this",
        "v:  SIP  / 2.0  / TCP     spindle.example.com   ;",
        "  branch  =   z9hG4bK9ikj8  ,",
        " SIP  /    2.0   / UDP  192.168.255.111   ; branch=",
        " z9hG4bK30239",
        "m:\"Quoted , \\\"<string>\" <sip:jd@example.com> ; newparam = newvalue",
    ];
    let request = request(START, &lines).unwrap();
    let essentials = Essentials::of_request(&request, &MessageLimits::default()).unwrap();
    assert_eq!(essentials.from.tag(), Some("98asjd8"));
    assert_eq!(essentials.to.tag(), Some("19180"));
    assert_eq!((essentials.cseq.number, essentials.max_forwards), (9, Some(68)));
    assert_eq!(essentials.via.branch(), Some("390skdjuw"));
    assert_eq!(request.headers.list(&HeaderName::Via).unwrap().len(), 4);
    assert_eq!(request.headers.list(&HeaderName::Contact).unwrap().len(), 1);
}

#[test]
fn lines_that_go_on_leave_one_space_between_them_and_none_at_an_end() {
    let found =
        request(START, &["Subject: a\r\n\t b \r\n\t\t", "Organization:\r\n c", "l:\r\n \r\n 0"]).unwrap();
    let value = |name: &str| found.headers.first(&HeaderName::of(name)).unwrap().to_owned();
    assert_eq!((value("Subject"), value("Organization")), ("a b".to_owned(), "c".to_owned()));
    let again = Message::parse(&found.encode(), &MessageLimits::default()).unwrap();
    assert!(matches!(again, Message::Request(again) if again.encode() == found.encode()));
}

#[test]
fn unusual_but_legal_characters_pass() {
    let odd = "!odd-Method0123456789_*+`.%indeed'~";
    let uri = "sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d@example.com";
    let cseq = format!("CSeq: 7 {odd}");
    let lines = [
        VIA,
        REST[0],
        "To: \"BEL:\\\u{7e} NUL:\\x DEL:\\y\" <sip:%00null@example.org;x;y=z>",
        REST[2],
        &cseq,
    ];
    let request = request(&format!("{odd} {uri} SIP/2.0"), &lines).unwrap();
    assert!(Essentials::of_request(&request, &MessageLimits::default()).is_ok());
    assert_eq!(request.method.as_str(), odd);
}

#[test]
fn octets_that_are_no_message_are_told_apart() {
    let cases = [
        ("OPTIONS sip:b@x SIP/2.0\nVia: y\n\n", ParseError::NoEnd(16_384)),
        ("OPTIONS sip:b@x SIP/2.0\r\nA: b\nc\r\n\r\n", ParseError::NoText(29)),
        ("OPTIONS sip:b@x SIP/2.0\r\nA: \u{1}\r\n\r\n", ParseError::NoText(28)),
        ("OPTIONS  sip:b@x SIP/2.0\r\n\r\n", ParseError::StartLine),
        ("OPTIONS sip:b@x; d SIP/2.0\r\n\r\n", ParseError::StartLine),
        ("OPTIONS <sip:b@x> HTTP/1.1\r\n\r\n", ParseError::StartLine),
        ("SIP/2.0 4294967301 better\r\n\r\n", ParseError::StartLine),
        ("SIP/2.0 099 x\r\n\r\n", ParseError::StartLine),
        ("OPTIONS sip:b@x SIP/2.0\r\n: x\r\n\r\n", ParseError::HeaderLine(1)),
        ("OPTIONS sip:b@x SIP/2.0\r\n x\r\n\r\n", ParseError::HeaderLine(1)),
        ("OPTIONS sip:b@x SIP/2.0\r\nA b: x\r\n\r\n", ParseError::HeaderLine(1)),
        ("OPTIONS sip:b@x SIP/2.0\r\nl: -9\r\n\r\n", ParseError::ContentLength),
        ("OPTIONS sip:b@x SIP/2.0\r\nl: 9\r\n\r\n12345678", ParseError::CutOff { came: 8, said: 9 }),
        ("OPTIONS sip:b@x SIP/2.0\r\nl: 1\r\nContent-Length: 2\r\n\r\n12", ParseError::ContentLength),
    ];
    for (text, error) in cases {
        assert_eq!(parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn limits_hold_before_anything_is_read() {
    let limits = MessageLimits::default();
    let head = "OPTIONS sip:b@x SIP/2.0\r\n";
    let many = format!("{head}{}\r\n", "A: b\r\n".repeat(limits.header_lines + 1));
    assert_eq!(parse(&many), Err(ParseError::TooManyHeaders(200)));
    let long = format!("{head}A: {}\r\n\r\n", "x".repeat(limits.head_bytes));
    assert_eq!(parse(&long), Err(ParseError::NoEnd(16_384)));
    let body = format!("{head}\r\n{}", "x".repeat(limits.body_bytes + 1));
    assert_eq!(parse(&body), Err(ParseError::TooLong { bytes: 32_769, most: 32_768 }));
    let whole = format!("{head}\r\n{}", "x".repeat(limits.message_bytes));
    assert!(matches!(parse(&whole), Err(ParseError::TooLong { most: 65_535, .. })));
}

#[test]
fn octets_behind_the_body_are_ignored() {
    let text = "OPTIONS sip:b@x SIP/2.0\r\nl: 3\r\n\r\nabcdef";
    let Message::Request(request) = parse(text).unwrap() else { panic!("a response") };
    assert_eq!(request.body, "abc");
}

#[test]
fn every_malformed_header_field_has_its_answer() {
    let cases = [
        ("Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1, x", "Malformed Via"),
        ("Via: SIP/7.0/UDP 192.0.2.1", "Malformed Via"),
        ("Via: SIP/2.0/UDP 192.0.2.1:99999", "Malformed Via"),
        ("From: \"Bob <sip:a@example.com>;tag=1", "Malformed From"),
        ("From: Bell, Alexander <sip:a.g.bell@bell-tel.com>;tag=43", "Malformed From"),
        ("From: <sip:a@example.com>;tag=1;=x", "Malformed From"),
        ("To: <sip:b@example.org", "Malformed To"),
        ("To: no uri", "Malformed To"),
        ("Call-ID: a b", "Malformed Call-ID"),
        ("CSeq: 36893488147419103232 OPTIONS", "Malformed CSeq"),
        ("CSeq: 2147483648 OPTIONS", "Malformed CSeq"),
        ("CSeq: OPTIONS 1", "Malformed CSeq"),
        ("CSeq: 1 INVITE", "CSeq Has Another Method"),
        ("Max-Forwards: 300", "Malformed Max-Forwards"),
    ];
    for (line, reason) in cases {
        assert_eq!(fault(START, &with(line)), (400, reason), "{line}");
    }
}

#[test]
fn header_fields_that_stand_once_may_not_stand_twice() {
    for line in REST {
        let lines: Vec<&str> = [VIA].into_iter().chain(REST).chain([line]).collect();
        assert_eq!(fault(START, &lines).0, 400, "{line}");
        let lines: Vec<&str> =
            [VIA].into_iter().chain(REST.into_iter().filter(|other| *other != line)).collect();
        assert_eq!(fault(START, &lines).0, 400, "without {line}");
    }
    assert_eq!(fault(START, &REST), (400, "Via Is Missing"));
}

#[test]
fn other_schemes_and_versions_have_answers_of_their_own() {
    let lines: Vec<&str> = [VIA].into_iter().chain(REST).collect();
    assert_eq!(fault("OPTIONS tel:+49621 SIP/2.0", &lines).0, 416);
    assert_eq!(fault("OPTIONS nobodyKnows:x SIP/2.0", &lines).0, 416);
    assert_eq!(fault("OPTIONS sip:b@example.org SIP/7.0", &lines).0, 505);
    assert_eq!(fault("OPTIONS sip:b@ SIP/2.0", &lines), (400, "Malformed Request-URI"));
    assert_eq!(fault("OPTIONS sip:b@x:y SIP/2.0", &lines), (400, "Malformed Request-URI"));
}

#[test]
fn more_vias_than_hops_are_refused() {
    let line = format!("Via: {}", ["SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1"; 71].join(","));
    assert_eq!(fault(START, &with(&line)), (400, "Too Many Via"));
}
