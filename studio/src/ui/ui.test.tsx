import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import { renderApp } from "../testing";
import { Button } from "./Button";
import { CodeBlock } from "./CodeBlock";
import { Dialog } from "./Dialog";
import { ErrorNote } from "./ErrorNote";
import { TextInput } from "./Field";
import { JsonView } from "./JsonView";
import { Markdown } from "./Markdown";
import { StatusMark } from "./StatusMark";

afterEach(cleanup);

const HOSTILE = [
  '<script>window.hit = 1</script><img src="https://evil.example/x.png" onerror="window.hit = 1">',
  "[a](javascript:window.hit=1) [b](//evil.example) [c](https://example.org) ![pic](https://evil.example/p.png)",
  '<a href="data:text/html,x">d</a><iframe src="https://evil.example"></iframe><form action="/x"><input></form>',
  '<div style="position:fixed" class="x" id="root">e</div><svg onload="window.hit = 1"></svg>',
].join("\n\n");

describe("untrusted Markdown", () => {
  it("stays harmless: no scripts, no requests, no way into this page", async () => {
    const { container } = renderApp(<Markdown text={HOSTILE} />);
    await screen.findByText("c");
    expect(
      container.querySelector("script, img, iframe, form, input, svg, [style], [id], [onerror]"),
    ).toBeNull();
    const links = [...container.querySelectorAll("a[href]")];
    expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.org"]);
    expect(links[0]?.getAttribute("rel")).toContain("noopener");
    expect(container.textContent).toContain("[image: pic]");
    expect(container.textContent).toContain("<script>window.hit = 1</script>");
  });

  it("is plain and cut when it is very long, and says so", () => {
    const { container } = renderApp(<Markdown text={`# title\n${"word ".repeat(60_000)}`} />);
    expect(container.querySelector("h1")).toBeNull();
    expect(container.textContent?.length).toBeLessThan(201_000);
    expect(screen.getByText(/200/)).toBeDefined();
  });
});

describe("text of a program", () => {
  it("is only text, shortened until all of it is wanted", async () => {
    const text = Array.from({ length: 100 }, (_, line) => `<b>${line}</b>`).join("\n");
    const { container } = renderApp(<CodeBlock text={text} label="output" lines={10} />);
    expect(container.querySelector("b")).toBeNull();
    expect(container.textContent).not.toContain("<b>50</b>");
    await userEvent.click(screen.getByRole("button", { name: "Show all 100 lines" }));
    expect(container.textContent).toContain("<b>99</b>");
  });
});

describe("data", () => {
  it("opens and closes, and long lists come in parts", async () => {
    renderApp(
      <JsonView
        value={{ list: Array.from({ length: 250 }, (_, at) => at), inner: { deep: { x: "‮" } } }}
        depth={1}
      />,
    );
    await userEvent.click(screen.getByRole("button", { name: /^list/ }));
    await userEvent.click(screen.getByRole("button", { name: "Show 150 more" }));
    expect(screen.getByText("249")).toBeTruthy();
    expect(screen.queryByText(/deep/)).toBeNull();
  });
});

describe("a problem", () => {
  it("is shown with its meaning, sentence, hint and kind", () => {
    renderApp(
      <ErrorNote
        error={new Problem(409, "approval_stale", "Conflict", "it was decided already", "look again")}
      />,
    );
    expect(screen.getByRole("alert").textContent).toMatch(
      /The request is no longer open.*it was decided already.*look again.*approval_stale/,
    );
  });

  it("lists every fault of a configuration", () => {
    const problems = ["`run.max_step` is not a setting", "`saftey` is not a setting", 7];
    const [first = ""] = problems as string[];
    renderApp(
      <ErrorNote
        error={new Problem(400, "config_error", "Bad Request", first, "correct it", { problems })}
      />,
    );
    expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "`saftey` is not a setting",
    ]);
  });

  it("is nothing when there is none", () => {
    renderApp(<ErrorNote error={null} />);
    expect(screen.queryByRole("alert")).toBeNull();
  });
});

describe("controls", () => {
  it("take no click while busy, and keep the focus", async () => {
    const click = vi.fn();
    renderApp(
      <Button busy onClick={click}>
        Save
      </Button>,
    );
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    expect(click).not.toHaveBeenCalled();
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "Save" }));
  });

  it("belong to their label, hint and error", () => {
    renderApp(<TextInput label="Name" hint="short" error="too long" />);
    const input = screen.getByLabelText("Name");
    const descriptions = (input.getAttribute("aria-describedby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent);
    expect(descriptions).toEqual(["short", "too long"]);
    expect(input.getAttribute("aria-invalid")).toBe("true");
  });

  it("say a state in words, also one they do not know", () => {
    renderApp(
      <>
        <StatusMark state="waiting_for_user" />
        <StatusMark state="from_the_future" />
      </>,
    );
    expect(screen.getByText("Waiting for you")).toBeTruthy();
    expect(screen.getByText("from_the_future")).toBeTruthy();
  });
});

function Opener() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        open
      </button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Title">
        <input aria-label="inside" />
      </Dialog>
    </>
  );
}

it("a dialog takes the focus and gives it back, and adds no style element", async () => {
  renderApp(<Opener />);
  const styles = document.querySelectorAll("style").length;
  await userEvent.click(screen.getByText("open"));
  expect(screen.getByRole("dialog", { name: "Title" }).contains(document.activeElement)).toBe(true);
  expect(document.querySelectorAll("style").length).toBe(styles);
  fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  await waitFor(() => expect(document.activeElement).toBe(screen.getByText("open")));
});
