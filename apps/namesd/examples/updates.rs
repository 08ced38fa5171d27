//! Signed updates, as many a second as a server takes: how many that are, and how long each takes.
//!
//! `updates SERVER ZONE KEY SECRET-FILE COUNT [ACKNOWLEDGED]` adds an address to COUNT names below `KEY.ZONE`, 64 at a time. It ends
//! when all are acknowledged, or none was for two seconds, and writes the names that were into the file ACKNOWLEDGED, a line each.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;
use std::net::UdpSocket;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use data_encoding::BASE64;
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
use hickory_proto::rr::{Name, RData, Record, RecordType, TSigner};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, zone, key, secret, count, rest @ ..] = arguments.as_slice() else {
        return Err("updates SERVER ZONE KEY SECRET-FILE COUNT [ACKNOWLEDGED]".into());
    };
    let count: u32 = count.parse()?;
    let secret = BASE64.decode(std::fs::read_to_string(secret)?.trim().as_bytes())?;
    let signer = TSigner::new(secret, TsigAlgorithm::HmacSha256, Name::from_str(key)?, 300)?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(SILENCE))?;
    let began = Instant::now();
    let (mut next, mut sent) = (0, HashMap::new());
    let (mut acknowledged, mut times, mut refused) = (Vec::new(), Vec::new(), HashMap::new());
    let own = std::process::id();
    let mut buffer = [0; 4096];
    loop {
        while sent.len() < WINDOW && next < count {
            let name = format!("n{own}-{next}.{key}.{zone}.");
            let id = u16::try_from(next % 65_536)?;
            socket.send(&update(id, zone, &name, &signer)?)?;
            sent.insert(id, (name, Instant::now()));
            next += 1;
        }
        if sent.is_empty() {
            break;
        }
        let Ok(length) = socket.recv(&mut buffer) else { break };
        let response = Message::from_vec(&buffer[..length])?;
        let Some((name, at)) = sent.remove(&response.metadata.id) else { continue };
        if response.metadata.response_code == ResponseCode::NoError {
            acknowledged.push(name);
            times.push(at.elapsed());
        } else {
            *refused.entry(response.metadata.response_code.to_string()).or_insert(0) += 1;
        }
    }
    let elapsed = began.elapsed();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    let rate = f64::from(u32::try_from(acknowledged.len())?) / elapsed.as_secs_f64();
    println!(
        "{} of {count} updates acknowledged, {rate:.0} a second, {WINDOW} at a time: median {:.2} ms, 99 % within {:.2} ms",
        acknowledged.len(),
        at(50).as_secs_f64() * 1e3,
        at(99).as_secs_f64() * 1e3
    );
    for (code, count) in refused {
        println!("{count} refused: {code}");
    }
    if let Some(path) = rest.first() {
        let mut file = std::fs::File::create(path)?;
        for name in acknowledged {
            writeln!(file, "{name}")?;
        }
    }
    Ok(())
}

fn update(id: u16, zone: &str, name: &str, signer: &TSigner) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut message = Message::new(id, MessageType::Query, OpCode::Update);
    message.add_query(Query::query(Name::from_str(&format!("{zone}."))?, RecordType::SOA));
    let address = RData::from(std::net::IpAddr::from([192, 0, 2, 1]));
    message.add_authority(Record::from_rdata(Name::from_str(name)?, 5, address));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    let (signature, _) = signer.sign_message(&message, now)?;
    message.set_signature(signature);
    Ok(message.to_vec()?)
}

const WINDOW: usize = 64;
const SILENCE: Duration = Duration::from_secs(2);
