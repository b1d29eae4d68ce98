//! When the visitors of a run arrive: at random moments, at a rate that may change.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};

/// The rate of arrivals over time, as a share of the highest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateProfile {
    /// How long the rate rises from nothing.
    pub(crate) ramp_up: Duration,
    /// How long it stays at its highest.
    pub(crate) steady: Duration,
    /// How long it falls to nothing.
    pub(crate) ramp_down: Duration,
}

impl RateProfile {
    pub(crate) fn constant(steady: Duration) -> Self {
        let (ramp_up, ramp_down) = (Duration::ZERO, Duration::ZERO);
        Self {
            ramp_up,
            steady,
            ramp_down,
        }
    }

    pub(crate) fn duration(&self) -> Duration {
        self.ramp_up + self.steady + self.ramp_down
    }

    /// Returns the rate at a moment, as a share of the highest.
    fn share_at(&self, moment: Duration) -> f64 {
        if moment < self.ramp_up {
            return moment.as_secs_f64() / self.ramp_up.as_secs_f64();
        }
        if moment < self.ramp_up + self.steady {
            return 1.0;
        }
        let left = self.duration().saturating_sub(moment);
        left.as_secs_f64() / self.ramp_down.as_secs_f64()
    }

    /// Returns the arrivals of a run, from its start. They are independent of each other, as people are: a Poisson
    /// process whose highest rate is `rate` a second. The same seed returns the same arrivals.
    pub(crate) fn arrivals(&self, rate: f64, seed: u64) -> Vec<Duration> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut arrivals = Vec::new();
        let mut moment = Duration::ZERO;
        loop {
            let pause = -(1.0 - random.random::<f64>()).ln() / rate;
            moment += Duration::from_secs_f64(pause);
            if moment >= self.duration() {
                return arrivals;
            }
            if random.random::<f64>() < self.share_at(moment) {
                arrivals.push(moment);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: RateProfile = RateProfile {
        ramp_up: Duration::from_secs(10),
        steady: Duration::from_secs(30),
        ramp_down: Duration::from_secs(20),
    };

    fn count_between(arrivals: &[Duration], from: u64, to: u64) -> usize {
        let window = Duration::from_secs(from)..Duration::from_secs(to);
        arrivals.iter().filter(|it| window.contains(*it)).count()
    }

    #[test]
    fn arrivals_follow_the_shape() {
        let arrivals = PROFILE.arrivals(1000.0, 1);
        assert!(arrivals.is_sorted());
        // A triangle, a square and a triangle; the counts of a Poisson process vary by their square root.
        for (from, to, expected) in [(0, 10, 5_000), (10, 40, 30_000), (40, 60, 10_000)] {
            let count = count_between(&arrivals, from, to);
            let deviation = (expected as f64).sqrt() * 5.0;
            assert!(
                (count as f64 - expected as f64).abs() < deviation,
                "{count} instead of {expected} from {from} to {to}"
            );
        }
    }

    #[test]
    fn arrivals_come_in_bursts() {
        let profile = RateProfile::constant(Duration::from_secs(10));
        let arrivals = profile.arrivals(100.0, 1);
        let pauses = arrivals.windows(2).map(|pair| pair[1] - pair[0]);
        let close = pauses.filter(|pause| *pause < Duration::from_millis(1));
        // A tenth of all pauses. With even arrivals, there would be none.
        assert!(close.count() > 50);
    }
}
