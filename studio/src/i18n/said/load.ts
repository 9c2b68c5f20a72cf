import { columns } from "virtual:said";
import type { Say } from "./say";
import { sayerOf } from "./sayer";

/** Fetches what the service says in Chinese. */
export async function chineseSayer(): Promise<Say> {
  return sayerOf(...(await columns()));
}
