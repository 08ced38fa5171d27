use core::time::Duration;
use lab::{Backend, BackendChoice, CompareConfig, Simulator};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut c = CompareConfig::default();
    c.profile = a[1].clone();
    c.transports = a[2].parse().unwrap();
    c.traffic.interval = Duration::from_secs_f64(1.0 / a[3].parse::<f64>().unwrap());
    let n: f64 = a[4].parse().unwrap();
    c.traffic.duration = c.traffic.interval.mul_f64(n);
    if let Some(p) = a.get(5) {
        let p: f64 = p.parse().unwrap();
        let l = netem::Probability::new(p).map_or(netem::Loss::default(), netem::Loss::Bernoulli);
        c.request_path.loss = l.clone();
        c.response_path.loss = l;
    }
    if let Some(sd) = a.get(6) {
        c.seed = sd.parse().unwrap();
    }
    c.backend = BackendChoice::Simulator;
    let t = std::time::Instant::now();
    let transports = c.transports.as_slice().to_vec();
    let out = if std::env::var("NS").is_ok() {
        lab::Namespaces.run(&c, &transports).unwrap()
    } else {
        Simulator.run(&c, &transports).unwrap()
    };
    println!("delay {:?}", out.delay);
    for r in &out.runs {
        let mut v: Vec<f64> =
            r.samples.iter().filter_map(|s| s.response.map(|d| d.as_secs_f64() * 1e3)).collect();
        let n = v.len();
        let mean = v.iter().sum::<f64>() / n as f64;
        v.sort_by(f64::total_cmp);
        let over = v.iter().filter(|x| **x > 500.0).count();
        println!(
            "{:16} n={} of {} mean {:.3} p50 {:.2} p99 {:.2} p999 {:.2} max {:.1} >500ms {} pk {:?} {:?}",
            r.transport.to_string(),
            n,
            r.samples.len(),
            mean,
            v[n / 2],
            v[n * 99 / 100],
            v[n * 999 / 1000],
            v[n - 1],
            over,
            r.packets.unwrap(),
            r.ended_early
        );
    }
    println!("wall {:?}", t.elapsed());
}
