//! Session descriptions (RFC 8866), as far as a firewall has to know them: where somebody listens.

use std::net::{IpAddr, SocketAddr};

use sdp_types::{Attribute, Connection, Media, Session};

/// The address and the ports where one side listens for one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stream {
    pub(crate) address: IpAddr,
    /// The first port.
    pub(crate) port: u16,
    /// How many consecutive ports: media and its control protocol beside it, as a rule.
    pub(crate) ports: u16,
}

/// The reason why a session description cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum MediaError {
    /// The body is no session description.
    #[error("Malformed Session Description")]
    Malformed,
    /// The session description has more streams than a call may have.
    #[error("Too Many Media Streams")]
    TooMany,
    /// An address is a name, or of another network than the Internet.
    #[error("Media Address Is No IP Address")]
    NoAddress,
    /// An address is no host's.
    #[error("Media Address Is No Host's")]
    NotUnicast,
    /// The ports do not fit.
    #[error("Media Port Out of Range")]
    Port,
}

/// Reads where the sender of a session description listens. Streams that are switched off, on hold without an address, or not
/// over UDP, need no pinhole and are left out.
pub(crate) fn streams(body: &[u8], most: usize) -> Result<Vec<Stream>, MediaError> {
    let session = Session::parse(body).map_err(|_| MediaError::Malformed)?;
    if session.medias.len() > most {
        return Err(MediaError::TooMany);
    }
    let mut streams = Vec::new();
    for media in session.medias.iter().filter(|media| media.port != 0 && is_over_udp(&media.proto)) {
        let connection = media.connections.first().or(session.connection.as_ref());
        let address = address(connection.ok_or(MediaError::Malformed)?)?;
        if address.is_unspecified() {
            continue;
        }
        streams.extend(stream(media, address)?);
    }
    Ok(streams)
}

/// Returns the place where a stream is received, and that of its RTCP where it is not on the port behind (RFC 3605).
fn stream(media: &Media, address: IpAddr) -> Result<Vec<Stream>, MediaError> {
    let pairs = media.num_ports.unwrap_or(1).max(1);
    let own_control = media.attributes.iter().find(|attribute| attribute.attribute == "rtcp");
    let control = own_control.and_then(|attribute| attribute.value.as_deref());
    let control_port = control.and_then(|value| value.split(' ').next()).map(str::parse::<u16>);
    let is_beside = match &control_port {
        Some(Ok(port)) => media.port.checked_add(1) == Some(*port),
        Some(Err(_)) => return Err(MediaError::Malformed),
        None => media.proto.to_ascii_uppercase().contains("RTP"),
    };
    let ports = if is_beside { pairs.checked_mul(2).ok_or(MediaError::Port)? } else { pairs };
    if media.port.checked_add(ports - 1).is_none() || ports > MOST_PORTS {
        return Err(MediaError::Port);
    }
    let mut streams = vec![Stream { address, port: media.port, ports }];
    if let Some(Ok(port)) = control_port
        && !is_beside
        && port != media.port
    {
        if port == 0 {
            return Err(MediaError::Port);
        }
        let elsewhere = control.and_then(|value| value.rsplit_once(' ')).map(|(_, address)| address);
        let address = match elsewhere {
            Some(other) => unicast(other)?,
            None => address,
        };
        streams.push(Stream { address, port, ports: 1 });
    }
    Ok(streams)
}

/// Returns a session description in which every stream that has an address outside is said to be received there, and in which ICE
/// (RFC 8839) is not offered; `None` if it is no session description.
///
/// Candidates name addresses that a translator does not give out, and checks would come from hosts that no pinhole is for. Streams
/// that are switched off, or on hold without an address, stay as they are, and so does the line of the origin (RFC 8866 §5.2), which
/// only identifies the session.
pub(crate) fn translated(body: &[u8], outside: impl Fn(Stream) -> Option<SocketAddr>) -> Option<Vec<u8>> {
    let mut session = Session::parse(body).ok()?;
    let common = session.connection.clone();
    let mut first = None;
    for media in session.medias.iter_mut().filter(|media| media.port != 0) {
        media.attributes.retain(|attribute| !is_of_ice(attribute));
        let given = is_over_udp(&media.proto).then(|| translate(media, common.as_ref(), &outside)).flatten();
        match given {
            Some(given) => first = first.or(Some(given)),
            None if media.connections.is_empty() => media.connections.extend(common.clone()),
            None => {}
        }
    }
    session.attributes.retain(|attribute| !is_of_ice(attribute));
    if let Some(given) = first {
        let is_inner = |common: &Connection| address(common).is_ok_and(|address| !address.is_unspecified());
        session.connection = common.map(|common| match is_inner(&common) {
            true => Connection::from_ip_addr(given.ip()),
            false => common,
        });
    }
    let mut text = Vec::new();
    session.write(&mut text).ok()?;
    Some(text)
}

