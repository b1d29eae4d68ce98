//! Draws the charts, as SVG inside the page.
//!
//! A chart is as wide as the window allows, and its text keeps its size: positions along the width are in percent, and
//! heights in pixels. The colours are those of the classes in `report.css`, which know light, dark and print.

use std::fmt::Write;

use svg::node::element::{Line, Path, Rectangle, SVG, Text, Title};

use super::format::{group_digits, shorten};

/// Height of the plot of a column or line chart, in pixels.
const PLOT_HEIGHT: f64 = 180.0;
/// Space above a plot, for half a line of text, in pixels.
const PLOT_TOP: f64 = 8.0;
/// Space below a plot, for the labels, in pixels.
const LABELS_HEIGHT: f64 = 26.0;
/// Distance between the axis and the text beside it, in pixels.
const TEXT_GAP: f64 = 8.0;
/// Minimum height of a bar, in pixels: a single sign-up is always visible.
const BAR_MIN_HEIGHT: f64 = 1.5;
/// A chart with fewer bars leaves space on the right.
const SLOTS_MIN: usize = 4;
/// A chart with more bars has no gaps between them. They would be narrower than a pixel.
const BARS_WITH_GAPS_MAX: usize = 62;
/// Height of a row of the heat map, in pixels.
const HEAT_ROW_HEIGHT: f64 = 22.0;
/// Height of a row of the chart of sources, in pixels.
const SOURCE_ROW_HEIGHT: f64 = 38.0;
/// Maximum length of a label in the chart of sources. It leaves space for the count on a narrow window.
const SOURCE_LABEL_MAX: usize = 22;

/// What assistive technology says about a chart.
pub(super) struct ChartName<'a> {
    /// What the chart is.
    pub(super) label: &'a str,
    /// The ID of the element that sums it up.
    pub(super) summary_id: &'a str,
}

/// Draws a bar for each count, with the labels of some of them.
pub(super) fn column_chart(name: &ChartName<'_>, counts: &[u64], labels: &[String]) -> SVG {
    let top = scale_top(counts);
    let (slots, mut path) = (counts.len().max(SLOTS_MIN), String::new());
    let width = if slots > BARS_WITH_GAPS_MAX { 1.0 } else { 0.8 };
    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = plot_height(*count, top).max(BAR_MIN_HEIGHT);
        let left = at as f64 + (1.0 - width) / 2.0;
        let _ = write!(
            path,
            "M{left:.1} {PLOT_HEIGHT}v-{height:.2}h{width}v{height:.2}z"
        );
    }
    let plot = plot(slots).add(Path::new().set("class", "bar").set("d", path));
    frame(name, top, slots, labels).add(plot)
}

/// Draws a line from zero through the counts, with the labels of some of them.
pub(super) fn line_chart(name: &ChartName<'_>, counts: &[u64], labels: &[String]) -> SVG {
    let top = scale_top(counts);
    let slots = counts.len().max(SLOTS_MIN);
    let mut line = format!("M0 {PLOT_HEIGHT}");
    for (at, count) in counts.iter().enumerate() {
        let _ = write!(
            line,
            "L{} {:.2}",
            at + 1,
            PLOT_HEIGHT - plot_height(*count, top)
        );
    }
    let area = format!("{line}V{PLOT_HEIGHT}z");
    let plot = plot(slots)
        .add(Path::new().set("class", "area").set("d", area))
        .add(Path::new().set("class", "line").set("d", line));
    frame(name, top, slots, labels).add(plot)
}

/// Draws a cell for each hour of each weekday, in a stronger colour where there are more sign-ups.
pub(super) fn heat_map(name: &ChartName<'_>, rows: &[(&str, &[u64; 24])]) -> SVG {
    let highest = rows.iter().flat_map(|(_, counts)| counts.iter()).max();
    let highest = highest.copied().unwrap_or(0);
    let height = rows.len() as f64 * HEAT_ROW_HEIGHT;
    let mut chart = chart(name, height + LABELS_HEIGHT);
    for ((weekday, counts), row) in rows.iter().zip(0..) {
        let y = f64::from(row) * HEAT_ROW_HEIGHT;
        let middle = y + HEAT_ROW_HEIGHT / 2.0;
        chart = chart.add(text_beside(&weekday[..3], middle));
        for (hour, count) in counts.iter().enumerate() {
            let cell = Rectangle::new()
                .set("x", percent(hour as f64 / 24.0))
                .set("y", y)
                .set("width", percent(1.0 / 24.0))
                .set("height", HEAT_ROW_HEIGHT);
            let cell = match count {
                0 => cell.set("class", "cell empty"),
                _ => {
                    let strength = 0.15 + 0.85 * *count as f64 / highest as f64;
                    let cell = cell.set("class", "cell");
                    cell.set("fill-opacity", format!("{strength:.2}"))
                }
            };
            let title = format!("{weekday}, {hour:02}:00: {}", group_digits(*count));
            chart = chart.add(cell.add(Title::new(title)));
        }
    }
    for hour in (0..24).step_by(3) {
        let label = Text::new(format!("{hour:02}:00"))
            .set("x", percent(f64::from(hour) / 24.0))
            .set("y", height + LABELS_HEIGHT - TEXT_GAP);
        chart = chart.add(if hour % 6 == 0 {
            label
        } else {
            label.set("class", "wide")
        });
    }
    chart
}

