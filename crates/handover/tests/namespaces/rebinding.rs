//! SCTP in UDP behind a translator that takes another port in the middle of an association: the other host goes on there when a
//! HEARTBEAT has been answered (RFC 6951 §5.4).

use std::net::UdpSocket;

use sctp::{Encapsulation, EndpointStatistics};
use sctp_wire::{PacketWriter, VerificationTag};

use super::*;
use crate::translator::{OUTSIDE, Translator};

const ROAMING_PORT: u16 = 50_000;
const SERVICE_PORT: u16 = 7;
const FIRST_PORT: u16 = 4001;
const NEIGHBOUR_PORT: u16 = 4999;
/// Packets of the neighbour before each hundred requests.
const GUESSES: u32 = 50;

/// The UDP port at which the fixed host reaches the roaming one, as of the last request; 0 before the first.
type SeenPort = watch::Receiver<u16>;

#[test]
fn association_goes_on_when_its_translator_takes_another_port() {
    behind_a_translator(async |translator, talk, mut seen| {
        for port in FIRST_PORT + 1..FIRST_PORT + 6 {
            translator.translate_to(port).unwrap();
            seen.wait_for(|seen| *seen == port).await.unwrap();
            talk.goes_on().await;
        }
    });
}

/// Somebody else behind the same translator, who does not know the association's tag, is not followed, whatever port he writes
/// from.
#[test]
fn neighbour_behind_the_translator_who_guesses_tags_moves_nothing() {
    let statistics = behind_a_translator(async |translator, talk, seen| {
        let neighbour = translator.spawn(|| UdpSocket::bind((OUTSIDE, NEIGHBOUR_PORT)).unwrap());
        let neighbour = neighbour.join().unwrap();
        for round in 0..10 {
            for guess in 1..=GUESSES {
                let packet = heartbeat(round * GUESSES + guess);
                neighbour.send_to(&packet, (FIXED[0], UDP_PORT)).unwrap();
            }
            talk.goes_on().await;
            assert_eq!(*seen.borrow(), FIRST_PORT);
        }
    });
    let Some(statistics) = statistics else { return };
    let refused =
        statistics.bad_tag + statistics.out_of_the_blue_discarded + statistics.out_of_the_blue_answered;
    assert!(refused > 0, "the neighbour was not heard: {statistics:?}");
}

/// Requests go through the translator while something happens; afterwards both ends have seen as many. Returns the counters of the
/// fixed host.
fn behind_a_translator(
    meanwhile: impl AsyncFnOnce(&Translator, &mut Talk, SeenPort) + Send + 'static,
) -> Option<EndpointStatistics> {
    let network = Network::new()?;
    let translator = Translator::between(&network)?;
    translator.translate_to(FIRST_PORT).unwrap();
    let (tell, seen) = watch::channel(0);
    let fixed = network.spawn(Side::Fixed, move || serve_and_tell(&tell));
    let roaming = network.spawn(Side::Roaming, move || {
        run(async {
            let endpoint = Endpoint::bind(nameless(ROAMING_PORT), "[::]:0".parse().unwrap()).await.unwrap();
            let to = Destination::from(SocketAddr::new(FIXED[0].parse().unwrap(), UDP_PORT));
            let association = endpoint.connect(to, SERVICE_PORT.try_into().unwrap()).await.unwrap();
            let mut talk = Talk::begin(association.clone());
            talk.goes_on().await;
            meanwhile(&translator, &mut talk, seen).await;
            let answered = talk.end().await;
            association.shutdown().await.unwrap();
            answered
        })
    });
    let (answered, (seen, statistics)) = (roaming.join().unwrap(), fixed.join().unwrap());
    assert_eq!(answered, seen.requests, "nothing lost, nothing twice");
    assert_eq!(seen.peer, [OUTSIDE.parse::<IpAddr>().unwrap()]);
    assert_eq!(statistics.accepted, 1, "it is the same association all the time");
    Some(statistics)
}

/// A host behind a translator names none of its addresses, which mean nothing outside; it is heard there once a second, so that
/// who has only something to say to it soon knows the port.
fn nameless(port: u16) -> EndpointConfig {
    let mut config = config(port, &[]);
    config.association.heartbeat.nat_keepalive = Some(Duration::from_secs(1));
    config
}

/// Echoes the requests of one association, and tells the UDP port of its peer.
fn serve_and_tell(tell: &watch::Sender<u16>) -> (Seen, EndpointStatistics) {
    run(async {
        let at = SocketAddr::new(FIXED[0].parse().unwrap(), UDP_PORT);
        let endpoint = Endpoint::bind(nameless(SERVICE_PORT), at).await.unwrap();
        let association = endpoint.accept().await.unwrap();
        let seen = echo(association, |peer| {
            if let [Destination { encapsulation: Encapsulation::Udp { port }, .. }] = peer {
                tell.send_replace(*port);
            }
        })
        .await;
        (seen, endpoint.statistics())
    })
}

/// A HEARTBEAT that seems to be the roaming host's, but for its tag.
fn heartbeat(tag: u32) -> Vec<u8> {
    let [from, to] = [ROAMING_PORT, SERVICE_PORT].map(|port| SctpPort::try_from(port).unwrap());
    let mut octets = Vec::new();
    let mut writer = PacketWriter::begin(&mut octets, from, to, VerificationTag::new(tag), 1200);
    writer.heartbeat(b"who is there?").unwrap();
    let _length = writer.finish();
    octets
}
