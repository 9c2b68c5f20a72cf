import { describe, expect, it } from "vitest";
import { chineseSayer } from "./load";
import { sayerOf } from "./sayer";

const TEXTS: Record<string, string> = {
  "no run": "没有运行",
  "no run `{}`": "没有运行 `{}`",
  "no {}": "没有{}",
  "run `{}` is in `{}`": "`{2}` 中有运行 `{1}`",
  "the archive was refused: {}": "已拒绝该归档：{}",
  "it is a link": "它是链接",
  "leads out of the workspace": "通向工作区之外",
  "try again": "请再试一次",
  "; the body is taken for it": "；以正文代替",
  "It was stopped.": "已被阻止。",
  " No grant opens it, for {}.": " 任何授权都不能开放它，因为{}。",
};

describe("a sayer", () => {
  const say = sayerOf(Object.keys(TEXTS), Object.values(TEXTS));

  it("says whole sentences, and gives back what it does not know", () => {
    expect(say("no run")).toBe("没有运行");
    expect(say("something else entirely")).toBe("something else entirely");
    expect(say("constructor")).toBe("constructor");
    expect(say("")).toBe("");
  });

  it("fills holes, in another order where the language needs it", () => {
    expect(say("no run `a b`")).toBe("没有运行 `a b`");
    expect(say("run `a` is in `/x/y`")).toBe("`/x/y` 中有运行 `a`");
  });

  it("takes the pattern that says most", () => {
    expect(say("no run `x`")).toBe("没有运行 `x`");
    expect(say("no luck")).toBe("没有luck");
  });

  it("says what stands in a hole too", () => {
    expect(say("the archive was refused: it is a link")).toBe("已拒绝该归档：它是链接");
    expect(say("`a/b` leads out of the workspace")).toBe("`a/b` 通向工作区之外");
  });

  it("says a sentence with a colon behind a name", () => {
    expect(say("disk: the archive was refused: it is a link")).toBe("disk：已拒绝该归档：它是链接");
  });

  it("says several sentences when it knows them all, and none when it does not", () => {
    expect(say("it is a link; try again")).toBe("它是链接；请再试一次");
    expect(say("it is a link; nobody knows this")).toBe("it is a link; nobody knows this");
  });

  it("says what only follows another sentence", () => {
    expect(say("it is a link; the body is taken for it")).toBe("它是链接；以正文代替");
    expect(say("It was stopped. No grant opens it, for it is a link.")).toBe(
      "已被阻止。任何授权都不能开放它，因为它是链接。",
    );
  });

  it("is quick with long and hostile text", () => {
    const text = `run \`${"` is in `".repeat(100_000)}`;
    expect(say(text)).toBe(text);
  });

  it("keeps text that looks like a hole as it is", () => {
    expect(say("no run `{2}{}$1`")).toBe("没有运行 `{2}{}$1`");
  });
});

it("everything the service says is there in Chinese", async () => {
  const say = await chineseSayer();
  expect(say("there is no run `run_1`")).toBe("没有运行 `run_1`");
  expect(say("kind/not_found")).toBe("找不到");
});