/// A row of the chart of sources.
pub(super) struct Row<'a> {
    pub(super) label: &'a str,
    pub(super) count: u64,
    /// The count and the share.
    pub(super) text: String,
    /// Whether the row is one source. Several, and people without one, are drawn in grey.
    pub(super) is_source: bool,
}

/// Draws a bar below the label and the text of each row.
pub(super) fn bar_chart(name: &ChartName<'_>, rows: &[Row<'_>]) -> SVG {
    let highest = rows.iter().map(|row| row.count).max();
    let highest = highest.unwrap_or(0).max(1);
    let mut chart = chart(name, rows.len() as f64 * SOURCE_ROW_HEIGHT);
    for (row, at) in rows.iter().zip(0..) {
        let y = f64::from(at) * SOURCE_ROW_HEIGHT;
        let text_y = y + 14.0;
        let label = Text::new(cut(row.label)).set("class", "name");
        let text = Text::new(row.text.as_str()).set("class", "end");
        let bar = Rectangle::new()
            .set("class", if row.is_source { "bar" } else { "bar rest" })
            .set("y", y + 21.0)
            .set("height", 8)
            .set("width", percent(row.count as f64 / highest as f64));
        chart = chart
            .add(label.set("y", text_y))
            .add(text.set("x", "100%").set("y", text_y))
            .add(bar);
    }
    chart
}

fn cut(label: &str) -> String {
    if label.chars().count() <= SOURCE_LABEL_MAX {
        return label.to_owned();
    }
    let start: String = label.chars().take(SOURCE_LABEL_MAX - 1).collect();
    start + "…"
}

/// Returns an empty chart.
fn chart(name: &ChartName<'_>, height: f64) -> SVG {
    let mut svg = SVG::new()
        .set("role", "img")
        .set("aria-label", name.label)
        .set("aria-describedby", name.summary_id)
        .set("width", "100%")
        .set("height", height);
    // Inside of HTML it is not needed.
    svg.get_attributes_mut().remove("xmlns");
    svg
}

/// Returns a chart with lines across and their values, and with the labels of some of the slots.
fn frame(name: &ChartName<'_>, top: u64, slots: usize, labels: &[String]) -> SVG {
    let mut chart = chart(name, PLOT_TOP + PLOT_HEIGHT + LABELS_HEIGHT);
    for value in (0..=top).step_by(tick_step(top) as usize) {
        let y = PLOT_TOP + PLOT_HEIGHT - plot_height(value, top);
        let line = Line::new()
            .set("class", if value == 0 { "axis" } else { "grid" })
            .set("x2", "100%")
            .set("y1", y)
            .set("y2", y);
        chart = chart.add(line).add(text_beside(&shorten(value), y));
    }
    for (at, is_wide) in labelled_slots(labels.len()) {
        let (start, end) = (at as f64 / slots as f64, (at + 1) as f64 / slots as f64);
        // The first and the last label must not leave the chart.
        let (x, anchor) = match (start + end) / 2.0 {
            ..0.1 => (start, "start"),
            0.9.. => (end, "end"),
            middle => (middle, "middle"),
        };
        let label = Text::new(labels[at].as_str())
            .set("x", percent(x))
            .set("y", PLOT_TOP + PLOT_HEIGHT + LABELS_HEIGHT - TEXT_GAP)
            .set("text-anchor", anchor);
        chart = chart.add(if is_wide {
            label.set("class", "wide")
        } else {
            label
        });
    }
    chart
}

/// Returns up to five of the slots, and whether their labels need a wide window.
fn labelled_slots(slots: usize) -> Vec<(usize, bool)> {
    let mut labelled: Vec<(usize, bool)> = Vec::new();
    for (quarter, is_wide) in [(0, false), (2, false), (4, false), (1, true), (3, true)] {
        let slot = slots.saturating_sub(1) * quarter / 4;
        if slot < slots && labelled.iter().all(|(other, _)| *other != slot) {
            labelled.push((slot, is_wide));
        }
    }
    labelled
}

/// Returns the area of the bars, in which a slot is one unit wide.
fn plot(slots: usize) -> SVG {
    let mut svg = SVG::new()
        .set("y", PLOT_TOP)
        .set("width", "100%")
        .set("height", PLOT_HEIGHT)
        .set("viewBox", format!("0 0 {slots} {PLOT_HEIGHT}"))
        .set("preserveAspectRatio", "none");
    svg.get_attributes_mut().remove("xmlns");
    svg
}

/// Returns text on the left of a chart, at this height.
fn text_beside(text: &str, middle: f64) -> Text {
    Text::new(text)
        .set("class", "end")
        .set("x", -TEXT_GAP)
        .set("y", middle)
        .set("dy", "0.35em")
}

fn plot_height(count: u64, top: u64) -> f64 {
    count as f64 / top as f64 * PLOT_HEIGHT
}

/// Returns the highest value of a scale on which all counts fit.
fn scale_top(counts: &[u64]) -> u64 {
    let highest = counts.iter().max().copied().unwrap_or(0);
    let step = tick_step(highest);
    highest.div_ceil(step).max(1) * step
}

/// Returns the distance of the values on a scale: 1, 2, 5, 10, 20, 50 and so on. At most four of them are needed.
fn tick_step(highest: u64) -> u64 {
    let mut unit = 1;
    loop {
        for step in [unit, unit * 2, unit * 5] {
            if highest <= step * 4 {
                return step;
            }
        }
        unit *= 10;
    }
}

fn percent(share: f64) -> String {
    let percent = format!("{:.3}", share * 100.0);
    format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
}
