import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  button,
  EMAIL,
  field,
  passDoubleClick,
  postCode,
  postSignUp,
  renderForm,
  respondToSignUps,
  waitForToast,
} from "../test/waitlist-form-fixtures";

const INVITATION = { link: "https://steward.example/?ref=invite-0123456789abcdef", place: 42 };
const LEAD = "You’re number 42 in line. Invite others to move up.";

const copied = vi.fn<(text: string) => Promise<void>>();

beforeEach(() => {
  copied.mockReset();
  copied.mockResolvedValue();
  postSignUp.mockImplementation(async () =>
    Response.json({ email: EMAIL, invitation: INVITATION }, { status: 201 }),
  );
});

describe("the invitation", () => {
  test("shows the link and the place, and is spoken", async () => {
    await join();
    const link = await screen.findByLabelText<HTMLInputElement>("Your invitation link");
    expect(link.value).toBe(INVITATION.link);
    expect(link.readOnly).toBe(true);
    await waitFor(() => expect(spoken()).toContain(LEAD));
    expect(document.querySelectorAll("form .waitlist")).toHaveLength(0);
  });

  test.each([
    ["keeps the form in its place", 300, 1],
    ["moves nobody who reads something else", 3000, 0],
  ])("%s", async (_what, top, scrolls) => {
    const scrollBy = vi.spyOn(window, "scrollBy").mockReturnValue();
    const box = { top, bottom: top + 100 } as DOMRect;
    const form = vi.spyOn(HTMLFormElement.prototype, "getBoundingClientRect");
    form.mockReturnValue(box);
    await join();
    await screen.findByLabelText("Your invitation link");
    expect(scrollBy).toHaveBeenCalledTimes(scrolls);
    scrollBy.mockRestore();
    form.mockRestore();
  });

  test("is copied by its button", async () => {
    const user = await join();
    await waitFor(() => expect(spoken()).toContain(LEAD));
    await user.click(screen.getByRole("button", { name: "Copy link" }));
    expect(copied).toHaveBeenCalledWith(INVITATION.link);
    const copy = await screen.findByRole("button", { name: "Copied" });
    expect(spoken()).toContain("Copied");
    expect(document.activeElement).toBe(copy);
    copy.blur();
    await screen.findByRole("button", { name: "Copy link" });
  });

  test("is selected if it cannot be copied", async () => {
    copied.mockRejectedValue(new Error("not allowed"));
    const user = await join();
    await user.click(await screen.findByRole("button", { name: "Copy link" }));
    await screen.findByRole("button", { name: "Not copied" });
    const link = screen.getByLabelText<HTMLInputElement>("Your invitation link");
    expect(link.selectionEnd).toBe(INVITATION.link.length);
  });

  test("follows the code, if the owner asks for one", async () => {
    postSignUp.mockImplementation(async () => Response.json({ email: EMAIL }, { status: 201 }));
    postCode.mockImplementation(async () =>
      Response.json({ confirmed: true, invitation: INVITATION }),
    );
    const user = await join({ confirms: true });
    const code = await screen.findByLabelText("Code from the message");
    expect(screen.queryByText(LEAD)).toBeNull();
    await user.type(code, "123456{Enter}");
    await screen.findByText(LEAD, { selector: ".waitlist-lead" });
    passDoubleClick();
    await user.click(screen.getByText("Use another address"));
    await user.type(field(), "bob@example.com{Enter}");
    await screen.findByLabelText("Code from the message");
    expect(screen.queryByText(LEAD)).toBeNull();
  });

  test("is that of the last person who has joined", async () => {
    const user = await join();
    await screen.findByLabelText("Your invitation link");
    await user.type(field(), "{Enter}");
    respondToSignUps(409);
    await user.type(field(), "bob@example.com{Enter}");
    await waitForToast("Error");
    expect(screen.getByDisplayValue(INVITATION.link)).toBeDefined();
    const link = "https://steward.example/?ref=invite-bob";
    respondToSignUps(201, JSON.stringify({ email: EMAIL, invitation: { link, place: 43 } }));
    await user.click(screen.getByRole("button", { name: "Join the Waitlist" }));
    await screen.findByDisplayValue(link);
    expect(screen.queryByDisplayValue(INVITATION.link)).toBeNull();
  });

  test("does not come if the site shows none", async () => {
    postSignUp.mockImplementation(async () => Response.json({ email: EMAIL }, { status: 201 }));
    await join();
    await waitForToast("Success!");
    expect(button().textContent).toBe("Join the Waitlist");
  });
});

async function join(props = {}) {
  renderForm(props);
  // Not before `setup`, which replaces it.
  const user = userEvent.setup();
  vi.spyOn(navigator.clipboard, "writeText").mockImplementation(copied);
  await user.type(field(), `${EMAIL}{Enter}`);
  return user;
}

const spoken = () =>
  [...document.querySelectorAll('[role="status"]')].map((it) => it.textContent).join(" ");
