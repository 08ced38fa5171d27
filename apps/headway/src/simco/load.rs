//! The load generator of study S4: pinholes open at random, live as long as calls do, are refreshed, and end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use lab::{Distribution, ResponseResult};
use models::Rate;
use serde::Serialize;
use simco::agent::{AgentCloseReason, AgentEvent, PolicyReply, Reconnection, Resynchronisation};
use simco::{Lifetime, PolicyRequest, PolicyRuleId};
use simco_agent::{AgentEvents, RequestError, SimcoAgent};
use tokio::task::JoinSet;
use tokio::time::Instant;
use workload::ExponentialSpans;

use super::SimcoError;
use super::connection::{ConnectionArguments, Protocol};
use crate::arguments::{UsageError, parse_rate, parse_seed};
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::perf::per_second;

/// Load a middlebox as study S4 did, and measure how long it takes to open a pinhole
///
/// Pinholes open at random intervals and live for a random time, both exponential; each is refreshed (PLC) and deleted
/// at its end. The run begins with as many pinholes as there are in the long run. With --window it opens and
/// deletes as fast as the middlebox answers.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway simco --transport sctp load --duration 60s --json -")]
pub(super) struct LoadArguments {
    /// Pinholes opened per second
    #[arg(long, value_name = "RATE", default_value = "33.333", value_parser = parse_rate)]
    opening_rate: Rate,
    /// How long a call lasts in the mean
    #[arg(long, value_name = "D", default_value = "180s", value_parser = workload::parse_duration)]
    call_duration: Duration,
    /// How often a pinhole is refreshed
    #[arg(long, value_name = "D", default_value = "120s", value_parser = workload::parse_duration)]
    refresh: Duration,
    /// How long to measure
    #[arg(long, value_name = "D", default_value = "60s", value_parser = workload::parse_duration)]
    duration: Duration,
    /// Instead: so many requests under way all the time, as fast as they are answered
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    window: Option<u32>,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    seed: u64,
    #[command(flatten)]
    output: OutputArguments,
}

/// The report as `compare` prints it, with one run.
#[derive(Debug, Serialize)]
struct Report {
    headway: &'static str,
    workload: Workload,
    runs: [Run; 1],
}

#[derive(Debug, Serialize)]
struct Workload {
    opening_rate_per_s: f64,
    call_duration_s: f64,
    refresh_s: f64,
    window: Option<u32>,
    duration_s: f64,
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Run {
    id: String,
    transport: &'static str,
    streams: Option<u16>,
    /// PER in the time measured.
    requests: u64,
    responses: u64,
    failed: u64,
    response_ms: ResponseResult,
    /// PER answered per second.
    per_per_s: f64,
    /// PER and PLC answered per second.
    transactions_per_s: f64,
    /// Pinholes that were there at the start, for the long run.
    prefilled: u64,
    /// Sessions after the first one.
    reconnections: u64,
}

/// The state that all pinholes share.
#[derive(Debug)]
struct PinholeLoad {
    agent: SimcoAgent,
    /// Asked for each time: two refreshes may get lost.
    lifetime: Lifetime,
    refresh: Duration,
    transactions: AtomicU64,
    measures_from: Instant,
    measures_until: Instant,
}

/// A pinhole's opening.
type Opening = Result<Duration, RequestError>;

pub(super) async fn run(connection: &ConnectionArguments, arguments: &LoadArguments) -> Result<(), Failure> {
    arguments.check()?;
    let output = arguments.output.open()?;
    let reconnection = Some(Reconnection::default());
    let (agent, events) = connection.connect(Resynchronisation::Never, reconnection).await?;
    let reconnections = Arc::<AtomicU64>::default();
    let watching = tokio::spawn(count_sessions(events, Arc::clone(&reconnections)));
    let (openings, load, prefilled) = match arguments.window {
        Some(window) => arguments.closed_loop(agent, window).await,
        None => arguments.open_loop(agent).await?,
    };
    watching.abort();
    let reconnections = reconnections.load(Ordering::Relaxed);
    let run = Run { reconnections, ..arguments.summary(connection, &openings, &load, prefilled) };
    let failed = run.failed;
    let report = Report { headway: env!("CARGO_PKG_VERSION"), workload: arguments.workload(), runs: [run] };
    let written = output.write(&report.text(), &report);
    load.agent.terminate().await;
    written?;
    match openings.iter().find_map(|opening| opening.as_ref().err()) {
        Some(error) if failed > 0 => Err(SimcoError::from(*error).into()),
        Some(_) | None => Ok(()),
    }
}

impl LoadArguments {
    fn check(&self) -> Result<(), UsageError> {
        let spans = [
            ("--call-duration", self.call_duration),
            ("--refresh", self.refresh),
            ("--duration", self.duration),
        ];
        match spans.into_iter().find(|(_, span)| span.is_zero()) {
            Some((option, _)) => {
                Err(UsageError::value(option, "0", "nothing would happen", "give it some time"))
            }
            None if self.refresh > LONGEST_REFRESH => {
                let because = "a lifetime is at least twice as long, and has 32 bits";
                Err(UsageError::value(
                    "--refresh",
                    format!("{:?}", self.refresh),
                    because,
                    "refresh within a week",
                ))
            }
            None => Ok(()),
        }
    }

