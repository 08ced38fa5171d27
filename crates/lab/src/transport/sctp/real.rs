//! The workload over our SCTP, on real sockets.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use sctp::{
    Association, AssociationConfig, AssociationStatistics, Delivery, Endpoint, EndpointConfig,
    IncomingPolicy, Message, PathId, PayloadProtocolId, ReceivedMessage, SctpPort, StreamId,
};
use sctp_io::Clock;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use workload::Lane;

use super::carrier::Carrier;
use super::config::{config, config_for_anybody, for_handover};
use super::delivery;
use super::roaming::{Addresses, NewPath, Roamer, Roaming};
use crate::statistics::TransportCounts;
use crate::traffic::{Server, ServerPlan};
use crate::transport::{
    Alarm, Arrived, Between, Errand, Expected, FlowRun, Listener, Listening, Movement, Networks, Pipes,
    RealError, Serving, Stop, drive,
};

/// Runs a load over an association, one lane a stream.
pub(super) async fn load(errand: Errand<'_>) -> Result<FlowRun, RealError> {
    // The endpoint drives the association until both are dropped.
    let (endpoint, association) = associate(&errand).await?;
    let Errand { flow, plan, to, reach, movement, clock, stop, .. } = errand;
    let delivery = delivery(flow);
    let alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let (arrived, arrivals) = unbounded_channel();
    let mut tasks = JoinSet::new();
    if let Some(movement) = movement {
        let addresses = Addresses { old: reach.local(to[0]), new: movement.local, peer: movement.peer };
        let roaming = Roaming::new(addresses, &movement.handover);
        let live = Live { endpoint: endpoint.clone(), association: association.clone() };
        tasks.spawn(roam(live, roaming, movement, clock));
    }
    tasks.spawn(read(association.clone(), arrived, clock));
    let ppid = PayloadProtocolId::new(plan.workload.payload_protocol());
    let mut outlets = Vec::with_capacity(usize::from(plan.lanes));
    for lane in 0..plan.lanes {
        let (outlet, requests) = unbounded_channel();
        let empty = Message::new(StreamId::new(lane), delivery, Bytes::new()).with_ppid(ppid);
        tasks.spawn(write(association.clone(), empty, requests));
        outlets.push(outlet);
    }
    let driven = drive(plan, Pipes { outlets, arrivals }, None, alarm, stop).await;
    tasks.abort_all();
    // A peer that does not answer any more must not hold up the results.
    let ended = tokio::time::timeout(SHUTDOWN_TIME, association.shutdown()).await;
    if ended.is_err() {
        association.abort(b"the load generator has finished");
    }
    let statistics = association.statistics();
    Ok(FlowRun {
        driven: driven?,
        counts: TransportCounts::from(&statistics),
        paths: Some(statistics.paths),
        capture_failure: endpoint.capture_failure(),
    })
}

/// An endpoint with its association, driven by the runtime.
struct Live {
    endpoint: Endpoint,
    association: Association,
}

impl Roamer for Live {
    fn lose(&mut self, local: IpAddr) {
        self.endpoint.local_address_down(local);
    }

    fn find(&mut self, local: IpAddr) {
        self.endpoint.local_address_up(local);
        let _refused = self.association.add_local_address(local);
    }

    fn path_to(&self, peer: IpAddr) -> Option<NewPath> {
        NewPath::among(self.association.statistics().paths, peer)
    }

    fn go_to(&mut self, path: PathId) -> bool {
        self.association.set_primary(path).is_ok()
    }

    fn ask_for(&mut self, local: IpAddr) {
        let _refused = self.association.request_peer_primary(local);
    }
}

