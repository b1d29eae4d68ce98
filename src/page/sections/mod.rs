//! The sections of the landing page, and the contents of the other pages: one file and one component each. Their texts are in
//! [`crate::copy`].

use leptos::prelude::*;

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

/// The sections of the landing page, from the top down. [`Nav`] is above them, and [`Footer`] below.
#[component]
pub fn LandingSections() -> impl IntoView {
    view! {
        <Hero/>
        <Comparison/>
        <Features/>
        <Infrastructure/>
        <Demo/>
        <Contact/>
    }
}
