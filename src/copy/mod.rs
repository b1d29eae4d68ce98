//! Every text and link that a visitor reads, in the order of the page.
//!
//! [`fill_product`] replaces `{product}` with the product's name. The texts of the islands are in `islands/*/copy.json`,
//! and here in [`islands`]. Those of messages are in [`mail`].

pub mod islands;
pub mod mail;

/// Default name of the product (`--product`).
pub const PRODUCT: &str = "Steward";

/// Default public origin of the site (`--origin`).
pub const ORIGIN: &str = "https://steward.example";

/// Default address of the e-mail link (`--contact`).
pub const CONTACT: &str = "hello@steward.example";

/// Default URL of the social profile (`--social`).
pub const SOCIAL: &str = "https://social.example/@steward";

/// Replaces `{product}` in a text with the product's name.
pub fn fill_product(text: &str, product: &str) -> String {
    text.replace("{product}", product)
}

/// Replaces `{email}` in a text with an address.
pub fn fill_email(text: &str, email: &str) -> String {
    text.replace("{email}", email)
}

/// The document head, link previews and `llms.txt`.
pub mod head {
    /// Title of the landing page.
    pub const TITLE: &str = "{product} — the AI agent that runs your business";
    /// The description in search results and link previews.
    pub const DESCRIPTION: &str = "{product} writes the business plan, launches the website, runs \
        the marketing and texts you when sales come in. Join the early-access waitlist.";
    /// Alternative text of the picture in link previews.
    pub const CARD_ALT: &str = "A terminal showing a launch: the deploy command, the first-sale \
        text message and the live site’s address.";
    /// Heading of the links in `/llms.txt`.
    pub const LINKS_HEADING: &str = "Links";
}

/// The navigation bar at the top.
pub mod nav {
    /// Accessible name of the navigation.
    pub const LABEL: &str = "Main";
    /// The skip link before the navigation.
    pub const SKIP: &str = "Skip to content";
    /// The links in order: anchor and label.
    pub const LINKS: [(&str, &str); 4] = [
        ("features", "Features"),
        ("comparison", "vs ChatGPT"),
        ("demo", "Demo"),
        ("contact", "Contact"),
    ];
    /// Label of the button that leads to the waitlist.
    pub const CALL_TO_ACTION: &str = "Get Started";
}

/// The first screen.
pub mod hero {
    /// Heading, in two lines.
    pub const TITLE: [&str; 2] = ["You have the idea.", "{product} runs the business."];
    /// Below the heading.
    pub const LEAD: &str = "{product} is an AI agent, not a chat window. It writes your business \
        plan, launches your website, runs your marketing and texts you when sales come in.";
    /// Label of the button that leads to the waitlist.
    pub const CALL_TO_ACTION: &str = "Launch Your AI Agent";
    /// Label of the button that leads to the demo.
    pub const WATCH_DEMO: &str = "Watch Demo";
    /// Explains the two buttons.
    pub const NOTE: &str = "Leave your email to join the waitlist, or watch the demo first.";
    /// The time on the phone.
    pub const PHONE_TIME: &str = "3:12 AM";
    /// The text messages on the phone.
    pub const PHONE_MESSAGES: [&str; 3] = [
        "Your plan is ready.",
        "Your site is live.",
        "First sale: {revenue}",
    ];
    /// Caption of the phone.
    pub const PHONE_CAPTION: &str = "Example";
    /// The steps of the agent: name and description.
    pub const STEPS: [(&str, &str); 4] = [
        (
            "Plan",
            "Your market, your price and a way to reach your first customers.",
        ),
        (
            "Launch",
            "A website on your own domain, served from storage you own.",
        ),
        (
            "Market",
            "Campaigns written, scheduled, measured and improved.",
        ),
        ("Sell", "A text message for every sale."),
    ];
}

