//! The browser's half, compiled to WebAssembly: finds the islands in the page, decides when each starts, and mounts
//! it.
//!
//! It does not contain Leptos, and never changes the markup inside an island: React does. `islands/boot.ts` loads
//! it, and passes it the function that loads and hydrates an island. If that fails, the page stays as the server
//! sent it.
//!
//! Every visitor downloads this module, so it is small. It allocates hardly any strings, the islands share one
//! observer and one listener per event, and nothing can panic: panic messages alone would add 10 KB.
#![forbid(unsafe_code)]

use std::rc::Rc;

use js_sys::{Array, Function};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{
    Document, Element, Event, IntersectionObserver, IntersectionObserverEntry,
    IntersectionObserverInit, NodeList,
};

/// Selects the islands that start when they come into view: `StartCondition` in `src/page/island.rs`.
const VISIBLE_SELECTOR: &str = "[data-start=visible]";
/// Selects the islands that start after the form.
const AFTER_FORM_SELECTOR: &str = "[data-start=after-form]";
/// How far outside the window an island already counts as visible, so that it is ready when it scrolls into view.
const VISIBLE_MARGIN: &str = "200px";
/// The events that count as touching an island. `focusin` bubbles, `focus` does not.
const TOUCH_EVENTS: [&str; 2] = ["pointerover", "focusin"];
/// Selects the control that has the focus. A section has it if the page opens there, without a keyboard.
const FOCUSED_SELECTOR: &str = ":is(a,button,input):focus";
/// Marks an island as started.
const STARTED_ATTRIBUTE: &str = "data-started";
/// Selects the form, which other islands wait for.
const FORM_SELECTOR: &str = "[data-island=waitlist-form]";
/// Selects the island that shows the result of a sign-up.
const TOASTER_SELECTOR: &str = "[data-island=toaster]";

/// Starts watching the islands of the page. `mount` loads an island and hydrates its element. In an idle moment after that,
/// it calls its second argument with whether that succeeded.
///
/// # Errors
/// If the browser lacks a feature. The page then stays as the server sent it.
#[wasm_bindgen]
pub fn start(mount: Function, document: Document) -> Result<(), JsValue> {
    let host = Rc::new(IslandHost { mount, document });
    host.mount_when_touched()?;
    host.mount_when_visible()
}

struct IslandHost {
    mount: Function,
    document: Document,
}

impl IslandHost {
    /// Mounts the islands that start in view. The observer is kept, so an island
    /// that failed to load is tried again when it next comes into view.
    fn mount_when_visible(self: Rc<Self>) -> Result<(), JsValue> {
        let islands = self.find(VISIBLE_SELECTOR)?;
        let on_intersection = Closure::<dyn Fn(Array)>::new(move |entries: Array| {
            for entry in entries.iter() {
                let entry: IntersectionObserverEntry = entry.unchecked_into();
                if entry.is_intersecting() {
                    Rc::clone(&self).mount(&entry.target());
                }
            }
        });
        let options = IntersectionObserverInit::new();
        options.set_root_margin(VISIBLE_MARGIN);
        let on_intersection = on_intersection.into_js_value();
        let observer =
            IntersectionObserver::new_with_options(on_intersection.unchecked_ref(), &options)?;
        for_each_element(&islands, |island| observer.observe(island));
        Ok(())
    }

    /// Mounts any island when the visitor touches it. If the focus is on a control or moves, mounts those that wait to come
    /// into view too: Tab must not pass a control that appears only then.
    fn mount_when_touched(self: &Rc<Self>) -> Result<(), JsValue> {
        let host = Rc::clone(self);
        let on_touch = Closure::<dyn Fn(Event)>::new(move |event: Event| {
            let target = event.target().and_then(|target| target.dyn_into().ok());
            host.mount_around(target);
        });
        if let Some(control) = self.document.query_selector(FOCUSED_SELECTOR)? {
            self.mount_around(Some(control));
            self.mount_all(VISIBLE_SELECTOR);
        }
        let on_touch = on_touch.into_js_value();
        for event in TOUCH_EVENTS {
            self.document
                .add_event_listener_with_callback(event, on_touch.unchecked_ref())?;
        }
        let host = Rc::clone(self);
        let on_focus = Closure::<dyn Fn()>::new(move || host.mount_all(VISIBLE_SELECTOR));
        self.document
            .add_event_listener_with_callback("focusin", on_focus.into_js_value().unchecked_ref())
    }

    /// Mounts the island around an element that the visitor touches.
    fn mount_around(self: &Rc<Self>, touched: Option<Element>) {
        let island = touched.and_then(|element| element.closest("[data-island]").ok()?);
        let Some(island) = island else { return };
        Rc::clone(self).mount(&island);
        // A visitor who touches the form is about to need the toaster.
        if island.matches(FORM_SELECTOR) == Ok(true) {
            self.mount_all(TOASTER_SELECTOR);
        }
    }

    fn mount_all(self: &Rc<Self>, selector: &str) {
        if let Ok(islands) = self.find(selector) {
            for_each_element(&islands, |island| Rc::clone(self).mount(island));
        }
    }

    /// Mounts an island unless it was started. Once the form is settled, mounts the islands that start after it.
    fn mount(self: Rc<Self>, island: &Element) {
        if island.has_attribute(STARTED_ATTRIBUTE)
            || island.set_attribute(STARTED_ATTRIBUTE, "").is_err()
        {
            return;
        }
        let (host, element) = (Rc::clone(&self), island.clone());
        let on_settled = Closure::<dyn Fn(bool)>::new(move |mounted: bool| {
            if !mounted {
                let _ = element.remove_attribute(STARTED_ATTRIBUTE);
            }
            if element.matches(FORM_SELECTOR) == Ok(true) {
                host.mount_all(AFTER_FORM_SELECTOR);
            }
        });
        let _ = self
            .mount
            .call2(&JsValue::NULL, island, &on_settled.into_js_value());
    }

    fn find(&self, selector: &str) -> Result<NodeList, JsValue> {
        self.document.query_selector_all(selector)
    }
}

fn for_each_element(nodes: &NodeList, f: impl Fn(&Element)) {
    for index in 0..nodes.length() {
        if let Some(node) = nodes.get(index) {
            f(node.unchecked_ref());
        }
    }
}
