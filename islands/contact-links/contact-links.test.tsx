import { fireEvent, render, screen } from "@testing-library/react";
import userEvent, { type UserEvent } from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { advance } from "../test/setup";
import ContactLinks from "./contact-links";

const OPEN_DELAY = 700;
const SKIP_DELAY = 300;

beforeEach(() => {
  vi.useFakeTimers();
});

describe("contact links", () => {
  test("§2 one link writes to the owner, the other leads to the social profile", () => {
    setup();
    expect(mail().getAttribute("href")).toBe("mailto:owner@example.com");
    expect(profile().getAttribute("href")).toBe("https://social.example/@steward");
  });

  test("the addresses stand beside the links, for those who see no tooltip", () => {
    setup();
    expect(mail().parentElement?.textContent).toContain("owner@example.com");
    expect(profile().parentElement?.textContent).toContain("social.example");
  });

  test("§9 a tooltip opens after 700 ms under the pointer, not before", async () => {
    const user = setup();
    await user.hover(mail());
    advance(OPEN_DELAY - 1);
    expect(tooltip()).toBeNull();
    advance(1);
    expect(tooltip()?.textContent).toContain("Opens your email app");
  });

  test("§9 a tooltip doesn't open when the pointer has left before 700 ms", async () => {
    const user = setup();
    await user.hover(mail());
    advance(OPEN_DELAY - 1);
    await user.unhover(mail());
    advance(OPEN_DELAY);
    expect(tooltip()).toBeNull();
  });

  test("§9 the second tooltip opens at once within 300 ms of the first", async () => {
    const user = setup();
    await user.hover(mail());
    advance(OPEN_DELAY);
    await leave(user);
    expect(tooltip()).toBeNull();
    advance(SKIP_DELAY - 1);
    await user.hover(profile());
    expect(tooltip()?.textContent).toContain("Opens our social profile");
  });

  test("§9 the second tooltip takes 700 ms again when 300 ms have passed", async () => {
    const user = setup();
    await user.hover(mail());
    advance(OPEN_DELAY);
    await leave(user);
    advance(SKIP_DELAY);
    await user.hover(profile());
    advance(OPEN_DELAY - 1);
    expect(tooltip()).toBeNull();
    advance(1);
    expect(tooltip()?.textContent).toContain("Opens our social profile");
  });

  test("a tooltip opens at once on keyboard focus, and describes its link", async () => {
    const user = setup();
    await user.tab();
    expect(document.activeElement).toBe(mail());
    expect(tooltip()?.id).toBe(mail().getAttribute("aria-describedby"));
    await user.tab();
    expect(document.activeElement).toBe(profile());
    expect(tooltip()?.textContent).toContain("Opens our social profile");
  });

  test("Escape closes the tooltip", async () => {
    const user = setup();
    await user.tab();
    expect(tooltip()).not.toBeNull();
    await user.keyboard("{Escape}");
    expect(tooltip()).toBeNull();
  });

  test("a finger opens no tooltip", () => {
    setup();
    fireEvent.pointerMove(mail(), { pointerType: "touch" });
    advance(OPEN_DELAY);
    expect(tooltip()).toBeNull();
  });
});

function setup() {
  render(
    <ContactLinks
      email="owner@example.com"
      social="https://social.example/@steward"
      social_host="social.example"
    />,
  );
  return userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
}

/** Moves the pointer away from the link, and from the way to its tooltip. */
async function leave(user: UserEvent) {
  await user.unhover(mail());
  await user.pointer({ target: document.body, coords: { clientX: 500, clientY: 500 } });
}

function mail() {
  return screen.getByRole("link", { name: "Email us" });
}

function profile() {
  return screen.getByRole("link", { name: "Follow the launch" });
}

function tooltip() {
  return screen.queryByRole("tooltip");
}