    /// Openings at random, whatever the answers.
    async fn open_loop(
        &self,
        agent: SimcoAgent,
    ) -> Result<(Vec<Opening>, Arc<PinholeLoad>, u64), UsageError> {
        let interval = Duration::from_secs_f64(1.0 / self.opening_rate.value());
        let mut openings = spans(interval, self.seed)?;
        let mut lengths = spans(self.call_duration, self.seed.wrapping_add(1))?;
        let mut ages = spans(self.call_duration, self.seed.wrapping_add(2))?;
        let in_the_long_run = self.opening_rate.value() * self.call_duration.as_secs_f64();
        let prefilled = whole(in_the_long_run);
        let start = Instant::now() + Duration::from_secs_f64(in_the_long_run / PREFILL_PER_S) + LEAD;
        let load = Arc::new(self.load(agent, start));
        let mut tasks = JoinSet::new();
        let step = Duration::from_secs_f64(1.0 / PREFILL_PER_S);
        let mut at = Instant::now();
        for _ in 0..prefilled {
            // Exponential lives have no memory: what is left of one is as long as a new one, and so is what has passed,
            // from which refreshes count.
            let since_refresh = ages.next_span().as_secs_f64() % self.refresh.as_secs_f64();
            let from = start + self.refresh.saturating_sub(Duration::from_secs_f64(since_refresh));
            tasks.spawn(Arc::clone(&load).pinhole(at, start + lengths.next_span(), from));
            at += step;
        }
        let mut next = start + openings.next_span();
        let mut expected = 0_usize;
        while next < load.measures_until {
            let refreshed_from = next + self.refresh;
            tasks.spawn(Arc::clone(&load).pinhole(next, next + lengths.next_span(), refreshed_from));
            next += openings.next_span();
            expected += 1;
        }
        let mut found = Vec::new();
        let patience = load.measures_until + DRAIN;
        while let Ok(Some(done)) = tokio::time::timeout_at(patience, tasks.join_next()).await {
            found.extend(done.ok().flatten());
        }
        // What is not answered by then has failed.
        let unanswered = expected.saturating_sub(found.len());
        found.extend(core::iter::repeat_n(Err(RequestError::Closed(AgentCloseReason::Lost)), unanswered));
        Ok((found, load, prefilled))
    }

