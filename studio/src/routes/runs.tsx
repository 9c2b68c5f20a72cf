import { RunsPage } from "../features/runs/RunsPage";

/** The list of runs. */
export default function RunsRoute() {
  return <RunsPage />;
}
