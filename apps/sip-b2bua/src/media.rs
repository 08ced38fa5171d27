//! Session descriptions (RFC 8866), as far as a firewall has to know them: where somebody listens.

use std::net::IpAddr;

use sdp_types::{Connection, Media, Session};

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
}
