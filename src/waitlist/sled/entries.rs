//! Reading the list, also while it is written to.

use super::{
    super::{Entry, Selection, StoreError},
    record::{self, Place},
};

/// The selected entries with numbers below `end`.
///
/// One that is erased meanwhile may come or not.
///
/// # Errors
/// [`StoreError::Unreadable`].
pub(super) fn entries(
    tree: ::sled::Tree,
    end: u64,
    selection: Selection,
) -> Result<impl Iterator<Item = Result<Entry, StoreError>>, StoreError> {
    let since = selection.since.map_or(0, record::millis);
    let until = selection.until.map_or(u64::MAX, record::millis);
    // They came in the order of their times, but for those from another list.
    let mut order = Vec::new();
    for found in tree.range(..record::key(end)) {
        let (key, bytes) = found.map_err(|_| StoreError::Unreadable)?;
        let (first, places) = parse(&key, &bytes)?;
        for (number, place) in (first..end).zip(places) {
            let joined_at = place.map(|entry| entry.joined_at);
            let is_selected = |time: &u64| (since..until).contains(time);
            order.extend(joined_at.filter(is_selected).map(|time| (time, number)));
        }
    }
    order.sort_unstable();
    if selection.newest_first {
        order.reverse();
    }

    let mut reader = Reader {
        tree,
        first: 0,
        places: Vec::new(),
    };
    let numbers = order.into_iter().map(|(_, number)| number);
    Ok(numbers.filter_map(move |number| reader.entry(number).transpose()))
}

/// Remembers the record it read last.
struct Reader {
    tree: ::sled::Tree,
    first: u64,
    places: Vec<Option<Entry>>,
}

impl Reader {
    /// The entry of a number, unless it was erased.
    fn entry(&mut self, number: u64) -> Result<Option<Entry>, StoreError> {
        let read = self.first..self.first + self.places.len() as u64;
        if !read.contains(&number) {
            let found = self.tree.get_lt(record::key(number + 1));
            let (key, bytes) = found.ok().flatten().ok_or(StoreError::Unreadable)?;
            let (first, places) = parse(&key, &bytes)?;
            self.first = first;
            self.places = places
                .into_iter()
                .map(|place| Some(place?.into()))
                .collect();
        }
        let place = self.places.get_mut((number - self.first) as usize);
        Ok(place.ok_or(StoreError::Unreadable)?.take())
    }
}

fn parse<'a>(key: &[u8], bytes: &'a [u8]) -> Result<(u64, Vec<Place<'a>>), StoreError> {
    record::parse(key, bytes).ok_or(StoreError::Unreadable)
}
