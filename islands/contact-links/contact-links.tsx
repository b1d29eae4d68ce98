/** The mailto and social links, with tooltips (spec §2, §9). */
import * as Tooltip from "@radix-ui/react-tooltip";
import { useState } from "react";
import * as COPY from "./copy.json";
import type { ContactLinksProps } from "../bindings/wire";

export { hydrate } from "../hydrate";

/** Spec §9. */
const OPEN_DELAY_MS = 700;
const SKIP_DELAY_MS = 300;
const OFFSET_PX = 4;

export default function ContactLinks({ email, social, social_host }: ContactLinksProps) {
  return (
    <Tooltip.Provider delayDuration={OPEN_DELAY_MS} skipDelayDuration={SKIP_DELAY_MS}>
      <ul className="contact-links">
        <li>
          <WithTooltip tip={COPY.CONTACT_TIP}>
            <a href={`mailto:${email}`} suppressHydrationWarning>
              {COPY.CONTACT_LABEL}
            </a>
          </WithTooltip>
          {/* Visible for touch screens, which show no tooltip, and for copying. */}
          <span suppressHydrationWarning>{email}</span>
        </li>
        <li>
          <WithTooltip tip={COPY.SOCIAL_TIP}>
            <a href={social} rel="me noopener" suppressHydrationWarning>
              {COPY.SOCIAL_LABEL}
            </a>
          </WithTooltip>
          <span suppressHydrationWarning>{social_host}</span>
        </li>
      </ul>
    </Tooltip.Provider>
  );
}

/** Adds a tooltip to a link. */
function WithTooltip({ tip, children }: { tip: string; children: React.ReactNode }) {
  const [open, setOpen] = useState(false);

  /**
   * Keeps the tooltip of the focused link open while the page scrolls. Radix closes it on any scroll, even
   * on the scroll that Tab causes when it moves the focus to the link.
   */
  function changeOpen(next: boolean) {
    const isScroll = window.event?.type === "scroll";
    if (!isScroll || !document.querySelector("a:focus-visible")) setOpen(next);
  }

  return (
    <Tooltip.Root open={open} onOpenChange={changeOpen}>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      {/* No portal: it would move the tooltip to the end of the body, outside every landmark. */}
      <Tooltip.Content
        className="tooltip"
        side="bottom"
        align="start"
        sideOffset={OFFSET_PX}
        collisionPadding={OFFSET_PX}
      >
        {tip}
      </Tooltip.Content>
    </Tooltip.Root>
  );
}
