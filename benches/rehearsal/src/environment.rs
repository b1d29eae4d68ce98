//! A site with its visitors, and what a run of visits costs it.

use std::{path::Path, process, sync::Arc, time::Duration};

use anyhow::Context;
use hyper::Request;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;

use crate::{
    browser::{Body, Browser, Target},
    load::{self, LEAD, Measurements},
    process::{cpu_seconds, peak_memory, reset_peak_memory},
    rate_profile::RateProfile,
    server::{Caddy, Program, RunDirectory, SiteSocket, free_port},
    site::SiteFiles,
    visit::{SignUps, Visitors},
};

/// How visitors reach the site.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Protocol {
    /// HTTP/1.1, directly
    Http1,
    /// HTTP/2 over TLS, through Caddy
    #[value(name = "http2")]
    Http2ThroughCaddy,
}

impl Protocol {
    pub(crate) const ALL: [Self; 2] = [Self::Http1, Self::Http2ThroughCaddy];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2ThroughCaddy => "HTTP/2 through Caddy",
        }
    }
}

/// The option of the server that visitors reach directly. The limits on sign-ups and on connections are on: each visitor has
/// its own address.
pub(crate) const ORIGIN_OPTION: &str = "--origin=https://localhost";
/// Its further option behind Caddy, which is exempt from the limit on connections.
const PROXY_OPTION: &str = "--trusted-proxies=127.0.0.1";

/// The p99 that visitors may have, in milliseconds.
const P99_GOAL: f64 = 100.0;
/// A late start of the visitors, p99 in milliseconds, from which on the load generator is the bottleneck.
const START_DELAY_MAX: f64 = 25.0;

/// The duration and the rate of the visits that tell what a visit costs.
pub(crate) const CALIBRATION_DURATION: Duration = Duration::from_secs(10);
pub(crate) const CALIBRATION_RATE: f64 = 40.0;

/// A running site, and everybody who visits it.
pub(crate) struct TestEnvironment {
    pub(crate) server: Program,
    pub(crate) socket: SiteSocket,
    caddy: Option<Caddy>,
    pub(crate) visitors: Arc<Visitors>,
    pub(crate) run_directory: RunDirectory,
}

impl TestEnvironment {
    /// Starts a site with an empty list.
    ///
    /// # Errors
    /// If a program does not start, or the page is built in a way that is not known here.
    pub(crate) async fn open(
        protocol: Protocol,
        release: &Path,
        processor: Option<u32>,
        further_options: &[String],
        sign_ups: Option<Arc<dyn SignUps>>,
    ) -> anyhow::Result<Self> {
        let run_directory = RunDirectory::new(release, processor)?;
        let socket = SiteSocket::bind()?;
        let addr = socket.addr()?;
        let port = free_port()?;
        let options = match protocol {
            Protocol::Http1 => &[ORIGIN_OPTION][..],
            Protocol::Http2ThroughCaddy => &[ORIGIN_OPTION, PROXY_OPTION],
        };
        let further_options = further_options.iter().map(String::as_str);
        let options: Vec<_> = options.iter().copied().chain(further_options).collect();
        let server = socket.serve(&run_directory, &run_directory.path("log"), &options)?;
        let (caddy, target) = match protocol {
            Protocol::Http1 => {
                let origin = format!("http://{addr}");
                (
                    None,
                    Target {
                        addr,
                        origin,
                        tls: None,
                    },
                )
            }
            Protocol::Http2ThroughCaddy => {
                let caddy = Caddy::start(&run_directory, port, addr)?;
                let target = Target {
                    addr: caddy.addr,
                    origin: caddy.origin.clone(),
                    tls: Some(TlsConnector::from(Arc::new(caddy.tls.clone()))),
                };
                (Some(caddy), target)
            }
        };
        let target = Arc::new(target);
        let files = find_files(&target).await?;
        Ok(Self {
            server,
            socket,
            caddy,
            visitors: Arc::new(Visitors::new(target, files, sign_ups)),
            run_directory,
        })
    }

