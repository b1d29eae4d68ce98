//! Every sentence and link that a visitor reads, in the order of the page.
//!
//! `{product}` stands for the product's name ([`fill_product`] puts it in). What the islands say is in
//! [`islands`]; a test writes it to `islands/bindings/copy.ts`.

pub mod islands;

/// The product's name, unless the owner configures another.
pub const PRODUCT: &str = "Steward";

/// Where the public finds the site, unless the owner configures another place.
pub const ORIGIN: &str = "https://steward.example";

/// The address of the mailto link, unless the owner configures another.
pub const CONTACT: &str = "hello@steward.example";

/// The social profile, unless the owner configures another.
pub const SOCIAL: &str = "https://social.example/@steward";

/// Puts the product's name where a text says `{product}`.
pub fn fill_product(text: &str, product: &str) -> String {
    text.replace("{product}", product)
}

/// Document head, link previews and `llms.txt`.
pub mod head {
    /// Title of the landing page.
    pub const TITLE: &str = "{product} — the AI agent that runs your business";
    /// What search engines and link previews show.
    pub const DESCRIPTION: &str = "{product} writes the business plan, launches the website, runs \
        the marketing and texts you when sales come in. Join the early-access waitlist.";
    /// The picture of a shared link, for those who can't see it.
    pub const CARD_ALT: &str = "A terminal showing a launch: the deploy command, the first-sale \
        text message and the live site's address.";
    /// Above the links of `/llms.txt`.
    pub const LINKS_HEADING: &str = "Links";
}

/// The fixed bar at the top.
pub mod nav {
    /// Accessible name of the navigation.
    pub const LABEL: &str = "Main";
    /// The skip link before it.
    pub const SKIP: &str = "Skip to content";
    /// Anchor and label, in order.
    pub const LINKS: [(&str, &str); 4] = [
        ("features", "Features"),
        ("comparison", "vs ChatGPT"),
        ("demo", "Demo"),
        ("contact", "Contact"),
    ];
    /// Goes to the waitlist.
    pub const CALL_TO_ACTION: &str = "Get Started";
}

/// The first screen.
pub mod hero {
    /// The one promise, in two lines.
    pub const TITLE: [&str; 2] = ["You have the idea.", "{product} runs the business."];
    /// What that means.
    pub const LEAD: &str = "{product} is an AI agent, not a chat window. It writes your business \
        plan, launches your website, runs your marketing and texts you when sales come in.";
    /// Goes to the waitlist.
    pub const CALL_TO_ACTION: &str = "Launch Your AI Agent";
    /// Goes to the demo.
    pub const WATCH_DEMO: &str = "Watch Demo";
    /// What the two lead to.
    pub const NOTE: &str = "Leave your email to join the waitlist, or watch the eight-second demo.";
    /// The picture of the phone it lies on: the hour, the sender's hour, the message.
    pub const PHONE: [&str; 3] = ["3:12", "now", "First customer! You earned $29.99"];
    /// What the agent does, step by step: name and sentence.
    pub const STEPS: [(&str, &str); 4] = [
        (
            "Plan",
            "Your market, your price and a way to win your first hundred customers.",
        ),
        ("Launch", "A website on your own domain, live the same day."),
        (
            "Market",
            "Campaigns written, scheduled, measured and improved.",
        ),
        ("Earn", "A text message for every sale."),
    ];
}

/// The agent against a chat assistant.
pub mod comparison {
    /// Heading, in two lines.
    pub const TITLE: [&str; 2] = ["A chat assistant tells you how.", "{product} gets it done."];
    /// Below the heading.
    pub const LEAD: &str = "Give both the same task, then compare the results the next morning.";
    /// Heads the first column: what both are asked for.
    pub const TASK_HEADING: &str = "You ask for";
    /// The assistant and the agent.
    pub const COLUMNS: [&str; 2] = ["ChatGPT", "{product}"];
    /// What you ask for, what a chat assistant gives you, what the agent gives you.
    pub const ROWS: [(&str, &str, &str); 6] = [
        (
            "A business plan",
            "An outline for you to fill in",
            "A costed plan, already under way",
        ),
        (
            "A website",
            "Code for you to paste and host",
            "A live site on storage you own",
        ),
        (
            "Marketing",
            "Ten campaign ideas",
            "A live campaign, with results",
        ),
        (
            "Sales alerts",
            "None: it can't see your sales",
            "A text message with the amount",
        ),
        (
            "Overnight work",
            "Waits for your next prompt",
            "Keeps working, 24 hours a day",
        ),
        (
            "Your data",
            "Sits in a chat history",
            "Stays in your own storage",
        ),
    ];
}