/// Rewrites one stream, and returns where it is received outside; `None` if it has no address there.
fn translate(
    media: &mut Media,
    common: Option<&Connection>,
    outside: &impl Fn(Stream) -> Option<SocketAddr>,
) -> Option<SocketAddr> {
    let inner = address(media.connections.first().or(common)?).ok()?;
    let streams = stream(media, inner).ok()?;
    let given = outside(*streams.first()?)?;
    let control_port = |control: &Attribute| {
        let value = control.value.as_deref()?;
        value.split(' ').next()?.parse::<u16>().ok()
    };
    let elsewhere = streams.get(1).and_then(|stream| outside(*stream));
    let port = media.port;
    for control in media.attributes.iter_mut().filter(|attribute| attribute.attribute == "rtcp") {
        let at = match (elsewhere, control_port(control)) {
            (Some(at), _) => at,
            (None, own) => {
                let behind = own.unwrap_or(port).saturating_sub(port);
                SocketAddr::new(given.ip(), given.port().saturating_add(behind))
            }
        };
        let connection = Connection::from_ip_addr(at.ip());
        let (network, family) = (connection.nettype, connection.addrtype);
        control.value = Some(format!("{} {network} {family} {}", at.port(), at.ip()));
    }
    media.port = given.port();
    media.connections = vec![Connection::from_ip_addr(given.ip())];
    Some(given)
}

fn is_of_ice(attribute: &Attribute) -> bool {
    let name = attribute.attribute.as_str();
    name.starts_with("ice-") || ["candidate", "end-of-candidates", "remote-candidates"].contains(&name)
}

fn address(connection: &Connection) -> Result<IpAddr, MediaError> {
    unicast(&connection.connection_address)
}

fn unicast(text: &str) -> Result<IpAddr, MediaError> {
    let address: IpAddr = text.parse().map_err(|_| MediaError::NoAddress)?;
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    if address.is_multicast() || address.is_loopback() || is_broadcast {
        return Err(MediaError::NotUnicast);
    }
    Ok(address)
}

fn is_over_udp(protocol: &str) -> bool {
    let protocol = protocol.to_ascii_uppercase();
    protocol.starts_with("RTP/") || protocol.starts_with("UDP") || protocol == "UDPTL"
}

