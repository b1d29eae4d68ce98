/** The properties that the markup is rendered with. Texts are placeholders. */
import type { ContactLinksProps } from "../bindings/wire";

export const VARIANTS: ContactLinksProps[] = [
  { email: "{{email}}", social: "{{social}}", social_host: "{{social_host}}" },
];
