import { act, cleanup, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Approval } from "../../api/approvals";
import { listenToKeys } from "../../lib/keys";
import { mockServer, renderApp } from "../../testing";
import { Toasts } from "../../ui/Toast";
import { Inbox } from "./Inbox";

let stop: () => void;
beforeEach(() => {
  stop = listenToKeys();
});
afterEach(() => {
  stop();
  cleanup();
});

function makeApproval(name: string, level = "low"): Approval {
  return {
    approval_id: name,
    approval_key: `key of ${name}`,
    run_id: `run of ${name}`,
    session_id: "session",
    run_title: "",
    workspace: "",
    call_id: name,
    tool: "shell_command",
    summary: `run ${name}`,
    since: `2026-01-01T00:00:0${name.length}Z`,
    seq: 1,
    rule: "",
    why: "",
    risk: { level },
    expires_at: "",
    details: { command: name },
    intent: {},
    decided: null,
    command: name,
    argv: [],
    cwd: ".",
    patch: "",
    files: [],
    reason: "",
    escalated: false,
    sandbox: {},
    rules: [],
    no_rule: "",
  };
}

function card(name: string): HTMLElement | null {
  return document.querySelector(`[data-approval="run of ${name} ${name} key of ${name}"]`);
}

async function renderInbox(...approvals: Approval[]) {
  const answers: Record<string, unknown> = { "GET approvals": { approvals } };
  for (const approval of approvals) {
    answers[`POST approvals/${approval.approval_id}`] = {};
  }
  const requests = mockServer(answers);
  renderApp(
    <>
      <Inbox />
      <Toasts />
    </>,
  );
  await waitFor(() => expect(card(approvals[0]?.approval_id ?? "")).not.toBeNull());
  return {
    answers,
    decided: () => requests.filter((request) => request.method === "POST").map((request) => request.path),
  };
}

/** Comes back to the page, which asks for everything again. */
function lookAgain(): void {
  act(() => {
    window.dispatchEvent(new Event("visibilitychange"));
  });
}

describe("the inbox", () => {
  it("a key decides only the request that has the focus", async () => {
    const { decided } = await renderInbox(makeApproval("a"), makeApproval("bb"));
    await userEvent.keyboard("a");
    expect(document.activeElement).toBe(card("a"));
    expect(decided()).toEqual([]);
    await userEvent.keyboard("a");
    await waitFor(() => expect(decided()).toEqual(["approvals/a"]));
    await waitFor(() => expect(document.activeElement).toBe(card("bb")));
  });

  it("never reports its own decisions as made elsewhere, however early the list has them", async () => {
    const { answers } = await renderInbox(makeApproval("a"), makeApproval("bb"));
    answers["GET approvals"] = { approvals: [makeApproval("bb")] };
    await userEvent.keyboard("ja");
    await waitFor(() => expect(document.activeElement).toBe(card("bb")));
    expect(screen.queryByText(/elsewhere/)).toBeNull();
    expect(await screen.findByRole("heading", { name: /Decided since/ })).toBeTruthy();
  });

  it("shows the same call again when it is asked about again", async () => {
    const { answers } = await renderInbox(makeApproval("a"));
    await userEvent.keyboard("ja");
    await screen.findByRole("heading", { name: /Decided since/ });
    answers["GET approvals"] = { approvals: [{ ...makeApproval("a"), approval_id: "again" }] };
    lookAgain();
    expect(await screen.findByRole("button", { name: "Approve once" })).toBeTruthy();
  });

  it("takes a key that is held down for one press", async () => {
    const { decided } = await renderInbox(makeApproval("a"), makeApproval("bb"));
    await userEvent.keyboard("j");
    await act(async () => {
      card("a")?.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true }));
    });
    expect(decided()).toEqual([]);
  });

  it("asks for a second step where the risk is high", async () => {
    const { decided } = await renderInbox(makeApproval("a", "high"));
    await userEvent.keyboard("ja");
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "Approve once" }));
    expect(decided()).toEqual([]);
  });

  it("asks for a second step while the arguments are edited", async () => {
    const { decided } = await renderInbox(makeApproval("a"));
    await userEvent.keyboard("je");
    expect(document.activeElement).toBe(screen.getByLabelText("Arguments as JSON"));
    act(() => card("a")?.focus());
    await userEvent.keyboard("a");
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "Approve once, unchanged" }));
    expect(decided()).toEqual([]);
  });

  it("decides nothing with what is still typed when a card is gone", async () => {
    const { answers, decided } = await renderInbox(makeApproval("a"), makeApproval("bb"));
    await userEvent.click(screen.getAllByRole("button", { name: "Reject" })[0] as HTMLElement);
    await userEvent.type(screen.getByLabelText("Reason"), "bec");
    answers["GET approvals"] = { approvals: [makeApproval("bb")] };
    lookAgain();
    await waitFor(() => expect(card("a")).toBeNull());
    expect(document.activeElement).toBe(card("bb"));
    await userEvent.keyboard("ause");
    expect(document.activeElement).toBe(card("bb"));
    expect(decided()).toEqual([]);
  });
});
