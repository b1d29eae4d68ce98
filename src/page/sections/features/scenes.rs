//! The illustrations of the features. Those with text use `em` and percent instead of a `viewBox`, so their letters
//! stay as large as the surrounding text at every width.

use leptos::prelude::*;

use crate::{copy::features::scenes, page::page_text};

/// Height of a row of text, in em.
const ROW_HEIGHT_EM: f64 = 2.25;

/// Returns the class of a row that is hidden on phones (`style/features.css`).
fn phone_class(row: usize) -> Option<&'static str> {
    const ROWS_ON_A_PHONE: usize = 3;
    (row >= ROWS_ON_A_PHONE).then_some("more")
}

fn em(length: f64) -> String {
    format!("{length}em")
}

/// The objects in a storage bucket.
pub(crate) fn bucket() -> impl IntoView {
    let rows = scenes::OBJECTS
        .iter()
        .enumerate()
        .map(|(index, (name, size))| {
            let (line, text) = (
                em(ROW_HEIGHT_EM * (index + 1) as f64),
                em(baseline(index + 1)),
            );
            view! {
                <g class=phone_class(index + 1)>
                    <line x2="100%" y1=line.clone() y2=line/>
                    <text x="0" y=text.clone()>{*name}</text>
                    <text class="quiet" x="100%" y=text text-anchor="end">{*size}</text>
                </g>
            }
        });
    view! {
        <svg class="scene bucket" height=em(ROW_HEIGHT_EM * 6.0) aria-hidden="true">
            <text class="live" x="0" y=em(baseline(0))>{scenes::BUCKET}</text>
            {rows.collect_view()}
        </svg>
    }
}

/// A file explorer: lines connect each row with its folder.
pub(crate) fn tree() -> impl IntoView {
    /// Indentation per level, in em.
    const INDENT_EM: f64 = 1.5;
    let rows = scenes::TREE
        .iter()
        .enumerate()
        .map(|(index, (depth, name))| {
            let middle = baseline(index) - 0.35;
            let branch = depth.checked_sub(1).map(|outer| {
            let parent = (0..index).rev().find(|row| scenes::TREE[*row].0 == outer);
            let x = INDENT_EM * outer as f64 + 0.3;
            view! {
                <line x1=em(x) x2=em(x) y1=em(baseline(parent.unwrap_or(0)) + 0.4) y2=em(middle)/>
                <line x1=em(x) x2=em(x + 0.9) y1=em(middle) y2=em(middle)/>
            }
        });
            let is_folder = scenes::TREE
                .get(index + 1)
                .is_some_and(|(next, _)| next > depth);
            let class = if is_folder { "" } else { "quiet" };
            view! {
                <g class=phone_class(index)>
                    {branch}
                    <text class=class x=em(INDENT_EM * *depth as f64) y=em(baseline(index))>{*name}</text>
                </g>
            }
        });
    view! {
        <svg class="scene tree" height=em(ROW_HEIGHT_EM * scenes::TREE.len() as f64) aria-hidden="true">
            {rows.collect_view()}
        </svg>
    }
}

/// An editor with numbered lines, and the caret in one of them.
pub(crate) fn editor() -> impl IntoView {
    /// Left edge of the lines, in em.
    const TEXT_START_EM: f64 = 2.5;
    /// Width of a letter in the monospaced font, in em.
    const LETTER_WIDTH_EM: f64 = 0.6;
    let (row, column) = scenes::CARET;
    let rows = scenes::EDITOR.iter().enumerate().map(|(index, line)| {
        let y = em(baseline(index));
        view! {
            <text class="quiet" x="0.75em" y=y.clone()>{index + 1}</text>
            <text x=em(TEXT_START_EM) y=y>{page_text(line)}</text>
        }
    });
    let (top, left) = (
        ROW_HEIGHT_EM * row as f64,
        TEXT_START_EM + LETTER_WIDTH_EM * column as f64,
    );
    view! {
        <svg class="scene editor" height=em(ROW_HEIGHT_EM * 4.5) aria-hidden="true">
            <rect class="wash" width="100%" height=em(ROW_HEIGHT_EM) y=em(top)/>
            {rows.collect_view()}
            <rect class="caret" x=em(left) y=em(top + 0.45) width="0.15em" height="1.4em"/>
            <text class="live more" x="100%" y=em(ROW_HEIGHT_EM * 4.0) text-anchor="end">{scenes::SAVED}</text>
        </svg>
    }
}