/// Takes the association along when its host moves, until it is over.
async fn roam(mut live: Live, mut roaming: Roaming, mut movement: Movement, clock: Clock) {
    let association = live.association.clone();
    let mut known = Networks::AT_FIRST;
    loop {
        let wake = roaming.poll_timeout().map(|at| at.since(clock.now()));
        tokio::select! {
            networks = movement.changed() => {
                if known.has_old && !networks.has_old {
                    roaming.leave(&mut live);
                }
                if !known.has_new && networks.has_new {
                    roaming.arrive(&mut live);
                }
                known = networks;
            }
            event = association.next_event() => if event.is_none() { return },
            () = tokio::time::sleep(wake.unwrap_or_default()), if wake.is_some() => {}
        }
        roaming.go_on(clock.now(), &mut live);
    }
}

/// Sends every request as a message like `empty`.
async fn write(association: Association, empty: Message, mut requests: UnboundedReceiver<Bytes>) {
    while let Some(payload) = requests.recv().await {
        let message = Message { payload, ..empty.clone() };
        if association.send(message).await.is_err() {
            // The reader reports why the association ended.
            return;
        }
    }
}

async fn read(association: Association, arrived: UnboundedSender<Arrived>, clock: Clock) {
    let because = loop {
        match association.recv().await {
            Ok(Some(received)) => {
                let message = Arrived::Message {
                    lane: Lane(received.message.stream.get()),
                    octets: received.message.payload,
                    at: clock.now(),
                    blocked: Some(received.blocked),
                };
                if arrived.send(message).is_err() {
                    return;
                }
            }
            Ok(None) => break "the echo server shut the association down".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    let _finished = arrived.send(Arrived::Ended { because });
}

/// Opens an association with a server at all its addresses.
async fn associate(errand: &Errand<'_>) -> Result<(Endpoint, Association), RealError> {
    let Errand { flow, to, reach, movement, carrier, own_port, capture, .. } = errand;
    let refused = |because: String| RealError::Configuration { because };
    let port = |port: u16| SctpPort::try_from(port).map_err(|error| refused(error.to_string()));
    let mut config = config(flow).map_err(refused)?;
    if let Some(movement) = movement {
        for_handover(&mut config, &movement.handover).map_err(refused)?;
    }
    let mut own = EndpointConfig::new(port(*own_port)?);
    own.incoming = IncomingPolicy::Refuse;
    let mut builder = Endpoint::builder(own);
    if let Some(path) = capture {
        builder = builder.capture(path);
    }
    if let Between::Link(local) = *reach {
        let all: Vec<_> = [local].into_iter().chain(movement.as_ref().map(|it| it.local)).collect();
        let endpoint = match carrier {
            Carrier::Udp(ports) => builder.bind_addresses(&all, ports.local).await?,
            Carrier::Ip => builder.bind_ip(&all).await?,
        };
        // The network that is found later is not there yet.
        movement.iter().for_each(|it| endpoint.local_address_down(it.local));
        let peer: Vec<_> = to.iter().map(|to| carrier.destination(to.ip())).collect();
        let association = endpoint.connect_with(&peer, port(to[0].port())?, config).await?;
        return Ok((endpoint, association));
    }
    // The path may be narrower than the emulated ones.
    config.path_mtu = AssociationConfig::default().path_mtu;
    let endpoint = carrier.bind_client(builder, to).await?;
    match carrier.associate(&endpoint, to, config).await {
        Ok(association) => Ok((endpoint, association)),
        Err(because) => {
            let to: Vec<_> = to.iter().map(SocketAddr::to_string).collect();
            let because = format!("at {} {carrier}: {because}", to.join(" and "));
            Err(RealError::nobody("SCTP", &[because]))
        }
    }
}

/// Opens one endpoint at all addresses.
pub(super) async fn listen(at: Listening<'_>) -> Result<Vec<Listener>, RealError> {
    let refused = |because: String| RealError::Configuration { because };
    let (association, clients) = match at.expected {
        Expected::Flow { flow, handover } => {
            let mut config = config(flow).map_err(refused)?;
            handover.map_or(Ok(()), |handover| for_handover(&mut config, handover)).map_err(refused)?;
            (config, Some(1))
        }
        Expected::Anybody { profile, .. } => (config_for_anybody(profile), None),
    };
    let port = SctpPort::try_from(at.addresses[0].port()).map_err(|error| refused(error.to_string()))?;
    let mut builder = Endpoint::builder(EndpointConfig::with_association(port, association));
    if let Some(path) = at.capture {
        builder = builder.capture(path);
    }
    let addresses: Vec<_> = at.addresses.iter().map(SocketAddr::ip).collect();
    let endpoint = match at.carrier {
        Carrier::Udp(ports) => builder.bind_addresses(&addresses, ports.local).await?,
        Carrier::Ip => builder.bind_ip(&addresses).await?,
    };
    let encap_port = matches!(at.carrier, Carrier::Udp(_)).then(|| endpoint.local_address().port());
    let serving: Serving =
        Box::new(move |plan, clock, stop| Box::pin(serve_all(endpoint, clients, plan, clock, stop)));
    Ok(vec![Listener { protocol: "sctp", addresses: at.addresses.to_vec(), encap_port, serving }])
}

/// Serves the associations of an endpoint, so many or whoever comes, until `stop` resolves.
async fn serve_all(
    endpoint: Endpoint,
    clients: Option<usize>,
    plan: ServerPlan,
    clock: Clock,
    stop: Stop,
) -> Result<TransportCounts, RealError> {
    let statistics = tokio::select! {
        statistics = answer(&endpoint, plan, clients, clock) => statistics,
        () = stop => Vec::new(),
    };
    if clients.is_none() {
        endpoint.close();
        // Clients learn that we go; those that do not answer must not keep us.
        let _some_did_not = tokio::time::timeout(CLOSING_TIME, endpoint.wait_idle()).await;
    }
    Ok(statistics.first().map(TransportCounts::from).unwrap_or_default())
}

/// Answers on every association of the endpoint until `count` of them have ended (for ever without a number); gives
/// their final counters.
async fn answer(
    endpoint: &Endpoint,
    plan: ServerPlan,
    count: Option<usize>,
    clock: Clock,
) -> Vec<AssociationStatistics> {
    let mut statistics = Vec::new();
    let mut tasks = JoinSet::new();
    let mut accepted = 0;
    while count.is_none_or(|count| statistics.len() < count) {
        let wanted = count.is_none_or(|count| accepted < count);
        tokio::select! {
            association = endpoint.accept(), if wanted => {
                let Some(association) = association else { break };
                accepted += 1;
                tasks.spawn(serve(association, plan, clock));
            }
            Some(ended) = tasks.join_next() => {
                let counters = ended.ok().and_then(Result::ok).unwrap_or_default();
                if count.is_some() {
                    statistics.push(counters);
                }
            }
            else => break,
        }
    }
    statistics
}

/// Echoes every message of one association until it ends.
async fn serve(
    association: Association,
    plan: ServerPlan,
    clock: Clock,
) -> Result<AssociationStatistics, RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut server = Server::new(plan);
    loop {
        tokio::select! {
            received = association.recv() => match received {
                Ok(Some(received)) => {
                    let ReceivedMessage { stream, ppid, delivery, payload, .. } = received.message;
                    let lane = (stream, ppid.get(), delivery == Delivery::Unordered);
                    server.on_message(alarm.now(), alarm.now(), lane, stream.get(), payload);
                }
                Ok(None) | Err(_) => return Ok(association.statistics()),
            },
            waited = alarm.until(server.poll_timeout()) => waited.map_err(RealError::socket("cannot wait"))?,
        }
        while let Some(((stream, ppid, is_unordered), message)) = server.poll_reply(alarm.now()) {
            let delivery = if is_unordered { Delivery::Unordered } else { Delivery::Ordered };
            let reply = Message::new(stream, delivery, message).with_ppid(PayloadProtocolId::new(ppid));
            if association.send(reply).await.is_err() {
                return Ok(association.statistics());
            }
        }
    }
}

/// How long a graceful shutdown may take at the end of a run.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);
/// How long the associations of a server that ends may take to end.
const CLOSING_TIME: Duration = Duration::from_secs(1);
