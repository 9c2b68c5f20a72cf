import { NewRun } from "../features/new/NewRun";

/** Where a run is started. */
export default function NewRoute() {
  return <NewRun />;
}
