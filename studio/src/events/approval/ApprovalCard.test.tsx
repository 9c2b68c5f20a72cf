import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../api/approvals";
import { mockServer, renderApp } from "../../testing";
import { ApprovalCard } from "./ApprovalCard";

afterEach(cleanup);

const APPROVAL: Approval = {
  approval_id: "approval_1",
  approval_key: "key",
  run_id: "run_1",
  session_id: "session",
  run_title: "Clean up",
  workspace: "/workspaces/somebody/project",
  call_id: "call",
  tool: "shell_command",
  summary: "shell_command pip install x",
  since: "2026-01-01T00:00:00Z",
  seq: 3,
  rule: "installs",
  why: "installs change the environment",
  risk: { level: "medium", reason: "installs programs", part: "pip" },
  expires_at: "",
  details: { command: "pip install x" },
  intent: {},
  decided: null,
  command: "pip install x",
  argv: [],
  cwd: ".",
  patch: "",
  files: [],
  reason: "needed \u202etests",
  escalated: false,
  sandbox: {},
  rules: [
    { scope: "run", text: "rules:\n- effect: allow", file: null },
    { scope: "folder", text: "rules:\n- effect: allow\n  folder: /w", file: "~/rules.yaml" },
    { scope: "user", text: "rules:\n- effect: allow\n  # for every folder", file: "~/rules.yaml" },
  ],
  no_rule: "",
};

describe("a card", () => {
  it("sends exactly what was seen, with the reason", async () => {
    const requests = mockServer({ "POST approvals/approval_1": {} });
    const onDecided = vi.fn();
    renderApp(<ApprovalCard approval={APPROVAL} onDecided={onDecided} />);
    expect(screen.queryByLabelText("Reason")).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Reject" }));
    expect(document.activeElement).toBe(screen.getByLabelText("Reason"));
    await userEvent.type(screen.getByLabelText("Reason"), "not now");
    await userEvent.click(screen.getByRole("button", { name: "Reject the call" }));
    await waitFor(() => expect(onDecided).toHaveBeenCalledWith({ decision: "denied", stale: false }));
    expect(requests.find((request) => request.method === "POST")?.body).toEqual({
      approval_key: "key",
      run_id: "run_1",
      decision: "denied",
      note: "not now",
    });
  });

  it("sends one decision however fast and often it is clicked", async () => {
    const requests = mockServer({ "POST approvals/approval_1": {} });
    renderApp(<ApprovalCard approval={APPROVAL} />);
    fireEvent.click(screen.getByRole("button", { name: "Reject" }));
    const reject = screen.getByRole("button", { name: "Reject the call" });
    fireEvent.click(screen.getByRole("button", { name: "Approve once" }));
    fireEvent.click(reject);
    await waitFor(() => expect(screen.queryByRole("button", { name: "Approve once" })).toBeNull());
    expect(requests.filter((request) => request.method === "POST")).toHaveLength(1);
  });

  it.each([
    ["This folder", "Allow `pip install x` in this folder", "folder: /w", "folder"],
    ["Always", "Allow `pip install x` in every run", "for every folder", "user"],
  ])("shows the rule of “%s” before it is added", async (button, grant, text, rule) => {
    const requests = mockServer({ "POST approvals/approval_1": {} });
    renderApp(<ApprovalCard approval={APPROVAL} />);
    await userEvent.click(screen.getByRole("button", { name: button }));
    expect(screen.getByText(new RegExp(text))).toBeTruthy();
    expect(screen.getByText(/Written to ~\/rules\.yaml/)).toBeTruthy();
    expect(requests.some((request) => request.method === "POST")).toBe(false);
    await userEvent.click(screen.getByRole("button", { name: grant }));
    await waitFor(() => expect(requests.some((request) => request.method === "POST")).toBe(true));
    expect(requests.find((request) => request.method === "POST")?.body).toMatchObject({
      decision: "approved",
      rule,
    });
  });

  it("approves the exact call for the session", async () => {
    const requests = mockServer({ "POST approvals/approval_1": {} });
    renderApp(<ApprovalCard approval={APPROVAL} />);
    await userEvent.click(screen.getByRole("button", { name: "This session" }));
    await waitFor(() => expect(requests.some((request) => request.method === "POST")).toBe(true));
    const body = requests.find((request) => request.method === "POST")?.body;
    expect(body).toEqual({ approval_key: "key", run_id: "run_1", decision: "approved_for_session" });
  });

  it("offers only what a rule can be made for", () => {
    mockServer({});
    renderApp(<ApprovalCard approval={{ ...APPROVAL, rules: [], no_rule: "it is of high risk" }} />);
    expect(screen.getByRole("button", { name: "This session" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: "This folder" })).toBeNull();
    expect(screen.queryByRole("button", { name: "Always" })).toBeNull();
  });

  it("shows hidden characters, and the risk as a word", () => {
    mockServer({});
    renderApp(<ApprovalCard approval={APPROVAL} />);
    expect(screen.getByText("needed ‹U+202E›tests")).toBeTruthy();
    expect(screen.getByText("Medium risk")).toBeTruthy();
  });

  it("lists writable, readable and reachable targets of the sandbox, and expands the rest", async () => {
    mockServer({});
    const sandbox = {
      adapter: "bubblewrap",
      active: true,
      profile: "workspace-net",
      network: "allow-list",
      egress: { allow: ["example.com:443"], deny: ["evil.example"] },
      file_access: {
        workspace: "/w",
        writable: ["/w", "/out\u202e"],
        readable: ["/skills/one"],
        system: ["/usr"],
        protected: ["/w/.git"],
        hidden: ["/w/.env"],
        temporary: "/tmp",
        left_out: { hidden: 2 },
      },
    };
    renderApp(<ApprovalCard approval={{ ...APPROVAL, sandbox }} />);
    for (const text of [
      "the workspace",
      "/out‹U+202E›",
      "a private /tmp, deleted afterwards",
      "/skills/one",
    ]) {
      expect(screen.getByText(text)).toBeTruthy();
    }
    expect(screen.getByText("example.com:443")).toBeTruthy();
    expect(screen.queryByText("./.env")).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "1 protected · 3 hidden · 1 system path" }));
    for (const text of ["./.git", "./.env", "and 2 more", "/usr"]) {
      expect(screen.getByText(text)).toBeTruthy();
    }
  });

  it("a late decision shows the outcome of the request", async () => {
    const decided = {
      seq: 5,
      type: "approval_decided",
      timestamp: "2026-01-01T00:00:05Z",
      payload: { approval_id: "approval_1", approval_key: "key", decision: "denied", decided_by: "somebody" },
    };
    mockServer({
      "POST approvals/approval_1": Response.json({ kind: "approval_stale", detail: "late" }, { status: 409 }),
      "GET runs/run_1/events": { events: [decided], next_after: 5, ended: false },
    });
    renderApp(<ApprovalCard approval={APPROVAL} />);
    await userEvent.click(screen.getByRole("button", { name: "Approve once" }));
    expect(await screen.findByText(/already decided/)).toBeTruthy();
    expect(await screen.findByText("by somebody")).toBeTruthy();
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("keeps an error that is no decision on the card", async () => {
    mockServer({
      "POST approvals/approval_1": Response.json({ kind: "permission", detail: "not you" }, { status: 403 }),
    });
    renderApp(<ApprovalCard approval={APPROVAL} />);
    await userEvent.click(screen.getByRole("button", { name: "Approve once" }));
    expect(await screen.findByText("not you")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Approve once" })).toBeTruthy();
  });
});
