//! An open loop of visits, run and counted by Goose.
//!
//! A Goose user that runs its scenario once is a visit. Goose starts users at an even rate, so it starts them a second
//! early, and each waits for its own arrival. The time of the page counts from that moment. So a visitor who starts late has
//! waited, and no slow response keeps others from arriving.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use anyhow::Context;
use goose::{
    GooseAttack,
    client::GooseClientBuilder,
    config::GooseConfiguration,
    goose::{GooseUser, Scenario, Transaction, TransactionFunction},
    metrics::GooseMetrics,
};
use tokio::time::Instant;

use crate::visit::{Metric, Visitors};

/// How long before its arrival Goose starts a visitor, at the latest.
pub(crate) const LEAD: Duration = Duration::from_secs(1);
/// The method under which Goose keeps the times.
const METHOD: &str = "VISIT";

/// The times of one metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) count: usize,
    /// In milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) longest: f64,
}

/// What a run has measured.
pub(crate) struct Measurements {
    times: BTreeMap<Metric, Times>,
    /// Responses with status 304.
    pub(crate) not_modified: usize,
    /// How often each error occurred.
    pub(crate) errors: BTreeMap<String, usize>,
}

impl Measurements {
    pub(crate) fn times(&self, metric: Metric) -> Option<Times> {
        self.times.get(&metric).copied()
    }

    /// Returns the number of visits.
    pub(crate) fn visits(&self) -> usize {
        self.times(Metric::StartDelay)
            .map_or(0, |times| times.count)
    }

    /// Returns the longest p99 of the responses, in milliseconds.
    pub(crate) fn worst_p99(&self) -> f64 {
        let is_response = |metric: &Metric| !matches!(metric, Metric::Visit | Metric::StartDelay);
        let waits = self.times.iter().filter(|(metric, _)| is_response(metric));
        waits.map(|(_, times)| times.p99).fold(0.0, f64::max)
    }

    fn of(metrics: &GooseMetrics) -> Self {
        let mut measurements = Self {
            times: BTreeMap::new(),
            not_modified: 0,
            errors: BTreeMap::new(),
        };
        for metric in Metric::ALL {
            let Some(request) = metrics.requests.get(&format!("{METHOD} {}", metric.name())) else {
                continue;
            };
            let data = &request.raw_data;
            let milliseconds = |share| data.percentile_us(share) as f64 / 1e3;
            let times = Times {
                count: data.counter,
                p50: milliseconds(0.5),
                p99: milliseconds(0.99),
                longest: milliseconds(1.0),
            };
            measurements.times.insert(metric, times);
            let not_modified = request.status_code_counts.get(&304).copied();
            measurements.not_modified += not_modified.unwrap_or_default();
        }
        for error in metrics.errors.values() {
            let name = format!("{}: {}", error.name, error.error);
            *measurements.errors.entry(name).or_default() += error.occurrences;
        }
        measurements
    }
}

/// Simulates a visit at each of these times after the start.
///
/// # Errors
/// If Goose fails. Errors of visits are part of the measurements.
pub(crate) async fn run(
    visitors: Arc<Visitors>,
    arrivals: Vec<Duration>,
) -> anyhow::Result<Measurements> {
    // The rate of Goose is even, so it must be that of the busiest second.
    let busiest = arrivals
        .iter()
        .enumerate()
        .map(|(number, from)| arrivals[number..].partition_point(|it| *it < *from + LEAD))
        .max();
    let rate = (busiest.unwrap_or_default() as f64 / LEAD.as_secs_f64()).max(1.0);
    let configuration = GooseConfiguration::parse_args_default(&[
        "--host",
        &visitors.target.origin,
        "--users",
        &arrivals.len().to_string(),
        "--increase-rate",
        &rate.to_string(),
        "--iterations",
        "1",
        "--quiet",
        "--no-print-metrics",
        "--no-transaction-metrics",
        "--no-scenario-metrics",
        "--no-telnet",
    ])?;
    let arrivals = Arc::new(arrivals);
    let start = Arc::new(OnceLock::new());
    let function: TransactionFunction = Arc::new(move |user| {
        let visitors = Arc::clone(&visitors);
        let start = *start.get_or_init(|| Instant::now() + LEAD);
        let arrival = start + arrivals[user.weighted_users_index];
        Box::pin(visit(user, visitors, arrival))
    });
    let visit = Scenario::new("visit").register_transaction(Transaction::new(function));
    let attack = GooseAttack::initialize_with_config(configuration)?
        // The visits have browsers of their own.
        .set_client_builder_without_cookies(GooseClientBuilder::new().without_cookies())?
        .register_scenario(visit);
    let metrics = attack.execute().await.context("Goose failed")?;
    Ok(Measurements::of(&metrics))
}

async fn visit(
    user: &mut GooseUser,
    visitors: Arc<Visitors>,
    arrival: Instant,
) -> goose::goose::TransactionResult {
    for sample in visitors.visit(arrival).await {
        let (status, error) = match &sample.outcome {
            Ok(status) => (Some(*status), None),
            Err(error) => (None, Some(error.as_str())),
        };
        let name = sample.metric.name();
        user.record_custom_request_duration(
            METHOD,
            name,
            sample.time,
            error.is_none(),
            status,
            error,
        )
        .await?;
    }
    Ok(())
}