    /// Simulates visits.
    ///
    /// # Errors
    /// If a program has ended. Errors of visits are part of the measurements.
    pub(crate) async fn run(&self, profile: RateProfile, rate: f64) -> anyhow::Result<Run> {
        reset_peak_memory(self.server.id())?;
        if let Some(caddy) = &self.caddy {
            reset_peak_memory(caddy.program.id())?;
        }
        let before = self.processor_times()?;
        let used = || -> anyhow::Result<[f64; 3]> {
            let now = self.processor_times()?;
            Ok([0, 1, 2].map(|it| now[it] - before[it]))
        };
        let arrivals = profile.arrivals(rate, rand::random());
        let duration = LEAD + profile.duration();
        let (measurements, during_arrivals) =
            tokio::join!(load::run(Arc::clone(&self.visitors), arrivals), async {
                sleep(duration).await;
                used()
            });
        let [server, proxy, load] = during_arrivals?;
        let utilization = [server + proxy, load].map(|it| it / duration.as_secs_f64());
        let [server, proxy, load] = used()?;
        Ok(Run {
            rate,
            measurements: measurements?,
            utilization,
            server,
            proxy,
            load,
        })
    }

    /// Returns the highest memory of the server and of the proxy since the last run began, in megabytes. Connections of the
    /// run before may still be open.
    ///
    /// # Errors
    /// If a program has ended.
    pub(crate) fn peak_memory(&self) -> anyhow::Result<[f64; 2]> {
        let proxy = self.caddy.as_ref().map(|it| peak_memory(it.program.id()));
        Ok([
            peak_memory(self.server.id())?,
            proxy.transpose()?.unwrap_or_default(),
        ])
    }

    /// Returns the processor time of the server, the proxy and this program.
    fn processor_times(&self) -> anyhow::Result<[f64; 3]> {
        let proxy = self.caddy.as_ref().map(|it| cpu_seconds(it.program.id()));
        Ok([
            cpu_seconds(self.server.id())?,
            proxy.transpose()?.unwrap_or_default(),
            cpu_seconds(process::id())?,
        ])
    }
}

async fn find_files(target: &Arc<Target>) -> anyhow::Result<SiteFiles> {
    let browser = Browser::new(Arc::clone(target), [127, 0, 0, 2].into());
    let request = match target.tls {
        Some(_) => Request::get(format!("{}/", target.origin)),
        None => Request::get("/").header("host", "localhost"),
    };
    let page = browser.send(&request.body(Body::default())?).await?;
    SiteFiles::of_page(std::str::from_utf8(&page.body).context("the page is not UTF-8")?)
}

/// The result of a run. Processor times are in seconds.
pub(crate) struct Run {
    /// The highest rate of arrivals, in visits per second.
    pub(crate) rate: f64,
    pub(crate) measurements: Measurements,
    /// The shares of their processors that the site and this program have used while visitors arrived.
    pub(crate) utilization: [f64; 2],
    server: f64,
    proxy: f64,
    load: f64,
}

impl Run {
    /// Returns whether nobody met an error, and the p99 of each kind of response is short enough.
    pub(crate) fn meets_goals(&self) -> bool {
        self.measurements.worst_p99() < P99_GOAL && self.measurements.errors.is_empty()
    }

    /// Returns the processor time of a visit on the server and on the proxy, in milliseconds.
    pub(crate) fn milliseconds_per_visit(&self) -> [f64; 2] {
        [self.server, self.proxy].map(|it| it * 1e3 / self.measurements.visits() as f64)
    }

    /// Returns the processor time of a visit on the load generator, in milliseconds.
    pub(crate) fn load_milliseconds_per_visit(&self) -> f64 {
        self.load * 1e3 / self.measurements.visits() as f64
    }

    /// Returns the visits per second that would take all of a processor.
    pub(crate) fn capacity(&self) -> f64 {
        1e3 / self.milliseconds_per_visit().iter().sum::<f64>()
    }

    /// Returns whether the load generator, and not the site, made visitors wait.
    pub(crate) fn is_limited_by_load(&self) -> bool {
        let start_delay = self.measurements.times(crate::visit::Metric::StartDelay);
        let [site, load] = self.utilization;
        load > site && start_delay.is_some_and(|times| times.p99 > START_DELAY_MAX)
    }
}
