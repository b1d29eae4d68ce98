//! `make rehearse`: the visits per second that one processor can serve, and a front page at that rate.

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;

use crate::{
    arrivals::Shape,
    process::{allowed_processors, pin_this_process},
    server::RELEASE,
    stage::{Run, Stage, Way},
    visit::Kind,
};

/// Visitors come as from the front page of a news site: soon all at once, for a while, and then less.
const FRONT_PAGE: Shape = Shape {
    rise: Duration::from_secs(10),
    hold: Duration::from_secs(30),
    fall: Duration::from_secs(10),
};
/// Duration of the arrivals while the rate is searched.
const PROBE: Duration = Duration::from_secs(10);
/// The rate that tells what a visit costs.
const CALM_RATE: f64 = 40.0;
/// The rates that are tried, as shares of what the processor time of a visit allows.
const FIRST_SHARE: f64 = 0.85;
const SHARE_STEP: f64 = 0.1;
const SHARES: std::ops::RangeInclusive<f64> = 0.3..=1.3;
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
    way: Option<Way>,
    /// A further option of the server, such as --max-connections=16384
    #[arg(long = "option", allow_hyphen_values = true)]
    options: Vec<String>,
}

pub(crate) fn run(args: &RehearseArgs) -> anyhow::Result<()> {
    let processors = allowed_processors()?;
    let [site, load, ..] = processors[..] else {
        anyhow::bail!("a rehearsal needs two processors: one for the site, one for its visitors");
    };
    pin_this_process(load)?;
    println!("site on processor {site}, visitors on processor {load}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut is_good = true;
    for way in args.way.map_or(Way::ALL.to_vec(), |way| vec![way]) {
        is_good &= runtime.block_on(rehearse(way, site, args))?;
    }
    ensure!(is_good, "visitors had to wait or met errors, see above");
    Ok(())
}

async fn rehearse(way: Way, processor: u32, args: &RehearseArgs) -> anyhow::Result<bool> {
    let stage = Stage::open(way, &args.release, Some(processor), &args.options, None).await?;
    println!(
        "\n## {}\n\n{:.1} requests a visit on average",
        way.name(),
        stage.visitors.requests_per_visit()
    );
    let Some(rate) = args.rate else {
        return search(&stage).await;
    };
    let run = stage.run(FRONT_PAGE, rate).await?;
    print_front_page(&stage, &run)?;
    Ok(run.is_good())
}

/// Finds the highest rate of a front page at which responses are fast enough, and prints what a visit costs.
async fn search(stage: &Stage) -> anyhow::Result<bool> {
    let mut probes = vec![stage.run(Shape::constant(PROBE), CALM_RATE).await?];
    let capacity = probes[0].capacity();
    let (mut share, mut best) = (FIRST_SHARE, None);
    while SHARES.contains(&share) {
        let probe = stage.run(Shape::constant(PROBE), capacity * share).await?;
        let (is_good, rate) = (probe.is_good(), probe.rate);
        probes.push(probe);
        if is_good {
            best = Some(rate);
        }
        let has_failed = probes.iter().any(|probe| !probe.is_good());
        if has_failed && best.is_some() {
            break;
        }
        share += if is_good { SHARE_STEP } else { -SHARE_STEP };
    }
    print_probes(&probes);
    let best = best.unwrap_or(CALM_RATE);
    for attempt in 0..ATTEMPTS {
        let rate = best * (1.0 - SHARE_STEP * f64::from(attempt));
        let run = stage.run(FRONT_PAGE, rate).await?;
        print_front_page(stage, &run)?;
        if run.is_good() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn print_probes(probes: &[Run]) {
    println!(
        "\n| visits/s | longest p99 | late starts, p99 | errors | site's processor | visitors' | a visit of the site | of visitors |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for probe in probes {
        print_probe(probe);
    }
    for probe in probes {
        print_errors(probe);
        if !probe.is_good() && probe.is_limited_by_load() {
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

fn print_front_page(stage: &Stage, run: &Run) -> anyhow::Result<()> {
    println!("\nfront page, up to {:.0} visits per second:\n", run.rate);
    print_table(run);
    let [server, proxy] = stage.peak_memory()?;
    let [server_time, proxy_time] = run.milliseconds_per_visit();
    println!(
        "\nprocessor: {server_time:.2} ms a visit for the server, {proxy_time:.2} ms for Caddy"
    );
    println!("memory: at most {server:.0} MB for the server, {proxy:.0} MB for Caddy");
    println!("304: {} responses", run.figures.not_modified);
    print_errors(run);
    Ok(())
}

fn print_probe(run: &Run) {
    let [site, load] = run.busy();
    let [server, proxy] = run.milliseconds_per_visit();
    println!(
        "| {:.0} | {:.1} ms | {:.1} ms | {} | {:.0} % | {:.0} % | {:.2} | {:.2} |",
        run.rate,
        run.figures.worst_p99(),
        run.figures.times(Kind::Lateness).map_or(0.0, |it| it.p99),
        run.figures.errors.values().sum::<usize>(),
        site * 100.0,
        load * 100.0,
        server + proxy,
        run.load_milliseconds_per_visit(),
    );
}

fn print_table(run: &Run) {
    println!("| | number | p50 | p99 | longest |");
    println!("|---|---|---|---|---|");
    for kind in Kind::ALL {
        if let Some(times) = run.figures.times(kind) {
            println!(
                "| {} | {} | {:.1} ms | {:.1} ms | {:.0} ms |",
                kind.name(),
                times.count,
                times.p50,
                times.p99,
                times.longest
            );
        }
    }
}

fn print_errors(run: &Run) {
    for (error, count) in &run.figures.errors {
        println!("error, {count} times: {error}");
    }
}
