import { useEffect, useRef } from "react";
import { readStored, writeStored } from "./localStorage";
import { createStore, useStore } from "./store";

/** A key on this page: `j`, `?`, `[`, `Enter`, or with Ctrl/Cmd `mod+k`. */
export interface KeyBinding {
  keys: string;
  /** What it does, for the list of keys. */
  label: string;
  run: (event: KeyboardEvent) => void;
  group?: "everywhere" | "page";
}

/** Whether single keys do anything; those with Ctrl or Cmd always do. */
export const singleKeys = createStore(readStored("single-keys") !== "off");

const bindings = createStore<readonly KeyBinding[]>([]);

/** Switches single keys on or off, and keeps the choice. */
export function setSingleKeys(on: boolean): void {
  writeStored("single-keys", on ? null : "off");
  singleKeys.set(on);
}

/** Gives keys a meaning while the component is shown; the latest binding of a key wins. */
export function useKeys(newBindings: readonly KeyBinding[]): void {
  const latest = useRef(newBindings);
  latest.current = newBindings;
  const signature = newBindings
    .map((binding) => `${binding.keys}\u0000${binding.label}\u0000${binding.group ?? ""}`)
    .join("\u0001");
  // biome-ignore lint/correctness/useExhaustiveDependencies: handlers are read when a key is pressed
  useEffect(() => {
    const ownBindings = latest.current.map((binding, index) => ({
      ...binding,
      run: (event: KeyboardEvent) => latest.current[index]?.run(event),
    }));
    bindings.set((before) => [...before, ...ownBindings]);
    return () =>
      bindings.set((before) =>
        before.filter((binding) => !ownBindings.includes(binding as (typeof ownBindings)[number])),
      );
  }, [signature]);
}

/** All keys that mean something now, for the list of keys. */
export function useKeyBindings(): readonly KeyBinding[] {
  return useStore(bindings);
}

/** The name of a pressed key as bindings write it. */
export function keyName(event: KeyboardEvent): string {
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `mod+${name}` : name;
}

/** Whether the user is typing, or a dialog or menu handles the keys. */
export function isTaken(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) {
    return false;
  }
  return (
    target.closest(
      "input, textarea, select, [contenteditable=''], [contenteditable='true'], [role='dialog'], [role='menu'], [role='listbox']",
    ) !== null
  );
}

/** Finds the binding of a pressed key; none while the user types or single keys are off. */
export function bindingFor(
  event: KeyboardEvent,
  candidates: readonly KeyBinding[],
  single: boolean,
): KeyBinding | undefined {
  const name = keyName(event);
  if (event.defaultPrevented || event.isComposing || event.altKey) {
    return undefined;
  }
  if (!name.startsWith("mod+")) {
    if (!single || isTaken(event.target)) {
      return undefined;
    }
    const onControl =
      event.target instanceof Element && event.target.closest("a, button, summary, [role='tab']");
    if (onControl && (name === "Enter" || name === " ")) {
      return undefined;
    }
  }
  return candidates.findLast((binding) => binding.keys === name);
}

/** Starts listening to keys; once for the app. */
export function listenToKeys(): () => void {
  const listener = (event: KeyboardEvent) => {
    const match = bindingFor(event, bindings.get(), singleKeys.get());
    if (match) {
      event.preventDefault();
      match.run(event);
    }
  };
  window.addEventListener("keydown", listener);
  return () => window.removeEventListener("keydown", listener);
}
