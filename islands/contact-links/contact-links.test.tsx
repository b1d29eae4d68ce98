import { fireEvent, render, screen } from "@testing-library/react";
import userEvent, { type UserEvent } from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { CONTACT_LINKS_PROPS } from "../test/props";
import { advance } from "../test/setup";
import ContactLinks from "./contact-links";

const OPEN_DELAY_MS = 700;
const SKIP_DELAY_MS = 300;

beforeEach(() => {
  vi.useFakeTimers();
});

describe("contact links", () => {
  test("§2 one link is a mailto link to the owner, the other opens the social profile", () => {
    renderLinks();
    expect(emailLink().getAttribute("href")).toBe("mailto:owner@example.com");
    expect(profileLink().getAttribute("href")).toBe("https://social.example/@steward");
  });

  test("the addresses are visible beside the links, without a tooltip", () => {
    renderLinks();
    expect(emailLink().parentElement?.textContent).toContain("owner@example.com");
    expect(profileLink().parentElement?.textContent).toContain("social.example");
  });

  test("§9 a tooltip opens after the pointer has been on its link for exactly 700 ms", async () => {
    const user = renderLinks();
    await user.hover(emailLink());
    advance(OPEN_DELAY_MS - 1);
    expect(tooltip()).toBeNull();
    advance(1);
    expect(tooltip()?.textContent).toContain("Opens your email app");
  });

  test("§9 a tooltip stays closed if the pointer leaves before 700 ms", async () => {
    const user = renderLinks();
    await user.hover(emailLink());
    advance(OPEN_DELAY_MS - 1);
    await user.unhover(emailLink());
    advance(OPEN_DELAY_MS);
    expect(tooltip()).toBeNull();
  });

  test("§9 a second tooltip opens at once within 300 ms of the first", async () => {
    const user = renderLinks();
    await user.hover(emailLink());
    advance(OPEN_DELAY_MS);
    await leave(user);
    expect(tooltip()).toBeNull();
    advance(SKIP_DELAY_MS - 1);
    await user.hover(profileLink());
    expect(tooltip()?.textContent).toContain("Opens our social profile");
  });

  test("§9 a second tooltip takes 700 ms again after 300 ms", async () => {
    const user = renderLinks();
    await user.hover(emailLink());
    advance(OPEN_DELAY_MS);
    await leave(user);
    advance(SKIP_DELAY_MS);
    await user.hover(profileLink());
    advance(OPEN_DELAY_MS - 1);
    expect(tooltip()).toBeNull();
    advance(1);
    expect(tooltip()?.textContent).toContain("Opens our social profile");
  });

  test("a tooltip opens at once on keyboard focus and describes its link", async () => {
    const user = renderLinks();
    await user.tab();
    expect(document.activeElement).toBe(emailLink());
    expect(tooltip()?.id).toBe(emailLink().getAttribute("aria-describedby"));
    await user.tab();
    expect(document.activeElement).toBe(profileLink());
    expect(tooltip()?.textContent).toContain("Opens our social profile");
  });

  test("Escape closes the tooltip", async () => {
    const user = renderLinks();
    await user.tab();
    expect(tooltip()).not.toBeNull();
    await user.keyboard("{Escape}");
    expect(tooltip()).toBeNull();
  });

  test("touch opens no tooltip", () => {
    renderLinks();
    fireEvent.pointerMove(emailLink(), { pointerType: "touch" });
    advance(OPEN_DELAY_MS);
    expect(tooltip()).toBeNull();
  });
});

function renderLinks() {
  render(<ContactLinks {...CONTACT_LINKS_PROPS} />);
  return userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
}

/** Moves the pointer away from the link, and outside the path to its tooltip. */
async function leave(user: UserEvent) {
  await user.unhover(emailLink());
  await user.pointer({ target: document.body, coords: { clientX: 500, clientY: 500 } });
}

function emailLink() {
  return screen.getByRole("link", { name: "Email us" });
}

function profileLink() {
  return screen.getByRole("link", { name: "Follow the launch" });
}

function tooltip() {
  return screen.queryByRole("tooltip");
}
