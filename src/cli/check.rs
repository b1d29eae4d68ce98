//! `landing check`: reads the whole list and says what is wrong with it.

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::waitlist::{Email, Entry, Selection, SledWaitlist, Waitlist};

/// A clock may be wrong by so much before a time is not plausible.
const CLOCK_ERROR: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the list is.
#[derive(clap::Args)]
pub(super) struct Check {
    /// Directory of the waitlist, which no server may be using
    #[arg(long, env = "LANDING_DATA", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

pub(super) fn run(Check { data }: &Check) -> Result<(), String> {
    if !SledWaitlist::is_in(data).unwrap_or_default() {
        let data = data.display();
        return Err(format!(
            "there is no waitlist in {data}; name its place with --data"
        ));
    }
    let (count, faults) = check(data).map_err(|error| error.to_string())?;
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => {
            println!("{count} on the list, nothing wrong");
            Ok(())
        }
        faults => Err(format!(
            "{faults} of {count} on the list are not right, see above"
        )),
    }
}

/// How many entries there are, and what is wrong with some. That they are all there and undamaged is
/// seen to when the list is opened.
fn check(data: &Path) -> Result<(u64, Vec<String>), Box<dyn Error>> {
    let list = SledWaitlist::open(data)?;
    let latest = SystemTime::now() + CLOCK_ERROR;
    let (mut read, mut faults) = (0, Vec::new());
    for entry in list.entries(Selection::default())? {
        let Entry { email, joined_at } = entry?;
        read += 1;
        if let Err(why) = Email::parse(email.as_typed()) {
            faults.push(format!("entry {read}, in the order of joining: {why}"));
        }
        if joined_at > latest {
            faults.push(format!(
                "entry {read}, in the order of joining: its time is to come"
            ));
        }
    }
    if read != list.count() {
        faults.push(format!("{read} entries are counted as {}", list.count()));
    }
    Ok((read, faults))
}
