import { FINAL_STATUSES } from "../../api/runs";
import type { RunView } from "../../events";

/** The status to display: a pending request for the user takes precedence. */
export function displayStatus(view: RunView): string {
  const { status } = view.state;
  const hasOpenRequests = view.approvals.length > 0 || view.questions.length > 0;
  return hasOpenRequests && !FINAL_STATUSES.has(status) ? "waiting_for_user" : status;
}

/** Whether nothing more will happen in a run. */
export function isFinished(view: RunView): boolean {
  return FINAL_STATUSES.has(view.state.status);
}
