/** Hydrates one island: properties, error boundary, root bookkeeping. */
import { Component, createElement, type ReactNode } from "react";
import { hydrateRoot } from "react-dom/client";
import type { Island } from "./registry";

const mounted = new WeakSet<HTMLElement>();

export function mount(element: HTMLElement, name: string, island: Island, props: object): void {
  if (mounted.has(element)) return;
  mounted.add(element);
  const before = [...element.childNodes].map((node) => node.cloneNode(true));
  hydrateRoot(element, tree(island, props, before), {
    identifierPrefix: identifierPrefix(name),
    onCaughtError: (error) => console.error(`island ${name} failed:`, error),
  });
}

/** What is hydrated, and what `prerender.tsx` renders: the two must be alike. */
export function tree(island: Island, props: object, before: Node[]): ReactNode {
  // The server sends the properties that wire.rs declares for this very island.
  return <Boundary before={before}>{createElement(island as never, props)}</Boundary>;
}

export const identifierPrefix = (name: string) => `${name}-`;

/** An island that fails takes no other with it, and leaves the markup that works without it: its
 * nodes and not its text, of which the page's policy lets no script make HTML (Trusted Types). */
class Boundary extends Component<{ before: Node[]; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    const { before, children } = this.props;
    return this.state.failed ? <div ref={(div) => div?.replaceChildren(...before)} /> : children;
  }
}
