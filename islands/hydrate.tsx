/**
 * Hydrates one island in the markup that the server rendered.
 *
 * By the time React hydrates the markup, translators and password managers may have changed it: they wrap
 * and edit texts, and insert elements. React expects the server's markup and would otherwise rebuild the
 * island. Two rules and this module prevent that:
 *
 * - A text is the only child of its element, and the element has `suppressHydrationWarning`. React leaves
 *   the content of such an element unchanged.
 * - Elements from the server carry `data-own` (added by `build/markup.tsx`). All other elements are
 *   detached during hydration.
 */
import { Component, type ComponentType, createElement, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { hydrateRoot } from "react-dom/client";

/** An island's component. Its props come from the server, and `src/wire.rs` declares them. */
export type Island = ComponentType<never>;

/**
 * What the module of an island exports. Each module re-exports `hydrate`, which puts React into the one chunk that all
 * islands share.
 */
export interface IslandModule {
  readonly default: Island;
  readonly hydrate: typeof hydrate;
}

/** Marks the elements that the server sent. */
const SERVER_MARK = "data-own";

/** Hydrates the island `name` in `element`. */
export function hydrate(element: HTMLElement, name: string, island: Island, props: object): void {
  const serverNodes = [...element.childNodes].map((node) => node.cloneNode(true));
  const restoreField = saveField(element);
  const reattach = detachForeignNodes(element);
  // Synchronous: nothing else can change the DOM during hydration.
  flushSync(() => {
    hydrateRoot(element, islandTree(island, props, serverNodes), {
      identifierPrefix: identifierPrefix(name),
      onCaughtError: (error) => console.error(`island ${name} failed:`, error),
      onRecoverableError: (error) => console.error(`island ${name} was rebuilt:`, error),
    });
  });
  reattach();
  restoreField();
}

/**
 * Builds the tree that this module hydrates and `build/markup.tsx` renders. React requires the two to
 * match.
 */
export function islandTree(island: Island, props: object, serverNodes: Node[]): ReactNode {
  // `never` is safe: the server sends the props that `src/wire.rs` declares for this island.
  return (
    <ErrorBoundary serverNodes={serverNodes}>{createElement(island as never, props)}</ErrorBoundary>
  );
}

/** The prefix of all ids that React generates in an island. */
export const identifierPrefix = (name: string) => `${name}-`;

/** Adds the server's mark to every element of an island's markup. */
export const markServerElements = (markup: string) =>
  markup.replaceAll(/<[a-z][^\s>]*/g, `$& ${SERVER_MARK}`);

/**
 * Detaches all nodes that the server did not send, and removes the marks. Returns the function that
 * reattaches the nodes.
 */
function detachForeignNodes(root: HTMLElement): () => void {
  const serverElements = root.querySelectorAll(`[${SERVER_MARK}]`);
  const isFromServer = (node: Node) => node instanceof Element && node.hasAttribute(SERVER_MARK);
  const detached: [Node, parent: Node, next: Node | null][] = [];
  for (const parent of [root, ...serverElements]) {
    // A foreign wrapper around elements from the server: remove the wrapper, keep the elements.
    for (const wrapper of [...parent.children]) {
      const inside = [...wrapper.querySelectorAll(`[${SERVER_MARK}]`)];
      if (isFromServer(wrapper) || inside.length === 0) continue;
      const isChild = (node: Element) =>
        (node.parentElement?.closest(`[${SERVER_MARK}]`) ?? root) === parent;
      wrapper.replaceWith(...inside.filter(isChild));
    }
    const children = [...parent.childNodes];
    if (!children.some(isFromServer)) continue;
    for (const node of children) {
      if (!isFromServer(node)) detached.push([node, parent, node.nextSibling]);
    }
  }
  for (const [node, parent] of detached) parent.removeChild(node);
  for (const element of serverElements) element.removeAttribute(SERVER_MARK);
  return () => {
    for (const [node, parent, next] of detached.reverse()) {
      // React may have rebuilt the island, and its old elements are gone.
      parent.insertBefore(node, next?.parentNode === parent ? next : null);
    }
  };
}

/**
 * Saves the value and the focus of the island's field. Returns the function that restores the value if React has
 * replaced the field, and the focus, which the field also loses when its wrapper is removed.
 */
function saveField(root: HTMLElement): () => void {
  const before = root.querySelector("input");
  const { activeElement } = document;
  return () => {
    const after = root.querySelector("input");
    if (!before || !after) return;
    if (after !== before) after.value = before.value;
    if (activeElement === before) after.focus({ preventScroll: true });
  };
}

/** Shows the server's markup if the island throws. It takes cloned nodes: Trusted Types forbids `innerHTML`. */
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
