//! `make soak`: the site in use for an hour, with everything that an owner does, and restarts.

use std::{
    path::PathBuf,
    process::exit,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use tokio::task::LocalSet;

use crate::{
    environment::{CALIBRATION_DURATION, CALIBRATION_RATE, Protocol, TestEnvironment},
    expected_list::{Differences, ExpectedList},
    load::{self, Measurements},
    owner::Owner,
    process::usage,
    rate_profile::RateProfile,
    samples::Samples,
    server::RELEASE,
    visit::{Metric, Visitors},
};

/// The longest time from one restart to the next.
const RESTART_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// A short soak has at least this many restarts.
const MIN_RESTARTS: u32 = 4;
/// How often the owner exports, imports and erases between two restarts.
const TURNS_PER_RESTART: u32 = 9;
/// The turn after which the owner looks at the list.
const REPORT_TURN: u32 = 4;
/// How often the server's resources are sampled between two restarts.
const SAMPLES: u32 = 120;

#[derive(clap::Args)]
pub(crate) struct SoakArgs {
    /// The directory with the release
    #[arg(long, default_value = RELEASE)]
    release: PathBuf,
    /// Duration in minutes
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Visits per second. Otherwise half of those that would take all of a processor
    #[arg(long)]
    rate: Option<f64>,
    /// Chooses a rate at which the site and its visitors take at most this share of a processor, such as 0.33
    #[arg(long, conflicts_with = "rate")]
    processors: Option<f64>,
}

pub(crate) fn run(args: &SoakArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(LocalSet::new().run_until(soak(args)))
}

async fn soak(args: &SoakArgs) -> anyhow::Result<()> {
    let expected = Arc::new(ExpectedList::default());
    let environment = TestEnvironment::open(
        Protocol::Http1,
        &args.release,
        None,
        &[],
        Some(Arc::clone(&expected) as _),
    )
    .await?;
    let rate = match args.rate {
        Some(rate) => rate,
        None => choose_rate(&environment, args.processors).await?,
    };
    let duration = Duration::from_secs_f64(args.minutes * 60.0);
    println!("{} minutes, {rate:.0} visits per second\n", args.minutes);
    let visitors = Arc::clone(&environment.visitors);
    let mut owner = Owner::new(
        environment.run_directory,
        environment.socket,
        environment.server,
        expected,
    );
    // The owner's commands block, and visitors must not wait for them.
    let owner = thread::spawn(move || match run_owner(&mut owner, duration) {
        Ok(samples) => (owner, samples),
        Err(error) => {
            // Otherwise the visits would go on without a site.
            drop(owner);
            eprintln!("the owner: {error:#}");
            exit(1);
        }
    });
    let measurements = visit(visitors, rate, duration).await;
    // First: the owner stops the server.
    let owner = owner.join().ok().context("the owner's thread panicked")?;
    let measurements = measurements?;
    let (mut owner, (samples, between)) = owner;
    report(&mut owner, &measurements, &samples, between)
}

/// Returns half of the rate that would take all of a processor, or less.
async fn choose_rate(
    environment: &TestEnvironment,
    processors: Option<f64>,
) -> anyhow::Result<f64> {
    let run = environment
        .run(
            RateProfile::constant(CALIBRATION_DURATION),
            CALIBRATION_RATE,
        )
        .await?;
    let errors = &run.measurements.errors;
    ensure!(errors.is_empty(), "visitors met errors: {errors:?}");
    let half = run.capacity() / 2.0;
    let site: f64 = run.milliseconds_per_visit().iter().sum();
    let load = run.load_milliseconds_per_visit();
    println!("a visit takes {site:.2} ms of a processor, and {load:.2} ms more to simulate it");
    let limit = processors.map(|it| it * 1e3 / (site + load));
    Ok(limit.map_or(half, |limit| limit.min(half)))
}

/// Simulates visits, in parts: Goose creates all users of a part at its start.
async fn visit(
    visitors: Arc<Visitors>,
    rate: f64,
    duration: Duration,
) -> anyhow::Result<Vec<Measurements>> {
    let part = Duration::from_secs(60).min(duration);
    let started = tokio::time::Instant::now();
    let mut parts = Vec::new();
    let mut offset = Duration::ZERO;
    while offset < duration {
        tokio::time::sleep_until(started + offset).await;
        let part = part.min(duration - offset);
        let arrivals = RateProfile::constant(part).arrivals(rate, rand::random());
        // The last visits of a part overlap the first ones of the next.
        let run = load::run(Arc::clone(&visitors), arrivals);
        parts.push(tokio::task::spawn_local(run));
        offset += part;
    }
    let mut measurements = Vec::new();
    for part in parts {
        measurements.push(part.await??);
    }
    Ok(measurements)
}

/// Does what an owner does, samples the server, and returns the samples and the differences found between restarts.
fn run_owner(owner: &mut Owner, duration: Duration) -> anyhow::Result<(Samples, Vec<Differences>)> {
    let restart_interval = RESTART_INTERVAL.min(duration / MIN_RESTARTS);
    let started = Instant::now();
    let (mut samples, mut differences) = (Samples::default(), Vec::new());
    let hours = || started.elapsed().as_secs_f64() / 3600.0;
    while started.elapsed() + restart_interval / 2 < duration {
        let began = Instant::now();
        samples.begin();
        for turn in 0..TURNS_PER_RESTART {
            let until = restart_interval * (turn + 1) / (TURNS_PER_RESTART + 1);
            while began.elapsed() < until {
                samples.add(hours(), usage(owner.server.id())?);
                thread::sleep(restart_interval / SAMPLES);
            }
            owner.export_import_erase()?;
            if turn == REPORT_TURN {
                owner.run_reports()?;
            }
        }
        while began.elapsed() < restart_interval {
            samples.add(hours(), usage(owner.server.id())?);
            thread::sleep(restart_interval / SAMPLES);
        }
        let last = usage(owner.server.id())?;
        let stopped = Instant::now();
        owner.restart()?;
        let gap = stopped.elapsed();
        let compared = owner.compare()?;
        let people = owner.expected.snapshot().count();
        println!(
            "after {:.1} minutes: {last:?}, restarted in {gap:.1?}, {people} people, {compared:?}",
            hours() * 60.0
        );
        differences.push(compared);
    }
    Ok((samples, differences))
}

fn report(
    owner: &mut Owner,
    measurements: &[Measurements],
    samples: &Samples,
    mut differences: Vec<Differences>,
) -> anyhow::Result<()> {
    samples.print();
    differences.push(owner.compare()?);
    let status = owner.server.stop()?;
    ensure!(status.success(), "the server has stopped with {status}");
    owner.read_log()?;
    let expected = owner.expected.snapshot();
    let visits: usize = measurements.iter().map(Measurements::visits).sum();
    println!(
        "\n{visits} visits, {} people on the list, {} erased",
        expected.count(),
        expected.erased()
    );
    println!("the owner: {:?}", owner.commands);
    for metric in Metric::ALL {
        let times: Vec<_> = measurements
            .iter()
            .filter_map(|it| it.times(metric))
            .collect();
        let worst = |value: fn(&load::Times) -> f64| times.iter().map(value).fold(0.0, f64::max);
        println!(
            "{}: p50 at most {:.1} ms, p99 at most {:.1} ms in any minute, longest {:.0} ms",
            metric.name(),
            worst(|it| it.p50),
            worst(|it| it.p99),
            worst(|it| it.longest)
        );
    }
    let is_complete = differences.iter().all(|it| *it == Differences::default());
    println!(
        "the list, compared {} times: {}",
        differences.len(),
        match is_complete {
            true => "everybody is on it once".to_owned(),
            false => format!("{differences:?}"),
        }
    );
    let mut errors = 0;
    for (error, count) in measurements.iter().flat_map(|it| &it.errors) {
        errors += count;
        println!("error of a visitor, {count} times: {error}");
    }
    for (warning, count) in &owner.warnings {
        println!("log, {count} times: {warning}");
    }
    println!("errors: {errors}");
    ensure!(
        is_complete && errors == 0,
        "people are missing, or visitors met errors, see above"
    );
    let count = owner.count()?;
    ensure!(
        count == expected.count(),
        "the count is {count} instead of {}",
        expected.count()
    );
    Ok(())
}
