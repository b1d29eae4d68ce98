//! The browser's half: finds the islands in the page, decides when each starts, and mounts it.
//!
//! It is no Leptos runtime and never touches the markup inside an island: that belongs to React.
//! `islands/boot.ts` loads it and hands it the way to React, so a failure to load a script is a
//! failed promise here and not a dead page.

use std::{cell::RefCell, rc::Rc};

use js_sys::{Array, JSON, Promise};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    AddEventListenerOptions, HtmlElement, IntersectionObserver, IntersectionObserverEntry,
    IntersectionObserverInit, console,
};

use crate::wire::{BUILD, Start};

/// How far outside the window an island already counts as visible, so that it is ready on arrival.
const NEAR: &str = "200px";
/// What counts as touching an island. Focus bubbles by this name only.
const TOUCHES: [&str; 2] = ["pointerover", "focusin"];

#[wasm_bindgen]
extern "C" {
    /// What `islands/boot.ts` hands over.
    pub type Registry;

    /// Loads an island and hydrates its element; rejects when a script can't be loaded.
    #[wasm_bindgen(method)]
    fn mount(this: &Registry, element: &HtmlElement, name: &str, props: &JsValue) -> Promise;
}

/// The mark of the build this host belongs to.
#[wasm_bindgen]
pub fn build() -> String {
    BUILD.to_owned()
}

/// Looks after every island of the page.
///
/// # Errors
/// When the browser lacks what this needs; the page then stays as the server sent it.
#[wasm_bindgen]
pub fn start(registry: Registry) -> Result<(), JsValue> {
    let document = web_sys::window().and_then(|window| window.document());
    let document = document.ok_or("there is no document")?;
    let registry = Rc::new(registry);
    let islands = document.query_selector_all("[data-island]")?;
    for index in 0..islands.length() {
        let Some(node) = islands.get(index) else {
            continue;
        };
        let element: HtmlElement = node.unchecked_into();
        let waits = element.dataset().get("start").as_deref() == Some(Start::Visible.as_str());
        let island = Island {
            element,
            registry: Rc::clone(&registry),
        };
        if waits {
            island.mount_when_near_or_touched()?
        } else {
            island.mount()
        }
    }
    Ok(())
}

#[derive(Clone)]
struct Island {
    element: HtmlElement,
    registry: Rc<Registry>,
}

impl Island {
    fn mount(&self) {
        let island = self.clone();
        spawn_local(async move {
            let data = island.element.dataset();
            let name = data.get("island").unwrap_or_default();
            let props = data.get("props").unwrap_or_default();
            let mounted = match JSON::parse(&props) {
                Ok(props) => {
                    JsFuture::from(island.registry.mount(&island.element, &name, &props)).await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = mounted {
                console::error_3(&"island failed to load:".into(), &name.into(), &error);
            }
        });
    }

    fn mount_when_near_or_touched(&self) -> Result<(), JsValue> {
        let watching: Rc<RefCell<Option<IntersectionObserver>>> = Rc::default();
        let once = {
            let (island, watching) = (self.clone(), Rc::clone(&watching));
            move || {
                // Who takes the observer mounts; whoever comes later finds nothing to do.
                if let Some(observer) = watching.borrow_mut().take() {
                    observer.disconnect();
                    island.mount();
                }
            }
        };

        let touched = Closure::<dyn Fn()>::new(once.clone());
        let options = AddEventListenerOptions::new();
        options.set_once(true);
        for event in TOUCHES {
            self.element
                .add_event_listener_with_callback_and_add_event_listener_options(
                    event,
                    touched.as_ref().unchecked_ref(),
                    &options,
                )?;
        }
        // They live as long as the page.
        touched.forget();

        let seen = Closure::<dyn Fn(Array)>::new(move |entries: Array| {
            let near = entries.iter().any(|entry| {
                entry
                    .unchecked_into::<IntersectionObserverEntry>()
                    .is_intersecting()
            });
            if near {
                once();
            }
        });
        let init = IntersectionObserverInit::new();
        init.set_root_margin(NEAR);
        let observer =
            IntersectionObserver::new_with_options(seen.as_ref().unchecked_ref(), &init)?;
        seen.forget();
        observer.observe(&self.element);
        *watching.borrow_mut() = Some(observer);
        Ok(())
    }
}
