import type { ReactNode } from "react";

/** One fact about a request: its name, and what it is. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid min-w-0 grid-cols-1 gap-x-3 sm:grid-cols-[8.5rem_1fr]">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}
