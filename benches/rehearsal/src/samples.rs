//! Samples of the server's resources, and how fast these grow.

use crate::process::Usage;

/// The share of a process's time after which its samples count: until then the connections of its visitors pile up, and its
/// memory with them.
const WARM_UP: f64 = 0.25;

/// The resources of the server at a moment.
#[derive(Clone, Copy)]
struct Sample {
    /// Hours since the start.
    hours: f64,
    usage: Usage,
}

/// The samples of all processes of the server, from one restart to the next.
#[derive(Default)]
pub(crate) struct Samples(Vec<Vec<Sample>>);

/// A resource: its name, its unit and its value.
type Field = (&'static str, &'static str, fn(&Usage) -> f64);

const FIELDS: [Field; 3] = [
    ("memory", "MB", |usage| usage.memory),
    ("open files", "", |usage| usage.open_files),
    ("threads", "", |usage| usage.threads),
];

impl Samples {
    /// Begins the samples of a process.
    pub(crate) fn begin(&mut self) {
        self.0.push(Vec::new());
    }

    /// Adds a sample of the last process.
    pub(crate) fn add(&mut self, hours: f64, usage: Usage) {
        if let Some(process) = self.0.last_mut() {
            process.push(Sample { hours, usage });
        }
    }

    /// Prints the median of each resource and its growth per hour in each process, and its growth between processes.
    pub(crate) fn print(&self) {
        println!(
            "| process | memory | growth per hour | open files | growth per hour | threads | growth per hour |"
        );
        println!("|---|---|---|---|---|---|---|");
        let processes = (1..).zip(self.0.iter().map(|it| without_warm_up(it)));
        let processes: Vec<_> = processes.filter(|(_, it)| it.len() > 2).collect();
        let mut slopes = [const { Vec::new() }; 3];
        let mut medians = [const { Vec::new() }; 3];
        for (number, samples) in &processes {
            print!("| {number} |");
            for (field, (_, unit, value)) in FIELDS.iter().enumerate() {
                let points: Vec<_> = samples
                    .iter()
                    .map(|it| (it.hours, value(&it.usage)))
                    .collect();
                let (median, slope) = (median(points.iter().map(|it| it.1)), slope(&points));
                print!(" {median:.1} {unit} | {slope:+.1} |");
                slopes[field].push(slope);
                medians[field].push((mean(points.iter().map(|it| it.0)), median));
            }
            println!();
        }
        print!("| between processes |");
        for (field, (_, unit, _)) in FIELDS.iter().enumerate() {
            let middle = median(medians[field].iter().map(|it| it.1));
            print!(" {middle:.1} {unit} | {:+.1} |", slope(&medians[field]));
        }
        println!();
        for (field, (name, unit, _)) in FIELDS.iter().enumerate() {
            println!(
                "{name}: {:+.2} {unit} per hour within a process (median), {:+.2} between processes",
                median(slopes[field].iter().copied()),
                slope(&medians[field])
            );
        }
    }
}

fn without_warm_up(samples: &[Sample]) -> &[Sample] {
    let warm = (samples.len() as f64 * WARM_UP).ceil() as usize;
    samples.get(warm..).unwrap_or_default()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<_> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the slope of the least-squares line through points, or NaN for fewer than two.
fn slope(points: &[(f64, f64)]) -> f64 {
    let (x, y) = (
        mean(points.iter().map(|it| it.0)),
        mean(points.iter().map(|it| it.1)),
    );
    let rise: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let run: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    rise / run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_slope_of_noisy_points() {
        let points: Vec<_> = (0..100)
            .map(|it| (f64::from(it), 3.0 * f64::from(it) + f64::from(it % 2)))
            .collect();
        assert!((slope(&points) - 3.0).abs() < 0.01);
        assert!(slope(&[(1.0, 1.0)]).is_nan());
    }

    #[test]
    fn samples_of_the_warm_up_do_not_count() {
        let usage = Usage {
            memory: 1.0,
            open_files: 1.0,
            threads: 1.0,
        };
        let sample = |hours| Sample { hours, usage };
        let samples: Vec<_> = (0..8).map(|it| sample(f64::from(it))).collect();
        assert_eq!(without_warm_up(&samples)[0].hours, 2.0);
    }
}
