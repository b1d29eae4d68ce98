/** The mailto and social links, with tooltips (spec §2, §9). */
import * as Tooltip from "@radix-ui/react-tooltip";
import { COPY } from "../bindings/copy";
import type { ContactLinksProps } from "../bindings/wire";

export { mount } from "../mount";

/** Spec §9: milliseconds, milliseconds, pixels. */
const OPEN_DELAY = 700;
const SKIP_DELAY = 300;
const OFFSET = 4;

export default function ContactLinks({ email, social, social_host }: ContactLinksProps) {
  return (
    <Tooltip.Provider delayDuration={OPEN_DELAY} skipDelayDuration={SKIP_DELAY}>
      <ul className="contact-links">
        <li>
          <Hinted hint={`${COPY.CONTACT_TIP} ${email}`}>
            <a href={`mailto:${email}`}>{COPY.CONTACT_LABEL}</a>
          </Hinted>
        </li>
        <li>
          <Hinted hint={`${COPY.SOCIAL_TIP} ${social_host}`}>
            <a href={social} rel="me noopener">
              {COPY.SOCIAL_LABEL}
            </a>
          </Hinted>
        </li>
      </ul>
    </Tooltip.Provider>
  );
}

function Hinted({ hint, children }: { hint: string; children: React.ReactNode }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      {/* No portal: at the end of the body it would stand outside every landmark. */}
      <Tooltip.Content
        className="tooltip"
        side="bottom"
        align="start"
        sideOffset={OFFSET}
        collisionPadding={OFFSET}
      >
        {hint}
      </Tooltip.Content>
    </Tooltip.Root>
  );
}