/// Ports of one stream; more is no telephone's.
const MOST_PORTS: u16 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Result<Vec<Stream>, MediaError> {
        let text = format!("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n{lines}").replace('|', "\r\n");
        streams(text.as_bytes(), 4)
    }

    fn stream(address: &str, port: u16, ports: u16) -> Stream {
        Stream { address: address.parse().unwrap(), port, ports }
    }

    #[test]
    fn media_and_rtcp_are_found_wherever_they_are_said_to_be() {
        let one = |lines: &str| read(&format!("c=IN IP4 192.0.2.1|t=0 0|{lines}|")).unwrap();
        assert_eq!(one("m=audio 6000 RTP/AVP 0"), [stream("192.0.2.1", 6000, 2)]);
        assert_eq!(one("m=audio 6000/3 RTP/AVP 0"), [stream("192.0.2.1", 6000, 6)]);
        assert_eq!(one("m=audio 6000 RTP/AVP 0|c=IN IP6 2001:db8::1"), [stream("2001:db8::1", 6000, 2)]);
        assert_eq!(one("m=image 6000 udptl t38"), [stream("192.0.2.1", 6000, 1)]);
        assert_eq!(one("m=audio 6000 RTP/AVP 0|a=rtcp:6001"), [stream("192.0.2.1", 6000, 2)]);
        let elsewhere = [stream("192.0.2.1", 6000, 1), stream("192.0.2.7", 7001, 1)];
        assert_eq!(one("m=audio 6000 RTP/AVP 0|a=rtcp:7001 IN IP4 192.0.2.7"), elsewhere);
    }

    #[test]
    fn what_is_off_or_on_hold_needs_nothing() {
        for lines in [
            "c=IN IP4 192.0.2.1|t=0 0|m=audio 0 RTP/AVP 0|",
            "c=IN IP4 0.0.0.0|t=0 0|m=audio 6000 RTP/AVP 0|",
            "c=IN IP4 192.0.2.1|t=0 0|m=message 7394 TCP/MSRP *|",
            "t=0 0|",
        ] {
            assert_eq!(read(lines), Ok(vec![]), "{lines}");
        }
    }

    #[test]
    fn what_no_firewall_should_open_is_refused() {
        let cases = [
            ("c=IN IP4 224.2.1.1/127|t=0 0|m=audio 6000 RTP/AVP 0|", MediaError::NoAddress),
            ("c=IN IP4 224.2.1.1|t=0 0|m=audio 6000 RTP/AVP 0|", MediaError::NotUnicast),
            ("c=IN IP4 255.255.255.255|t=0 0|m=audio 6000 RTP/AVP 0|", MediaError::NotUnicast),
            ("c=IN IP4 host.example.org|t=0 0|m=audio 6000 RTP/AVP 0|", MediaError::NoAddress),
            ("t=0 0|m=audio 6000 RTP/AVP 0|", MediaError::Malformed),
            ("c=IN IP4 192.0.2.1|t=0 0|m=audio 65535 RTP/AVP 0|", MediaError::Port),
            ("c=IN IP4 192.0.2.1|t=0 0|m=audio 6000/40000 RTP/AVP 0|", MediaError::Port),
            ("c=IN IP4 192.0.2.1|t=0 0|m=audio 6000/9 RTP/AVP 0|", MediaError::Port),
            ("c=IN IP4 192.0.2.1|t=0 0|m=audio 6000 RTP/AVP 0|a=rtcp:x|", MediaError::Malformed),
        ];
        for (lines, error) in cases {
            assert_eq!(read(lines), Err(error), "{lines}");
        }
        let many = format!("c=IN IP4 192.0.2.1|t=0 0|{}", "m=audio 6000 RTP/AVP 0|".repeat(5));
        assert_eq!(read(&many), Err(MediaError::TooMany));
        assert_eq!(streams(b"\xff\x00", 4), Err(MediaError::Malformed));
    }

    fn rewritten(lines: &str) -> String {
        let text = format!("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n{lines}").replace('|', "\r\n");
        let outside = |stream: Stream| {
            let given = if stream.address.is_ipv4() { "198.51.100.1" } else { "2001:db8::1" };
            let is_inside = stream
                .address
                .to_string()
                .starts_with(["10.", "fd00"][usize::from(!stream.address.is_ipv4())]);
            is_inside.then(|| SocketAddr::new(given.parse().unwrap(), stream.port + 20_000))
        };
        let text = String::from_utf8(translated(text.as_bytes(), outside).unwrap()).unwrap();
        text.replace("\r\n", "|").split_once("s=-|").unwrap().1.to_owned()
    }

    #[test]
    fn streams_are_said_to_be_where_the_translator_receives_them() {
        for (lines, expected) in [
            (
                "c=IN IP4 10.0.0.1|t=0 0|m=audio 6000 RTP/AVP 0|a=sendrecv|",
                "c=IN IP4 198.51.100.1|t=0 0|m=audio 26000 RTP/AVP 0|c=IN IP4 198.51.100.1|a=sendrecv|",
            ),
            (
                "t=0 0|m=audio 6000 RTP/AVP 0|c=IN IP6 fd00::3|a=rtcp:6001|m=video 6100 RTP/AVP 31|c=IN IP4 10.0.0.1|a=rtcp:7001 IN IP4 10.0.0.2|",
                "t=0 0|m=audio 26000 RTP/AVP 0|c=IN IP6 2001:db8::1|a=rtcp:26001 IN IP6 2001:db8::1|m=video 26100 RTP/AVP 31|c=IN IP4 198.51.100.1|a=rtcp:27001 IN IP4 198.51.100.1|",
            ),
        ] {
            assert_eq!(rewritten(lines), expected);
        }
    }

    #[test]
    fn what_is_off_on_hold_or_not_translated_stays_and_nobody_is_offered_ice() {
        for lines in [
            "c=IN IP4 0.0.0.0|t=0 0|m=audio 6000 RTP/AVP 0|c=IN IP4 0.0.0.0|a=inactive|",
            "c=IN IP4 10.0.0.1|t=0 0|m=audio 0 RTP/AVP 0|",
            "c=IN IP4 203.0.113.9|t=0 0|m=audio 6000 RTP/AVP 0|c=IN IP4 203.0.113.9|a=mid:1|",
        ] {
            assert_eq!(rewritten(lines), lines);
        }
        let ice = "c=IN IP4 10.0.0.1|t=0 0|a=ice-lite|m=audio 6000 RTP/AVP 0|a=ice-ufrag:x|a=candidate:1 1 UDP 1 10.0.0.1 6000 typ host|m=audio 0 RTP/AVP 0|";
        let expected =
            "c=IN IP4 198.51.100.1|t=0 0|m=audio 26000 RTP/AVP 0|c=IN IP4 198.51.100.1|m=audio 0 RTP/AVP 0|";
        assert_eq!(rewritten(ice), expected);
        assert_eq!(translated(b"\xff", |_| None), None);
    }
}
