import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { EMAIL, field, postSignUp, renderForm } from "../test/waitlist-form-fixtures";

vi.mock("./panel", () => {
  throw new Error("404");
});

test("the link is shown if the script of the invitation cannot be loaded", async () => {
  const link = "https://steward.example/?ref=invite-0123456789abcdef";
  postSignUp.mockImplementation(async () =>
    Response.json({ email: EMAIL, invitation: { link, place: 42 } }, { status: 201 }),
  );
  renderForm({});
  await userEvent.setup().type(field(), `${EMAIL}{Enter}`);
  expect(await screen.findByText(`Your invitation link: ${link}`)).toBeDefined();
});
