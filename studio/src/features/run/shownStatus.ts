import { FINAL } from "../../api/runs";
import type { RunView } from "../../events";

/** The state of a run as people see it: whoever is asked for something is told so first. */
export function shownStatus(view: RunView): string {
  const { status } = view.state;
  const asked = view.approvals.length > 0 || view.questions.length > 0;
  return asked && !FINAL.has(status) ? "waiting_for_user" : status;
}

/** Whether nothing more will happen in a run. */
export function isOver(view: RunView): boolean {
  return FINAL.has(view.state.status);
}