/// A key, and its lock on the same device.
pub(crate) fn key() -> impl IntoView {
    view! {
        <svg class="scene drawn" viewBox="0 0 192 126" aria-hidden="true">
            <path d="M14 8h164a8 8 0 0 1 8 8v92H6V16a8 8 0 0 1 8-8zM2 108h188v8a8 8 0 0 1-8 8H10a8 8 0 0 1-8-8z"/>
            <path class="quiet" stroke-dasharray="2 6" d="M112 58h18"/>
            <path class="quiet" d="M136 54h30v24h-30zM142 54v-7a9 9 0 0 1 18 0v7M151 63v6"/>
            <path class="live" d="M26 58a15 15 0 1 0 30 0a15 15 0 1 0-30 0M56 58h48v11M88 58v8"/>
        </svg>
    }
}

/// A chart of three series over twelve weeks. It is as high as its card, and the labels keep their size.
pub(crate) fn chart() -> impl IntoView {
    /// Values per week, in percent of the height.
    const VISITS: [u8; 12] = [8, 12, 18, 16, 25, 30, 28, 40, 46, 44, 58, 66];
    const ORDERS: [u8; 12] = [2, 4, 5, 9, 10, 16, 18, 20, 27, 30, 33, 40];
    const REVENUE: [u8; 12] = [3, 6, 10, 14, 22, 28, 38, 44, 56, 66, 74, 90];
    /// Returns the left edge and the middle of a week's bar, in percent of the width.
    fn bar(week: usize) -> (f64, f64) {
        let left = week as f64 * 94.4 / 11.0;
        (left, left + 2.8)
    }
    let bars = VISITS.iter().enumerate();
    let bars: String = bars
        .map(|(week, visits)| format!("M{:.1} 100v-{visits}h5.6V100", bar(week).0))
        .collect();
    let curve = |values: [u8; 12]| {
        let points = (0..12).map(|week| format!("{:.1} {}", bar(week).1, 100 - values[week]));
        format!("M{}", points.collect::<Vec<_>>().join("L"))
    };
    // A line of length zero with round caps is a dot.
    let last = format!("M{:.1} {}h0", bar(11).1, 100 - REVENUE[11]);
    let [visits, orders, revenue] = scenes::SERIES;
    view! {
        <div class="scene chart" aria-hidden="true">
            <div>
                <span class="quiet">{visits}</span>
                <span>{orders}</span>
                <span class="live">{revenue}</span>
                <span class="live">{scenes::AXIS}</span>
            </div>
            <svg viewBox="0 0 100 100" preserveAspectRatio="none">
                <path class="wash" d=bars/>
                <path stroke-dasharray="5 4" d=curve(ORDERS)/>
                <path class="live" d=curve(REVENUE)/>
                <path class="live dot" d=last/>
            </svg>
            <div class="quiet">{scenes::WEEKS.map(|week| view! { <span>{week}</span> }).collect_view()}</div>
        </div>
    }
}

/// A clock at three in the morning: the moon is up.
pub(crate) fn clock() -> impl IntoView {
    let ticks = (0..12).map(|hour| {
        let turn = format!("rotate({} 80 80)", hour * 30);
        view! { <path class="quiet" d=if hour % 3 == 0 { "M80 10v12" } else { "M80 10v5" } transform=turn/> }
    });
    view! {
        <svg class="scene drawn clock" viewBox="0 0 160 160" aria-hidden="true">
            <path class="wash" d="M80 4a76 76 0 0 1 0 152a76 76 0 0 1 0-152z"/>
            {ticks.collect_view()}
            <path d="M58 88a16 16 0 1 0 15 24a14 14 0 0 1-15-24zM80 80V34"/>
            <path class="live" d="M80 80h32"/>
            <path class="live dot" d="M80 80h0"/>
        </svg>
    }
}

/// Returns the baseline of a row, in em from the top.
fn baseline(row: usize) -> f64 {
    ROW_HEIGHT_EM * row as f64 + 1.5
}
