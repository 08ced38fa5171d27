//! The simulator's loop, timed by criterion: events of trivial hosts, packets of the SCTP that ships, and a run of a plan.
#![allow(missing_docs, reason = "criterion's macros make functions without documentation")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use headway_benches::simulator::{TYPICAL, advance, events, sctp, study};
use netsim::{Host, World};

/// Packets per iteration.
const PACKETS: u64 = 100_000;

fn simulator(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulator");
    group.sample_size(20);
    let mut loops = events::world(TYPICAL).expect("a world of ours");
    group.throughput(Throughput::Elements(events_of(&mut loops)));
    group.bench_function("events, trivial hosts", |bencher| bencher.iter(|| advance(&mut loops, PACKETS)));
    group.throughput(Throughput::Elements(PACKETS));
    group.bench_function("packets, SCTP", |bencher| {
        let world = || sctp::world(TYPICAL).expect("a world of ours");
        bencher.iter_batched_ref(world, |world| advance(world, PACKETS), BatchSize::LargeInput);
    });
    let scenario = study::scenario().expect("a plan of ours");
    group.throughput(Throughput::Elements(study::run(&scenario).expect("a run of ours")));
    group.bench_function("packets, a run of a plan", |bencher| bencher.iter(|| study::run(&scenario)));
    group.finish();
}

/// Events per iteration.
fn events_of<H: Host>(world: &mut World<H>) -> u64 {
    let before = world.counters().events;
    advance(world, PACKETS);
    world.counters().events - before
}

criterion_group!(benches, simulator);
criterion_main!(benches);