    /// Opens and deletes pinholes as fast as answers come, in each of `window` tasks.
    async fn closed_loop(&self, agent: SimcoAgent, window: u32) -> (Vec<Opening>, Arc<PinholeLoad>, u64) {
        let load = Arc::new(self.load(agent, Instant::now()));
        let mut tasks = JoinSet::new();
        for _ in 0..window {
            tasks.spawn(Arc::clone(&load).again_and_again());
        }
        let found = tasks.join_all().await;
        (found.into_iter().flatten().collect(), load, 0)
    }

    fn load(&self, agent: SimcoAgent, start: Instant) -> PinholeLoad {
        // What is opened before the start is refreshed after it.
        let lead = start.saturating_duration_since(Instant::now());
        let seconds = (self.refresh.as_secs_f64() * 2.0 + lead.as_secs_f64()).ceil().max(1.0);
        // `check` has limited the refresh period.
        let lifetime = Lifetime::remaining(Duration::from_secs_f64(seconds));
        PinholeLoad {
            agent,
            lifetime,
            refresh: self.refresh,
            transactions: AtomicU64::new(0),
            measures_from: start,
            measures_until: start + self.duration,
        }
    }

    fn workload(&self) -> Workload {
        Workload {
            opening_rate_per_s: self.opening_rate.value(),
            call_duration_s: self.call_duration.as_secs_f64(),
            refresh_s: self.refresh.as_secs_f64(),
            window: self.window,
            duration_s: self.duration.as_secs_f64(),
            seed: self.seed,
        }
    }

    fn summary(
        &self,
        connection: &ConnectionArguments,
        openings: &[Opening],
        load: &PinholeLoad,
        prefilled: u64,
    ) -> Run {
        let times: Vec<_> = openings.iter().filter_map(|opening| opening.as_ref().ok().copied()).collect();
        let requests = u64::try_from(openings.len()).unwrap_or(u64::MAX);
        let responses = u64::try_from(times.len()).unwrap_or(u64::MAX);
        let seconds = self.duration.as_secs_f64();
        let (id, transport, streams) = match connection.transport() {
            Protocol::Tcp => ("tcp".to_owned(), "tcp", None),
            Protocol::Sctp => (format!("sctp:{}", connection.streams()), "sctp", Some(connection.streams())),
        };
        Run {
            id,
            transport,
            streams,
            requests,
            responses,
            failed: requests - responses,
            response_ms: ResponseResult::new(&Distribution::of_runs(&[times], requests - responses)),
            per_per_s: per_second(responses, seconds),
            transactions_per_s: per_second(load.transactions.load(Ordering::Relaxed), seconds),
            prefilled,
            reconnections: 0,
        }
    }
}

impl PinholeLoad {
    /// Plays one pinhole from its opening to its end; returns how long the opening took, counted from when it
    /// was meant to be. `None` outside the time measured.
    async fn pinhole(
        self: Arc<Self>,
        opens: Instant,
        ends: Instant,
        refreshed_from: Instant,
    ) -> Option<Opening> {
        tokio::time::sleep_until(opens).await;
        let is_measured = opens >= self.measures_from;
        let rule = match self.request(PolicyRequest::Enable(lab::pinhole(self.lifetime))).await {
            Ok(reply) => reply.rule()?.0,
            Err(error) => return is_measured.then_some(Err(error)),
        };
        let opened = opens.elapsed();
        let lives = async {
            let mut next = refreshed_from;
            while next < ends {
                tokio::time::sleep_until(next).await;
                let refreshed = self.change(rule, self.lifetime).await?;
                next += if refreshed { self.refresh } else { AGAIN.min(self.refresh) };
            }
            tokio::time::sleep_until(ends).await;
            self.change(rule, Lifetime::ZERO).await
        };
        // After the time measured the rest of its life is of no interest.
        let lived = tokio::time::timeout_at(self.measures_until, lives).await;
        match lived {
            Ok(Err(error)) => Some(Err(error)),
            Ok(Ok(_)) | Err(_) => is_measured.then_some(Ok(opened)),
        }
    }

