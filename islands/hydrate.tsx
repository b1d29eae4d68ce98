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
import { type ComponentType, createElement } from "react";
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

/** Hydrates the island `name` in `element`. If it throws, the server's markup stays. */
export function hydrate(element: HTMLElement, name: string, island: Island, props: object): void {
  // Trusted Types forbids `innerHTML`.
  const serverNodes = [...element.childNodes].map((node) => node.cloneNode(true));
  const restoreField = saveField(element);
  const reattach = detachForeignNodes(element);
  // Synchronous: nothing else can change the DOM during hydration.
  flushSync(() => {
    hydrateRoot(element, islandTree(island, props), {
      identifierPrefix: name,
      onRecoverableError: (error) => console.error(`island ${name} was rebuilt:`, error),
      onUncaughtError(error) {
        console.error(`island ${name} failed:`, error);
        element.replaceChildren(...serverNodes);
      },
    });
  });
  reattach();
  restoreField();
}

/** The tree that `build/markup.tsx` renders, too. `never` is safe: `src/wire.rs` declares the props of each island. */
export const islandTree = (island: Island, props: object) => createElement(island as never, props);

/** Adds the server's mark to every element of an island's markup. */
export const markServerElements = (markup: string) =>
  markup.replaceAll(/<[a-z][^\s>]*/g, `$& ${SERVER_MARK}`);

/**
 * Detaches all nodes that the server did not send, and removes the marks. Returns the function that
 * reattaches the nodes.
 */
function detachForeignNodes(root: HTMLElement): () => void {
  const serverElements = [...root.querySelectorAll(`[${SERVER_MARK}]`)];
  const parents: Node[] = [root, ...serverElements];
  const isFromServer = (node: Node) => parents.includes(node);
  const detached: [ChildNode, parent: Node, next: Node | null][] = [];
  for (const element of serverElements) {
    // A foreign wrapper: its children stay.
    for (let wrapper = element.parentElement; wrapper && !isFromServer(wrapper);) {
      wrapper.replaceWith(...wrapper.childNodes);
      wrapper = element.parentElement;
    }
  }
  for (const parent of parents) {
    const children = [...parent.childNodes];
    if (!children.some(isFromServer)) continue;
    for (const node of children)
      if (!isFromServer(node)) detached.push([node, parent, node.nextSibling]);
  }
  for (const [node] of detached) node.remove();
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
