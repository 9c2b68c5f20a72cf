import { useSyncExternalStore } from "react";

/** A value that many components read and that changes outside of React. */
export interface Store<Value> {
  get(): Value;
  set(next: Value | ((before: Value) => Value)): void;
  subscribe(listener: () => void): () => void;
}

/** Creates a store; setting an equal value notifies no listener. */
export function createStore<Value>(initial: Value): Store<Value> {
  let current = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set(next) {
      const value = typeof next === "function" ? (next as (before: Value) => Value)(current) : next;
      if (Object.is(value, current)) {
        return;
      }
      current = value;
      for (const listener of [...listeners]) {
        listener();
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value of a store, kept current. */
export function useStore<Value>(store: Store<Value>): Value {
  return useSyncExternalStore(store.subscribe, store.get, store.get);
}
