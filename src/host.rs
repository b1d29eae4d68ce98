//! The browser's half: finds the islands in the page, decides when each starts, and mounts it.
//!
//! It is no Leptos runtime and never touches the markup inside an island: that belongs to React.
//! `islands/boot.ts` loads it and hands it the way to React, so a failure to load a script is a
//! settled promise here and not a dead page.
//!
//! Small, because every visitor loads it: strings stay in the page, the islands share one observer
//! and one listener, and nothing here can panic, which alone would bring in 10 KB of messages.

use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{
    Document, Element, Event, IntersectionObserver, IntersectionObserverEntry,
    IntersectionObserverInit, NodeList,
};

use crate::wire::{BUILD, Start};

/// How far outside the window an island already counts as visible, so that it is ready on arrival.
const NEAR: &str = "200px";
/// What counts as touching an island. Focus bubbles by this name only.
const TOUCHES: [&str; 2] = ["pointerover", "focusin"];
/// Where an island says when it starts. It is gone once it has.
const START: &str = "data-start";
/// The island that others wait for.
const FORM: &str = "[data-island=waitlist-form]";

#[wasm_bindgen]
extern "C" {
    /// What `islands/boot.ts` hands over.
    pub type Islands;

    /// Loads an island and hydrates its element. Calls `settled` in an idle moment after that, also
    /// when a script could not be loaded.
    #[wasm_bindgen(method)]
    fn mount(this: &Islands, element: &Element, settled: &JsValue);
}

/// The mark of the build this host belongs to.
#[wasm_bindgen]
pub fn build() -> JsValue {
    BUILD.into()
}

/// Looks after every island of the page.
///
/// # Errors
/// When the browser lacks what this needs; the page then stays as the server sent it.
#[wasm_bindgen]
pub fn start(islands: Islands, document: Document) -> Result<(), JsValue> {
    let host = Rc::new(Host { islands, document });
    host.mount_when_touched()?;
    host.mount_when_near()
}

struct Host {
    islands: Islands,
    document: Document,
}

impl Host {
    fn mount_when_near(self: Rc<Self>) -> Result<(), JsValue> {
        let waiting = self.waiting(Start::Visible)?;
        let seen = Closure::<dyn Fn(Array, IntersectionObserver)>::new(
            move |entries: Array, observer: IntersectionObserver| {
                for entry in entries.iter() {
                    let entry: IntersectionObserverEntry = entry.unchecked_into();
                    if entry.is_intersecting() {
                        observer.unobserve(&entry.target());
                        Rc::clone(&self).mount(&entry.target());
                    }
                }
            },
        );
        let init = IntersectionObserverInit::new();
        init.set_root_margin(NEAR);
        let seen = seen.into_js_value();
        let observer = IntersectionObserver::new_with_options(seen.unchecked_ref(), &init)?;
        each(&waiting, |island| observer.observe(island));
        Ok(())
    }

    fn mount_when_touched(self: &Rc<Self>) -> Result<(), JsValue> {
        let host = Rc::clone(self);
        let touched = Closure::<dyn Fn(Event)>::new(move |event: Event| {
            let target = event.target().and_then(|target| target.dyn_into().ok());
            let island = target.and_then(|target: Element| target.closest("[data-start]").ok()?);
            if let Some(island) = island {
                Rc::clone(&host).mount(&island);
            }
        });
        let touched = touched.into_js_value();
        for event in TOUCHES {
            self.document
                .add_event_listener_with_callback(event, touched.unchecked_ref())?;
        }
        Ok(())
    }

    /// Mounts an island unless that has begun; after the form those that add to it.
    fn mount(self: Rc<Self>, island: &Element) {
        if !island.has_attribute(START) || island.remove_attribute(START).is_err() {
            return;
        }
        let (host, mounted) = (Rc::clone(&self), island.clone());
        let settled = Closure::<dyn Fn()>::new(move || {
            if mounted.matches(FORM) == Ok(true)
                && let Ok(waiting) = host.waiting(Start::AfterForm)
            {
                each(&waiting, |island| Rc::clone(&host).mount(island));
            }
        });
        self.islands.mount(island, &settled.into_js_value());
    }

    fn waiting(&self, start: Start) -> Result<NodeList, JsValue> {
        self.document.query_selector_all(start.selector())
    }
}

fn each(nodes: &NodeList, f: impl Fn(&Element)) {
    for index in 0..nodes.length() {
        if let Some(node) = nodes.get(index) {
            f(node.unchecked_ref());
        }
    }
}
