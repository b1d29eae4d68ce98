//! `landing import`: adds the people of a file to the list.
//!
//! An import is a closed world: nothing is guessed. It goes through the file three times: through its values, from
//! which the plan is made; through its rows, of which each must be readable; and then it adds the people.
//!
//! - `command`: the command line.
//! - `input_file`: reads the file. `row`, `rows`, `csv_rows`, `json_rows`: its rows.
//! - `survey`: the columns of a file, and their values.
//! - `options`, `presets`, `field`: what says what a column is for.
//! - `plan`, `question`: what each column is for, or what the owner must answer.
//! - `brake`: the words by which an ignored column is noticed.
//! - `proposal`, `preview`, `ask`: show the questions, or ask them on a terminal.
//! - `person`, `times`: read a row by the plan. `check`: all rows, before anybody is added.
//! - `adding`: adds the people, or counts them in a dry run.
//! - `report`, `error`, `text`: the messages.
//! - `rehearsal`: an import without a list, for tests.

mod adding;
mod ask;
mod brake;
mod check;
mod command;
mod csv_rows;
mod error;
mod field;
pub(super) mod input_file;
mod json_rows;
mod options;
mod person;
mod plan;
mod presets;
mod preview;
mod proposal;
mod question;
mod rehearsal;
mod report;
mod row;
mod rows;
mod survey;
mod text;
mod times;

pub(super) use self::{
    adding::open_or_create,
    command::{ImportArgs, run},
    rows::read_addresses,
};
pub use self::{
    plan::Verdict,
    rehearsal::{RehearsedRow, rehearse, rehearse_answers},
};