/// The comparison of the agent with a chat assistant.
pub mod comparison {
    /// Heading, in two lines.
    pub const TITLE: [&str; 2] = ["A chat assistant tells you how.", "{product} gets it done."];
    /// Below the heading.
    pub const LEAD: &str = "Six tasks, and who does the work.";
    /// Heading of the first column.
    pub const TASK_HEADING: &str = "Task";
    /// Headings of the other columns: the assistant and the agent.
    pub const COLUMNS: [&str; 2] = ["A chat assistant", "{product}"];
    /// The rows: the task, the assistant's result, the agent's result.
    pub const ROWS: [(&str, &str, &str); 6] = [
        (
            "A business plan",
            "Advice for you to act on",
            "A costed plan, already under way",
        ),
        (
            "A website",
            "Steps for you to follow",
            "A live site on your own domain",
        ),
        (
            "Marketing",
            "Ideas for you to try",
            "A live campaign, measured daily",
        ),
        (
            "Sales alerts",
            "Help with figures you share",
            "A text message with the amount",
        ),
        (
            "Overnight work",
            "Answers when you ask",
            "Keeps working, 24 hours a day",
        ),
        ("Your data", "In a chat history", "In storage you own"),
    ];
}

/// The features.
pub mod features {
    /// Heading.
    pub const TITLE: &str = "Open everything it makes";
    /// Below the heading.
    pub const LEAD: &str = "An agent that works on its own should be easy to check. You can open \
        every file it makes and check every number it reports.";
    /// The cards: title and text.
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
            "Your passwords stay on your device. The agent works with keys that you can withdraw.",
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

    /// The text in the illustrations. It is decorative, and hidden from screen readers.
    pub mod scenes {
        /// Name of the bucket.
        pub const BUCKET: &str = "s3://hot-sauce";
        /// The objects in the bucket: name and size.
        pub const OBJECTS: [(&str, &str); 5] = [
            ("site/index.html", "14 KB"),
            ("media/label.webp", "88 KB"),
            ("plan/business-plan.pdf", "212 KB"),
            ("orders/week-1.csv", "6 KB"),
            ("invoices/0001.pdf", "3 KB"),
        ];
        /// The rows of the file explorer: depth and name.
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
            "<h1>Hot sauce</h1>",
            "<p>Small batches</p>",
            "<b>{revenue}</b>",
        ];
        /// Row and column of the caret, zero-based.
        pub const CARET: (usize, usize) = (2, 9);
        /// Status of the editor.
        pub const SAVED: &str = "Saved and live";
        /// The series of the chart: bars, dashed line, solid line.
        pub const SERIES: [&str; 3] = ["visits", "orders", "revenue"];
        /// The value of the axis: revenue per week.
        pub const AXIS: &str = "$300";
        /// The first and the last week of the chart.
        pub const WEEKS: [&str; 2] = ["week 1", "week 12"];
    }
}

/// The decentralized infrastructure.
pub mod infrastructure {
    /// Heading.
    pub const TITLE: &str = "Many nodes, not one company";
    /// Below the heading.
    pub const LEAD: &str = "{product} keeps your site and your data on decentralized storage. \
        Independent nodes around the world hold them.";
    /// Caption of the drawing of the network.
    pub const CAPTION: &str = "One node is offline. Traffic can take another route.";
    /// The three selling points: title and text.
    pub const POINTS: [(&str, &str); 3] = [
        (
            "You own it",
            "Your site, data and customer list are yours to take with you.",
        ),
        (
            "Unlimited scaling",
            "The network has no fixed size. It can add nodes for as long as you grow.",
        ),
        (
            "No platform shutdown",
            "No single company runs the storage, so none can close it alone.",
        ),
    ];
}

/// The section with the demo terminal.
pub mod demo {
    /// Heading.
    pub const TITLE: &str = "From one command to the first customer";
    /// Below the heading.
    pub const LEAD: &str = "An example launch, sped up.";
    /// The text in the drawing of the launched shop: its product, the price, the button.
    pub const SHOP: [&str; 3] = [
        "Hot sauce",
        super::islands::demo_terminal::SAMPLE_REVENUE,
        "Order",
    ];
    /// Label of the button that leads to the waitlist.
    pub const CALL_TO_ACTION: &str = "Start Your Agent Now";
}

