// Written by `make generate NAME=bindings`; do not edit.

export const COPY = {
  "ALREADY_LISTED": "Email already on waitlist",
  "CODE_FAILED": "Failed to confirm. Please try again.",
  "CODE_LABEL": "Got a code by email? Enter it here",
  "CODE_SUBMIT": "Confirm",
  "CONFIRMED": "Your address is confirmed.",
  "CONTACT_LABEL": "Email us",
  "CONTACT_TIP": "Opens your email app",
  "COUNT": "entrepreneurs already on the list",
  "DEMO_BUTTON": [
    "Pause the demo",
    "Play the demo",
    "Replay the demo"
  ],
  "DEMO_DIRECTORY": "~/hot-sauce",
  "DEMO_LABEL": "A launch, line by line",
  "DEMO_LINES": [
    [
      "command",
      "agent deploy --idea \"small-batch hot sauce\""
    ],
    [
      "check",
      "Business plan written"
    ],
    [
      "check",
      "Logo and product photos ready"
    ],
    [
      "check",
      "Website built"
    ],
    [
      "check",
      "Payments connected"
    ],
    [
      "check",
      "Launch campaign running"
    ],
    [
      "check",
      "Customer support online"
    ],
    [
      "sms",
      "SMS: First customer! First sale: $29.99"
    ],
    [
      "result",
      "Live at https://hot-sauce.example"
    ]
  ],
  "EMAIL_LABEL": "Email address",
  "EMAIL_PLACEHOLDER": "you@example.com",
  "EMPTY_EMAIL": "Please enter your email address",
  "ERROR_TITLE": "Error",
  "FAILED": "Failed to add to waitlist. Please try again.",
  "INVALID_EMAIL": "Please enter a valid email address",
  "JOINED": "You've been added to the waitlist. We'll notify you when {product} is ready.",
  "JOINED_TITLE": "Success!",
  "LEAVE_EMPTY": "Leave this empty",
  "PROMISE": "We'll email you when {product} is ready.",
  "SOCIAL_LABEL": "Follow the launch",
  "SOCIAL_TIP": "Opens our social profile",
  "SUBMIT": "Join the Waitlist",
  "SUBMITTING": "Adding...",
  "TOASTS_LABEL": "Notifications (F8)",
  "TOAST_CLOSE": "Close",
  "WRONG_CODE": "That code is not right. Check the message again, or open the link in it."
} as const;
