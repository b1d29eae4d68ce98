//! `landing import`: adds the people of a file to the list.
//!
//! An import is a closed world: nothing is guessed. The file is read to memory. From its values, the plan is made. By the plan,
//! each row must be readable before anybody is added.
//!
//! - `command`: runs the command.
//! - `input_file`: reads the file. `table`: its rows. `column`: the values of each column.
//! - `options`: the command line. With `presets`, it says what a column is for.
//! - `plan`: what each column is for.
//! - `question`: what the owner must answer, and the answers as arguments of the command. `preview` shows them.
//! - `left_words`: the words by which an ignored column is noticed.
//! - `check`: reads all rows by the plan, before anybody is added. `times`: their times.
//! - `adding`: adds the people, or counts what that would do. `text`: texts in messages.

mod adding;
mod check;
mod column;
mod command;
pub(super) mod input_file;
mod left_words;
mod options;
mod plan;
mod presets;
mod preview;
mod question;
mod table;
mod text;
mod times;

pub use self::{check::Person, command::import_dry_run, plan::Verdict};
pub(super) use self::{command::run, options::ImportArgs, table::read_addresses};
