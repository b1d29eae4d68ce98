//! `make rehearse`: the visits per second that one processor can serve, and a front page at that rate.

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;

use crate::{
    environment::{CALIBRATION_DURATION, CALIBRATION_RATE, Protocol, Run, TestEnvironment},
    process::{allowed_processors, pin_this_process},
    rate_profile::RateProfile,
    server::RELEASE,
    visit::Metric,
};

/// Visitors come as from the front page of a news site: soon all at once, for a while, and then less.
const FRONT_PAGE: RateProfile = RateProfile {
    ramp_up: Duration::from_secs(10),
    steady: Duration::from_secs(30),
    ramp_down: Duration::from_secs(10),
};
/// Duration of the arrivals while the rate is searched.
const PROBE_DURATION: Duration = Duration::from_secs(10);
/// The rates that are tried, as parts of what the processor time of a visit allows.
const FIRST_UTILIZATION: f64 = 0.85;
const UTILIZATION_STEP: f64 = 0.1;
const UTILIZATIONS: std::ops::RangeInclusive<f64> = 0.3..=1.3;
/// How often the front page is tried, each time with a lower rate.
const ATTEMPTS: u32 = 3;

#[derive(clap::Args)]
pub(crate) struct RehearseArgs {
    /// The directory with the release
    #[arg(long, default_value = RELEASE)]
    release: PathBuf,
    /// The highest rate of arrivals, in visits per second. Otherwise it is searched
    #[arg(long)]
    rate: Option<f64>,
    /// How visitors reach the site. Otherwise both are measured
    #[arg(long, value_enum)]
    protocol: Option<Protocol>,
    /// A further option of the server, such as --max-connections=16384
    #[arg(long = "option", allow_hyphen_values = true)]
    options: Vec<String>,
}

pub(crate) fn run(args: &RehearseArgs) -> anyhow::Result<()> {
    let processors = allowed_processors()?;
    let [site, visitors, ..] = processors[..] else {
        anyhow::bail!("a rehearsal needs two processors: one for the site, one for its visitors");
    };
    pin_this_process(visitors)?;
    println!("site on processor {site}, visitors on processor {visitors}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut is_good = true;
    for protocol in args
        .protocol
        .map_or(Protocol::ALL.to_vec(), |protocol| vec![protocol])
    {
        is_good &= runtime.block_on(rehearse(protocol, site, args))?;
    }
    ensure!(is_good, "visitors had to wait or met errors, see above");
    Ok(())
}

async fn rehearse(protocol: Protocol, processor: u32, args: &RehearseArgs) -> anyhow::Result<bool> {
    let environment = TestEnvironment::open(
        protocol,
        &args.release,
        Some(processor),
        &args.options,
        None,
    )
    .await?;
    println!(
        "\n## {}\n\n{:.1} requests a visit on average",
        protocol.name(),
        environment.visitors.requests_per_visit()
    );
    let Some(rate) = args.rate else {
        return search(&environment).await;
    };
    let run = environment.run(FRONT_PAGE, rate).await?;
    print_front_page(&environment, &run)?;
    Ok(run.meets_goals())
}

/// Finds the highest rate of a front page at which responses are fast enough, and prints what a visit costs.
async fn search(environment: &TestEnvironment) -> anyhow::Result<bool> {
    let calibration = RateProfile::constant(CALIBRATION_DURATION);
    let mut probes = vec![environment.run(calibration, CALIBRATION_RATE).await?];
    let capacity = probes[0].capacity();
    let (mut utilization, mut best) = (FIRST_UTILIZATION, None);
    while UTILIZATIONS.contains(&utilization) {
        let probe = environment
            .run(
                RateProfile::constant(PROBE_DURATION),
                capacity * utilization,
            )
            .await?;
        let (is_good, rate) = (probe.meets_goals(), probe.rate);
        probes.push(probe);
        if is_good {
            best = Some(rate);
        }
        let has_failed = probes[1..].iter().any(|probe| !probe.meets_goals());
        if has_failed && best.is_some() {
            break;
        }
        utilization += if is_good {
            UTILIZATION_STEP
        } else {
            -UTILIZATION_STEP
        };
    }
    print_probes(&probes);
    let best = best.unwrap_or(CALIBRATION_RATE);
    for attempt in 0..ATTEMPTS {
        let rate = best * (1.0 - UTILIZATION_STEP * f64::from(attempt));
        let run = environment.run(FRONT_PAGE, rate).await?;
        print_front_page(environment, &run)?;
        if run.meets_goals() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn print_probes(probes: &[Run]) {
    println!(
        "\n| visits/s | longest p99 | start delay, p99 | errors | site's processor while visitors arrive | load generator's | processor time of a visit: site | load generator |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for probe in probes {
        print_probe(probe);
    }
    for probe in probes {
        print_errors(probe);
        if !probe.meets_goals() && probe.is_limited_by_load() {
            println!(
                "at {:.0} visits per second, the visitors' processor is the limit",
                probe.rate
            );
        }
    }
    println!(
        "the processor time of a visit allows {:.0} visits per second",
        probes[0].capacity()
    );
}

fn print_front_page(environment: &TestEnvironment, run: &Run) -> anyhow::Result<()> {
    println!("\nfront page, up to {:.0} visits per second:\n", run.rate);
    print_table(run);
    let [server, proxy] = environment.peak_memory()?;
    let [server_time, proxy_time] = run.milliseconds_per_visit();
    println!(
        "\nprocessor: {server_time:.2} ms a visit for the server, {proxy_time:.2} ms for Caddy"
    );
    println!("memory: at most {server:.0} MB for the server, {proxy:.0} MB for Caddy");
    println!("304: {} responses", run.measurements.not_modified);
    print_errors(run);
    Ok(())
}

fn print_probe(run: &Run) {
    let [site, load] = run.utilization;
    let [server, proxy] = run.milliseconds_per_visit();
    println!(
        "| {:.0} | {:.1} ms | {:.1} ms | {} | {:.0} % | {:.0} % | {:.2} ms | {:.2} ms |",
        run.rate,
        run.measurements.worst_p99(),
        run.measurements
            .times(Metric::StartDelay)
            .map_or(0.0, |it| it.p99),
        run.measurements.errors.values().sum::<usize>(),
        site * 100.0,
        load * 100.0,
        server + proxy,
        run.load_milliseconds_per_visit(),
    );
}

fn print_table(run: &Run) {
    println!("| | number | p50 | p99 | longest |");
    println!("|---|---|---|---|---|");
    for metric in Metric::ALL {
        if let Some(times) = run.measurements.times(metric) {
            println!(
                "| {} | {} | {:.1} ms | {:.1} ms | {:.0} ms |",
                metric.name(),
                times.count,
                times.p50,
                times.p99,
                times.longest
            );
        }
    }
}

fn print_errors(run: &Run) {
    for (error, count) in &run.measurements.errors {
        println!("error, {count} times: {error}");
    }
}
