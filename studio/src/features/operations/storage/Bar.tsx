import { classes } from "../../../lib/classes";
import { barWidth } from "./shares";

/** A bar for the part of a whole; the figure stands beside it, so it is only for the eye. */
export function Bar({ part, total, className }: { part: number; total: number; className?: string }) {
  return (
    <div aria-hidden="true" className="h-2 w-full overflow-hidden rounded-full bg-sunken">
      <div
        className={classes("h-full rounded-full", className ?? "bg-accent-strong")}
        style={{ width: `${barWidth(part, total)}%` }}
      />
    </div>
  );
}
