//! What a process uses, from `/proc`: processor time, memory, open files, threads.

use std::{fs, process::Command};

use anyhow::{Context, ensure};

/// The resources of a process at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Resident memory in megabytes.
    pub(crate) memory: f64,
    /// Open files and connections.
    pub(crate) open_files: f64,
    pub(crate) threads: f64,
}

/// Returns the resources of a process.
///
/// # Errors
/// If the process does not run.
pub(crate) fn usage(process: u32) -> anyhow::Result<Usage> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        number.with_context(|| format!("/proc/{process}/status has no {name}"))
    };
    Ok(Usage {
        memory: field("VmRSS:")? / 1024.0,
        open_files: fs::read_dir(format!("/proc/{process}/fd"))?.count() as f64,
        threads: field("Threads:")?,
    })
}

/// Makes [`peak_memory`] begin again (proc_pid_clear_refs(5)).
///
/// # Errors
/// If the process does not run.
pub(crate) fn reset_peak_memory(process: u32) -> anyhow::Result<()> {
    Ok(fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}

/// Returns the highest memory of a process since its start or the last reset, in megabytes.
///
/// # Errors
/// If the process does not run.
pub(crate) fn peak_memory(process: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.context("no VmHWM")? / 1024.0)
}

/// Returns the processor time that a process has used so far, in seconds.
///
/// # Errors
/// If the process does not run.
pub(crate) fn cpu_seconds(process: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // After the name in parentheses (proc_pid_stat(5)), utime and stime are the 12th and 13th fields, in hundredths of
    // a second. The first field, the state, is a letter.
    let (_, fields) = stat.rsplit_once(')').context("no name")?;
    let numbers: Vec<f64> = fields.split(' ').flat_map(str::parse).collect();
    let times = numbers.get(10..12).context("no times")?;
    Ok(times.iter().sum::<f64>() / 100.0)
}

/// Returns the processors that this process may run on.
///
/// # Errors
/// If `/proc` cannot be read.
pub(crate) fn allowed_processors() -> anyhow::Result<Vec<u32>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut processors = Vec::new();
    for range in list.context("no Cpus_allowed_list")?.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        processors.extend(first.parse::<u32>()?..=last.parse()?);
    }
    Ok(processors)
}

/// Restricts this process to a processor. Call it before any other thread starts.
///
/// # Errors
/// If taskset fails.
pub(crate) fn pin_this_process(processor: u32) -> anyhow::Result<()> {
    let output = Command::new("taskset")
        .args(["-cp", &processor.to_string()])
        .arg(std::process::id().to_string())
        .output()
        .context("cannot run taskset")?;
    ensure!(output.status.success(), "taskset failed: {output:?}");
    Ok(())
}