    async fn again_and_again(self: Arc<Self>) -> Vec<Opening> {
        let mut openings = Vec::new();
        while Instant::now() < self.measures_until {
            let start = Instant::now();
            let reply = self.request(PolicyRequest::Enable(lab::pinhole(self.lifetime))).await;
            openings.push(reply.as_ref().map(|_| start.elapsed()).map_err(|error| *error));
            match reply {
                Ok(reply) => {
                    let Some((rule, _)) = reply.rule() else { break };
                    if let Err(error) = self.change(rule, Lifetime::ZERO).await {
                        openings.push(Err(error));
                        break;
                    }
                }
                Err(error) if is_break(error) => tokio::time::sleep(AGAIN).await,
                Err(_) => break,
            }
        }
        openings
    }

    /// Changes the lifetime of a rule (PLC); returns whether there was a session to do it in. Without one the
    /// rule has its lifetime until the next attempt.
    async fn change(&self, rule: PolicyRuleId, lifetime: Lifetime) -> Result<bool, RequestError> {
        match self.request(PolicyRequest::LifetimeChange { rule, lifetime }).await {
            Ok(_) => Ok(true),
            Err(error) if is_break(error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn request(&self, request: PolicyRequest) -> Result<PolicyReply, RequestError> {
        let reply = self.agent.request(request).await?;
        let now = Instant::now();
        if now >= self.measures_from && now < self.measures_until {
            self.transactions.fetch_add(1, Ordering::Relaxed);
        }
        Ok(reply)
    }
}

/// Returns whether a request failed because the session broke, which the agent mends.
fn is_break(error: RequestError) -> bool {
    match error {
        RequestError::NotConnected | RequestError::Closed(_) => true,
        RequestError::Refused(_) => false,
    }
}

/// Counts the sessions behind the first one.
async fn count_sessions(mut events: AgentEvents, reconnections: Arc<AtomicU64>) {
    let mut sessions = 0_u64;
    while let Some(event) = events.next().await {
        if matches!(event, AgentEvent::Opened { .. }) {
            reconnections.store(sessions, Ordering::Relaxed);
            sessions += 1;
        }
    }
}

/// Returns exponential spans with this mean.
fn spans(mean: Duration, seed: u64) -> Result<ExponentialSpans, UsageError> {
    ExponentialSpans::new(mean, seed).map_err(|error| {
        UsageError::value("--opening-rate", format!("{mean:?}"), &error.to_string(), "take a lower one")
    })
}

/// Returns the whole number next to a mean.
fn whole(mean: f64) -> u64 {
    // Whole seconds make a whole number without a cast; what is beyond is beyond every machine.
    Duration::try_from_secs_f64(mean.round()).map_or(u64::MAX, |span| span.as_secs())
}

impl Report {
    fn text(&self) -> String {
        let [run] = &self.runs;
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2} ms"));
        let ResponseResult { mean, p50, p99, max, .. } = &run.response_ms;
        let breaks = match run.reconnections {
            0 => String::new(),
            count => format!("connected anew {count} times\n"),
        };
        format!(
            "{}: {} PER, {} failed, {:.1} PER/s, {:.1} transactions/s\n\
             response: mean {}, median {}, p99 {}, max {}\n{breaks}",
            run.id,
            run.requests,
            run.failed,
            run.per_per_s,
            run.transactions_per_s,
            ms(*mean),
            ms(*p50),
            ms(*p99),
            ms(*max),
        )
    }
}

/// The wait before trying again what broke with the session.
const AGAIN: Duration = Duration::from_millis(200);
const LEAD: Duration = Duration::from_millis(500);
const DRAIN: Duration = Duration::from_secs(10);
/// How fast pinholes of the long run are opened before the time measured.
const PREFILL_PER_S: f64 = 2000.0;
const LONGEST_REFRESH: Duration = Duration::from_secs(7 * 24 * 3600);
