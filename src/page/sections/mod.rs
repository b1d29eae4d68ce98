//! The sections of the pages: one file and one component each.
//!
//! The landing page shows, from the top down: [`Nav`], [`Hero`], [`Comparison`], [`Features`], [`Infrastructure`],
//! [`Demo`], [`Contact`], [`Footer`]. The other pages show [`NotFound`] or [`Link`]. Their texts are in [`crate::copy`].

pub mod comparison;
pub mod contact;
pub mod demo;
pub mod features;
pub mod footer;
pub mod hero;
pub mod infrastructure;
pub mod link;
pub mod logo;
pub mod nav;
pub mod not_found;

pub use comparison::Comparison;
pub use contact::Contact;
pub use demo::Demo;
pub use features::Features;
pub use footer::Footer;
pub use hero::Hero;
pub use infrastructure::Infrastructure;
pub use link::Link;
pub use logo::Logo;
pub use nav::Nav;
pub use not_found::NotFound;
