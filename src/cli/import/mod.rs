//! `landing import`: adds the people of a file to the list.
//!
//! An import is a closed world: nothing is guessed. The file is read to memory. From its values, the plan is made. By the plan,
//! each row must be readable before anybody is added.
//!
//! - `command`: runs the command.
//! - `input_file`: reads the file. `table`: its rows. `column`: the values of each column.
//! - `options`: the command line. With `presets` and `field`, it says what a column is for.
//! - `plan`: what each column is for.
//! - `question`: what the owner must answer, and the answers as arguments of the command. `preview` shows them, and `ask` asks on
//!   a terminal.
//! - `brake`: the words by which an ignored column is noticed.
//! - `person`, `times`: read a row by the plan. `check`: all rows, before anybody is added.
//! - `adding`: adds the people, or counts what that would do.
//! - `report`, `text`: the messages.
//! - `dry_run`: an import without a list, for tests.

mod adding;
mod ask;
mod brake;
mod check;
mod column;
mod command;
mod dry_run;
mod field;
pub(super) mod input_file;
mod options;
mod person;
mod plan;
mod presets;
mod preview;
mod question;
mod report;
mod table;
mod text;
mod times;

pub(super) use self::{command::run, options::ImportArgs, table::read_addresses};
pub use self::{dry_run::import_dry_run, person::Person, plan::Verdict};
