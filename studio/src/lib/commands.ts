import type { ReactNode } from "react";
import { useEffect, useRef } from "react";
import { createStore, useStore } from "./store";

/** Something the palette offers. */
export interface Command {
  id: string;
  label: string;
  /** Other words it is found by. */
  words?: string;
  icon?: ReactNode;
  keys?: string;
  run: () => void;
}

const commands = createStore<readonly Command[]>([]);

/** Offers commands in the palette while the component is shown. */
export function useCommands(wanted: readonly Command[]): void {
  const latest = useRef(wanted);
  latest.current = wanted;
  const signature = wanted.map((one) => `${one.id}\u0000${one.label}`).join("\u0001");
  // biome-ignore lint/correctness/useExhaustiveDependencies: actions are read when a command is chosen
  useEffect(() => {
    const mine = latest.current.map((one, index) => ({ ...one, run: () => latest.current[index]?.run() }));
    commands.set((before) => [...before.filter((one) => !mine.some((own) => own.id === one.id)), ...mine]);
    return () =>
      commands.set((before) => before.filter((one) => !mine.includes(one as (typeof mine)[number])));
  }, [signature]);
}

/** All commands on offer now. */
export function useAllCommands(): readonly Command[] {
  return useStore(commands);
}

/** The commands that fit what was typed, the best first: all its words must occur. */
export function matching(all: readonly Command[], typed: string): Command[] {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .map((one) => ({ one, text: `${one.label} ${one.words ?? ""}`.toLowerCase() }))
    .filter(({ text }) => wanted.every((word) => text.includes(word)))
    .sort((left, right) => rank(left.text, wanted) - rank(right.text, wanted))
    .map(({ one }) => one);
}

function rank(text: string, wanted: string[]): number {
  return wanted.length > 0 && text.startsWith(wanted[0] ?? "") ? 0 : 1;
}
