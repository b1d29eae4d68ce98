/** Sample props for the islands. */
import type { ContactLinksProps, WaitlistFormProps } from "../bindings/wire";

export const WAITLIST_FORM_PROPS: WaitlistFormProps = {
  // `$&` is a pattern in `String.replace`. In a product's name it must stay as it is.
  product: "Steward $& Co",
  action: "#waitlist",
  count_line: "41 entrepreneurs already on the list",
  count_from: 0,
  confirms: false,
  step: "email",
  email: "",
  code: "",
  lead: "",
  outcome: "",
  message: "We’ll email you when Steward $& Co is ready.",
};

export const CONTACT_LINKS_PROPS: ContactLinksProps = {
  email: "owner@example.com",
  social: "https://social.example/@steward",
  social_host: "social.example",
};
