//! What an attacker from outside may try.

mod clients;
