/**
 * Hydrates one island: properties, error boundary, root bookkeeping.
 *
 * Translators and password managers may have changed the markup before React hydrates it: they wrap
 * and edit texts, and insert elements. React expects the server's markup, and would rebuild the island.
 * So the islands keep two rules, and this file does the rest:
 *
 * - A text is the only child of its element, with `suppressHydrationWarning`: React leaves the content
 *   of such an element as it is.
 * - Elements that the server sends carry `data-own` (from `prerender.tsx`). All others are detached
 *   during hydration.
 */
import { Component, createElement, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { hydrateRoot } from "react-dom/client";
import type { Island } from "./registry";

/** Marks the elements that the server sends. */
const OWN = "data-own";

export function mount(element: HTMLElement, name: string, island: Island, props: object): void {
  const serverNodes = [...element.childNodes].map((node) => node.cloneNode(true));
  const restoreField = rememberField(element);
  const reattach = detachForeignNodes(element);
  // Synchronous, so that nothing changes the DOM during hydration.
  flushSync(() => {
    hydrateRoot(element, tree(island, props, serverNodes), {
      identifierPrefix: identifierPrefix(name),
      onCaughtError: (error) => console.error(`island ${name} failed:`, error),
      onRecoverableError: (error) => console.error(`island ${name} was rebuilt:`, error),
    });
  });
  reattach();
  restoreField();
}

/** Builds the tree that is hydrated here and rendered by `prerender.tsx`: the two must match. */
export function tree(island: Island, props: object, serverNodes: Node[]): ReactNode {
  // The server sends the properties that wire.rs declares for this very island.
  return (
    <ErrorBoundary serverNodes={serverNodes}>{createElement(island as never, props)}</ErrorBoundary>
  );
}

export const identifierPrefix = (name: string) => `${name}-`;

/** Marks every element of an island's markup as its own. */
export const markOwn = (markup: string) => markup.replaceAll(/<[a-z][^\s>]*/g, `$& ${OWN}`);

/** Detaches the nodes that are not the island's own and removes the marks. Returns what reattaches them. */
function detachForeignNodes(root: HTMLElement): () => void {
  const own = root.querySelectorAll(`[${OWN}]`);
  const isOwn = (node: Node) => node instanceof Element && node.hasAttribute(OWN);
  const detached: [Node, parent: Node, next: Node | null][] = [];
  for (const parent of [root, ...own]) {
    // Around its own elements: those stay, the wrapper goes.
    for (const wrapper of parent.querySelectorAll(`:scope > :not([${OWN}]):has([${OWN}])`)) {
      const inside = [...wrapper.querySelectorAll(`[${OWN}]`)];
      const isChild = (node: Element) =>
        (node.parentElement?.closest(`[${OWN}]`) ?? root) === parent;
      wrapper.replaceWith(...inside.filter(isChild));
    }
    const children = [...parent.childNodes];
    if (!children.some(isOwn)) continue;
    for (const node of children) {
      if (!isOwn(node)) detached.push([node, parent, node.nextSibling]);
    }
  }
  for (const [node, parent] of detached) parent.removeChild(node);
  for (const element of own) element.removeAttribute(OWN);
  return () => {
    for (const [node, parent, next] of detached.reverse()) parent.insertBefore(node, next);
  };
}

/** Remembers the field's value and focus. Returns what restores them, if React has replaced the field. */
function rememberField(root: HTMLElement): () => void {
  const field = root.querySelector("input");
  const { activeElement } = document;
  return () => {
    const now = root.querySelector("input");
    if (!field || !now) return;
    if (now !== field) now.value = field.value;
    if (activeElement === field) now.focus({ preventScroll: true });
  };
}

/** Shows the server's nodes if the island throws. They are cloned nodes, because Trusted Types forbids
 * `innerHTML`. */
class ErrorBoundary extends Component<
  { serverNodes: Node[]; children: ReactNode },
  { failed: boolean }
> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    const { serverNodes, children } = this.props;
    return this.state.failed ? (
      <div ref={(div) => div?.replaceChildren(...serverNodes)} />
    ) : (
      children
    );
  }
}
