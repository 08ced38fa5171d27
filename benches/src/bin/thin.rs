//! `thin`: the share of a processor that the receiver of 1,000 messages a second takes, blocking beside tokio.
//!
//! Sender and receiver are threads of this program, joined by loopback; only the receiver's processor time counts.

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use headway_benches::clock::{median, timed};
use headway_benches::when_quiet;
use sctp::{AssociationConfig, EndpointConfig, Message, Profile, SctpPort, StreamId, blocking};
use tokio::runtime::Builder;

const MESSAGES: u32 = 3_000;
const INTERVAL: Duration = Duration::from_millis(1);
const RUNS: usize = 3;

type Failure = Box<dyn Error + Send + Sync>;
/// Receives everything at this port, after it has told its address; gives the processor time that it took.
type Receiver = fn(SctpPort, &std::sync::mpsc::Sender<SocketAddr>) -> Result<Duration, Failure>;

fn main() -> ExitCode {
    when_quiet(print)
}

fn print() -> Result<(), Failure> {
    println!("{:>8} {:>10} {:>10}   of a processor, median of {RUNS}", "octets", "blocking", "tokio");
    for octets in [64, 1_200] {
        let (mut own, mut runtime) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            own.push(share(octets, blocking_receiver)?);
            runtime.push(share(octets, tokio_receiver)?);
        }
        println!("{octets:>8} {:>9.1}% {:>9.1}%", median(own) * 100.0, median(runtime) * 100.0);
    }
    Ok(())
}

fn share(octets: usize, receiver: Receiver) -> Result<f64, Failure> {
    let port = SctpPort::try_from(5000)?;
    let (tell, told) = std::sync::mpsc::channel();
    let receiving = thread::spawn(move || receiver(port, &tell));
    let begun = send(octets, told.recv()?, port)?;
    let taken = receiving.join().map_err(|_| "the receiver panicked")??;
    Ok(taken.as_secs_f64() / begun.elapsed().as_secs_f64())
}

/// Sends the messages, and gives when the first one left.
fn send(octets: usize, to: SocketAddr, port: SctpPort) -> Result<Instant, Failure> {
    let association = blocking::Endpoint::client("127.0.0.1:0".parse()?)?.connect(to, port)?;
    let payload = bytes::Bytes::from(vec![0xa5; octets]);
    let begun = Instant::now();
    for number in 1..=MESSAGES {
        association.send(Message::ordered(StreamId::new(0), payload.clone()))?;
        thread::park_timeout((begun + INTERVAL * number).saturating_duration_since(Instant::now()));
    }
    association.shutdown()?;
    Ok(begun)
}

fn config(port: SctpPort) -> EndpointConfig {
    EndpointConfig::with_association(port, AssociationConfig::profile(Profile::Signalling))
}

fn blocking_receiver(
    port: SctpPort,
    tell: &std::sync::mpsc::Sender<SocketAddr>,
) -> Result<Duration, Failure> {
    let endpoint = blocking::Endpoint::bind(config(port), "127.0.0.1:0".parse()?)?;
    tell.send(endpoint.local_address())?;
    let association = endpoint.accept().ok_or("closed")?;
    let (taken, received) = timed(|| -> Result<u32, Failure> {
        let mut received = 0;
        while association.recv()?.is_some() {
            received += 1;
        }
        Ok(received)
    });
    complete(received?, taken)
}

fn tokio_receiver(port: SctpPort, tell: &std::sync::mpsc::Sender<SocketAddr>) -> Result<Duration, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (taken, received) = timed(|| {
        runtime.block_on(async {
            let endpoint = sctp::Endpoint::bind(config(port), "127.0.0.1:0".parse()?).await?;
            tell.send(endpoint.local_address())?;
            let association = endpoint.accept().await.ok_or("closed")?;
            let mut received = 0;
            while association.recv().await?.is_some() {
                received += 1;
            }
            Ok::<u32, Failure>(received)
        })
    });
    complete(received?, taken)
}

fn complete(received: u32, taken: Duration) -> Result<Duration, Failure> {
    if received == MESSAGES { Ok(taken) } else { Err(format!("{received} of {MESSAGES} came").into()) }
}
