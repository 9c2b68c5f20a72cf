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
export function useCommands(newCommands: readonly Command[]): void {
  const latest = useRef(newCommands);
  latest.current = newCommands;
  const signature = newCommands.map((command) => `${command.id}\u0000${command.label}`).join("\u0001");
  // biome-ignore lint/correctness/useExhaustiveDependencies: actions are read when a command is chosen
  useEffect(() => {
    const ownCommands = latest.current.map((command, index) => ({
      ...command,
      run: () => latest.current[index]?.run(),
    }));
    commands.set((before) => [
      ...before.filter((command) => !ownCommands.some((ownCommand) => ownCommand.id === command.id)),
      ...ownCommands,
    ]);
    return () =>
      commands.set((before) =>
        before.filter((command) => !ownCommands.includes(command as (typeof ownCommands)[number])),
      );
  }, [signature]);
}

/** All commands on offer now. */
export function useAllCommands(): readonly Command[] {
  return useStore(commands);
}

/** The commands that fit what was typed, the best first: all its words must occur. */
export function filterCommands(all: readonly Command[], typed: string): Command[] {
  const terms = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .map((command) => ({ command, text: `${command.label} ${command.words ?? ""}`.toLowerCase() }))
    .filter(({ text }) => terms.every((word) => text.includes(word)))
    .sort((left, right) => rank(left.text, terms) - rank(right.text, terms))
    .map(({ command }) => command);
}

function rank(text: string, terms: string[]): number {
  return terms.length > 0 && text.startsWith(terms[0] ?? "") ? 0 : 1;
}
