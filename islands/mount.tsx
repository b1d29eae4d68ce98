/** Hydrates one island: properties, error boundary, root bookkeeping. */
import { Component, createElement, type ReactNode } from "react";
import { hydrateRoot } from "react-dom/client";
import type { Island } from "./registry";

const mounted = new WeakSet<HTMLElement>();

export function mount(element: HTMLElement, name: string, island: Island, props: object): void {
  if (mounted.has(element)) return;
  mounted.add(element);
  hydrateRoot(element, tree(island, props, element.innerHTML), {
    identifierPrefix: identifierPrefix(name),
    onCaughtError: (error) => console.error(`island ${name} failed:`, error),
  });
}

/** What is hydrated, and what `prerender.tsx` renders: the two must be alike. */
export function tree(island: Island, props: object, markup: string): ReactNode {
  // The server sends the properties that wire.rs declares for this very island.
  return <Boundary markup={markup}>{createElement(island as never, props)}</Boundary>;
}

export const identifierPrefix = (name: string) => `${name}-`;

/** An island that fails takes no other with it, and leaves the markup that works without it. */
class Boundary extends Component<{ markup: string; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    const { markup, children } = this.props;
    return this.state.failed ? <div dangerouslySetInnerHTML={{ __html: markup }} /> : children;
  }
}
