import { Operations } from "../features/operations/Operations";

/** Model, keys, sandbox, policy, settings and storage. */
export default function OperationsPage({ tab }: { tab?: string }) {
  return <Operations tab={tab ?? "model"} />;
}
