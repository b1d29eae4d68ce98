//! The decentralized infrastructure, and its three advantages.

use leptos::prelude::*;

use crate::{copy::infrastructure, page::page_text};

/// The drawing of the network, and the three selling points.
#[component]
pub fn Infrastructure() -> impl IntoView {
    view! {
        <section class="infrastructure" aria-labelledby="infrastructure-title">
            <h2 id="infrastructure-title">{infrastructure::TITLE}</h2>
            <p class="lead">{page_text(infrastructure::LEAD)}</p>
            <figure class="network">
                <Network/>
                <figcaption>{infrastructure::CAPTION}</figcaption>
            </figure>
            <ul class="infrastructure-points">
                {infrastructure::POINTS
                    .map(|(title, text)| view! { <li><h3>{title}</h3><p>{text}</p></li> })
                    .collect_view()}
            </ul>
        </section>
    }
}

/// Positions of the nodes.
const NODES: [(i32, i32); 35] = [
    (140, 35),
    (214, 38),
    (292, 36),
    (392, 44),
    (463, 31),
    (89, 100),
    (185, 124),
    (262, 115),
    (334, 99),
    (432, 101),
    (509, 105),
    (26, 187),
    (125, 197),
    (215, 192),
    (301, 192),
    (387, 182),
    (490, 201),
    (572, 193),
    (78, 257),
    (164, 253),
    (265, 261),
    (355, 261),
    (445, 273),
    (504, 256),
    (52, 339),
    (141, 337),
    (201, 343),
    (309, 334),
    (376, 336),
    (489, 347),
    (72, 405),
    (179, 408),
    (259, 415),
    (335, 422),
    (420, 420),
];
/// Nodes closer than this are linked.
const LINK_LENGTH_MAX: i32 = 112;
/// The node that is offline.
const OFFLINE_NODE: usize = 14;
/// The route of the traffic around that node.
const ROUTE: [usize; 8] = [11, 12, 13, 20, 21, 15, 16, 17];

/// The drawing of the network: one node is offline, and the traffic takes another route.
#[component]
fn Network() -> impl IntoView {
    let pairs = (0..NODES.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let neighbours = pairs.filter(|&(a, b)| {
        let ((ax, ay), (bx, by)) = (NODES[a], NODES[b]);
        (ax - bx).pow(2) + (ay - by).pow(2) < LINK_LENGTH_MAX.pow(2)
    });
    let (cut_links, links): (Vec<_>, Vec<_>) =
        neighbours.partition(|&(a, b)| a == OFFLINE_NODE || b == OFFLINE_NODE);
    let point = |node: usize| format!("{} {}", NODES[node].0, NODES[node].1);
    let lines = |links: Vec<(usize, usize)>| -> String {
        let mut end = None;
        let links = links.into_iter().map(|(a, b)| {
            // A link continues the last one if it can, so the page is shorter.
            let (begin, next) = match end == Some(a) {
                true => (String::new(), b),
                false => (format!("M{}", point(b)), a),
            };
            end = Some(next);
            format!("{begin}L{}", point(next))
        });
        links.collect()
    };
    // A line of length zero with round caps is a dot.
    let dots = |nodes: &[usize]| -> String {
        nodes
            .iter()
            .map(|&node| format!("M{}h0", point(node)))
            .collect()
    };
    let online_nodes: Vec<usize> = (0..NODES.len())
        .filter(|node| *node != OFFLINE_NODE && !ROUTE.contains(node))
        .collect();
    let route = ROUTE.map(point).join("L");
    let (x, y) = NODES[OFFLINE_NODE];
    view! {
        <svg viewBox="14 20 572 416" aria-hidden="true">
            <path class="links" d=lines(links)/>
            <path class="links cut" d=lines(cut_links)/>
            <path class="nodes" d=dots(&online_nodes)/>
            <path class="live" d=format!("M{route}")/>
            <path class="nodes live" d=dots(&ROUTE)/>
            <circle class="dark" cx=x cy=y r="9"/>
        </svg>
    }
}
