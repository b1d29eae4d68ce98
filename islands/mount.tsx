/**
 * Hydrates one island: properties, error boundary, root bookkeeping.
 *
 * Others have been at the page before: translators wrap and change its texts, password managers put
 * elements between its own. React expects the server's markup, and would rebuild the island. So the
 * islands keep two rules, and this file does the rest:
 *
 * - A text stands alone in its element, with `suppressHydrationWarning`: React leaves the content of
 *   such an element as it is.
 * - What the server sends is marked as the island's own (`data-own`, by `prerender.tsx`): all else is
 *   set aside while React takes over.
 */
import { Component, createElement, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { hydrateRoot } from "react-dom/client";
import type { Island } from "./registry";

/** Marks the elements that the server sends. */
const OWN = "data-own";

const mounted = new WeakSet<HTMLElement>();

export function mount(element: HTMLElement, name: string, island: Island, props: object): void {
  if (mounted.has(element)) return;
  mounted.add(element);
  const before = [...element.childNodes].map((node) => node.cloneNode(true));
  const restoreField = rememberField(element);
  const putBack = setAside(element);
  // At once: between the two halves nobody can type or translate.
  flushSync(() => {
    hydrateRoot(element, tree(island, props, before), {
      identifierPrefix: identifierPrefix(name),
      onCaughtError: (error) => console.error(`island ${name} failed:`, error),
      onRecoverableError: (error) => console.error(`island ${name} was rebuilt:`, error),
    });
  });
  putBack();
  restoreField();
}

/** What is hydrated, and what `prerender.tsx` renders: the two must be alike. */
export function tree(island: Island, props: object, before: Node[]): ReactNode {
  // The server sends the properties that wire.rs declares for this very island.
  return <Boundary before={before}>{createElement(island as never, props)}</Boundary>;
}

export const identifierPrefix = (name: string) => `${name}-`;

/** Marks every element of an island's markup as its own. */
export const markOwn = (markup: string) => markup.replaceAll(/<[a-z][^\s>]*/g, `$& ${OWN}`);

/** Takes out what is not the island's own, and returns how to put it back. The marks go, too. */
function setAside(root: HTMLElement): () => void {
  const own = root.querySelectorAll(`[${OWN}]`);
  const isOwn = (node: Node) => node instanceof Element && node.hasAttribute(OWN);
  const aside: [Node, parent: Node, next: Node | null][] = [];
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
      if (!isOwn(node)) aside.push([node, parent, node.nextSibling]);
    }
  }
  for (const [node, parent] of aside) parent.removeChild(node);
  for (const element of own) element.removeAttribute(OWN);
  return () => {
    for (const [node, parent, next] of aside.reverse()) parent.insertBefore(node, next);
  };
}

/** What the visitor has typed, and whether the focus is there: for the field that may take the place
 * of this one. */
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