/// What is in the box.
pub mod features {
    /// Heading.
    pub const TITLE: &str = "Open everything it makes";
    /// Below the heading.
    pub const LEAD: &str = "An agent that works on its own should be easy to check. You can open \
        every file it makes and check every number it reports.";
    /// Title and text of each card.
    pub const CARDS: [(&str, &str); 6] = [
        (
            "S3-compatible storage",
            "Browse every bucket {product} creates with the tools you already use.",
        ),
        (
            "File explorer",
            "Find plans, pages, invoices and images in one place. Open, move or download them.",
        ),
        (
            "Built-in editor",
            "Change a headline or a price yourself. The site updates when you save.",
        ),
        (
            "Local credentials",
            "Your keys are stored on your device, never on our servers.",
        ),
        (
            "Analytics",
            "See visits, orders and revenue side by side, so you know what is paying off.",
        ),
        (
            "24/7 operation",
            "It answers customers at 3 a.m. and has a report ready when you wake up.",
        ),
    ];

    /// The text in the illustrations beside the cards. Decorative: hidden from screen readers.
    pub mod scenes {
        /// The bucket, and its objects with their sizes.
        pub const BUCKET: &str = "s3://hot-sauce";
        /// See [`BUCKET`].
        pub const OBJECTS: [(&str, &str); 5] = [
            ("site/index.html", "14 KB"),
            ("media/label.webp", "88 KB"),
            ("plan/business-plan.pdf", "212 KB"),
            ("orders/week-1.csv", "6 KB"),
            ("invoices/0001.pdf", "3 KB"),
        ];
        /// Depth and name of each row of the file explorer.
        pub const TREE: [(usize, &str); 13] = [
            (0, "hot-sauce"),
            (1, "plan"),
            (2, "business-plan.pdf"),
            (2, "first-customers.csv"),
            (1, "site"),
            (2, "index.html"),
            (2, "order.html"),
            (1, "media"),
            (2, "label.webp"),
            (1, "invoices"),
            (2, "0001.pdf"),
            (1, "orders"),
            (2, "week-1.csv"),
        ];
        /// The lines in the editor.
        pub const EDITOR: [&str; 3] = [
            "<h1>Heat, bottled</h1>",
            "<p>Small batches</p>",
            "<b>$29.99</b>",
        ];
        /// Row and column of the caret, counted from 0.
        pub const CARET: (usize, usize) = (2, 9);
        /// The editor's status.
        pub const SAVED: &str = "Saved and live";
        /// The chart's series: bars, dashes, line.
        pub const SERIES: [&str; 3] = ["visits", "orders", "revenue"];
        /// The hour the clock shows.
        pub const HOUR: &str = "03:00";
    }
}

/// What it is built on.
pub mod infrastructure {
    /// Heading.
    pub const TITLE: &str = "Built so no one can switch you off";
    /// Below the heading.
    pub const LEAD: &str = "{product} keeps your business on decentralized storage: many \
        independent nodes, not one company's servers.";
    /// Under the drawing of the network.
    pub const CAPTION: &str = "One node goes offline. Traffic takes another route, and your business \
        stays up.";
    /// The three selling points.
    pub const POINTS: [(&str, &str); 3] = [
        (
            "You own it",
            "Your site, data and customer list belong to you. Only you hold the keys.",
        ),
        (
            "Unlimited scaling",
            "Ten visitors or ten million: the network adds nodes as you grow.",
        ),
        (
            "No platform shutdown",
            "No single company can change the rules, close your account or take you down with it.",
        ),
    ];
}

/// Around the demo terminal.
pub mod demo {
    /// Heading.
    pub const TITLE: &str = "From one command to the first customer";
    /// Below the heading.
    pub const LEAD: &str = "A complete launch, condensed into eight seconds.";
    /// Goes to the waitlist.
    pub const CALL_TO_ACTION: &str = "Start Your Agent Now";
}

/// Around the waitlist form.
pub mod contact {
    /// Heading.
    pub const TITLE: &str = "Be among the first";
    /// Below the heading.
    pub const LEAD: &str =
        "{product} isn't open to everyone yet. Join the waitlist for early access.";
}

/// The last lines.
pub mod footer {
    /// Labels of the three links, in order: privacy, terms, support.
    pub const PRIVACY: &str = "Privacy";
    /// See [`PRIVACY`].
    pub const TERMS: &str = "Terms";
    /// See [`PRIVACY`].
    pub const SUPPORT: &str = "Support";
    /// Spec §2: the copyright line says 2024.
    pub const COPYRIGHT: &str = "© 2024 {product}";
}

/// The page for every path that is no page.
pub mod not_found {
    /// Title and heading.
    pub const TITLE: &str = "404 Page Not Found";
    /// Below it.
    pub const TEXT: &str = "Did you forget to add the page to the router?";
    /// The picture: the routes there are, and the one that is missing.
    pub const ROUTES: [&str; 5] = ["/", "#features", "#comparison", "#demo", "#contact"];
    /// The way home.
    pub const HOME: &str = "Go to Home Page";
}

/// What the page says after the form posted itself (no JavaScript). The same words as the toasts
/// of the form island: spec §8.
pub mod reply {
    pub use super::islands::{ALREADY_LISTED, EMPTY_EMAIL, ERROR_TITLE, FAILED, INVALID_EMAIL};
    pub use super::islands::{JOINED, JOINED_TITLE, PROMISE};
}