/// The section with the waitlist form.
pub mod contact {
    /// Heading.
    pub const TITLE: &str = "Be among the first";
    /// Below the heading.
    pub const LEAD: &str = "{product} isn’t open yet. Join the waitlist for early access.";
    /// Title of the page that asks for the code.
    pub const CODE_TITLE: &str = "Check your inbox";
    /// Below the form: what happens with the address.
    pub const PRIVACY: &str = "Launch news only. Leave at any time.";
    /// Label of the link after it, if the owner has a privacy policy.
    pub const PRIVACY_LINK: &str = "Privacy policy";
}

/// The footer.
pub mod footer {
    /// Label of the first link.
    pub const PRIVACY: &str = "Privacy";
    /// Label of the second link.
    pub const TERMS: &str = "Terms";
    /// Label of the third link.
    pub const SUPPORT: &str = "Support";
    /// The copyright line. Spec §2 fixes the year.
    pub const COPYRIGHT: &str = "© 2024 {product}";
}

/// The not-found page.
pub mod not_found {
    /// Title and heading.
    pub const TITLE: &str = "404 Page Not Found";
    /// Below the heading.
    pub const TEXT: &str = "Did you forget to add the page to the router?";
    /// The routes in the illustration. The page adds the missing one.
    pub const ROUTES: [&str; 5] = ["/", "#features", "#comparison", "#demo", "#contact"];
    /// Label of the link to the landing page.
    pub const HOME: &str = "Go to Home Page";
}

/// The pages that the links in messages lead to. `{address}` is the address of the person, masked.
pub mod links {
    /// Title and heading of the question of a confirmation link.
    pub const CONFIRM_TITLE: &str = "Confirm your address";
    /// Below the heading.
    pub const CONFIRM_TEXT: &str = "Then we can email {address} when {product} is ready.";
    /// Label of the button.
    pub const CONFIRM: &str = "Confirm";
    /// Label of the link to the question of an unsubscribe link.
    pub const NOT_ME: &str = "I did not sign up: take my address off the list";
    /// Title and heading when the address is confirmed.
    pub const CONFIRMED_TITLE: &str = "Your address is confirmed";
    /// Title and heading when it was confirmed before.
    pub const ALREADY_CONFIRMED_TITLE: &str = "Your address is already confirmed";
    /// Below these headings.
    pub const CONFIRMED: &str = "We’ll email {address} when {product} is ready.";
    /// In place of the address, if it is not known.
    pub const YOU: &str = "you";
    /// Title and heading if the person is not on the list any more.
    pub const NOT_LISTED_TITLE: &str = "You are not on the waitlist";
    /// Below the heading.
    pub const NOT_LISTED: &str =
        "This address is not on the waitlist any more. You can join again at any time.";
    /// Title and heading if a link is incomplete, or was not made by this site.
    pub const WRONG_LINK_TITLE: &str = "This link does not work";
    /// Below the heading, before the owner's address.
    pub const WRONG_LINK: &str = "The link may be cut off. Open it in the message again, or write to us and we will \
        confirm your address or take it off the list:";
    /// Title and heading if the list cannot be written.
    pub const CONFIRM_FAILED_TITLE: &str = "We could not confirm your address";
    /// Title and heading if the list cannot be written.
    pub const UNSUBSCRIBE_FAILED_TITLE: &str = "We could not take you off the list";
    /// Below these headings.
    pub const FAILED: &str = "Please try again in a minute.";
    /// Label of the button after a failure.
    pub const RETRY: &str = "Try again";
    /// Title and heading of the question of an unsubscribe link.
    pub const UNSUBSCRIBE_TITLE: &str = "Leave the waitlist?";
    /// Below the heading.
    pub const UNSUBSCRIBE_TEXT: &str =
        "We will erase {address}. {product} writes to it again only if somebody signs it up.";
    /// Label of the button.
    pub const UNSUBSCRIBE: &str = "Unsubscribe";
    /// Label of the link to the landing page.
    pub const STAY: &str = "Stay on the list";
    /// Title and heading after the person has left.
    pub const UNSUBSCRIBED_TITLE: &str = "You have left the waitlist";
    /// Below the heading.
    pub const UNSUBSCRIBED: &str = "We have erased your address. If our messages come to another address of yours, use the \
        link in one of them. If you change your mind, join again.";
    /// Label of the link to the landing page.
    pub const HOME: &str = "Go to Home Page";
    /// Label of the link to the form.
    pub const JOIN: &str = "Join again";
}
